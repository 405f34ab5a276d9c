#!/bin/bash
# gzip is throttled: its neighbours in the same CPU cgroup eat the quota (cgroup v1 cpu, or v2 cpu.max).
. "$(dirname "$0")/../lib.sh"

if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
	group=/sys/fs/cgroup/cpu/arguscase$$
	mkdir "$group"
	echo 100000 >"$group/cpu.cfs_period_us"
	echo 40000 >"$group/cpu.cfs_quota_us"
else
	group=/sys/fs/cgroup/arguscase$$
	echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
	mkdir "$group"
	echo "40000 100000" >"$group/cpu.max"
fi
UNDO+=("for p in \$(cat $group/cgroup.procs); do kill -9 \$p; done; sleep 0.2
	for p in \$(cat $group/cgroup.procs); do echo \$p >${group%/*}/cgroup.procs; done; sleep 0.2; rmdir $group")

head -c 4000000 /dev/urandom >"$W/in"
if buggy; then
	for i in $(seq 16); do
		background bash -c "echo \$\$ >$group/cgroup.procs; exec sha256sum /dev/zero"
		actor "root_hog$i" $LAST
	done
	sleep 1
fi
timed "$W/victim" 39 bash -c "echo \$\$ >$group/cgroup.procs; exec gzip -k -c $W/in >$W/out" &
finish gzip
