#!/usr/bin/env python3
"""What `argus now` costs on a machine with 300 processes and 2,000 threads that sleep: from
the key to the answer with nothing running before, and through a running recorder; what a
snapshot takes; and whether others notice (how late a timer of 1 kHz fires meanwhile, beside the machine's own noise).

usage: bench/now.py [BUILD] [--rounds N] [--late-rounds N] [--closer]        (needs root)"""
import argparse
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import held_up  # noqa: E402  (beside this file)
import lateness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PROCESSES, THREADS, ROUNDS = 300, 2000, 5
LATE_ROUNDS, LOOK_WINDOW_S, SNAPSHOT_WINDOW_S = 40, 1.5, 0.4  # a look takes a second, a snapshot 50 ms


def compiled(name, folder):
    subprocess.run([os.environ.get('CC', 'gcc'), '-O1', '-g', '-pthread', '-o', f'{folder}/{name}', f'{HERE}/{name}.c'], check=True)
    return f'{folder}/{name}'


def now(argus):
    """CPU and wall-clock seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    asked = subprocess.run([argus, 'now', '--json', str(os.getpid())], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if asked.returncode > 1:
        raise RuntimeError(asked.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def ask(request):
    """The recorder's answer to a request, over its socket."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(os.environ['ARGUS_RUNTIME_DIR'] + '/control')
        asked.sendall(request.encode() + b'\n')
        answer = b''
        while True:
            got = asked.recv(65536)
            if not got:
                return answer.decode().partition(' ')[2]
            answer += got


def spent():
    """CPU in milliseconds and bytes, of the recorder, so far."""
    told = dict(line.split('=', 1) for line in ask('status').splitlines())
    return int(told['cpu_us']) / 1000, int(told['bytes_written'])


def snapshots(rounds):
    """CPU and bytes of a snapshot beyond what recording takes for as long; the first apart, which
    has walked nobody before."""
    rows = []
    for _ in range(rounds):
        cpu, size = spent()
        time.sleep(0.3)
        rest_cpu, rest_size = spent()
        begin = time.monotonic()
        ask('snapshot')
        took = time.monotonic() - begin
        time.sleep(max(0, 0.3 - took))
        all_cpu, all_size = spent()
        rows.append((all_cpu - rest_cpu - (rest_cpu - cpu), (all_size - rest_size - (rest_size - size)) / 1000, took * 1000))
    return [statistics.median(column) for column in zip(*rows)]


def late_rows(late, what, meanwhile, rounds, window_s, closer=False):
    """Rows of the timer's threads, the one that is put anywhere first."""
    compared, counted, tried, windows, ticks = lateness.measure(late, meanwhile, rounds, window_s)
    if closer:
        print(f'{what}: {counted} of {tried} rounds count')
        for place, r in compared.items():
            print(place, r, lateness.moments(ticks[place], windows, r.without_us) if r else '')
    return [[f'{what}, a 1 kHz timer {"anywhere" if place is None else f"on processor {place}"}: 99.9 % late by at most, with / without; ratio; '
             f'of two without ({counted} rounds)', text] for place, text in lateness.told(compared).items()]


def held_up_row(late, what, begin, rounds, pid=None):
    """Where perf is."""
    if not shutil.which('perf'):
        return []
    return [[f'{what}: ticks of 1 kHz, on each processor, that waited for it alone', held_up.told(held_up.measure(late, begin, rounds, pid))]]


def healthy(argus):
    """What is claimed of machines on which all is well."""
    said = subprocess.run([sys.executable, f'{HERE}/../tests/standing/healthy.py', '--argus', argus], stdout=subprocess.PIPE, text=True, check=False).stdout
    return said.splitlines()[-1] if said else 'not known'


def measure(build, rounds=ROUNDS, late_rounds=LATE_ROUNDS, closer=False):
    """Rows: what, value."""
    argus, folder = os.path.abspath(f'{build}/argus'), tempfile.mkdtemp(prefix='argus-bench-now-')
    os.environ['ARGUS_RUNTIME_DIR'] = folder + '/run'
    crowd = recorder = None
    try:
        crowd = subprocess.Popen([compiled('crowd', folder), str(PROCESSES), str(THREADS)], stdout=subprocess.PIPE)
        crowd.stdout.readline()
        time.sleep(1)
        late = compiled('late', folder)
        alone = [statistics.median(column) for column in zip(*[now(argus) for _ in range(rounds)])]
        rows = [['`argus now`, nothing running before: CPU', f'{alone[0]:.2f} s'], ['... on the clock, half a second of it the look', f'{alone[1]:.2f} s'],
                *late_rows(late, '`argus now`', lambda: now(argus), late_rounds, LOOK_WINDOW_S, closer),
                *held_up_row(late, '`argus now`', lambda: subprocess.Popen([argus, 'now', '--json', str(os.getpid())], stdout=subprocess.DEVNULL), 10)]
        with open(folder + '/log', 'w') as log:
            recorder = subprocess.Popen([argus, 'start', '--foreground', '--dir', folder + '/ring', '--size', '64M'], stderr=log)
        while 'recording into' not in open(folder + '/log').read():
            if recorder.poll() is not None:
                raise RuntimeError(open(folder + '/log').read())
            time.sleep(0.05)
        time.sleep(2)
        through = [statistics.median(column) for column in zip(*[now(argus) for _ in range(rounds)])]
        cpu, size, took = snapshots(rounds)
        rows += [*late_rows(late, 'a snapshot in the recorder', lambda: ask('snapshot'), late_rounds, SNAPSHOT_WINDOW_S, closer),
                 *held_up_row(late, 'a snapshot in the recorder', lambda: ask('snapshot') and None, 30, recorder.pid),
                 ['`argus now` through a running recorder: CPU', f'{through[0]:.2f} s'], ['... on the clock', f'{through[1]:.2f} s'],
                 ['a snapshot: CPU, bytes, on the clock', f'{cpu:.0f} ms, {size:.0f} kB, {took:.0f} ms']]
    finally:
        if recorder and recorder.poll() is None:
            recorder.terminate()
            recorder.wait()
        if crowd:
            crowd.kill()
            crowd.wait()
        shutil.rmtree(folder, ignore_errors=True)
    del os.environ['ARGUS_RUNTIME_DIR']
    return rows + [['machines on which all is well (`tests/standing/healthy.py`)', healthy(argus)]]


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('build', nargs='?', default='build')
    parser.add_argument('--rounds', type=int, default=ROUNDS)
    parser.add_argument('--late-rounds', type=int, default=LATE_ROUNDS)
    parser.add_argument('--closer', action='store_true', help='tell of late ticks when they came')
    chosen = parser.parse_args()
    print(json.dumps(measure(chosen.build, chosen.rounds, chosen.late_rounds, chosen.closer), indent=1))
