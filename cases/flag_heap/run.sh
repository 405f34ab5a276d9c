#!/bin/bash
# A stripped program whose main thread looks at a field of a job in the heap, behind two pointers; the
# thread that sets it waits for a line that comes late.
. "$(dirname "$0")/../lib.sh"

program=$(build_c queue "$FOLDER/queue.c" -O2 -s -pthread)
buggy && late=6 || late=0.2
mkfifo "$W/input"
background bash -c "exec 3>$W/input; for i in 1 2 3 4 5; do sleep 0.2; echo \$i >&3; done; sleep $late; echo 6 >&3; sleep 1"
actor root_feeder $LAST
background "$program" "$W/input" 6 "$W/part"
actor queue $LAST
wait_for 390 "[ -s $W/part ]" && report_file "$W/part" queue
