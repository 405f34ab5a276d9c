"""Asks a process that answers once and then only sleeps; prints its own pid."""
import os
import socket
import time

ask, answer = socket.socketpair()
if os.fork() == 0:
    ask.close()
    answer.recv(10)
    answer.send(b'pong')
    time.sleep(4)
    os._exit(0)
answer.close()
ask.send(b'ping')
ask.recv(10)
print(os.getpid(), flush=True)
ask.settimeout(3)
ask.send(b'ping')
try:
    ask.recv(10)
except TimeoutError:
    pass
