#!/bin/bash
# tar | ssh host 'command': the command on the other side does not read yet; between them pipe, ssh,
# TCP and sshd fill up.
. "$(dirname "$0")/../lib.sh"

mkdir "$W/tree"
head -c 9000000 /dev/urandom >"$W/tree/file"
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$W/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$W/key"
background /usr/sbin/sshd -D -f /dev/null -h "$W/host_key" -p 18222 -o ListenAddress=127.0.0.1 \
	-o AuthorizedKeysFile="$W/key.pub" -o StrictModes=no -o UsePAM=no -o PidFile=none -o PermitRootLogin=yes
wait_for 50 "ssh-keyscan -p 18222 127.0.0.1"
buggy && n=6 || n=0
cat >"$W/remote" <<SH
#!/bin/bash
echo \$\$ >$W/remote.pid
echo \$PPID >$W/sshd.pid
sleep $n
exec cat >/dev/null
SH
chmod +x "$W/remote"
mkfifo "$W/pipe"
cat >"$W/connect" <<SH
#!/bin/bash
exec ssh -i $W/key -p 18222 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@127.0.0.1 $W/remote <$W/pipe 2>/dev/null
SH
background bash "$W/connect"
actor ssh "$LAST"
timed "$W/victim" 30 tar -C "$W" -cf "$W/pipe" tree &
wait_for 100 "[ -s $W/sshd.pid ]"
actor root_remote "$(cat "$W/remote.pid")"
actor sshd "$(cat "$W/sshd.pid")"
finish tar
