#!/bin/bash
# The flight recorder: one instance, commands, a ring of files, and what goes wrong around it.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true; umount small tiny 2>/dev/null || true' EXIT

status() { argus status --json >status.json && json status.json "d['$1']"; }
# holds TRACE PATTERN: a line of its dump, state included
holds() { argus dump --state "$1" >dump.txt && grep -q -- "$2" dump.txt; }
says() { local text=$1; shift; ! "$@" >out 2>&1 || fail "succeeded: $*"; grep -q "$text" out || fail "no '$text' in: $(cat out)"; }

# nothing runs
says 'no recorder is running' argus stop
says 'no recorder is running' argus status
says 'no recorder is running' argus mark x
says 'no recorder is running' argus snap -o x.trace
[ ! -e x.trace ] || fail "a snap of nothing left a file"
says 'at least 4M' argus start --dir "$ring" --size 1M
says 'lean or full' argus start --dir "$ring" --level more

# one runs, and only one
argus start --dir "$ring" --size 8M --level full --no-stacks 2>/dev/null
[ "$(stat -c %a "$ARGUS_RUNTIME_DIR/control")" = 600 ] || fail "the socket is open to others"
says 'running already' argus start --dir "$ring"
argus status >/dev/null
argus mark "first remark" 2>/dev/null
argus mark "second
remark"
says 'needs a text' argus mark
says 'needs a text' argus mark ' '

# other users are refused
if command -v setpriv >/dev/null; then
	# a copy that others can reach, wherever the build is
	other=$(mktemp -d)
	chmod 755 "$other"
	cp "$ARGUS" "$other/argus"
	says 'another user' setpriv --reuid 65534 --regid 65534 --clear-groups env ARGUS_RUNTIME_DIR="$ARGUS_RUNTIME_DIR" "$other/argus" status
	rm -r "$other"
fi

# a snap while it records
argus snap -o snap.trace 2>/dev/null
argus dump snap.trace >snap.txt
grep -q 'mark "first remark"' snap.txt || fail "the remark is not in the snap"
grep -q 'mark "second remark"' snap.txt || fail "the second remark is not in the snap"
holds "snap.trace" ' machine ' || fail "the snap cannot be read alone"
[ "$(stat -c %a snap.trace)" = 600 ] || fail "the snap is open to others"
[ "$(status state)" = recording ] || fail "the snap ended the recording"

# the ring's files follow each other and stay below the limit
fill() { dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null; }
# (the newest gets its head with the first events; the oldest may be gone meanwhile)
stands_alone() { [ ! -e "$1" ] || holds "$1" ' machine '; }
files() { [ "$(status bytes_written)" -gt 2500000 ] || { fill; false; }; }
wait_until 60 files
[ "$(status ring_files)" -ge 2 ] || fail "there is only one file"
[ "$(status lost)" = 0 ] || fail "events were lost"
for file in "$ring"/argus-*.trace; do
	wait_until 20 stands_alone "$file"
done
argus snap --last 1s -o last.trace 2>/dev/null
argus dump last.trace >/dev/null

# a full disk under a snap: words, no debris, recording goes on
if mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	says 'small/s.trace' argus snap -o small/s.trace
	[ ! -e small/s.trace ] || fail "half a snap was left"
	umount small
	[ "$(status state)" = recording ] || fail "a full disk under a snap ended the recording"
fi

# the folder vanishes
rm -rf "$ring"
again() { [ -d "$ring" ] && [ "$(status files_vanished)" -ge 1 ] && [ "$(status state)" = recording ]; }
wait_until 20 again
argus mark "after the folder" 2>/dev/null
argus snap -o after.trace 2>/dev/null
holds after.trace 'after the folder' || fail "the new file has no events"
argus stop 2>/dev/null
says 'no recorder is running' argus status
holds "$ring" 'after the folder' || fail "the ring cannot be read after the end"

