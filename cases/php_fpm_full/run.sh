#!/bin/bash
# nginx and php-fpm: the pool's only worker is taken by a slow request; the next one waits.
. "$(dirname "$0")/../lib.sh"

fpm=$(compgen -c php-fpm | sort | tail -1)
mkdir "$W/www"
echo "<?php sleep((int)\$_GET['n']); echo 'ok';" >"$W/www/slow.php"
echo '<?php echo 1;' >"$W/www/quick.php"
cat >"$W/fpm.conf" <<CONF
[global]
error_log = $W/fpm.log
[www]
user = root
group = root
listen = $W/fpm.sock
pm = static
pm.max_children = 1
CONF
background "$fpm" -R -F -y "$W/fpm.conf"
wait_for 50 "[ -S $W/fpm.sock ]"
actor root_worker "$(pgrep -P "$LAST")"
cat >"$W/nginx.conf" <<CONF
daemon off;
pid $W/nginx.pid;
error_log $W/nginx.log;
user root;
events {}
http {
	access_log off;
	server {
		listen 127.0.0.1:18090;
		root $W/www;
		location ~ \.php$ {
			fastcgi_pass unix:$W/fpm.sock;
			fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name;
			fastcgi_param QUERY_STRING \$query_string;
			fastcgi_param REQUEST_METHOD GET;
		}
	}
}
CONF
background nginx -c "$W/nginx.conf"
wait_for 50 "curl -sf http://127.0.0.1:18090/quick.php"
buggy && n=5 || n=0
background curl -s -o /dev/null "http://127.0.0.1:18090/slow.php?n=$n"
actor slow_client "$LAST"
sleep 0.4
timed "$W/victim" 30 curl -s -o /dev/null http://127.0.0.1:18090/quick.php &
finish curl
