"""rounds.py SPAN_MS WORD...: runs a command again and again, writes down the long rounds (verify.py says
how), and says when the fault may happen, by a file. Waits first until the command works at all; where that takes as
long as a hang, as on a machine that is too busy to start what serves, a healthy run does not count."""
import os
import subprocess
import sys
import time

SHORT_NS = 500_000_000
LATE_NS = 1_000_000_000     # what Argus calls late
folder, span_ns, command = os.environ['LAB_DIR'], int(sys.argv[1]) * 1000000, sys.argv[2:]
log = open(folder + '/log', 'a', buffering=1)
quiet = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}


def one():
    began = time.monotonic_ns()
    process = subprocess.Popen(command, **quiet)
    try:
        status = process.wait(12)
    except subprocess.TimeoutExpired:
        process.kill()
        status = -1
    return process.pid, status, began, time.monotonic_ns()


def main():
    ready = time.monotonic_ns() + 5_000_000_000
    good = 0
    while good < 2 and time.monotonic_ns() < ready:
        pid, status, began, ended = one()
        if ended - began > LATE_NS:
            log.write(f'late setup victim {pid} {began} {ended}\n')
        good = good + 1 if status == 0 and ended - began < SHORT_NS else 0
        time.sleep(0.05)
    if good < 2:
        log.write(f'problem the command does not work: status {status}\n')
        return
    start = time.monotonic_ns()
    fault_at, end = start + 700_000_000, start + 700_000_000 + span_ns + 600_000_000
    count = before = longest = 0
    told = False
    while time.monotonic_ns() < end:
        if not told and time.monotonic_ns() > fault_at:
            told = True
            if 'LAB_FAULT' in os.environ:
                open(folder + '/now', 'w').close()
        pid, _, began, ended = one()
        count += 1
        before += not told
        if ended - began > SHORT_NS:
            log.write(f'role victim {pid} {pid}\nstuck victim {pid} {pid} {began} {ended}\n')
        else:
            longest = max(longest, ended - began)
            last = pid
        time.sleep(0.04)
    if not any(line.startswith('role victim') for line in open(folder + '/log')):
        log.write(f'role victim {last} {last}\n')
    log.write(f'rounds {count} {before} {longest}\n')


main()
