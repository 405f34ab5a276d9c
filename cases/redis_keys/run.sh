#!/bin/bash
# Redis: a client's GET waits while the single main thread runs another client's KEYS with a
# many-star pattern over millions of keys.
. "$(dirname "$0")/../lib.sh"

background redis-server --port 0 --unixsocket "$W/socket" --save '' --appendonly no --daemonize no \
	--enable-debug-command yes --dir "$W" >"$W/redis.log" 2>&1
actor redis_server $LAST
client="redis-cli -s $W/socket"
wait_for 50 "$client ping"
$client set k v >/dev/null
buggy && keys=4000000 || keys=2000
$client debug populate $keys "session:$(head -c 105 /dev/zero | tr '\0' a)" 8 >/dev/null
background $client keys '*a*a*a*a*a*a*b*c' >/dev/null
actor root_client_keys $LAST
sleep 0.15
timed "$W/victim" 39 $client get k >/dev/null &
finish redis-cli
