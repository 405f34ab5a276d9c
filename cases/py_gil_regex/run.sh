#!/bin/bash
# A threaded Python HTTP server: one request runs a catastrophic regular expression that keeps the
# interpreter lock; another request's thread waits for it (in 5 ms timed waits).
. "$(dirname "$0")/../lib.sh"

background /usr/bin/python3 "$FOLDER/server.py" "$W/port"
actor server $LAST
wait_for 50 "[ -s $W/port ]"
url=http://127.0.0.1:$(cat "$W/port")
curl -s "$url/" >/dev/null
text=$(head -c 27 /dev/zero | tr '\0' a)
buggy && text="$text!"
background curl -s -m 38 "$url/check?$text" >/dev/null
actor attacker_curl $LAST
sleep 0.4
timed "$W/victim" 39 curl -s -o /dev/null "$url/" &
sleep 0.2
actor root_tid "$(cat "$W/port.tid")"
finish curl
