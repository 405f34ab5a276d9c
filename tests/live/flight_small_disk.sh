#!/bin/bash
# A ring far larger than its disk: it keeps to what the disk has, goes on with the last
# of its history, says so, and grows when there is room.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
trap 'argus stop >/dev/null 2>&1 || true; umount small 2>/dev/null || true' EXIT
mkdir small
mount -t tmpfs -o size=6m none small 2>/dev/null || skip "no tmpfs can be mounted"

status() { argus status --json >status.json && json status.json "d['$1']"; }
fill() { dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null; }

argus start --dir "$WORK/small/ring" --level full --no-stacks 2>/dev/null
written() { [ "$(status bytes_written)" -gt 12000000 ] || { fill; false; }; }
wait_until 90 written
[ "$(status interruptions)" = 0 ] || fail "it was interrupted: $(argus status)"
[ "$(status ring_limit)" -lt 6291456 ] || fail "the ring may be larger than the disk: $(cat status.json)"
[ "$(status ring_files)" -ge 2 ] || fail "one file holds all: $(cat status.json)"
[ "$(status ring_bytes)" -gt 2000000 ] || fail "hardly any history is left: $(cat status.json)"
argus status | matches 'the disk allows only' || fail "no words about the disk: $(argus status)"
argus snap -o snap.trace 2>/dev/null
argus dump snap.trace >/dev/null

# What finds hangs in its files meanwhile keeps those open that go: it must not keep their room.
argus stop 2>/dev/null
ARGUS_INDEX_EVENTS=50000 argus start --dir "$WORK/small/ring" --level full --no-stacks 2>/dev/null
recorder=$(status pid)
held() {
	local pid
	pid=$(pgrep -P "$recorder" -f 'index --background') && kill -STOP "$pid" || { fill; false; return; }
	find "/proc/$pid/fd" -lname '*/ring/argus-*' 2>/dev/null | matches . && return
	kill -CONT "$pid" 2>/dev/null
	false
}
wait_until 60 held
until_there=$(($(status bytes_written) + 12000000))
written() { [ "$(status bytes_written)" -gt $until_there ] || { fill; false; }; }
wait_until 90 written
[ "$(status interruptions)" = 0 ] || fail "it was interrupted while its index was made: $(argus status)"

mount -o remount,size=64m small
grown() { [ "$(status ring_limit)" -gt 20000000 ]; }
wait_until 20 grown
argus stop 2>/dev/null
