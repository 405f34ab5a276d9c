#!/bin/bash
# A program runs from a file system that stops answering: whoever looks at its files now waits
# for ever and cannot be killed. Recorders end when they are told to all the same, their
# traces hold everything but the names that could not be had, and they say so. Nor do those
# who read such a trace wait for ever.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
cleanup() {
	argus stop >/dev/null 2>&1 || true
	kill -KILL ${server:-} ${program:-} ${recorder:-} ${reader:-} 2>/dev/null || true
	wait 2>/dev/null || true
	umount -l files 2>/dev/null || true
}
trap cleanup EXIT

# naps and computes a little in functions of its own
cat >program.c <<'END2'
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void compute_a_little(void) { for (int i = 0; i < 300000; i++) sum += (unsigned long)i; }
int main(void)
{
	struct timespec nap = { 0, 5000000 };
	for (;;) {
		compute_a_little();
		nanosleep(&nap, 0);
	}
}
END2
need_command gcc
gcc -O1 -o plain program.c
mkdir files
"$BUILD/tests/hanging_files" files plain >state.txt & server=$!
ready() { grep -q mounted state.txt || ! kill -0 $server; }
wait_until 20 ready
grep -q mounted state.txt || skip "the kernel does not let mount a file system in user space"
hang_up() { kill -USR1 $server; }

start_program() {
	files/program & program=$!
	runs() { [ "$(readlink /proc/$program/exe)" = "$WORK/files/program" ]; }
	wait_until 20 runs
}
gone() { ! kill -0 "$1"; }
# ended WHAT PID: it ends, however long the file system goes on hanging
ended() {
	wait_until 60 gone "$2"
	wait "$2" || fail "$1: $(cat err.txt)"
}
others_are_whole() {
	argus info --json "$1" >info.json || fail "$1 cannot be read"
	[ "$(json info.json 'd["events"]')" -gt 100 ] || fail "$1: hardly any events: $(argus info "$1")"
	argus dump -e exec "$1" | matches true || fail "$1: the programs started are missing"
}

# it answers while the recording begins, and hangs in the middle of it
start_program
argus record -o during.trace 2>err.txt & recorder=$!
seen() { argus dump --type switch --tid $program during.trace | matches .; }
wait_until 60 seen
hang_up
for _ in 1 2 3 4 5; do /bin/true; done
kill -INT $recorder
ended "hung during the recording" $recorder
others_are_whole during.trace

# it hangs before the recording begins
for signal in INT TERM; do
	argus record -o before-$signal.trace 2>err.txt & recorder=$!
	seen() { argus dump --type switch --tid $program before-$signal.trace | matches .; }
	wait_until 60 seen
	for _ in 1 2 3 4 5; do /bin/true; done
	kill -$signal $recorder
	ended "hung before the recording, SIG$signal" $recorder
	others_are_whole before-$signal.trace
	matches 'did not answer' <err.txt || fail "SIG$signal: nothing is said of it: $(cat err.txt)"
	matches "files/program" <err.txt || fail "SIG$signal: the file is not named: $(cat err.txt)"
	argus dump --type switch --tid $program before-$signal.trace | matches . || fail "the program itself was not recorded"
done
argus record --duration 1s -o limited.trace 2>err.txt & recorder=$!
ended "with a time limit" $recorder

# the recorder that is always on
argus start --dir "$WORK/ring" >err.txt 2>&1 & recorder=$!
ended "start" $recorder
for command in status "mark here" "snap -o snap.trace"; do
	# shellcheck disable=SC2086
	argus $command >out.txt 2>err.txt & recorder=$!
	ended "$command" $recorder
done
daemon=$(argus status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
argus stop >out.txt 2>err.txt & recorder=$!
ended "stop" $recorder
wait_until 20 gone "$daemon"

# whoever wants names
for command in "why" "hangs" "infer" "graph" "symbolize -o named.trace"; do
	# shellcheck disable=SC2086
	argus $command before-INT.trace >out.txt 2>err.txt & reader=$!
	wait_until 120 gone $reader
	wait $reader || [ $? -lt 126 ] || fail "$command: $(cat err.txt)"
done
