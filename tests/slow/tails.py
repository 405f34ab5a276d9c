#!/usr/bin/env python3
"""Servers with a planted cause in one of a hundred requests (servers.c): is it the first line
of what `argus path --requests` tells of the slowest, and are all requests found? The
server's own log is the truth: a request is right that lies about what one thread answered
from then to then, each once. Each server is recorded and asked once.

usage: tails.py [--argus PROGRAM] [--level lean|full] [--keep DIR | --replay DIR] [--json FILE] [--show] [NAME...]"""
import argparse
import collections
import contextlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# What the slow requests went through: thread (None: any), function, lock.
TRUTH = {
    'query': ('serve', 'slow_query', None), 'sort': ('serve', 'big_sort', None), 'log': ('serve', 'flush_log', None),
    'stats': ('collect_stats', 'collect_stats', 'stats_lock'), 'backend': ('backend', 'backend_scan', None),
    'file': ('serve', 'read_cold_file', None), 'helper': ('sleep', None, None), 'retry': ('serve', 'retry_later', None),
    'memory': ('serve', 'touch_memory', None), 'index': ('indexer', 'build_index', None),
}


# So that what else the machine does takes no processor from them.
BEFORE_OTHERS = ('chrt', '-r', '1')


def joined(requests, log):
    """How many of the requests are each one of the log's: of the thread that answered it, and about when it did."""
    found, answered = collections.defaultdict(list), collections.defaultdict(list)
    for r in requests:
        found[r['tid']].append((r['start_ns'], r['end_ns']))
    for line in log.splitlines():
        tid, begin, end = map(int, line.split())
        answered[tid].append((begin, end))
    right = 0
    for tid, answers in answered.items():
        left = sorted(found[tid])
        for begin, end in sorted(answers):
            common = [(min(r[1], end) - max(r[0], begin), r) for r in left if r[0] < end and r[1] > begin]
            if common:
                left.remove(max(common)[1])
                right += 1
    return right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--level', default='full', choices=('lean', 'full'))
    parser.add_argument('--keep')
    parser.add_argument('--replay')
    parser.add_argument('--json')
    parser.add_argument('--show', action='store_true')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    right = found = correct = served = asked = 0
    kept = options.keep or options.replay
    if kept:
        os.makedirs(kept, exist_ok=True)
    with contextlib.nullcontext(kept) if kept else tempfile.TemporaryDirectory(prefix='argus-tails.') as folder:
        program = os.path.join(folder, 'servers')
        # the one that was recorded: another one's symbols are not its
        if not options.replay:
            subprocess.run(['gcc', '-O2', '-g', '-fno-ipa-icf', '-pthread', '-o', program, os.path.join(HERE, 'servers.c')], check=True)
        for name in options.names or TRUTH:
            trace, told = (os.path.join(folder, f'{name}-{options.level}.{end}') for end in ('argus', 'log'))
            if not options.replay:
                with open(told, 'w', encoding='utf-8') as file:
                    subprocess.run([options.argus, 'record', '--level', options.level, '-o', trace, '--', *BEFORE_OTHERS, program, name], stdout=file,
                                   stderr=subprocess.DEVNULL, check=True)
            with open(told, encoding='utf-8') as file:
                log = file.read()
            served += len(log.splitlines())
            answer = json.loads(subprocess.run([options.argus, 'path', '--requests', '--json', trace], capture_output=True, check=True).stdout)
            thread, function, lock = TRUTH[name]
            # the backend is a server, too
            requests = [r for r in json.loads(subprocess.run([options.argus, 'path', '--requests', '--by', 'function', '--json', trace],
                                                             capture_output=True, check=True).stdout)['requests'] if r['group'] != 'backend']
            count = joined(requests, log)
            found += len(requests)
            correct += count
            first = answer['tail'][0] if answer['tail'] else {}
            good = first.get('thread') == thread and first.get('lock') == lock and function in (None, first.get('function'))
            asked += 1
            right += good
            print(f"{name:8} {'right' if good else 'WRONG'}  {len(requests)} requests found, {count} of {len(log.splitlines())} rightly", flush=True)
            if options.show or not good:
                print(subprocess.run([options.argus, 'path', '--requests', trace], capture_output=True, check=False).stdout.decode())
    print(f'{right} of {asked} causes first, {found} requests found, {correct} of {served} rightly')
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump({'level': options.level, 'right': right, 'asked': asked, 'found': found, 'correct': correct, 'served': served}, file)
    return right != asked


sys.exit(main())
