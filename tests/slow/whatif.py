#!/usr/bin/env python3
"""What `argus path --what-if` says of the programs of programs.c, against what they take
when they are changed so. Each change is asked about once, of one recording; times are
medians of runs without a recorder, of changed and unchanged programs in turn.

usage: whatif.py [--argus PROGRAM] [--runs N] [--json FILE] [NAME...]"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from score import HERE, check, quota_group  # noqa: E402

# Of the work of what is slow, per cent, before the change; what is asked.
WORK = {name: (100, 160) for name in ('convoy', 'slow_stage', 'small_pool', 'long_job', 'barrier', 'ping_pong', 'fan_out', 'quota', 'cpu')}
WORK.update(disk=(100,), fsync_lock=(100,))
OTHERS = {'convoy': ('two_holders',), 'fsync_lock': ('two_holders',), 'small_pool': ('one_more',), 'slow_stage': ('one_more',)}
# So that what else the machine does takes no processor from them.
BEFORE_OTHERS = ('chrt', '-r', '1')
CHANGED = {'two_holders': {'SLOW_HOLDERS': '2'}, 'one_more': {'SLOW_MORE': '1'}}


def changed(kind, work):
    if kind in CHANGED:
        return dict(CHANGED[kind], SLOW_WORK=str(work))
    return {'SLOW_WORK': str(work // 2 if kind == 'half' else 0)}


def run(options, name, environment):
    with quota_group() as group:
        begun = time.monotonic()
        subprocess.run([*BEFORE_OTHERS, options.program, name], env=dict(os.environ, SLOW_GROUP=group, **environment), check=True)
        return time.monotonic() - begun


def ask(options, folder, name, work):
    trace = os.path.join(folder, 'trace')
    with quota_group() as group:
        subprocess.run([options.argus, 'record', '-o', trace, '--', *BEFORE_OTHERS, options.program, name], capture_output=True,
                       env=dict(os.environ, SLOW_GROUP=group, SLOW_WORK=str(work)), check=True)
    return json.loads(subprocess.run([options.argus, 'path', '--what-if', '--json', trace], capture_output=True, check=True).stdout)


def compare(options, folder, truth, name, work):
    answer = ask(options, folder, name, work)
    kinds = [k for k in ('half', 'nothing') if not (name == 'fsync_lock' and k == 'half')] + list(OTHERS.get(name, ()))
    times = {kind: [] for kind in ['', *kinds]}
    for _ in range(options.runs):
        for kind, seconds in times.items():
            seconds.append(run(options, name, changed(kind, work) if kind else {'SLOW_WORK': str(work)}))
    base = statistics.median(times[''])
    for kind in kinds:
        told = [c for c in answer['what_if'] if c['change'] == kind and c['row'] == 0 and c['told']]
        result = {'program': name, 'work': work, 'change': kind, 'run_s': base, 'truth_s': statistics.median(times[kind]),
                  'first_line': check(truth, answer)}
        if told:
            scale = base / answer['total_ns']
            result.update(estimate_s=told[0]['run_ns'] * scale, low_s=told[0]['low_ns'] * scale, high_s=told[0]['high_ns'] * scale)
            # of the run, as a change to nothing has no share to be off by
            result['off'] = abs(result['estimate_s'] - result['truth_s']) / max(result['truth_s'], base / 10)
            result['inside'] = result['low_s'] <= result['truth_s'] <= result['high_s']
        yield result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--json')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    with open(os.path.join(HERE, 'truth.json'), encoding='utf-8') as file:
        truths = json.load(file)
    results = []
    with tempfile.TemporaryDirectory(prefix='argus-whatif.') as folder:
        options.program = os.path.join(folder, 'programs')
        subprocess.run(['gcc', '-O2', '-g', '-fno-ipa-icf', '-pthread', '-o', options.program, os.path.join(HERE, 'programs.c')], check=True)
        for name in options.names or WORK:
            for work in WORK[name]:
                for r in compare(options, folder, truths[name], name, work):
                    results.append(r)
                    print(f"{r['program']:11} {r['work']:3} {r['change']:11} run {r['run_s']:.3f} truth {r['truth_s']:.3f}",
                          f"estimate {r['estimate_s']:.3f} ({r['low_s']:.3f} to {r['high_s']:.3f}) off {r['off'] * 100:.0f} %"
                          f"{'' if r['inside'] else ' OUTSIDE'}" if 'off' in r else 'not told', r['first_line'], flush=True)
    told = [r for r in results if 'off' in r]
    near = sum(r['off'] <= 0.1 for r in told)
    inside = sum(r['inside'] for r in told)
    print(f'{len(results)} changes, {len(told)} told, {near} within 10 %, {inside} inside the bounds')
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)


if __name__ == '__main__':
    main()
