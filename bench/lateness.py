#!/usr/bin/env python3
"""Whether others notice what is done: how late a timer of 1 kHz fires in short windows with it and in
windows without, taken in turns. Threads of ordinary priority wait for that timer, one on each processor
and one wherever it is put; the pinned ones cannot get out of the way of who computes there.

Of all ticks of the windows of a kind the 99.9th percentile is taken. Its ratio with and without has an
interval of 95 %: rounds are drawn again and again, with replacement. Two windows without in each round
give the ratio of nothing with nothing, which is the machine's own noise. A round in which others computed
or the host took processors away is not counted, and another is made."""
import bisect
import collections
import os
import random
import resource
import subprocess
import time

PERCENTILE, DRAWS, MOST_S = 0.999, 1000, 900
KINDS = ('with', 'without', 'again') # again: a second time without
OTHERS_MOST = 0.1   # of one processor, in a window that counts
ROUNDS_LEAST = 5    # fewer tell nothing
ROUNDS_MOST = 3     # times as many as are asked for are tried

Window = collections.namedtuple('Window', 'kind begin_s end_s took_s')
Ratio = collections.namedtuple('Ratio', 'with_us without_us ratio low high noise noise_low noise_high')


class Timers:
    """Threads that wait for the timer: one anywhere (None), one on each processor."""

    def __init__(self, late):
        self.places = [None] + sorted(os.sched_getaffinity(0))
        self.processes = [subprocess.Popen([late, str(MOST_S)] + ([] if place is None else [str(place)]), stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True) for place in self.places]
        time.sleep(0.5)

    def ticks(self):
        """By place: the times at which they were due, and how late they came."""
        found = {}
        for process in self.processes:
            process.stdin.close()
        for place, process in zip(self.places, self.processes):
            rows = [line.split() for line in process.stdout]
            process.wait()
            found[place] = [float(due) for due, _ in rows], [float(late) for _, late in rows]
        return found

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()


def busy_s():
    """All that processors did, and what the host took."""
    with open('/proc/stat', encoding='utf-8') as stat:
        user, nice, system, _, _, irq, softirq, steal = (int(word) for word in stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf('SC_CLK_TCK')


def ours_s():
    """Of that, what was done for us, as far as it has ended."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def take_window(kind, meanwhile, window_s):
    """And the share of a processor that others used."""
    busy, ours, begin = busy_s(), ours_s(), time.monotonic()
    if kind == 'with':
        meanwhile()
    took = time.monotonic() - begin
    time.sleep(max(0, window_s - took))
    return Window(kind, begin, begin + window_s, took), (busy_s() - busy - (ours_s() - ours)) / max(window_s, took)


def take_turns(meanwhile, rounds, window_s):
    """The windows, those of a round in any order; and how many rounds were tried."""
    windows, tried, own_share = [], 0, None
    while len(windows) < rounds * len(KINDS) and tried < rounds * ROUNDS_MOST:
        taken = [take_window(kind, meanwhile, window_s) for kind in random.sample(KINDS, len(KINDS))]
        shares = [share for _, share in taken]
        own_share = min(shares + [own_share or 1]) # the timers' threads, which are always there
        tried += 1
        if max(shares) - own_share <= OTHERS_MOST:
            windows += [window for window, _ in taken]
    return windows, tried


def latest(lists, count):
    """The first that is not among the latest thousandth of so many ticks."""
    ordered = sorted((late for late_ones in lists for late in late_ones), reverse=True)
    return ordered[min(len(ordered) - 1, int(count * (1 - PERCENTILE)))]


def compare(ticks, windows):
    due, late = ticks
    by_kind, ticks_a_window = {kind: [] for kind in KINDS}, 0
    for window in windows:
        inside = late[bisect.bisect_left(due, window.begin_s):bisect.bisect_left(due, window.end_s)]
        ticks_a_window = max(ticks_a_window, len(inside))
        by_kind[window.kind].append(inside)
    count, rounds = sum(len(inside) for inside in by_kind['without']), len(by_kind['without'])
    enough = int(count * (1 - PERCENTILE)) + 1 # more of one window are never asked for
    by_kind = {kind: [sorted(inside, reverse=True)[:enough] for inside in lists] for kind, lists in by_kind.items()}

    def ratios(rows):
        value = {kind: latest([lists[i] for i in rows], count) for kind, lists in by_kind.items()}
        both = latest([lists[i] for kind, lists in by_kind.items() if kind != 'with' for i in rows], 2 * count)
        return value['with'], both, value['with'] / both, value['again'] / value['without']

    with_us, without_us, ratio, noise = ratios(range(rounds))
    drawn = [ratios(random.choices(range(rounds), k=rounds))[2:] for _ in range(DRAWS)]
    low, high = int(DRAWS * 0.025), int(DRAWS * 0.975)
    first, second = (sorted(column) for column in zip(*drawn))
    return Ratio(with_us, without_us, ratio, first[low], first[high], noise, second[low], second[high])


def moments(ticks, windows, over_us, step_s=0.05):
    """Ticks later than so much in the windows with it, by when they were due since its beginning."""
    due, late = ticks
    counts = collections.Counter()
    for window in windows:
        if window.kind == 'with':
            for i in range(bisect.bisect_left(due, window.begin_s), bisect.bisect_left(due, window.end_s)):
                counts[int((due[i] - window.begin_s) / step_s)] += late[i] > over_us
    return {round(step * step_s, 3): count for step, count in sorted(counts.items())}


def measure(late, meanwhile, rounds, window_s):
    """What is told of it, by place (None: the machine was too busy); rounds that count, and that were tried; and, to
    look closer, the windows and the ticks."""
    timers = Timers(late)
    try:
        windows, tried = take_turns(meanwhile, rounds, window_s)
        ticks = timers.ticks()
    except BaseException:
        timers.kill()
        raise
    counted = len(windows) // len(KINDS)
    return {place: compare(of_place, windows) if counted >= ROUNDS_LEAST else None for place, of_place in ticks.items()}, counted, tried, windows, ticks


def told(compared):
    """By place: with / without, ratio (interval); ratio of two without (interval)."""
    return {place: (f'{r.with_us / 1000:.2f} / {r.without_us / 1000:.2f} ms; {r.ratio:.2f} ({r.low:.2f}-{r.high:.2f}); '
                    f'{r.noise:.2f} ({r.noise_low:.2f}-{r.noise_high:.2f})') if r else 'not known: others computed all the time'
            for place, r in compared.items()}
