#!/usr/bin/env python3
"""What `argus path` of a long trace costs beside `argus graph` of the same: processor time, clock and peak memory, each in a
memory group of its own, from a cold page cache (bench/scale.py --prepare makes such traces).

usage: long.py [--argus PROGRAM] --pid PID [--json FILE] TRACE"""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../bench'))
import group  # noqa: E402
import scale  # noqa: E402

LIMIT = 2 << 30


def measured(title, words):
    scale.drop_caches()
    memory = group.MemoryGroup(LIMIT)
    try:
        found = memory.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        memory.close()
    return {'title': title, 'seconds': found['seconds'], 'peak_mib': found['anonymous'] / 2**20, 'status': found['status'],
            'cpu_s': found['cpu_s']}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--pid', required=True)
    parser.add_argument('--json')
    parser.add_argument('trace')
    options = parser.parse_args()
    scale.forget(options.trace)
    told = subprocess.run([options.argus, 'info', options.trace], capture_output=True, check=True).stdout.decode()
    rows = [measured('graph', [options.argus, 'graph', options.trace]),
            measured('path', [options.argus, 'path', '--pid', options.pid, options.trace])]
    answer = json.loads(subprocess.run([options.argus, 'path', '--json', '--pid', options.pid, options.trace], capture_output=True, check=True).stdout)
    found = {'events': int(re.search(r'^events\s+(\d+)', told, re.M)[1]), 'links': answer['links'], 'seconds': answer['total_ns'] / 1e9, 'rows': rows}
    for row in rows:
        print(f"{row['title']:6} {row['cpu_s']:.1f} s of processor, {row['seconds']:.1f} s, {row['peak_mib']:.0f} MiB", flush=True)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(found, file)


if __name__ == '__main__':
    sys.exit(main())
