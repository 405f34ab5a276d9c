#!/bin/bash
# Counts are honest: dump has as many lines as info says events, bytes are the
# file's, and switches and wake-ups of a workload are those that perf counts.
. "$HERE/live/_lib.sh"
need_bpf
need_command perf taskset

perf stat -e sched:sched_switch -- true >/dev/null 2>&1 || skip "perf cannot count trace points here"

check() { # check LEVEL
	# perf counts in the workload's own threads, from its exec on
	argus record -a --level "$1" -o t.trace -- perf stat -x, -o counts -e sched:sched_switch,sched:sched_waking -- \
		perf bench sched pipe -l 20000 >/dev/null
	argus info --json t.trace >info
	[ "$(json info 'd["lost"]')" = 0 ] || fail "events were lost"
	[ "$(json info 'd["events"]')" = "$(argus dump t.trace | wc -l)" ] || fail "info and dump disagree"
	[ "$(json info 'd["bytes"]')" = "$(stat -c %s t.trace)" ] || fail "info and the file's size disagree"

	argus dump --text t.trace >text
	python3 - counts text "$(json info 'd["duration_ns"]')" <<'END'
import sys
counts = {}
for line in open(sys.argv[1]):
    part = line.split(',')
    if len(part) > 2 and part[0].isdigit():
        counts[part[2].split(':')[-1]] = int(part[0])
# the workload: what perf stat started, and all it forked
root, family = None, set()
seen = {'switch': 0, 'wake': 0}
for line in open(sys.argv[2]):
    word = line.split(None, 4)
    tid, name = int(word[2]), word[3]
    rest = word[4] if len(word) > 4 else ''
    if name == 'task' and '"perf bench sched pipe -l 20000"' in rest and root is None:
        root = tid
        family.add(tid)
    if name == 'fork' and tid in family:
        family.add(int(rest.split('child=')[1].split()[0]))
    if tid in family and name in seen:
        seen[name] += 1
assert root, 'the workload was not seen to start'
for name, count in (('switch', counts['sched_switch']), ('wake', counts['sched_waking'])):
    # the edges: perf stops counting a thread before it has told its parent of
    # its end; and perf counts the timers that wake the recorder's own threads
    own = 4 + 100 * float(sys.argv[3]) / 1e9
    if not -own <= seen[name] - count <= 4 * len(family):
        sys.exit(f'{name}: argus has {seen[name]}, perf {count}')
    print(name, seen[name], count)
END
}
for level in lean full; do
	check $level
done
