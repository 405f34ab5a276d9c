#!/bin/bash
# A recording begins and ends at once for all that is recorded: programs that run
# before it and go on behind it have no time in which their switches are recorded
# and their messages are not.
. "$HERE/live/_lib.sh"
need_bpf
need_command perf

# in a group of its own: the one process outlives the other when that alone is killed
setsid perf bench sched pipe -l 100000000 >/dev/null &
bench=$!
trap 'kill -- -$bench; wait' EXIT
argus record -a --level full -o t.trace --duration 500ms
argus dump --comm 'sched-pipe' -e switch,message t.trace | awk '
	/ switch / { if (messages) behind++; else before++ }
	/ message / { messages++; behind = 0 }
	END { print before + 0, messages + 0, behind + 0 }' >counts
read -r before messages behind <counts
echo "$before switches, $messages messages, $behind switches"
[ "$messages" -gt 1000 ] || fail "too few messages to tell"
# two threads, each in the middle of a call
[ "$before" -le 4 ] && [ "$behind" -le 4 ] || fail "switches without messages: $before before, $behind behind"

# What the recorder starts to look at processes is known as its own: of its waits no causes are recorded.
recorder=$(argus dump --text t.trace | grep -aoE 'recorder_pid=[0-9]+' | head -1 | cut -d= -f2)
argus dump --state -e task t.trace | grep -E "parent=$recorder .*flags=leader.argus" >children || fail "no child of the recorder is known"
