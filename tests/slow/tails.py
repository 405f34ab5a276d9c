#!/usr/bin/env python3
"""Servers with a planted cause in one of a hundred requests (servers.c): is it the first line
of what `argus path --requests` tells of the slowest, and are all requests found? The
server's own count is the truth. Each is recorded and asked once.

usage: tails.py [--argus PROGRAM] [--level lean|full] [--json FILE] [--show] [NAME...]"""
import argparse
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--level', default='full', choices=('lean', 'full'))
    parser.add_argument('--json')
    parser.add_argument('--show', action='store_true')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    right = found = served = asked = 0
    with tempfile.TemporaryDirectory(prefix='argus-tails.') as folder:
        program, trace = os.path.join(folder, 'servers'), os.path.join(folder, 'trace')
        subprocess.run(['gcc', '-O2', '-g', '-fno-ipa-icf', '-pthread', '-o', program, os.path.join(HERE, 'servers.c')], check=True)
        for name in options.names or TRUTH:
            done = subprocess.run([options.argus, 'record', '--level', options.level, '-o', trace, '--', program, name], capture_output=True, check=True)
            served += int(done.stdout)
            answer = json.loads(subprocess.run([options.argus, 'path', '--requests', '--json', trace], capture_output=True, check=True).stdout)
            thread, function, lock = TRUTH[name]
            # the backend is a server, too
            count = sum(r['group'] != 'backend' for r in json.loads(subprocess.run(
                [options.argus, 'path', '--requests', '--by', 'function', '--json', trace], capture_output=True, check=True).stdout)['requests'])
            found += count
            first = answer['tail'][0] if answer['tail'] else {}
            good = first.get('thread') == thread and first.get('lock') == lock and function in (None, first.get('function'))
            asked += 1
            right += good
            print(f"{name:8} {'right' if good else 'WRONG'}  {count} of {done.stdout.decode().strip()} requests", flush=True)
            if options.show or not good:
                print(subprocess.run([options.argus, 'path', '--requests', trace], capture_output=True, check=False).stdout.decode())
    print(f'{right} of {asked} causes first, {found} of {served} requests found')
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump({'level': options.level, 'right': right, 'asked': asked, 'found': found, 'served': served}, file)
    return right != asked


sys.exit(main())
