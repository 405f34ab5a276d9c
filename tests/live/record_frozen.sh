#!/bin/bash
# A process that the freezer of control groups' version 2 holds: it is stopped,
# whatever it was doing, and `why` says so.
. "$HERE/live/_lib.sh"
need_bpf
group=
cleanup() {
	[ -z "$group" ] || echo 0 >"$group/cgroup.freeze" 2>/dev/null || true
	kill ${busy:-} ${sleeper:-} ${recorder:-} 2>/dev/null || true
	wait 2>/dev/null || true
	[ -z "$group" ] || rmdir "$group" 2>/dev/null || true
	umount groups 2>/dev/null || true
}
trap cleanup EXIT
mkdir groups
mount -t cgroup2 none groups 2>/dev/null || skip "the kernel does not let mount control groups of version 2"
group=groups/argus-test-$$
mkdir "$group" 2>/dev/null || skip "no control group can be made"
[ -e "$group/cgroup.freeze" ] || skip "the kernel has no freezer of version 2"

frozen() { grep -q "^frozen $1" "$group/cgroup.events"; }
bash -c 'while :; do :; done' & busy=$!
sleep 1000 & sleeper=$!
echo $busy >"$group/cgroup.procs"
echo $sleeper >"$group/cgroup.procs"
argus record -o t.trace 2>/dev/null & recorder=$!
seen() { argus dump --type switch --tid "$busy" t.trace 2>/dev/null | matches .; }
wait_until 60 seen
echo 1 >"$group/cgroup.freeze"
wait_until 10 frozen 1
sleep 2.5 # the hang itself
echo 0 >"$group/cgroup.freeze"
wait_until 10 frozen 0
kill -INT $recorder
wait $recorder || true

argus dump --type freeze t.trace >freezes
grep -q ' frozen=1 .*argus-test' freezes || fail "the freezer is not told: $(cat freezes)"
for pid in $busy $sleeper; do
	argus dump --type switch --tid $pid t.trace >switches
	grep -q ' state=frozen wait=stop' switches || fail "process $pid is not seen frozen: $(tail -3 switches)"
done
argus why --pid $busy t.trace >why
grep -qi 'stopped\|frozen' why || fail "why: $(cat why)"
