#!/bin/bash
# GNU make waits in vfork for its child; the child is inside execve(), opening its script's
# interpreter on a FUSE mount (bindfs) whose server is stopped.
. "$(dirname "$0")/../lib.sh"

mkdir "$W/programs" "$W/mount"
cp /bin/dash "$W/programs/sh"
background bindfs -f --no-allow-other "$W/programs" "$W/mount"
server=$LAST
UNDO+=("kill -CONT $server" "fusermount3 -uz $W/mount")
actor root_bindfs "$server"
wait_for 50 "mountpoint -q $W/mount"
printf '#!%s\neval "$2"\n' "$W/mount/sh" >"$W/shell"
chmod +x "$W/shell"
printf 'SHELL=%s\nall:\n\t@echo built; true\n' "$W/shell" >"$W/Makefile"
sleep 1.2   # until the kernel's cached attributes of the mount are stale
buggy && background bash -c "kill -STOP $server; sleep 8; kill -CONT $server; exec sleep 60"
sleep 0.3
timed "$W/victim" 30 make -s -C "$W" >/dev/null &
if buggy; then
	sleep 1
	actor child "$(pgrep -P "$(cat "$W/victim.pid")")"
fi
finish make
