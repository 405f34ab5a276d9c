#!/usr/bin/env python3
"""Programs that are slow for a known reason (programs.c; truth.json says which), recorded
once, and what the first line of `argus path` says of each.

usage: score.py [--argus PROGRAM] [--keep DIR | --replay DIR] [--json FILE] [--show] [NAME...]"""
import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# On a busy machine a quota is not what one waits for.
BEFORE_OTHERS = ('nice', '-n', '-18')


@contextlib.contextmanager
def quota_group():
    """The file of the processes of a control group that has a fifth of a processor, of that the first; '' where none can be made."""
    group = f'/sys/fs/cgroup/cpu/argus-slow-{os.getpid()}'
    try:
        os.mkdir(group)
        for name, text in (('cpu.cfs_period_us', '50000'), ('cpu.cfs_quota_us', '10000'), ('cpu.shares', '262144')):
            with open(os.path.join(group, name), 'w', encoding='ascii') as file:
                file.write(text)
        yield os.path.join(group, 'cgroup.procs')
    except OSError:
        yield ''
    finally:
        if os.path.isdir(group):
            with contextlib.suppress(OSError):
                os.rmdir(group)


def record(options, name, trace):
    with quota_group() as group:
        os.sync()            # what others wrote is no bottleneck of this one
        done = subprocess.run([options.argus, 'record', '-o', trace, '--', *BEFORE_OTHERS, options.program, name], capture_output=True,
                              env=dict(os.environ, SLOW_GROUP=group), check=False)
    with open(trace + '.said', 'wb') as file:
        file.write(done.stdout)
    return done.returncode


def also_doing(trace):
    """What a program measured of itself that its slow part may do as well, which is the machine's: "doing: WHAT" among its output."""
    with open(trace + '.said', encoding='utf-8') as file:
        return re.findall(r'^doing: (.*)', file.read(), re.M)


def check(truth, also, answer):
    """What is wrong with the first line; '' nothing."""
    if not answer['rows']:
        return 'there is no line'
    first = answer['rows'][0]
    for key in ('lock', 'thread', 'function'):
        if first[key] != truth[key]:
            return f'{key} {first[key]}, not {truth[key]}'
    # How long one waits for a processor is the machine's, busy as it may be.
    doing = [d['what'] for d in first['doing'] if d['class'] != 'runnable']
    if not doing or doing[0] not in truth['doing'] + also:
        return f"doing {doing}, not {truth['doing'][0]}"
    if also and not set(truth['doing']) & set(doing):
        return f"doing {doing} without {truth['doing'][0]}"
    return ''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--keep')
    parser.add_argument('--replay')
    parser.add_argument('--json')
    parser.add_argument('--show', action='store_true')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    with open(os.path.join(HERE, 'truth.json'), encoding='utf-8') as file:
        truths = json.load(file)
    folder = options.replay or options.keep or tempfile.mkdtemp(prefix='argus-slow.')
    os.makedirs(folder, exist_ok=True)
    right = asked = 0
    results = []
    try:
        options.program = os.path.join(folder, 'programs')
        if not options.replay:
            subprocess.run(['gcc', '-O2', '-g', '-fno-ipa-icf', '-pthread', '-o', options.program, os.path.join(HERE, 'programs.c')], check=True)
        for name in options.names or truths:
            trace = os.path.join(folder, name + '.argus')
            if not options.replay:
                status = record(options, name, trace)
                if status:
                    print(f'{name:12} {"skipped: cannot be run here" if status == 77 else f"record failed: {status}"}')
                    asked += status != 77
                    continue
            done = subprocess.run([options.argus, 'path', '--json', trace], capture_output=True, check=False)
            asked += 1
            wrong = done.stderr.decode() if done.returncode else check(truths[name], also_doing(trace), json.loads(done.stdout))
            right += not wrong
            results.append({'program': name, 'why': truths[name]['why'], 'wrong': wrong})
            print(f'{name:12} {wrong or "right"}')
            if options.show or wrong:
                print(subprocess.run([options.argus, 'path', '--top', '4', trace], capture_output=True, check=False).stdout.decode())
    finally:
        if not options.keep and not options.replay:
            shutil.rmtree(folder)
    print(f'{right} of {asked} right')
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(results, file)
    return right != asked


if __name__ == '__main__':
    sys.exit(main())
