#!/bin/bash
# The cases whose hang is a flag, by nothing but what the tool proposes: why, its plan carried out in
# a bad run and a good one, diverge, its plan carried out; at the end stand the flag's address
# and the thread that wrote it.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc g++ nm
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"
CASES=$(cd "$HERE/../cases" && pwd)
export ARGUS_CASE_PROGRAMS=$PWD/programs
mkdir programs whole

chain() { # CASE
	local run=$CASES/$1/run.sh victim
	mkdir "$1"
	cd "$1" || exit
	argus record -o bad.trace -- "$run" buggy >bad.json 2>notes || fail "$1: the bad run: $(cat notes)"
	victim=$(json bad.json "d['victim_pid']")
	argus why --pid "$victim" --json bad.trace >why.json || fail "$1: no answer"
	[ "$(json why.json "[s['option'] for s in d['plan']].count('--step')")" = 1 ] || fail "$1: nothing to step: $(json why.json "d['text'], d['plan']")"
	argus record --plan why.json -o bad.step -- "$run" buggy >/dev/null 2>notes || fail "$1: stepping the bad run: $(cat notes)"
	argus record --plan why.json -o good.step -- "$run" base >/dev/null 2>notes || fail "$1: stepping the good run: $(cat notes)"
	argus diverge --json good.step bad.step >diverge.json 2>notes || fail "$1: diverge: $(cat notes)"
	argus record --plan diverge.json -o good.watch -- "$run" base >good.json 2>notes || fail "$1: watching: $(cat notes)"
	argus watch --show --json good.watch >watch.json || fail "$1: nothing watched: $(cat diverge.json)"
	cd ..
}

# what the good run's writer was, of the place that diverge names best: it set the flag (not 0), in a thread of the victim's
writer() { # CASE EXPRESSION
	json "$1/watch.json" "any($2 for w in d['watches'] for v in w['visitors'] if v['value'] and v['access'] == 'flag_write' and v['tid'] != w['pid'])"
}
place() { json "$1/diverge.json" "d['plan'][0]['value']"; }
expect() { # CASE PLACE WRITER
	[ "$(place "$1")" = "$2" ] || fail "$1: the flag is $2, not $(place "$1")"
	[ "$(writer "$1" "$3")" = True ] || fail "$1: nobody wrote it: $(head -c 3000 "$1/watch.json")"
}

for case in flag_usleep flag_heap flag_atomic; do
	(chain $case) &
	chains="${chains:-} $!"
done
for chain in $chains; do
	wait "$chain" || failed=1
done
[ -z "${failed:-}" ] || exit 1

# the same programs with their symbols say what is where
gcc -O2 -pthread -o whole/poller "$CASES/flag_usleep/poller.c"
gcc -O2 -pthread -o whole/queue "$CASES/flag_heap/queue.c"
symbol() { nm -S "whole/$1" | sed -n "s/^0*\([0-9a-f]*\) 0*\([0-9a-f]*\) . $2\$/0x\1 0x\2/p"; }
in_function() { # PROGRAM FUNCTION: of the writer's innermost frame
	read -r start bytes < <(symbol "$1" "$2")
	echo "$((start)) < v['stack'][0]['address'] <= $((start + bytes))"
}
read -r flag _ < <(symbol poller 'done')
expect flag_usleep "$PWD/programs/poller:$flag%4" "$(in_function poller work)"
read -r queue _ < <(symbol queue queue)
expect flag_heap "$PWD/programs/queue:$queue->56->36%4" "$(in_function queue serve)"
case $(place flag_atomic) in
"$PWD/programs/ready+0x"*@r*%1) ;;
*) fail "flag_atomic: $(place flag_atomic)" ;;
esac
expect flag_atomic "$(place flag_atomic)" "'Service::load' in v['stack'][0]['function']"
