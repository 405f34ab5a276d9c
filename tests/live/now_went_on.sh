#!/bin/bash
# argus now: who went on, or ended, while it was asked about is told with what it waited for; who is not there, at once.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

mkfifo fifo
cat >reader.py <<'END'
import sys, time
with open('fifo') as came:
    came.read()
if sys.argv[1] == 'stay':
    time.sleep(1000)
END
is_seen() { argus dump --state -e waiting --pid $pid now.trace | grep -q wait=read; }
ask() {
	python3 reader.py "$1" & pid=$!
	exec 9>fifo
	trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null || true' EXIT
	wait_until 20 grep -q pipe_read /proc/$pid/wchan
	sleep 3 # at least: it is told of a wait of a second or more, by two processors' clocks, of which one may be late
	rm -f now.trace
	argus now --for 6s -o now.trace $pid >now.txt 9>&- & asking=$!
	wait_until 20 is_seen
	exec 9>&-
	wait $asking || true
}

ask end
says now.txt "python3 (pid $pid): it has ended since this was asked; when it was, it waited, for" || fail "$(cat now.txt)"
says now.txt 'waiting to read' || fail "not what it waited for: $(cat now.txt)"
ask stay
says now.txt 'It went on while this was asked. Till then:' || fail "$(cat now.txt)"
says now.txt 'waiting to read' || fail "not what it waited for: $(cat now.txt)"

status=0
argus now 2147483647 2>said.txt >/dev/null || status=$?
[ $status = 2 ] || fail "status $status"
says said.txt 'there is no process or thread 2147483647' || fail "$(cat said.txt)"
