#!/bin/bash
# What was stopped and goes on waits for what it waited for before, though the kernel has it in restart_syscall:
# a poll, a futex and a sleep, each with a time limit, as the recorder sees them and as /proc tells.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

cat >waits.py <<'END'
import ctypes, os, select, threading
sleep = ctypes.CDLL(None).sleep     # relative; Python's own is not
poll = select.poll()
poll.register(os.pipe()[0])
ready = threading.Event()
threads = [threading.Thread(target=t, daemon=True) for t in (
    lambda: poll.poll(1000000), lambda: ready.wait(1000), lambda: sleep(1000))]
for t in threads:
    t.start()
print(*(t.native_id for t in threads), flush=True)
threads[0].join()
END
python3 waits.py >tids & program=$!
trap 'kill -KILL $program 2>/dev/null || true' EXIT
wait_until 30 test -s tids
read -r polls waits sleeps <tids
state() { sed 's/.*) //' "/proc/$program/task/$1/stat" | cut -c1; }
all_are() { for tid in $polls $waits $sleeps; do [ "$(state "$tid")" = "$1" ] || return 1; done; }
in_call() { # the number of the call that each is in
	local tid
	for tid in $polls $waits $sleeps; do
		[ "$(cut -d' ' -f1 "/proc/$program/task/$tid/syscall")" = "$1" ] || return 1
	done
}
asleep() { all_are S && [ "$(cut -d' ' -f1 "/proc/$program/task/$sleeps/syscall")" = 230 ]; }
wait_until 30 asleep
kill -STOP $program
wait_until 30 all_are T
kill -CONT $program
wait_until 30 in_call 219

argus record --pid $program --duration 300ms -o t.trace 2>/dev/null
argus dump t.trace -e waiting >waiting
for want in "$polls poll" "$waits futex" "$sleeps sleep"; do
	matches " ${want% *} waiting .*wait=${want#* }" <waiting || fail "not ${want#* }: $(cat waiting)"
done
