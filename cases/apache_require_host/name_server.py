"""name_server.py UP base|buggy: a name server that knows no name; buggy: that never reads."""
import socket
import sys
import time

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.0.0.78', 53))
open(sys.argv[1], 'w').write('up')
if sys.argv[2] == 'buggy':
    time.sleep(3600)
while True:
    query, sender = server.recvfrom(2048)
    question = query[12:12 + query[12:].index(b'\0') + 5]
    server.sendto(query[:2] + b'\x81\x83' + query[4:6] + bytes(6) + question, sender)
