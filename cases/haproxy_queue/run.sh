#!/bin/bash
# haproxy: one connection to the backend at a time; it is taken by a slow request, and the victim's
# waits in haproxy's own queue.
. "$(dirname "$0")/../lib.sh"

cat >"$W/backend.py" <<'PY'
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if 'slow' in self.path:
            time.sleep(float(self.path.split('=')[1]))
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(('127.0.0.1', 18101), Handler).serve_forever()
PY
background /usr/bin/python3 "$W/backend.py"
actor root_backend "$LAST"
cat >"$W/haproxy.cfg" <<'CONF'
defaults
  mode http
  timeout connect 20s
  timeout client 30s
  timeout server 30s
  timeout queue 30s
listen all
  bind 127.0.0.1:18100
  server backend 127.0.0.1:18101 maxconn 1
CONF
background haproxy -f "$W/haproxy.cfg" -db
actor haproxy "$LAST"
wait_for 50 "curl -sf http://127.0.0.1:18100/quick"
buggy && n=5 || n=0
background curl -s -o /dev/null "http://127.0.0.1:18100/slow=$n"
actor slow_client "$LAST"
sleep 0.4
timed "$W/victim" 30 curl -s -o /dev/null http://127.0.0.1:18100/quick &
finish curl
