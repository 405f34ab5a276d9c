#!/bin/bash
# Two scripts keep each other out with `exec 9>lock; flock 9`: the kernel names as holder the flock
# program, which has long ended; the script behind it has the lock.
. "$(dirname "$0")/../lib.sh"

buggy && n=5 || n=0.1
cat >"$W/first" <<SH
exec 9>$W/lock
flock 9
touch $W/held
sleep $n
exec 9>&-
sleep 60
SH
background bash "$W/first"
actor root_first "$LAST"
wait_for 50 "[ -e $W/held ]"
printf 'exec 9>%s\nflock 9\n' "$W/lock" >"$W/second"
timed "$W/victim" 30 bash "$W/second" &
finish bash
