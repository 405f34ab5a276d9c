#!/bin/bash
# redis was told to pause its clients: it has read the command, and answers when its own time has come.
. "$(dirname "$0")/../lib.sh"

background redis-server --port 0 --unixsocket "$W/socket" --save "" --dir "$W"
actor redis "$LAST"
wait_for 50 "redis-cli -s $W/socket ping"
buggy && n=5000 || n=700
redis-cli -s "$W/socket" client pause $n all >"$W/pause"
timed "$W/victim" 30 redis-cli -s "$W/socket" set a b >"$W/out" &
finish redis-cli
