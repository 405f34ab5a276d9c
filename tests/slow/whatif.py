#!/usr/bin/env python3
"""What `argus path --what-if` says of programs that are slow for a known reason, against
what they take when they are changed so: those of programs.c, by which replay was made
better, those of scored.c, which later were looked at, too, and those of unseen.c, which were
asked about once, when replay was done. Each is recorded once and asked once; times are
medians of runs without a recorder, of changed and unchanged programs in turn.

usage: whatif.py [--argus PROGRAM] [--runs N] [--keep DIR [--later] | --replay DIR] [--set programs|scored|unseen|fresh|later|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth] [--json FILE] [NAME...]
--later: only record and measure; --replay asks"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from score import HERE, quota_group  # noqa: E402

TRUTHS = {'programs': 'truth.json', 'scored': 'scored.json', 'unseen': 'unseen.json', 'fresh': 'fresh.json',
          'later': 'later.json', 'sixth': 'sixth.json', 'seventh': 'seventh.json', 'eighth': 'eighth.json', 'ninth': 'ninth.json', 'tenth': 'tenth.json', 'eleventh': 'eleventh.json',
          'twelfth': 'twelfth.json', 'thirteenth': 'thirteenth.json'}
# Of the work of what is slow, per cent, before the change.
WORK = {'disk': (100,), 'fsync_lock': (100,), 'readers': ()}
WORK_BEFORE = {name: (100, 160) if name in ('programs', 'scored') else (100,) for name in TRUTHS}
# What is asked beside half and nothing. A device does not work half as long.
OTHERS = {'convoy': ('two_holders',), 'fsync_lock': ('two_holders',), 'small_pool': ('one_more',), 'slow_stage': ('one_more',),
          'often_free': ('two_holders',), 'adaptive': ('two_holders',), 'tickets': ('two_holders',), 'two_locks': ('two_holders',),
          'log_queue': ('one_more',), 'dispatch': ('one_more',), 'children': ('one_more',), 'mixed_jobs': ('one_more',), 'bounded': ('one_more',), 'ledger': ('two_holders',), 'io_pool': ('one_more',), 'pipe_stages': ('one_more',),
          'pinned_threads': ('processor',), 'pinned_stages': ('processor',), 'pinned_lock': ('processor', 'two_holders')}
# Where the truth itself is further apart than this, an estimate within 10 % would be luck: it counts apart.
STEADY = 0.1
NO_HALF = ('fsync_lock',)
CHANGED = {'two_holders': {'SLOW_HOLDERS': '2'}, 'one_more': {'SLOW_MORE': '1'}, 'processor': {'SLOW_CPUS': '2'}}


def before_others(name):
    """So that what else the machine does takes no processor from them; a group with a quota takes no such processes."""
    return () if name == 'quota' else ('chrt', '-r', '1')


@contextlib.contextmanager
def before_all(name):
    """What measures goes before what is measured: else it stands for a processor as that begins and after it has ended, on a
    busy machine for several milliseconds, which no change makes less."""
    if not before_others(name):
        yield
        return
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def changed(kind, work):
    if kind in CHANGED:
        return dict(CHANGED[kind], SLOW_WORK=str(work))
    return {'SLOW_WORK': str(work // 2 if kind == 'half' else 0)}


def run(program, name, environment):
    with quota_group() as group, before_all(name):
        begun = time.monotonic()
        subprocess.run([*before_others(name), program, name], env=dict(os.environ, SLOW_GROUP=group, **environment), check=True)
        return time.monotonic() - begun


def record(options, program, name, work, trace):
    with quota_group() as group:
        # Until chrt has made it a real-time process it stands for a processor as others do, and the recorder with its stacks.
        first = ('nice', '-n', '-20') if before_others(name) else ()
        subprocess.run([*first, options.argus, 'record', '-o', trace, '--', *before_others(name), program, name], capture_output=True,
                       env=dict(os.environ, SLOW_GROUP=group, SLOW_WORK=str(work)), check=True)


def measure(options, program, name, work):
    """Seconds by kind of change; '' is the unchanged program."""
    kinds = [k for k in ('half', 'nothing') if not (name in NO_HALF and k == 'half')] + list(OTHERS.get(name, ()))
    times = {kind: [] for kind in ['', *kinds]}
    for _ in range(options.runs):
        for kind, seconds in times.items():
            seconds.append(run(program, name, changed(kind, work) if kind else {'SLOW_WORK': str(work)}))
    return times


def truth_of(seconds, unchanged):
    """What the changed program takes, of runs in turn with the unchanged one: the median of the pairs, so that a machine
    that becomes slow for a while does not count; and how far the middle half of them is apart, as "off" is told."""
    base = statistics.median(unchanged)
    pairs = sorted(s / u * base for s, u in zip(seconds, unchanged))
    median, quarter = statistics.median(pairs), len(pairs) // 4
    return median, (pairs[len(pairs) - 1 - quarter] - pairs[quarter]) / max(median, base / 10)


def compare(answer, truth, name, work, times):
    base = statistics.median(times[''])
    rows = [i for i, row in enumerate(answer['rows']) if all(row[key] == truth[key] for key in ('lock', 'thread', 'function'))]
    for kind, runs in times.items():
        if not kind:
            continue
        seconds, spread = truth_of(runs, times[''])
        told = [c for c in answer['what_if'] if c['change'] == kind and (kind == 'processor' or [c['row']] == rows) and c['told']]
        result = {'program': name, 'work': work, 'change': kind, 'run_s': base, 'truth_s': seconds, 'spread': spread, 'row': rows}
        if told:
            scale = base / answer['total_ns']
            result.update(estimate_s=told[0]['run_ns'] * scale, low_s=told[0]['low_ns'] * scale, high_s=told[0]['high_ns'] * scale)
            # of the run, as a change to nothing has no share to be off by
            result['off'] = abs(result['estimate_s'] - seconds) / max(seconds, base / 10)
            result['inside'] = result['low_s'] <= seconds <= result['high_s']
        yield result


def show(r):
    print(f"{r['program']:12} {r['work']:3} {r['change']:11} run {r['run_s']:.3f} truth {r['truth_s']:.3f}{' UNSTEADY' if r['spread'] > STEADY else ''}",
          f"estimate {r['estimate_s']:.3f} ({r['low_s']:.3f} to {r['high_s']:.3f}) off {r['off'] * 100:.0f} %{'' if r['inside'] else ' OUTSIDE'}"
          if 'off' in r else f"not told (line {r['row'] or 'not there'})", flush=True)


def summary(results, steady):
    told = [r for r in results if 'off' in r]
    return (f"{len(results)} changes whose truth is {'steady' if steady else 'further apart than 10 %'}: {len(told)} told, "
            f"{sum(r['off'] <= 0.1 for r in told)} within 10 %, {sum(r['inside'] for r in told)} inside the bounds")


def of_set(options, name_of_set, folder):
    with open(os.path.join(HERE, TRUTHS[name_of_set]), encoding='utf-8') as file:
        truths = json.load(file)
    program = os.path.join(folder, name_of_set)
    if not options.replay:
        subprocess.run(['gcc', '-O2', '-g', '-fno-ipa-icf', '-pthread', '-o', program, os.path.join(HERE, name_of_set + '.c')], check=True)
    for name in truths:
        for work in WORK.get(name, WORK_BEFORE[name_of_set]) if not options.names or name in options.names else ():
            trace, told = (os.path.join(folder, f'{name}-{work}.{end}') for end in ('argus', 'json'))
            if not options.replay:
                record(options, program, name, work, trace)
                times = measure(options, program, name, work)
                with open(told, 'w', encoding='utf-8') as file:
                    json.dump(times, file)
            if options.later:
                continue
            with open(told, encoding='utf-8') as file:
                times = json.load(file)
            answer = json.loads(subprocess.run([options.argus, 'path', '--what-if', '--json', trace], capture_output=True, check=True).stdout)
            for result in compare(answer, truths[name], name, work, times):
                show(result)
                yield result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--keep')
    parser.add_argument('--replay')
    parser.add_argument('--later', action='store_true')
    parser.add_argument('--set', choices=TRUTHS)
    parser.add_argument('--json')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    everything = {}
    for folder in (options.keep, options.replay):
        if folder:
            os.makedirs(folder, exist_ok=True)
    with contextlib.nullcontext() if options.keep or options.replay else tempfile.TemporaryDirectory(prefix='argus-whatif.') as folder:
        for name_of_set in [options.set] if options.set else TRUTHS:
            results = list(of_set(options, name_of_set, options.replay or options.keep or folder))
            everything[name_of_set] = results
            for steady in (True, False):
                print(f'{name_of_set}:', summary([r for r in results if (r['spread'] <= STEADY) == steady], steady), flush=True)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(everything, file)


if __name__ == '__main__':
    main()
