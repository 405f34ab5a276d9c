#!/bin/bash
# A thread out of its group's quota is known to be throttled, with the quota.
. "$HERE/live/_lib.sh"
need_bpf

group=
drop() { [ -z "$group" ] || rmdir "$group" 2>/dev/null || true; }
trap drop EXIT
if [ -w /sys/fs/cgroup/cpu/cpu.cfs_quota_us ] || [ -d /sys/fs/cgroup/cpu ]; then
	group=/sys/fs/cgroup/cpu/argus-test-$$
	mkdir "$group" 2>/dev/null || { group=; skip "no control group can be made"; }
	{ echo 100000 >"$group/cpu.cfs_period_us" && echo 20000 >"$group/cpu.cfs_quota_us"; } 2>/dev/null || skip "no quota can be set"
else
	group=/sys/fs/cgroup/argus-test-$$
	mkdir "$group" 2>/dev/null || { group=; skip "no control group can be made"; }
	echo '20000 100000' >"$group/cpu.max" 2>/dev/null || skip "no quota can be set"
fi

argus record --stacks none -o t.trace -- sh -c "echo \$\$ >$group/cgroup.procs; exec timeout 2 sh -c 'while :; do :; done'" 2>/dev/null || true
argus dump t.trace >dump
grep -E 'throttle .*quota_ns=20ms period_ns=100ms .*throttled=1' dump >/dev/null || fail "no quota was seen to be used up"
grep -E 'switch .*wait=throttled .*flags=.*throttled' dump >/dev/null || fail "no thread was seen to be throttled"
begins=$(grep -cE ' throttle .*throttled=1' dump)
ends=$(grep -E ' throttle ' dump | grep -vc 'throttled=1')
[ $((begins - ends)) -ge 0 ] && [ $((begins - ends)) -le 2 ] || fail "$begins begins, $ends ends"
wait_until 10 rmdir "$group"
argus dump --text t.trace | grep -E ' cgroup .*quota_ns=20ms period_ns=100ms' >/dev/null || fail "the group's quota is not in the snapshots"
