#!/bin/bash
# curl: the server's process listens, but sleeps and does not accept: its queue is full, and the
# connection is not made until it does.
. "$(dirname "$0")/../lib.sh"

buggy && sleep=6 || sleep=0
cat >"$W/server.py" <<'PY'
import socket, sys, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', 18121))
listener.listen(0)
open(sys.argv[1], 'w').write('1')
time.sleep(float(sys.argv[2]))
while True:
    connection, _ = listener.accept()
    connection.recv(1000)
    connection.sendall(b'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok')
    connection.close()
PY
background /usr/bin/python3 "$W/server.py" "$W/up" "$sleep"
actor root_server "$LAST"
wait_for 50 "[ -s $W/up ]"
background curl -s -o /dev/null http://127.0.0.1:18121/
background curl -s -o /dev/null http://127.0.0.1:18121/
sleep 0.3
timed "$W/victim" 30 curl -s -o /dev/null http://127.0.0.1:18121/ &
finish curl
