#!/bin/bash
# A program that is stepped does what it does without: with signals, threads, vfork and exec, blocked signals, the
# vDSO and rseq in the stepped function; both threads' ways are there, and what library calls returned.
. "$HERE/live/_lib.sh"
need_bpf
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
stepped=$BUILD/tests/stepped

"$stepped" >plain.txt
argus record --step "$stepped:work" -o ways.step -- "$stepped" >out 2>notes || fail "stepping: $(cat notes)"
cmp -s out plain.txt || fail "it said $(cat out), without stepping $(cat plain.txt)"
argus dump --json --type step ways.step >steps.json
[ "$(json steps.json "len([t for t in {e['tid'] for e in d['events']} if len([1 for e in d['events'] if e['tid'] == t]) >= 3 * 3000])")" = 2 ] ||
	fail "not both threads' ways: $(json steps.json "len(d['events'])")"

# ---- a process that runs: what calls return, and that limits end it
cat >loop.c <<'END'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0;; i++) {
		if (labs(-1000 - i % 3) > 5000 || getpid() < 0)
			return 1;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, 0);
	}
}
END
need_command gcc
gcc -O1 -fno-builtin -o loop loop.c
./loop &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
is_mapped() { grep -q "$PWD/loop" /proc/$pid/maps; }
wait_until 10 is_mapped
argus step $pid loop:main --results --most 200 --duration 30s -o loop.step 2>notes || fail "step: $(cat notes)"
argus step --show --json loop.step >loop.json
[ "$(json loop.json "len(d['places'])")" = 200 ] || fail "the limit: $(json loop.json "len(d['places'])")"
[ "$(json loop.json "{1000, 1001, 1002} <= {p['result'] for p in d['places'] if 'result' in p}")" = True ] || fail "what labs returned: $(argus step --show loop.step)"
[ "$(json loop.json "$pid in {p['result'] for p in d['places'] if 'result' in p}")" = True ] || fail "what getpid returned"
argus step --show loop.step | matches 'labs(.*)  returned 0x3e[89a]' || fail "not told: $(argus step --show loop.step | head -20)"
# where the next place still has it, without a place more
argus step $pid loop:main --most 100 --duration 30s -o kept.step 2>notes || fail "step: $(cat notes)"
argus step --show --json kept.step >kept.json
[ "$(json kept.json "{1000, 1001, 1002, $pid} <= {p.get('result') for p in d['places']}")" = True ] || fail "results that are still there: $(argus step --show kept.step)"
kill -0 $pid || fail "it did not survive"
