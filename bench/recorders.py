"""The recorders that `make bench` compares. Each records the whole machine from
start() until stop(); stop() returns what is known of the recording: events, bytes, lost,
bpf (its programs' run time, where asked for), after_s and after_cpu_s (what it took to end)."""
import glob
import json
import mmap
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import time

EVENTS = ('sched:sched_switch', 'sched:sched_waking', 'raw_syscalls:sys_enter', 'raw_syscalls:sys_exit')
TRACING = '/sys/kernel/tracing'
CPUCLOCK_SCHED = 2                                 # of a process's clock: ~pid << 3 | 2
PERF_LOST, PERF_SAMPLE, PERF_LOST_SAMPLES = 2, 9, 13 # enum perf_event_type


def bpf_programs():
    done = subprocess.run(['bpftool', 'prog', 'show', '--json'], capture_output=True,
                          env=dict(os.environ, PATH=os.environ['PATH'] + ':/usr/sbin'))
    return {p['id']: p for p in json.loads(done.stdout or '[]')} if done.returncode == 0 else {}


class Recorder:
    """One process that records until SIGINT."""
    needs, counts_fast = (), True

    def __init__(self, folder, build):
        self.folder, self.build, self.process = folder, build, None

    def start(self):
        self.before = set(bpf_programs())
        self.log = open(self.folder + '/log', 'wb')
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        for _ in range(400):
            if self.process.poll() is not None or self.ready():
                break
            time.sleep(.05)
        if self.process.poll() is not None or not self.ready():
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            except ProcessLookupError:
                pass
            raise RuntimeError(f'{self.name} did not start: {self.text()[-500:]}')

    def text(self):
        return open(self.folder + '/log', errors='replace').read()

    def running_programs(self):
        """Sum of run time and runs of the BPF programs that came with this recorder."""
        mine = [p for i, p in bpf_programs().items() if i not in self.before]
        return {'ns': sum(p.get('run_time_ns', 0) for p in mine), 'runs': sum(p.get('run_cnt', 0) for p in mine)}

    def stop(self, count=True):
        """With `count` false events are not counted where that takes long."""
        bpf, cpu, begin = self.running_programs(), self.cpu_s(), time.monotonic()
        self.process.send_signal(signal.SIGINT)
        _, status, used = os.wait4(self.process.pid, 0)
        after = {'after_s': time.monotonic() - begin, 'after_cpu_s': max(used.ru_utime + used.ru_stime - cpu, 0)}
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if status and not self.kept():
            raise RuntimeError(f'{self.name} kept nothing (status {self.process.returncode}): {self.text()[-300:]}')
        known = self.result() if count or self.counts_fast else {'events': None, 'bytes': None, 'lost': None}
        return dict(known, bpf=bpf, **after)

    def cpu_s(self):
        """CPU time so far of all processes of the recorder (one session), by their clocks."""
        seconds = 0
        for path in glob.glob('/proc/[0-9]*/stat'):
            try:
                fields = open(path).read().rpartition(')')[2].split()
                if int(fields[3]) == self.process.pid:
                    seconds += time.clock_gettime(~int(path.split('/')[2]) << 3 | CPUCLOCK_SCHED)
            except OSError:         # it ended
                continue
        return seconds

    def kept(self):
        return True

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)


def perf_counts(path):
    """Samples in a perf.data, and how many more it says were lost. Its own tools take minutes."""
    samples = lost = 0
    with open(path, 'rb') as file:
        at, size = struct.unpack('<QQ', file.read(56)[40:])
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            head, end = struct.Struct('<IHH').unpack_from, min(at + size, len(data))
            while at + 8 <= end:
                kind, _, bytes_ = head(data, at)
                if kind == PERF_SAMPLE:
                    samples += 1
                elif kind == PERF_LOST:
                    lost += struct.unpack_from('<Q', data, at + 16)[0]
                elif kind == PERF_LOST_SAMPLES:
                    lost += struct.unpack_from('<Q', data, at + 8)[0]
                if bytes_ < 8:
                    raise RuntimeError(f'{path}: a record of {bytes_} bytes')
                at += bytes_
    return samples, lost


