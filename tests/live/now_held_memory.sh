#!/bin/bash
# A process that holds the lock of its memory for ever, so that to read it would never end: argus now
# answers all the same, says whose server it waits for, and that its memory was not read.
. "$HERE/live/_lib.sh"
need_bpf

mkdir folder
"$BUILD/tests/held_memory" folder >pid.txt 2>said.txt & pid=$!
end() { xargs -r kill -KILL <"/proc/$pid/task/$pid/children" 2>/dev/null || true; kill -KILL $pid 2>/dev/null || true; umount -l folder 2>/dev/null || true; wait $pid || true; }
trap end EXIT
waits() { ! kill -0 $pid 2>/dev/null || grep -q fuse_file_mmap /proc/$pid/stack 2>/dev/null; }
wait_until 20 waits
kill -0 $pid 2>/dev/null || skip "it cannot be set up here: $(cat said.txt)"
server=$(cat /proc/$pid/task/$pid/children)
got=0
argus now --json $pid >now.json 2>notes.txt || got=$?
[ $got = 1 ] || fail "status $got: $(cat notes.txt)"
[ "$(json now.json 'd["threads"][0]["answer"]["culprit"]["pid"]')" = ${server% } ] || fail "$(cat now.json)"
[ "$(json now.json 'd["unread"] > 0')" = True ] || fail "nothing is said of the memory that was not read: $(cat notes.txt)"
says notes.txt 'could not be read' || fail "$(cat notes.txt)"
