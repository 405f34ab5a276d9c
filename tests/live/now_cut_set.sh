#!/bin/bash
# argus now: an epoll set that holds more than a snapshot tells is said to.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

cat >many.py <<'P'
import os, resource, select, socket
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
server = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    client = socket.create_connection(server.getsockname())
    client.sendall(b"?")
    open("client", "w").write(str(os.getpid()))
    client.recv(1)
    os._exit(0)
pairs = [socket.socketpair() for _ in range(1100)]
poll = select.epoll()
for pair in pairs:
    poll.register(pair[0], select.EPOLLIN)
connection = server.accept()[0]
connection.recv(1)
poll.register(connection, select.EPOLLIN)
open("ready", "w")
poll.poll()
P
python3 many.py & server=$!
trap 'kill -KILL "$server" "$(cat client)" 2>/dev/null || true; wait 2>/dev/null || true' EXIT
wait_until 20 test -e ready
wait_until 20 test -s client
asleep() { [ "$(cut -d' ' -f1 "/proc/$server/syscall")" = 232 ]; }
wait_until 20 asleep
argus now "$(cat client)" >said.txt 2>notes.txt || true
grep -q "listens to [0-9]* things, as many as a snapshot tells of one epoll set" notes.txt || fail "$(cat said.txt notes.txt)"
