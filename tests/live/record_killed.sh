#!/bin/bash
# kill -9 at any moment: no BPF program stays, at most the last second is lost.
. "$HERE/live/_lib.sh"
need_bpf
need_command bpftool

programs_of() { awk '$1 == "prog_id:" { print $2 }' /proc/"$1"/fdinfo/* 2>/dev/null | sort -u || true; } # (some are closed meanwhile)
none_left() {
	local id
	for id in $(cat ids); do
		! PATH=$PATH:/usr/sbin bpftool prog show id "$id" >/dev/null 2>&1 || return 1
	done
}

for delay in 0.3 1.7 3.1; do
	rm -f k.trace
	argus record -a -o k.trace 2>/dev/null &
	recorder=$!
	wait_until 60 test -s k.trace
	# some life on the machine, and some of it in the file
	end=$(python3 -c "import time; print(time.monotonic() + $delay)")
	until python3 -c "import sys, time; sys.exit(time.monotonic() < $end)"; do true; done
	programs_of $recorder >ids
	[ -s ids ] || fail "the recorder holds no programs"
	killed=$(python3 -c 'import time; print(time.monotonic_ns())')
	kill -9 $recorder
	wait $recorder 2>/dev/null || true
	wait_until 20 none_left
	argus info --json k.trace >info || fail "the trace cannot be read after kill -9"
	[ "$(json info 'd["complete"]')" = False ] || fail "the trace claims to be complete"
	# (a recording that lasted less than a second may have kept nothing)
	[ $delay = 0.3 ] || [ "$(json info 'd["events"] > 0')" = True ] || fail "nothing was kept"
	[ $delay = 0.3 ] || json info "'last second' if $killed - (d['start_ns'] + d['duration_ns']) < 1.2e9 else 'more'" >kept
	[ $delay = 0.3 ] || [ "$(cat kept)" = 'last second' ] || fail "more than the last second is lost"
	argus dump k.trace | tail -1 >/dev/null
done
