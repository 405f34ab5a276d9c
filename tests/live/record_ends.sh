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

# A command that does not end when it is asked to, or when the time is over: the recording does, is whole and said to be, while
# the command goes on; asked once more, it is left to itself.
cat >deaf.sh <<'END'
trap '' INT TERM
echo $$ >deaf.pid
while :; do sleep 0.1; done
END
left_to_itself() {
	argus record -o deaf.trace "$@" -- sh deaf.sh 2>said &
	local recorder=$!
	wait_until 20 test -s deaf.pid
	[ $# -gt 0 ] || kill -INT $recorder
	wait_until 20 grep -q "the command (pid $(cat deaf.pid)) still runs" said
	grep -q ' events, .* MB' said || fail "the recording is not told: $(cat said)"
	argus info deaf.trace >/dev/null || fail "the recording is not whole while the command runs"
	[ $# -eq 0 ] || kill -INT $recorder
	sed -n 's/.*still runs; \(.*\) leaves it to itself/\1/p' said
	# signals that come together are one
	while kill -INT $recorder 2>/dev/null; do sleep 0.1; done
	wait $recorder
	kill -0 "$(cat deaf.pid)" || fail "the command was not left to itself"
	kill -9 "$(cat deaf.pid)"
	rm -f deaf.pid said
}
left_to_itself
left_to_itself --duration 200ms
