#!/bin/bash
# Processes and places that cannot be looked into by `step`, `watch` and probes, and those that can against
# expectation: each refusal is a sentence that says what, and what to do.
. "$HERE/live/_lib.sh"
need_bpf
need_command setpriv strace gcc
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
pids=
# shellcheck disable=SC2086
trap '[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true' EXIT

refused() { # WORDS COMMAND...
	local words=$1 status=0
	shift
	"$@" >out 2>&1 || status=$?
	{ [ $status = 1 ] || [ $status = 2 ]; } || fail "status $status: $*: $(cat out)"
	grep -q -- "$words" out || fail "words about $*: $(cat out)"
	[ "$(grep -c . out)" -le 3 ] || fail "more than a sentence: $*: $(cat out)"
}

cat >plain.c <<'END'
#include <sys/prctl.h>
#include <time.h>
static int turns;
static inline __attribute__((always_inline)) int inlined(int a) { return a + turns; }
__attribute__((noinline)) int turn(int a) { turns += inlined(a); return turns; }
int main(int count, char **words)
{
	(void)words;
	/* only read, write and exit may be called */
	if (count > 1 && !prctl(PR_SET_SECCOMP, 1, 0, 0, 0))
		for (;;)
			turn(1);
	for (;;) {
		turn(1);
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, 0);
	}
}
END
gcc -O2 -g -o plain plain.c
./plain &
plain=$!
pids=$plain
is_running() { grep -q plain /proc/$plain/maps; }
wait_until 10 is_running

# ---- gone, the kernel's, no number
refused "no process" argus watch 4194304 0x1000
refused "no process" argus step 4194304 plain:turn
refused "one of the kernel\|no process" argus step 2 plain:turn
refused "no process is called" argus step plane turn
refused "say which process" argus step
refused "say which process" argus watch $plain

# ---- another user's: nobody asks
cp "$(command -v argus)" ./argus-copy
chmod 755 . ./argus-copy
mkdir -m 777 open
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$@"; }
refused "sudo argus\|run .*as root\|another user" nobody ./argus-copy watch $plain -o open/a.trace 0x1000
refused "sudo argus\|run .*as root\|another user" nobody ./argus-copy step $plain -o open/a.step plain:turn

# ---- names and places
refused "'turn'" argus step $plain plain:turnx
refused "'turns'" argus watch $plain plain:trns
refused "inlined" argus step $plain plain:inlined
refused "inlined" argus record -o a.trace --probe ./plain:inlined -- true
refused "'turn'" argus record -o a.trace --probe ./plain:turnx -- true
refused "has not mapped" argus step $plain nofile:turn
refused "is a function" argus watch $plain plain:turn
refused "not in\|in no function" argus step $plain plain:0x99999999
refused "not in\|no code" argus record -o a.trace --probe ./plain+0x99999999 -- true
refused "is no number\|form is\|no function" argus record -o a.trace --probe ./plain+turn -- true

# ---- 32-bit
if echo 'int main(void) { return 0; }' | gcc -m32 -x c -o can - 2>/dev/null && ./can; then
	gcc -m32 -O2 -o small plain.c
	./small &
	small=$!
	pids="$pids $small"
	started() { grep -q small /proc/$small/maps; }
	wait_until 10 started
	refused "32-bit" argus watch $small turns
	refused "32-bit" argus step $small small:turn
	kill $small
fi

# ---- traced already: nobody is in the way
strace -o /dev/null -p $plain 2>strace.txt &
tracer=$!
pids="$pids $tracer"
is_traced() { grep -q '^TracerPid:.*[1-9]' /proc/$plain/status; }
wait_until 10 is_traced
argus step $plain plain:turn --most 20 --duration 20s -o traced.step >out 2>&1 || fail "a traced process: $(cat out)"
argus step --show traced.step | matches 'turn' || fail "nothing stepped of a traced process"
kill $tracer
wait $tracer 2>/dev/null || true

# ---- under seccomp: it allows few calls, and is stepped as any other
./plain strict &
strict=$!
pids="$pids $strict"
is_strict() { grep -q '^Seccomp:[[:space:]]*1' /proc/$strict/status; }
wait_until 20 is_strict
argus step $strict plain:turn --most 20 --duration 20s -o strict.step >out 2>&1 || fail "under seccomp: $(cat out)"
argus step --show strict.step | matches turn || fail "nothing stepped under seccomp"
kill -0 $strict || fail "it did not survive"
