#!/bin/bash
# Who has Python's lock (the GIL): three threads that take turns with it, in C code that notes when it has it. Each wait
# for the lock within such a time names the one that had it, of each version that is here.
. "$HERE/live/_lib.sh"
need_bpf
. "$HERE/live/_python.sh"
mapfile -t pythons < <(known_pythons)
[ ${#pythons[@]} -gt 0 ] || skip "no Python of a version that is known"
. "$HERE/live/_script_lock.sh"

cat >turns.py <<'END'
import ctypes
import threading
hold = ctypes.PyDLL('./hold.so').hold

def take_turns(log):
    span = (ctypes.c_longlong * 2)()
    for i in range(40):
        hold(ctypes.c_long(2000000 + i % 7 * 1000000), span)
        log.append((threading.get_native_id(), span[0], span[1]))

log = []
threads = [threading.Thread(target=take_turns, args=(log,)) for _ in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for entry in log:
    print(*entry)
END
for python in "${pythons[@]}"; do
	same_holders "$python" turns.py
done
