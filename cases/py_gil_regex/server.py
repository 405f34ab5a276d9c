"""server.py PORT_FILE: answers all requests; /check?TEXT matches TEXT with a pattern that
backtracks exponentially (PORT_FILE.tid: the thread that does)."""
import http.server
import re
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.startswith('/check'):
            open(sys.argv[1] + '.tid', 'w').write(str(threading.get_native_id()))
            re.match(r'(\w+\s?)*$', self.path[7:])
        self.send_response(200)
        self.send_header('Content-Length', '3')
        self.end_headers()
        self.wfile.write(b'ok\n')


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
open(sys.argv[1], 'w').write(str(server.server_address[1]))
server.serve_forever()
