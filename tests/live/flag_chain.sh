#!/bin/bash
# A loop that polls a flag, in stripped programs: step it in a good run and in a bad one,
# compare, watch what the comparison names; at its end stands the thread that wrote the
# flag. Recorders that are killed while they step leave the program as it was.
. "$HERE/live/_lib.sh"
need_bpf
need_command strip objdump
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"
strip -o victim "$BUILD/tests/flag_poll"
pid=
trap '[ -z "$pid" ] || kill $pid' EXIT

run() { # own|heap [bad]
	: >out
	./victim "$@" >out &
	pid=$!
	has_begun() { [ -s out ]; }
	wait_until 10 has_begun
}
stop() {
	kill $pid
	wait $pid 2>/dev/null || true
	pid=
}

# where the loop is: what `argus now` or a recording's stack would show
address_of() { nm "$BUILD/tests/flag_poll" | sed -n "s/^\([0-9a-f]*\) . $1\$/0x\1/p"; }

for kind in own heap; do
	function=wait_done
	[ $kind = own ] || function=wait_finished
	run $kind
	argus step $pid "$(address_of $function)" --most 1200 --duration 20s -o base.step 2>notes || fail "good: $(cat notes)"
	stop
	run $kind bad
	argus step $pid "$(address_of $function)" --most 300 --duration 20s -o buggy.step 2>notes || fail "bad: $(cat notes)"
	stop
	argus step --show base.step >shown
	grep -q ' times$' shown || fail "no loop: $(head shown)"
	grep -q ' returns 0x' shown || fail "no return: $(head shown)"
	argus diverge --json base.step buggy.step >diverge.json || fail "diverge $kind"
	argus diverge base.step buggy.step | matches 'argus watch PID' || fail "no next step"
	place=$(json diverge.json "d['origins'][0]['watch']")
	case $kind in
	own) [[ $place = */victim:0x*%4 ]] || fail "place $place" ;;
	heap) [[ $place = */victim:0x*'->24->28%4' ]] || fail "place $place" ;;
	esac
	run $kind
	argus watch $pid "$place" --duration 2s --json >watch.json 2>notes || fail "watch $place: $(cat notes)"
	stop
	[ "$(json watch.json "any(v['value'] == 1 and v['tid'] != d['watches'][0]['pid'] for v in d['watches'][0]['visitors'])")" = True ] ||
		fail "the writer of $place: $(head -c 2000 watch.json)"
done

# ---- killed at any moment
run own
for _ in $(seq 12); do
	argus step $pid "$(address_of wait_done)" -o killed.step >/dev/null 2>&1 &
	recorder=$!
	sleep "0.$((RANDOM % 90 + 10))"
	kill -9 $recorder
	wait $recorder 2>/dev/null || true
done
kill -0 $pid || fail "the program did not survive"
[ "$(sed -n 's/^State:\t\(.\).*/\1/p' /proc/$pid/status)" != T ] || fail "the program is stopped"
original() { # its code is the file's again, byte for byte
	python3 - $pid "$PWD/victim" <<'P'
import sys
pid, path = sys.argv[1:]
file = open(path, "rb").read()
for line in open(f"/proc/{pid}/maps"):
    part = line.split()
    if part[-1] == path and "x" in part[1]:
        start, end = (int(x, 16) for x in part[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory:
            memory.seek(start)
            code = memory.read(end - start)
        offset = int(part[2], 16)
        sys.exit(code[:len(file) - offset] != file[offset:offset + end - start])
sys.exit(2)
P
}
wait_until 10 original
argus step $pid "$(address_of wait_done)" --most 20 -o again.step >/dev/null 2>&1 || fail "it cannot be stepped again"

# ---- what cannot be
refused() { # WORDS ARGUMENT...
	local words=$1 status=0
	shift
	argus "$@" >refusal 2>&1 || status=$?
	{ [ $status = 1 ] || [ $status = 2 ]; } || fail "status $status: $*: $(cat refusal)"
	grep -q -- "$words" refusal || fail "words about $*: $(cat refusal)"
}
refused "no process" step 4194304 main
refused "has no function" step $pid no_such_function
refused "in no function" step $pid 0x10
refused "has not mapped" step $pid nofile:f
refused "holds no steps" step --show "$(argus record -o none.trace -- true 2>/dev/null; echo none.trace)"
refused "never part" diverge buggy.step buggy.step