class Perf(Recorder):
    name, needs, counts_fast, options = 'perf record', ('perf',), False, ()

    def command(self):
        events = ','.join(EVENTS)
        self.ask, self.acked = self.folder + '/ask', self.folder + '/acked'
        for path in (self.ask, self.acked):
            os.mkfifo(path)
        return ['perf', 'record', '-a', '-o', self.folder + '/perf.data', '-e', events, '-D', '-1', '--control',
                f'fifo:{self.ask},{self.acked}', *self.options]

    def ready(self):
        if not self.enabled:
            try:
                ask = os.open(self.ask, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:         # perf has not opened it yet
                return False
            acked = os.open(self.acked, os.O_RDWR)
            os.write(ask, b'enable\n')
            self.enabled = bool(select.select([acked], [], [], 10)[0])
            os.close(ask)
            os.close(acked)
        return self.enabled

    def start(self):
        self.enabled = False
        super().start()

    def result(self):
        samples, lost = perf_counts(self.folder + '/perf.data')
        return {'events': samples, 'bytes': os.path.getsize(self.folder + '/perf.data'), 'lost': lost}


class PerfStacks(Perf):
    name, options = 'perf record -g', ('-g',)


class TraceCmd(Recorder):
    name, needs = 'trace-cmd', ('trace-cmd',)

    def command(self):
        record = ['trace-cmd', 'record', '--compression', 'zstd', '-o', self.folder + '/trace.dat']
        for event in EVENTS:
            record += ['-e', event]
        # Some kernels refuse to change the function tracer, which trace-cmd resets
        # at its start although no event needs it: hand it scratch files instead.
        open(self.folder + '/switch', 'w').write('1\n')
        script = ('cd "$1" && shift; touch nothing; (echo 1 >/proc/sys/kernel/ftrace_enabled) 2>/dev/null || '
                  'mount --bind switch /proc/sys/kernel/ftrace_enabled; '
                  f'for f in {TRACING}/set_ftrace_* {TRACING}/set_graph_*; do '
                  '[ ! -e "$f" ] || (: >>"$f") 2>/dev/null || mount --bind nothing "$f"; done; exec "$@"')
        return ['unshare', '-m', '--propagation', 'private', 'sh', '-c', script, 'sh', self.folder] + record

    def ready(self):
        # It says so only when its output is a terminal; the kernel's switches tell, and
        # that it takes an interrupt by now.
        caught = re.search(r'^SigCgt:\s*(\w+)', open(f'/proc/{self.process.pid}/status').read(), re.M)
        switches = [open(f'{TRACING}/{name}').read().strip() for name in ('events/raw_syscalls/sys_exit/enable', 'tracing_on')]
        return caught and int(caught[1], 16) & 1 << signal.SIGINT - 1 and switches == ['1', '1']

    def kept(self):
        return os.path.exists(self.folder + '/trace.dat')

    def start(self):
        open(TRACING + '/tracing_on', 'w').write('0')
        super().start()

    def result(self):
        open(TRACING + '/tracing_on', 'w').write('1')
        text = subprocess.run(['trace-cmd', 'report', '--stat', self.folder + '/trace.dat'], capture_output=True).stdout.decode()
        total = {key: sum(int(n) for n in re.findall(rf'^{key}: (\d+)', text, re.M)) for key in
                 ('entries', 'overrun', 'dropped events', 'read events')}
        return {'events': total['read events'] + total['entries'], 'bytes': os.path.getsize(self.folder + '/trace.dat'),
                'lost': total['overrun'] + total['dropped events']}


class Floor(Recorder):
    name = 'floor'

    def command(self):
        return [self.build + '/bench/floor/floor']

    def ready(self):
        return 'ready' in self.text()

    def result(self):
        return json.loads(self.text().splitlines()[-1])


class Argus(Recorder):
    level, options = None, ()

    def command(self):
        # The command begins when the recording has begun; an interrupt is passed on to it.
        return [self.build + '/argus', 'record', '-a', '--level', self.level, *self.options, '-o', self.folder + '/trace', '--', 'sh',
                '-c', 'echo ready; exec sleep 1000000']

    def ready(self):
        return 'ready' in self.text()

    def result(self):
        info = json.loads(subprocess.run([self.build + '/argus', 'info', '--json', self.folder + '/trace'],
                                         capture_output=True, check=True).stdout)
        return {'events': info['events'], 'bytes': info['bytes'], 'lost': info['lost']}


class Lean(Argus):
    name, level = 'argus lean', 'lean'


class LeanBare(Lean):
    name, options = 'argus lean, no stacks', ('--stacks', 'none')


class Full(Argus):
    name, level = 'argus full', 'full'


class FullBare(Full):
    name, options = 'argus full, no stacks', ('--stacks', 'none')


ALL = (Perf, PerfStacks, TraceCmd, Floor, LeanBare, Lean, FullBare, Full)


def chosen(names):
    """The kinds that are named; all when none is."""
    unknown = [name for name in names if name not in [kind.name for kind in ALL]]
    if unknown:
        raise ValueError(f'no recorder is called {unknown[0]!r}: {", ".join(kind.name for kind in ALL)}')
    return [kind for kind in ALL if not names or kind.name in names]
