#!/bin/bash
# xz, pinned to one CPU, starves behind a SCHED_FIFO process on the same CPU.
. "$(dirname "$0")/../lib.sh"

head -c 1500000 /dev/urandom >"$W/in"
cpu=$(($(nproc) - 1))
if buggy; then
	background timeout 8 chrt -f 50 taskset -c $cpu sha256sum /dev/zero
	sleep 0.3
	actor root_hog "$(pgrep -P $LAST)"
fi
timed "$W/victim" 39 taskset -c $cpu xz -k -c -T1 "$W/in" >"$W/out" &
finish xz
