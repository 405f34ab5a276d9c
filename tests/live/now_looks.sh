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
says line.txt "waits for changes of $(pwd -P)/folder, which python3 (pid $writer) has open for writing" || fail "$(cat said.txt)"
says line.txt 'was stopped by SIGSTOP' || fail "$(cat said.txt)"

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
says said.txt 'looks for folder/never, which is not there' || fail "$(cat said.txt)"
argus now $maker >said.txt && fail "the script is not stuck: $(cat said.txt)"
says said.txt 'tries to make folder, which is there already' || fail "$(cat said.txt)"
argus now $keeper >said.txt && fail "the script is not stuck: $(cat said.txt)"
says said.txt "looks whether python3 (pid $writer) lives, which it does" || fail "$(cat said.txt)"

# who asks again and again, and is answered, though not what it waits for: the server's child, which is to prepare that, waits for a lock
cat >server.py <<'X'
import fcntl, os, socket
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
server = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    lock.close()  # as its parent ends, so does it
    own = open("lock", "w")
    open("port", "w").write(str(server.getsockname()[1]))
    server.close()
    fcntl.flock(own, fcntl.LOCK_EX)
    os._exit(0)
while True:
    client = server.accept()[0]
    while client.recv(10):
        client.sendall(b"no")
X
python3 server.py & server=$!
started+=("$server")
wait_until 20 test -s port
python3 -c '
import socket, time
server = socket.create_connection(("127.0.0.1", int(open("port").read())))
while True:
    server.sendall(b"?")
    server.recv(10)
    open("asked", "w")
    time.sleep(0.2)' & asker=$!
started+=("$asker")
wait_until 20 test -e asked
argus now $asker >said.txt || fail "it is answered, and may do well: $(cat said.txt)"
says said.txt 'asks over TCP socket .*, and is answered.* may be meant: perhaps because of python3' || fail "$(cat said.txt)"

# beside a recorder in the background, which sees no calls, the longer look is taken all the same
argus start --dir "$WORK/ring" --size 16M 2>/dev/null
trap 'argus stop >/dev/null 2>&1 || true; kill -CONT "${started[@]}" 2>/dev/null || true; kill -KILL "${started[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT
recorded() { argus status >/dev/null; }
wait_until 60 recorded
# of a recording that has only begun there is too little of it
looked() { ! argus now $finder >said.txt && says said.txt 'looks for folder/never, which is not there'; }
wait_until 40 looked
