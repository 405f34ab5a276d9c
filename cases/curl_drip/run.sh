#!/bin/bash
# curl gets its answer in drops: a byte, a pause, a byte. No wait is long.
. "$(dirname "$0")/../lib.sh"

cat >"$W/server.py" <<'PY'
import socket
import sys
import time
listener = socket.create_server(('127.0.0.1', 18313))
open(sys.argv[1], 'w').write('x')
while True:
    client, _ = listener.accept()
    client.recv(1000)
    client.sendall(b'HTTP/1.0 200 OK\r\nContent-Length: 30\r\n\r\n')
    for _ in range(30):
        time.sleep(float(sys.argv[2]))
        client.sendall(b'x')
    client.close()
PY
buggy && n=0.2 || n=0.02
background /usr/bin/python3 "$W/server.py" "$W/up" $n
actor root_server "$LAST"
wait_for 50 "[ -s $W/up ]"
timed "$W/victim" 30 curl -s -o /dev/null http://127.0.0.1:18313/ &
finish curl
