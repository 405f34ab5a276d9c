#!/bin/bash
# Apache, access by host name ("Require host"): a request waits in the worker's getnameinfo()
# for a name server that never answers.
. "$(dirname "$0")/../lib.sh"

background /usr/bin/python3 "$FOLDER/name_server.py" "$W/server.up" "$MODE"
actor root_nameserver $LAST
wait_for 50 "[ -s $W/server.up ]"

port=$((20000 + RANDOM % 20000))
mkdir "$W/www"
echo hi >"$W/www/page.html"
printf 'nameserver 127.0.0.78\noptions timeout:4 attempts:2\n' >"$W/resolv.conf"
printf 'hosts: dns\n' >"$W/nsswitch.conf"
modules=/usr/lib/apache2/modules
cat >"$W/apache.conf" <<CONF
ServerRoot $W
ServerName localhost
Listen 127.0.0.1:$port
PidFile $W/apache.pid
DefaultRuntimeDir $W
Mutex file:$W
ErrorLog $W/error.log
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule authz_host_module $modules/mod_authz_host.so
LogFormat "%h %r" host
CustomLog $W/access.log host
DocumentRoot $W/www
<Directory $W/www>
$(buggy && echo Require host trusted.test)
Require all granted
</Directory>
MaxRequestWorkers 25
ServerLimit 1
StartServers 1
CONF
cat >"$W/apache.sh" <<SCRIPT
mount --bind $W/resolv.conf /etc/resolv.conf
mount --bind $W/nsswitch.conf /etc/nsswitch.conf
exec apache2 -f $W/apache.conf -D FOREGROUND
SCRIPT
background unshare -m --propagation private bash "$W/apache.sh"
wait_for 100 "[ -s $W/apache.pid ] && ss -ltn | grep -q :$port"
apache=$(cat "$W/apache.pid")
actor apache_parent "$apache"

timed "$W/victim" 39 curl -s -o /dev/null "http://127.0.0.1:$port/page.html" &
sleep 0.5
actor apache_child "$(pgrep -u www-data -P "$apache" || pgrep -P "$apache")"
finish curl
