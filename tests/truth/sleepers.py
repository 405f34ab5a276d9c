#!/usr/bin/env python3
"""Stacks of sleeping threads, as a snapshot has them, beside gdb's of the same threads.

Packaged programs are started, each several times, and wait for what does not come. A
recording's snapshot has their stacks; then gdb stops each and walks them. Counted: how
many are whole, and equal to gdb's frame by frame; those that end at a page that was not
in memory apart. Less than 99.5 % is a failure.

usage: sleepers.py [--argus PROGRAM] [--instances N] [PROGRAM...]"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from programs import threads_of
from references import JIT, PROGRAMS, REFERENCES, mappings

PYTHON = 'import threading, time\nfor i in range(9): threading.Thread(target=time.sleep, args=(9999,), daemon=True).start()\ntime.sleep(9999)'
COMMANDS = {
    'sleep': ['sleep', '9999'], 'cat': ['cat'], 'tail': ['tail', '-f', '/dev/null'], 'python3': ['python3', '-c', PYTHON],
    'perl': ['perl', '-e', 'sleep 9999'], 'bash': ['bash', '-c', 'read x; true'], 'dash': ['dash', '-c', 'read x; true'],
    'redis-server': ['redis-server', '--port', '0', '--save', ''], 'sqlite3': ['sqlite3'], 'mawk': ['mawk', '{print}'],
    'sed': ['sed', 'p'], 'grep': ['grep', 'x'], 'bc': ['bc', '-q'], 'tclsh': ['tclsh'], 'node': ['node', '-e', 'setTimeout(() => {}, 1e8)'],
    'socat': ['socat', '-', 'PIPE'], 'ed': ['ed'], 'm4': ['m4'], 'tee': ['tee'], 'sort': ['sort'], 'dd': ['dd'], 'wc': ['wc'],
    'head': ['head'], 'od': ['od'], 'xxd': ['xxd'], 'base64': ['base64'], 'openssl': ['openssl', 'sha256'],
    'flock': ['flock', '/dev/null', 'cat'], 'watch': ['watch', '-n', '9999', 'true'], 'timeout': ['timeout', '9999', 'cat'],
    'xargs': ['xargs', 'true'], 'make': ['make', '-f', '-'], 'git': ['git', 'hash-object', '--stdin'], 'gdb': ['gdb', '-nx', '-q'],
    'java': ['java', '-version', '-Xms16m'], 'su': ['su', '-c', 'cat'], 'script': ['script', '-q', '-c', 'cat', '/dev/null'],
    'dbus-daemon': ['dbus-daemon', '--session', '--nofork', '--print-address'], 'ssh-agent': ['ssh-agent', '-D'],
    'tac': ['tac'], 'rev': ['rev'], 'cut': ['cut', '-c1'], 'tr': ['tr', 'a', 'b'], 'uniq': ['uniq'], 'nl': ['nl'], 'fold': ['fold'],
    'gzip': ['gzip', '-c'], 'xz': ['xz', '-c'], 'bzip2': ['bzip2', '-c'], 'md5sum': ['md5sum'], 'cmp': ['cmp', '-', '/dev/zero'],
    'gcc': ['gcc', '-E', '-'], 'objdump': ['objdump', '-d', '/dev/stdin'], 'strace': ['strace', '-o', '/dev/null', 'sleep', '9999'],
    'vim': ['vim', '-'], 'nginx': ['nginx', '-g', 'daemon off; error_log /dev/null; pid /dev/null;'], 'lua5.4': ['lua5.4', '-'],
    'Xvfb': ['Xvfb', ':97'], 'haproxy': ['haproxy', '-f', '/dev/stdin'], 'stdbuf': ['stdbuf', '-o0', 'cat'], 'pr': ['pr'], 'tsort': ['tsort'],
}


def start(names, instances, folder):
    started = {}
    for name in names:
        if not shutil.which(COMMANDS[name][0]):
            continue
        for _ in range(instances):
            process = subprocess.Popen(COMMANDS[name], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True, cwd=folder)
            started[process.pid] = (name, process)
    return started


def is_python(frame):
    return frame['module'].endswith('.py') or frame['module'].startswith('<')


def recorded(options, folder):
    trace = folder + '/sleepers.trace'
    subprocess.run([options.argus, 'record', '-a', '--freq', '0', '--duration', '500ms', '-o', trace], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = subprocess.run([options.argus, 'dump', '--state', '--json', '--stacks', '-e', 'waiting', trace], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout
    found = {}
    for event in json.loads(text)['events']:
        found[event['tid']] = event # the last one: nobody moved since the first, or it is compared with gdb's anyway
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1])
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--instances', type=int, default=13)
    parser.add_argument('programs', nargs='*')
    options = parser.parse_args()
    if not shutil.which(PROGRAMS['gdb']):
        print('no gdb')
        return 77
    folder = tempfile.mkdtemp(prefix='sleepers-')
    started = start(options.programs or sorted(COMMANDS), options.instances, folder)
    time.sleep(3)
    threads = whole = equal = absent = unknown = 0
    programs, per_program = set(), {}
    try:
        ours = recorded(options, folder)
        for pid, (name, _) in started.items():
            if not threads_of(pid) or name in ('strace', 'gdb') and pid not in ours:
                continue
            maps = mappings(pid)
            try:
                truth = REFERENCES['gdb'](pid, maps, folder)
            except (OSError, ValueError, subprocess.SubprocessError):
                continue
            # calls of the interpreter's loop stand as the functions that it runs, which gdb does not know
            if any(is_python(frame) for tid in threads_of(pid) for frame in ours.get(tid, {}).get('stack', [])):
                truth = REFERENCES['gdb'](pid, maps, folder, ('_PyEval_EvalFrameDefault',))
            for tid in threads_of(pid):
                if per_program.get(name, 0) == 30 or tid not in ours:
                    continue
                stack = ours[tid].get('stack', [])
                ends = stack[-1].get('ends') if stack else 'none'
                if not truth.get(tid):
                    unknown += 1
                    continue
                per_program[name] = per_program.get(name, 0) + 1
                programs.add(name)
                if ends == 'no_page':
                    absent += 1
                    continue
                threads += 1
                whole += ends is None
                frames = [(f['module'] if not f['module'].startswith('/tmp/perf-') else JIT, f['address']) for f in stack if not is_python(f)]
                same = frames == [tuple(f) for f in truth[tid]]
                equal += same
                if not same:
                    print('%s %d: %s, %d frames, gdb %d' % (name, tid, ends, len(frames), len(truth[tid])))
    finally:
        for pid, (_, process) in started.items():
            try:
                os.killpg(pid, 9)
            except ProcessLookupError:
                pass
            process.wait()
        shutil.rmtree(folder)
    share = 100 * min(whole, equal) / max(threads, 1)
    print('%d threads of %d programs: %d whole, %d equal to gdb\'s (%.2f %%); %d end at a page that was not in memory; of %d gdb knows no end' %
          (threads, len(programs), whole, equal, share, absent, unknown))
    return 0 if share >= 99.5 else 1


if __name__ == '__main__':
    sys.exit(main())
