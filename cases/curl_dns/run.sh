#!/bin/bash
# curl: its resolver thread waits for dnsmasq, whose upstream name server never answers.
. "$(dirname "$0")/../lib.sh"

unshare -m true || exit 3
background /usr/bin/python3 "$FOLDER/upstream.py" "$W/upstream.port" "$MODE"
actor root_upstream $LAST
wait_for 50 "[ -s $W/upstream.port ]"
background /usr/bin/python3 -m http.server -b 127.0.0.1 -d "$W" 18080 >/dev/null 2>&1
background dnsmasq -k -C /dev/null --pid-file= -u root -h -R -p 53 --listen-address=127.0.0.77 --bind-interfaces \
	-S "127.0.0.1#$(cat "$W/upstream.port")" --log-facility="$W/dnsmasq.log"
actor dnsmasq $LAST
printf 'nameserver 127.0.0.77\noptions timeout:5 attempts:2\n' >"$W/resolv.conf"
printf 'hosts: files dns\n' >"$W/nsswitch.conf"
wait_for 50 "ss -ltn | grep -q 127.0.0.1:18080 && ss -lun | grep -q 127.0.0.77:53"
cat >"$W/curl.sh" <<SCRIPT
mount --bind $W/resolv.conf /etc/resolv.conf
mount --bind $W/nsswitch.conf /etc/nsswitch.conf
exec curl -s -m 25 -o /dev/null http://host.example.test:18080/
SCRIPT
timed "$W/victim" 30 unshare -m --propagation private bash "$W/curl.sh" &
finish curl
