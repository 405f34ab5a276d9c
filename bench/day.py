#!/usr/bin/env python3
"""Records a few minutes of a machine with servers, a desktop, daemons and a compiler at
work, one after the other, with hangs at known moments: what compose makes traces of any
size from.

    bench/day.py [--level lean|full] [--seconds N] [--build BUILD] OUT

writes OUT (the trace) and OUT.parts (bench/compose/recording.h says what that holds)."""
import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import recorders
import workloads

# Kinds of hang and how long each lasts.
HANGS = (('mutex', 5), ('pipe', 4), ('socket', 6), ('lock', 10), ('child', 8), ('chain', 12), ('pipe', 30))
DAEMONS = 60
TERMINALS = 6
DISPLAY = ':77'
PAUSE_S = 0.5


class Desktop(workloads.Workload):
    """Terminals under a window manager; somebody types."""
    name, needs = 'desktop', ('Xvfb', 'openbox', 'xterm', 'xdotool')

    def start(self):
        self.env = dict(os.environ, DISPLAY=DISPLAY, HOME=self.folder)
        self.serve(['Xvfb', DISPLAY, '-screen', '0', '1280x1024x24'], lambda: os.path.exists('/tmp/.X11-unix/X' + DISPLAY[1:]))
        self.serve(['openbox'], lambda: True, env=self.env)
        for _ in range(TERMINALS):
            self.serve(['xterm', '-e', 'bash', '--norc'], lambda: True, env=self.env)
        time.sleep(2)

    def run(self):
        workloads.run(['xdotool', 'type', '--delay', '20', 'ls -l /usr/lib; seq 2000\n'], env=self.env)


class Daemons(workloads.Workload):
    """Many processes that sleep most of the time."""
    name = 'daemons'

    def start(self):
        for number in range(DAEMONS):
            self.serve(['sh', '-c', f'while sleep {2 + number % 17}.{number}; do :; done'], lambda: True)


class Storm(workloads.Workload):
    name, needs = 'storm', ('perf',)

    def run(self):
        workloads.run('perf bench sched messaging -g 10 -l 300')


BUSY = (workloads.Redis, workloads.Postgres, workloads.Nginx, workloads.Make, workloads.PostgresWrites, Desktop)


class Day:
    def __init__(self, out, build, folder, seconds):
        self.out, self.build, self.folder, self.seconds = out, build, folder, seconds
        self.lines, self.postgres = [], None

    def part(self, kind, name, work):
        time.sleep(PAUSE_S)
        begin = time.monotonic_ns()
        work()
        end = time.monotonic_ns()
        self.lines.insert(0, f'part {kind} {name} {begin} {end}')
        print(f'  day: {kind} {name}: {(end - begin) / 1e9:.1f} s', flush=True)

    def busy(self, workload):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            workload.run()

    def hang(self, kind, seconds):
        """One hang, while the data base has some work."""
        load = None
        if self.postgres:
            folder = self.postgres.folder
            load = subprocess.Popen(['pgbench', '-n', '-S', '-c', '4', '-j', '1', '-R', '800', '-T', '1000', '-U', 'postgres', '-h', folder, 'postgres'],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.lines += workloads.run([self.build + '/stuck', kind, str(seconds)]).splitlines()
        if load:
            load.terminate()
            load.wait()

    def play(self, busy, storm):
        for number, workload in enumerate(busy):
            if number % 3 == 0:
                self.part('idle', 'idle', lambda: time.sleep(self.seconds))
            self.part('even', workload.name, lambda workload=workload: self.busy(workload))
        if storm:
            self.part('storm', 'storm', storm.run)
        for kind, seconds in HANGS:
            self.part('hang', f'{kind}-{seconds}', lambda kind=kind, seconds=seconds: self.hang(kind, seconds))
        time.sleep(PAUSE_S)

    def record(self, recorder_kind):
        with contextlib.ExitStack() as stack:
            started = []
            for kind in (Daemons, *BUSY, Storm):
                path = f'{self.folder}/{kind.name}'
                os.mkdir(path)
                workload = kind(path, True)
                stack.callback(workload.stop)
                try:
                    if not all(shutil.which(program) for program in kind.needs):
                        raise RuntimeError('its programs are not all there')
                    # a second data base is the same server's
                    if kind is workloads.PostgresWrites and self.postgres:
                        workload.folder = self.postgres.folder
                    else:
                        workload.start()
                    started.append(workload)
                except (RuntimeError, OSError, subprocess.SubprocessError) as problem:
                    print(f'  day: {kind.name}: {problem}', flush=True)
                if kind is workloads.Postgres and workload in started:
                    self.postgres = workload
            recorder = recorder_kind(self.folder, self.build)
            recorder.start()
            try:
                self.play([w for w in started if isinstance(w, BUSY)], next((w for w in started if isinstance(w, Storm)), None))
            finally:
                known = recorder.stop()
        shutil.move(self.folder + '/trace', self.out)
        with open(self.out + '.parts', 'w') as file:
            file.write('\n'.join(sorted(self.lines, key=lambda line: (line.startswith('hang'), int(line.split()[3 if line.startswith('part') else 2])))) + '\n')
        return known


def record(out, build, level='lean', seconds=8):
    """Events, bytes and losses of the recording."""
    subprocess.run(['ninja', '-C', build, 'compose', 'stuck'], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix='argus-day-', dir='/var/tmp') as folder:
        os.chmod(folder, 0o755)
        return Day(out, build, folder, seconds).record(recorders.Full if level == 'full' else recorders.Lean)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--level', choices=('lean', 'full'), default='lean')
    parser.add_argument('--seconds', type=int, default=8, help='of each ordinary part (8)')
    parser.add_argument('--build', default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + '/build')
    parser.add_argument('out')
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, also by the recorder
    print(record(os.path.abspath(options.out), os.path.abspath(options.build), options.level, options.seconds))


if __name__ == '__main__':
    sys.exit(main())
