#!/bin/bash
# Ctrl-C and SIGTERM end a recording cleanly; the command's status comes back.
. "$HERE/live/_lib.sh"
need_bpf

expect() { # expect STATUS COMMAND...
	local want=$1 status=0
	shift
	"$@" >out 2>&1 || status=$?
	[ $status = "$want" ] || fail "status $status, not $want: $* ($(tail -1 out))"
}

complete() {
	argus info --json "$1" >info
	[ "$(json info 'd["complete"]')" = True ] || fail "$1 was not closed"
}

expect 0 argus record -o a.trace -- true
complete a.trace
expect 7 argus record -o a.trace -- sh -c 'exit 7'
complete a.trace
[ -f a.trace.old ] || fail "the previous trace was not kept"
expect 143 argus record -o a.trace -- sh -c 'kill -TERM $$'
expect 127 argus record -o b.trace -- /nowhere/no-such-command

for signal in INT TERM; do
	for delay in 0 0.05 0.4 1.5; do
		rm -f s.trace
		# a shell starts what runs behind it with SIGINT ignored
		env --default-signal=INT argus record -a -o s.trace 2>log &
		recorder=$!
		wait_until 60 grep -qx argus /proc/$recorder/comm
		# at any moment, also while it starts
		sleep $delay
		kill -$signal $recorder
		status=0
		wait $recorder || status=$?
		# before it has begun there is nothing to keep
		[ -f s.trace ] || continue
		[ $status = 0 ] || fail "status $status after $signal at $delay s: $(tail -1 log)"
		complete s.trace
	done
done

# one sent to the recorder alone reaches the command
argus record -o c.trace -- sleep 1000 2>log &
recorder=$!
wait_until 60 pgrep -P $recorder -x sleep
kill -TERM $recorder
status=0
wait $recorder || status=$?
[ $status = 143 ] || fail "status $status, not the command's"
complete c.trace

# the time is over before the command
expect 3 argus record --duration 200ms -o d.trace -- sh -c 'sleep 4; exit 3'
complete d.trace
[ "$(json info 'd["duration_ns"] < 3.9e9')" = True ] || fail "it went on after its time"