# a question that names no trace is asked of the ring that was written last
argus hangs >out 2>said || fail "no answer after the end: $(cat said)"
grep -qF "the ring that the last one wrote, '$ring'" said || fail "it does not say of which: $(cat said)"

# a helper of a recorder that was killed holds the lock until it ends, too
holds_lock_until_opened() {
	exec 9<>"$ARGUS_RUNTIME_DIR/lock"
	flock 9
	true & wait $!          # a process that is no more
	echo $! >&9
	: >held
	wait_until 30 lock_is_opened
}
lock_is_opened() { # by another that starts
	local pid
	for pid in $(pgrep -x argus); do
		find "/proc/$pid/fd" -lname "$ARGUS_RUNTIME_DIR/lock" 2>/dev/null | matches . && return 0
	done
	return 1
}
holds_lock_until_opened & holder=$!
wait_until 20 test -e held
argus start --dir "$ring" --size 8M --no-stacks 2>said || fail "refused by the lock of one that is gone: $(cat said)"
wait $holder || fail "it did not open the lock"
argus stop 2>/dev/null

# a runtime folder told relative to where one is
(
	export ARGUS_RUNTIME_DIR=here
	argus start --dir "$ring" --size 8M --no-stacks 2>/dev/null
	says 'running already' argus start --dir "$ring"
	argus stop 2>/dev/null
	[ ! -e here/control ] || fail "the socket was left"
)

# a terminal that goes away does not end it
{ setsid bash -c 'argus start --dir "$1" --size 8M --no-stacks 2>/dev/null; kill -HUP 0' sh "$ring"; } 2>/dev/null || true
[ "$(status state)" = recording ] || fail "the hang-up ended it"
argus stop 2>/dev/null

# a disk that fills under the ring: it says so, makes room, and goes on
if mkdir tiny && mount -t tmpfs -o size=3m none tiny 2>/dev/null; then
	argus start --dir "$WORK/tiny/ring" --size 8M --level full --no-stacks 2>/dev/null
	# somebody else takes what is left
	interrupted() { [ "$(status interruptions)" -ge 1 ] || { dd if=/dev/zero of=tiny/rest bs=64k oflag=append conv=notrunc 2>/dev/null; fill; false; }; }
	wait_until 60 interrupted
	rm -f tiny/rest
	argus status --json >status.json
	[[ $(json status.json "d['last_failure']") == *tiny* ]] || fail "the words do not name the disk"
	resumed() { [ "$(status state)" = recording ]; }
	wait_until 30 resumed
	argus stop 2>/dev/null
	umount tiny
fi

# killed at any moment: the ring is readable, no program stays, start works again
for round in 1 2 3 4 5; do
	argus start --dir "$ring" --size 8M --level full --no-stacks 2>/dev/null
	pid=$(status pid)
	argus mark "round $round" 2>/dev/null
	fill
	kill -9 "$pid"
	gone() { ! kill -0 "$pid"; }
	wait_until 10 gone
	argus dump "$ring" >/dev/null || fail "the ring is not readable after a kill"
done
argus start --dir "$ring" --size 8M --no-stacks 2>/dev/null
argus stop 2>/dev/null

# a hang that is seen saves itself
argus start --dir "$ring" --size 8M --no-stacks --on-command 'test -e hung' --every 1s --on-unread 2s 2>/dev/null
python3 - <<'PY' &
import os, socket, time
a, b = socket.socketpair()
for i in range(40):
    a.send(b'x')
    if i < 30:
        b.recv(1)
    time.sleep(0.1)
time.sleep(15)
PY
reader=$!
saved() { ls "$ring"/saved/hang-*.trace; }
seen() { argus snap -o seen.trace 2>/dev/null && holds seen.trace "mark.*process $reader leaves"; }
wait_until 40 seen
wait_until 40 saved
for file in "$ring"/saved/*.trace; do
	wait_until 20 holds "$file" ' mark .*leaves'
done
kill $reader
argus stop 2>/dev/null
