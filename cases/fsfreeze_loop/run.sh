#!/bin/bash
# cp to a file system that is frozen, as for a snapshot, and thawed late.
. "$(dirname "$0")/../lib.sh"

dd if=/dev/zero of="$W/image" bs=1M count=30 status=none
mkfs.ext4 -q "$W/image"
mkdir "$W/mount"
mount -o loop "$W/image" "$W/mount" || exit 3
UNDO+=("fsfreeze -u $W/mount")
if buggy; then
	background bash -c "fsfreeze -f $W/mount; touch $W/frozen; sleep 5; exec fsfreeze -u $W/mount"
	actor root_thaw "$LAST"
	wait_for 50 "[ -e $W/frozen ]"
fi
timed "$W/victim" 30 cp /etc/services "$W/mount/file" &
finish cp
