"""upstream.py PORT_FILE base|buggy: a name server that answers 127.0.0.1; buggy: that never reads."""
import socket
import sys
import time

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.0.0.1', 0))
open(sys.argv[1], 'w').write(str(server.getsockname()[1]))
if sys.argv[2] == 'buggy':
    time.sleep(3600)
while True:
    query, sender = server.recvfrom(2048)
    end = query[12:].index(b'\0') + 12 + 5
    is_a = query[end - 4:end - 2] == b'\0\1'
    answer = query[:2] + b'\x81\x80\0\1' + (b'\0\1' if is_a else b'\0\0') + bytes(4) + query[12:end]
    if is_a:
        answer += b'\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1'
    server.sendto(answer, sender)
