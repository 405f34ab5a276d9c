#!/bin/bash
# In a memory group that is too small a command says so and how to ask for less; the
# kernel kills nothing. What needs little works there.
. "$HERE/live/_lib.sh"
[ "$(id -u)" = 0 ] || skip "making a control group needs root"
if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
	group=/sys/fs/cgroup/memory/argus-test-$$ limit=memory.limit_in_bytes
else
	group=/sys/fs/cgroup/argus-test-$$ limit=memory.max
fi
mkdir "$group" 2>/dev/null || skip "no control group can be made here"
trap 'rmdir "$group"' EXIT
[ -e "$group/$limit" ] || skip "there are no memory groups"

# A million waits and wake-ups of two threads.
awk 'BEGIN {
	print "1 [0] 10 task pid=10 \"asks\"\n1 [0] 20 task pid=20 \"answers\""
	for (i = 0; i < 500000; i++) {
		t = 1 + i / 10000
		printf "%.6f [0] 10 switch next=0 state=sleeping wait=futex object=futex:1 syscall=futex\n", t
		printf "%.6f [1] 20 wake target=10\n", t + .00002
		printf "%.6f [0] 0 switch next=10\n", t + .00003
	}
}' >text
argus import --text text -o trace

# in_group MIB COMMAND...: its status; what it says goes into `out` and `err`
in_group() {
	echo $(($1 << 20)) >"$group/$limit"
	shift
	status=0
	(echo "$BASHPID" >"$group/cgroup.procs" && exec "$@") >out 2>err || status=$?
}

in_group 24 argus graph trace
[ $status = 1 ] || fail "status $status: $(cat err)"
matches "argus graph: memory runs out: .* control group .*argus-test-.*argus snap --last" err || fail "$(cat err)"

in_group 24 argus info trace
[ $status = 0 ] || fail "info: status $status: $(cat err)"
in_group 24 argus dump --from -1s trace
[ $status = 0 ] || fail "dump: status $status: $(cat err)"
[ "$(wc -l <out)" -gt 20000 ] || fail "dump wrote $(wc -l <out) lines"
in_group 512 argus graph trace
[ $status = 0 ] || fail "graph: status $status: $(cat err)"
