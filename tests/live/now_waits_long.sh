#!/bin/bash
# argus now: since when a client waits that wakes now and then; the thread that resolves a name, or asks like it; and a word of
# memory that nobody alive has mapped.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

cat >server.py <<'END_PY'
import socket, time
s = socket.create_server(('127.0.0.1', 0))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(('127.0.0.1', 0))
open('ports.new', 'w').write(f'{s.getsockname()[1]} {u.getsockname()[1]}\n')
import os
os.rename('ports.new', 'ports')
c, _ = s.accept()
c.recv(100)
time.sleep(1000)
END_PY
cat >client.py <<'END_PY'
import select, socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.send(b'question')
open('asked', 'w').close()
while not select.select([s], [], [], 0.4)[0]:
    pass
END_PY
cat >resolver.py <<'END_PY'
import socket, sys, threading
def ask():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.connect(('127.0.0.1', int(sys.argv[1])))
    u.send(b'question')
    u.recv(100)
t = threading.Thread(target=ask)
t.start()
while t.is_alive():
    t.join(0.4)
END_PY
cat >word.py <<'END_PY'
import multiprocessing, os, signal
s = multiprocessing.Semaphore(0)
s.acquire()
END_PY
client='' resolver=''
python3 server.py & server=$!
python3 word.py & word=$!
trap 'kill $server $word $client $resolver 2>/dev/null; wait 2>/dev/null || true' EXIT
wait_until 20 test -e ports
read -r tcp udp <ports
python3 client.py "$tcp" & client=$!
python3 resolver.py "$udp" & resolver=$!
wait_until 20 test -e asked
sleep 2.5 # at least: it is told of so long a wait

argus now $client >client.txt || true
grep -Eq "python3 \(pid $client\) was stuck for ([3-9]|[0-9]{2,})\.?[0-9]* s \(since" client.txt || fail "not since it asked: $(cat client.txt)"
argus now $resolver >resolver.txt || true
tr '\n' ' ' <resolver.txt | grep -Eq "python3 \(pid $server\) (is at the other end|was sent its message)" || fail "$(cat resolver.txt)"
says resolver.txt "of process $resolver) is of the same process" || fail "not by its thread: $(cat resolver.txt)"
argus now $word >word.txt || true
says word.txt 'nobody who was found can end that' || fail "$(cat word.txt)"
