#!/bin/bash
# A file system on a device: requests are joined with their completions, a journal's commits with
# who waits for them, writing back in the background and contended locks of the kernel are seen.
. "$HERE/live/_lib.sh"
need_bpf
need_command mkfs.ext4 dd
PATH=$PATH:/usr/sbin:/sbin

dd if=/dev/zero of=image bs=1M count=64 status=none
mkfs.ext4 -q image
mkdir mounted
mount -o loop image mounted 2>/dev/null || skip "no file system can be mounted from a file here"
trap 'umount mounted' EXIT
cat >work.sh <<'END'
for i in 1 2 3; do
	dd if=/dev/zero of=mounted/own$i bs=4k count=50 conv=fsync status=none
done
# one file's lock is held for as long as a large write takes
for i in 1 2 3 4 5 6 7 8; do
	dd if=/dev/zero of=mounted/same bs=16M count=1 conv=notrunc status=none &
	dd if=/dev/zero of=mounted/same bs=16M count=1 conv=notrunc status=none
	wait
done
sync -f mounted
END
argus record -a --level full -o t.trace -- bash work.sh 2>record.txt || fail "recording: $(cat record.txt)"
argus graph --json t.trace >graph

count() { argus dump --type "$1" t.trace | grep -cE -- "$2" || true; }
[ "$(count journal_commit 'end=1')" -ge 3 ] || fail "three commits of the journal were waited for: $(argus dump --type journal_commit t.trace)"
[ "$(json graph 'd["edges"]["journal"] >= 3')" = True ] || fail "who waited for the journal is not joined with it"
[ "$(count writeback .)" -ge 1 ] || fail "no writing back in the background"
[ "$(count lock_wait .)" -ge 1 ] && [ "$(count lock_got .)" -ge 1 ] || fail "no contended lock of the kernel"
# an order to flush completes without having gone to the device: the flush itself did
issued=$(argus dump --type block_issue --type block_complete t.trace | grep 'device=7:' | sed -E 's/.* (block_[a-z]+) request=(0x[0-9a-f]+).*/\1 \2/' |
	awk '$1 == "block_issue" { open[$2] = 1 } $1 == "block_complete" && open[$2] { n++; open[$2] = 0 } END { print n + 0 }')
[ "$issued" -ge 10 ] || fail "only $issued requests of the device"
[ "$(json graph 'd["edges"]["block"]')" -ge "$issued" ] || fail "of $issued requests only $(json graph 'd["edges"]["block"]') are joined"
