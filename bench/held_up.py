#!/usr/bin/env python3
"""How many ticks of a timer of 1 kHz waited for the threads of one program, and for how long: of each
wake-up of the timer's threads (one on each processor) the scheduler's trace points tell who ran until it
got its processor. A tick that also waited for somebody else is not counted, so that this tells something on a
machine that is not quiet, too."""
import bisect
import collections
import os
import re
import signal
import subprocess
import tempfile
import time

OVER_MS = (0.5, 1, 2, 4)
OTHERS_MOST_S = 0.0002  # of others, in a wait that counts
LINE = re.compile(r'^.+?\s+\d+\s+\[(\d+)\]\s+([\d.]+):\s+\S+?:?sched_(\w+):\s*(.*)$')

Switch = collections.namedtuple('Switch', 'time tid')


class Switches:
    """Who ran where, who began whom, and how long the timers' threads waited when they were woken."""

    def __init__(self, timers, ours):
        self.place_of, self.ours = timers, ours  # the timer's process: its processor; threads of the program
        self.by_place = {place: [] for place in timers.values()}
        self.woken, self.waits = {}, []

    def read(self, line):
        found = LINE.match(line)
        if not found:
            return
        place, at, kind, rest = int(found[1]), float(found[2]), found[3], found[4]
        if kind == 'process_fork':
            tids = re.search(r'\bpid=(\d+) .*child_pid=(\d+)', rest)
            if int(tids[1]) in self.ours:
                self.ours.add(int(tids[2]))
        elif kind == 'wakeup':
            tid = int(re.search(r' pid=(\d+)', rest)[1])
            if tid in self.place_of:
                self.woken[tid] = at
        elif kind == 'switch' and place in self.by_place:
            tid = int(re.search(r'next_pid=(\d+)', rest)[1])
            if tid in self.woken:
                self.waits.append((place, self.woken.pop(tid), at))
            self.by_place[place].append(Switch(at, tid))

    def held_up_s(self):
        """By tick: when it was woken, and how long ours alone held it up (0: others, too)."""
        for place, begin, end in self.waits:
            ran = self.by_place[place]
            first = max(0, bisect.bisect_right(ran, (begin,)) - 1)
            own = others = 0
            for i in range(first, bisect.bisect_left(ran, (end,))):
                until = min(end, ran[i + 1].time if i + 1 < len(ran) else end)
                if ran[i].tid in self.ours:
                    own += max(0, until - max(begin, ran[i].time))
                elif ran[i].tid:
                    others += max(0, until - max(begin, ran[i].time))
            yield begin, own if others <= OTHERS_MOST_S else 0


def threads_of(pid):
    return {int(tid) for tid in os.listdir(f'/proc/{pid}/task')} if pid else set()


def measure(late, begin, rounds, pid=None):
    """begin() starts what is looked at and returns a process to wait for, or does it and returns None; pid: of a
    program that runs all the time. Shares of the ticks meanwhile, by OVER_MS."""
    timers = {place: subprocess.Popen([late, '600', str(place)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
              for place in sorted(os.sched_getaffinity(0))}
    ours, spans = threads_of(pid), []
    with tempfile.NamedTemporaryFile(prefix='argus-held-up-') as data:
        recorder = subprocess.Popen(['perf', 'record', '-q', '-k', 'CLOCK_MONOTONIC', '-m', '2048', '-a', '-e', 'sched:sched_switch', '-e',
                                     'sched:sched_wakeup', '-e', 'sched:sched_process_fork', '-o', data.name], stderr=subprocess.DEVNULL)
        try:
            time.sleep(1.5)
            for _ in range(rounds):
                since = time.monotonic()
                process = begin()
                if process:
                    ours.add(process.pid)
                    process.wait()
                spans.append((since, time.monotonic()))
                time.sleep(0.2)
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
            for process in timers.values():
                process.kill()
                process.wait()
        switches = Switches({process.pid: place for place, process in timers.items()}, ours)
        told = subprocess.Popen(['perf', 'script', '-i', data.name, '-F', 'comm,tid,cpu,time,event,trace'], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, errors='replace')
        for line in told.stdout:
            switches.read(line)
        told.wait()
    held = [own for at, own in switches.held_up_s() if any(since <= at <= until for since, until in spans)]
    return {over: sum(own * 1000 > over for own in held) / max(1, len(held)) for over in OVER_MS}


def told(shares):
    return ', '.join(f'{100 * share:.2f} % over {over} ms' for over, share in shares.items())
