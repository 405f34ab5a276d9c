"""unanswered.py PATH: asks at a socket that answers once and then only sleeps; prints its
own pid. unanswered.py PATH serve: the one that is asked."""
import os
import socket
import sys
import time

path = sys.argv[1]
if len(sys.argv) > 2:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + '.new')
    listener.listen()
    os.rename(path + '.new', path)
    end, _ = listener.accept()
    end.recv(10)
    end.send(b'pong')
    time.sleep(4)
else:
    while not os.path.exists(path):
        time.sleep(0.01)
    end = socket.socket(socket.AF_UNIX)
    end.connect(path)
    end.send(b'ping')
    end.recv(10)
    print(os.getpid(), flush=True)
    time.sleep(0.1)
    end.settimeout(3)
    end.send(b'ping')
    try:
        end.recv(10)
    except TimeoutError:
        pass
