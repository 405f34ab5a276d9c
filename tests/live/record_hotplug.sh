#!/bin/bash
# A processor goes off line and comes back: what runs there afterwards is
# recorded as before, with samples and whole stacks.
# alone: takes processors away
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc taskset

switch=/sys/devices/system/cpu/cpu1/online
[ "$(cat $switch 2>/dev/null)" = 1 ] || skip "processor 1 cannot go off line: $switch"
recorder='' program=''
trap 'echo 1 >$switch; kill $recorder $program 2>/dev/null || true' EXIT

# events TYPE COMM: those of processor 1
events() { argus dump -e "$1" --comm "$2" t.trace 2>/dev/null | grep -E '^[^[]*\[1\]'; }

cat >after.c <<'END'
#include <time.h>
__attribute__((noinline)) int nap_inner(int n)
{
	struct timespec t = { 0, 2000000 };
	nanosleep(&t, 0);
	return n + 1;
}
__attribute__((noinline)) int spin(void)
{
	struct timespec now, from;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000l + now.tv_nsec - from.tv_nsec < 20000000);
	return 0;
}
int main(void)
{
	int n = 0;
	for (int i = 0; i < 10; i++)
		n += nap_inner(i) + spin();
	return n == 1;
}
END
gcc -O2 -fomit-frame-pointer -o after after.c

argus record -a -o t.trace 2>log &
recorder=$!
wait_until 60 test -s t.trace
grown() { [ "$(stat -c %s t.trace)" -gt "$1" ]; }
wait_until 60 grown 4096
echo 0 >$switch || skip "processor 1 cannot go off line"
[ "$(cat $switch)" = 0 ] || fail "processor 1 did not go"
taskset -c 0 ./after
echo 1 >$switch
# the recorder looks once a second
sampled() {
	taskset -c 1 ./after
	[ -n "$(events sample after)" ]
}
wait_until 30 sampled
# ... and the loader of mappings twice; a program that is new each time
n=0
written() { # all its ten naps, which come to the file later
	argus dump --stacks --comm "again$n" -e switch t.trace >own.txt 2>/dev/null
	[ "$(grep -c ' state=sleeping ' own.txt)" -ge 10 ]
}
whole() {
	n=$((n + 1))
	cp after "again$n"
	taskset -c 1 "./again$n"
	wait_until 30 written
	grep -q "nap_inner (again$n)" own.txt && ! grep -q '\.\.\. ' own.txt
}
wait_until 30 whole
kill -INT $recorder
wait $recorder || fail "status $?: $(cat log)"
[ -n "$(events switch after)" ] || fail "no switches on processor 1"
