#!/bin/bash
# A Python thread pool: a task waits for another task that can only run in the same, single worker;
# an 8 s timeout ends it.
. "$(dirname "$0")/../lib.sh"

background /usr/bin/python3 "$FOLDER/pool.py" "$MODE" "$W/victim"
wait_for 50 "[ -s $W/victim.tid ]"
actor root_worker_tid "$(cat "$W/victim.tid")"
finish python3
