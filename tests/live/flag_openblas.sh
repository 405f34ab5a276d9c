#!/bin/bash
# The flags that threads of OpenBLAS spin on, found in the packaged library by what the tool proposes:
# no symbol names them, registers lead to them.
# alone: a real-time program has a processor for seconds
. "$HERE/live/_lib.sh"
need_bpf
need_command chrt taskset
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "python3-numpy is not installed"
[ -e /usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0 ] || skip "libopenblas0-pthread is not installed"
run=$(cd "$HERE/../cases" && pwd)/openblas_yield/run.sh

argus record -o bad.trace -- "$run" buggy >bad.json 2>notes || fail "the bad run: $(cat notes)"
argus why --pid "$(json bad.json "d['victim_pid']")" --json bad.trace >why.json || fail "no answer"
[ "$(json why.json "any(s['option'] == '--step' and 'libopenblas' in s['value'] for s in d['plan'])")" = True ] ||
	fail "nothing to step: $(json why.json "d['text'], d['plan']")"
argus record --plan why.json -o bad.step -- "$run" buggy >/dev/null 2>notes || fail "stepping the bad run: $(cat notes)"
argus record --plan why.json -o good.step -- "$run" base >/dev/null 2>notes || fail "stepping the good run: $(cat notes)"
argus diverge --json good.step bad.step >diverge.json 2>notes || fail "diverge: $(cat notes)"
argus record --plan diverge.json -o good.watch -- "$run" base >good.json 2>notes || fail "watching: $(cat notes)"
argus watch --show --json good.watch >watch.json || fail "nothing watched: $(cat diverge.json)"
worker=$(json good.json "d['actors']['worker_tid']")
[ "$(json watch.json "any(v['tid'] == $worker and v['changes'] and any('libopenblas' in f['module'] for f in v['stack']) for w in d['watches'] for v in w['visitors'])")" = True ] ||
	fail "the worker $worker did not write what it is awaited for: $(json diverge.json "d['place'], d['plan']") $(head -c 3000 watch.json)"
