#!/bin/bash
# flock(1): three processes, two files: the victim waits for one that waits for one that sleeps.
. "$(dirname "$0")/../lib.sh"

buggy && hold=6 || hold=0.8
background flock "$W/a" sleep "$hold"
actor root_first "$LAST"
sleep 0.4
background flock "$W/b" flock "$W/a" true
actor middle "$LAST"
sleep 0.4
timed "$W/victim" 30 flock "$W/b" true &
finish flock
