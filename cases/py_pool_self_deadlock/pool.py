"""pool.py base|buggy OUT: a task that waits for another task of its own pool; buggy: the pool
has one worker only."""
import concurrent.futures
import os
import sys
import threading
import time

mode, out = sys.argv[1:3]
pool = concurrent.futures.ThreadPoolExecutor(max_workers=1 if mode == 'buggy' else 2)


def inner():
    return 1


def outer():
    open(out + '.tid', 'w').write(str(threading.get_native_id()))
    try:
        return pool.submit(inner).result(timeout=8)
    except concurrent.futures.TimeoutError:
        return 0


time.sleep(.3)
start = time.monotonic_ns()
pool.submit(outer).result()
open(out + '.part', 'w').write('%d %d %d 0\n' % (os.getpid(), start, time.monotonic_ns()))
os.rename(out + '.part', out)
