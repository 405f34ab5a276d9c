#!/bin/bash
# PHP keeps a session's file locked while a request runs: a quick request of the same session waits
# for a slow one, in another worker.
. "$(dirname "$0")/../lib.sh"

mkdir "$W/www" "$W/sessions"
buggy && n=6000000 || n=100000
cat >"$W/www/slow.php" <<PHP
<?php session_start(); file_put_contents("$W/worker", getmypid()); usleep($n);
PHP
echo '<?php session_start();' >"$W/www/quick.php"
PHP_CLI_SERVER_WORKERS=3 background php -d session.save_path="$W/sessions" -S 127.0.0.1:18311 -t "$W/www" >/dev/null 2>&1
actor php "$LAST"
wait_for 50 "curl -s http://127.0.0.1:18311/none"
session=PHPSESSID=abcdefabcdefabcdefabcdef12
background curl -s -o /dev/null -b $session http://127.0.0.1:18311/slow.php
wait_for 50 "[ -s $W/worker ]"
actor root_worker "$(cat "$W/worker")"
timed "$W/victim" 30 curl -s -o /dev/null -b $session http://127.0.0.1:18311/quick.php &
finish curl
