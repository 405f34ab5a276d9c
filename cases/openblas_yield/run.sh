#!/bin/bash
# numpy with OpenBLAS: the main thread spins in sched_yield() on a "finished" flag; the worker that
# must set it is starved by a SCHED_FIFO process.
. "$(dirname "$0")/../lib.sh"

last=$(($(nproc) - 1))
background env LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-pthread OPENBLAS_NUM_THREADS=2 \
	/usr/bin/python3 "$FOLDER/multiply.py" "$W/victim" $((last - 1)) $last
wait_for 200 "[ -s $W/victim.up ]"
if buggy; then
	background timeout 10 chrt -f 50 taskset -c $last sha256sum /dev/zero
	sleep 0.3
	actor root_hog "$(pgrep -P $LAST)"
fi
read -r _ worker <"$W/victim.up"
actor worker_tid "$worker"
touch "$W/victim.go"
finish python3
