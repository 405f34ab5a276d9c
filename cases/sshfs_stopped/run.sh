#!/bin/bash
# cat on a file of sshfs, whose sftp-server is stopped.
. "$(dirname "$0")/../lib.sh"

mkdir "$W/source" "$W/mount"
echo hi >"$W/source/file"
printf '#!/bin/bash\necho $$ >%s\nexec /usr/lib/openssh/sftp-server\n' "$W/server" >"$W/ssh.sh"
chmod +x "$W/ssh.sh"
background sshfs -f -o ssh_command="$W/ssh.sh" "localhost:$W/source" "$W/mount"
actor sshfs "$LAST"
wait_for 100 "[ -e $W/mount/file ]"
server=$(cat "$W/server")
actor root_server "$server"
UNDO+=("kill -CONT $server")
sleep 0.5
if buggy; then
	kill -STOP "$server"
	background bash -c "sleep 6; kill -CONT $server"
fi
timed "$W/victim" 30 cat "$W/mount/file" &
finish cat
