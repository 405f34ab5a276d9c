#!/bin/bash
# argus now: what a snapshot tells of a stop's signal and of watched files, and a longer look of what a sleeping loop looks for.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

mkdir folder
started=()
trap 'kill -CONT "${started[@]}" 2>/dev/null || true; kill -KILL "${started[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT

# a watcher of a folder in which another process has a file open, and is stopped
python3 -c '
import time
file = open("folder/file", "w")
open("ready", "w")
time.sleep(1000)' & writer=$!
started+=("$writer")
wait_until 20 test -e ready
python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0)
assert libc.inotify_add_watch(fd, b"folder", 0x10a) > 0
os.read(fd, 4096)' & watcher=$!
started+=("$watcher")
kill -STOP $writer
asleep() { [ "$(cut -d' ' -f1 /proc/$watcher/syscall)" = 0 ]; }
wait_until 20 asleep
argus now $watcher >said.txt && fail "the watcher is not stuck: $(cat said.txt)"
tr '\n' ' ' <said.txt >line.txt
grep -q "waits for changes of $(pwd -P)/folder, which python3 (pid $writer) has open for writing" line.txt || fail "$(cat said.txt)"
grep -q 'It was stopped by SIGSTOP' line.txt || fail "$(cat said.txt)"

# loops that sleep: by a call of their own, by a child, and that look whether a process lives
python3 -c '
import os, time
while not os.path.exists("folder/never"): time.sleep(0.3)' & finder=$!
started+=("$finder")
bash -c 'until mkdir folder 2>/dev/null; do sleep 0.3; done' & maker=$!
started+=("$maker")
bash -c "while kill -0 $writer; do sleep 0.3; done" & keeper=$!
started+=("$keeper")
sleeps() { pgrep -P "$1" -x sleep >/dev/null; }
at_it() { [ "$(cut -d' ' -f1 /proc/$finder/syscall)" = 230 ] && sleeps $maker && sleeps $keeper; }
wait_until 20 at_it
argus now $finder >said.txt && fail "the loop is not stuck: $(cat said.txt)"
tr '\n' ' ' <said.txt | grep -q 'looks for folder/never, which is not there' || fail "$(cat said.txt)"
argus now $maker >said.txt && fail "the script is not stuck: $(cat said.txt)"
tr '\n' ' ' <said.txt | grep -q 'tries to make folder, which is there already' || fail "$(cat said.txt)"
argus now $keeper >said.txt && fail "the script is not stuck: $(cat said.txt)"
tr '\n' ' ' <said.txt | grep -q "looks whether python3 (pid $writer) lives, which it does" || fail "$(cat said.txt)"
