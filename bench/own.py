"""What the recorder itself takes: to start, in memory, and for each process that begins
and ends. With stacks, at the lean level, as `argus start` records."""
import os
import resource
import shutil
import statistics
import subprocess
import time

import recorders

STARTS, REST_S, RATE, PROCESSES, NEW_PROGRAMS = 5, 8, 94, 1000, 2000


def start_cost(build, folder):
    """CPU and wall-clock seconds of recording a command that does nothing."""
    rows = []
    for _ in range(STARTS):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([f'{build}/argus', 'record', '-o', f'{folder}/start.trace', '--', 'true'], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        rows.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall))
    return [statistics.median(column) for column in zip(*rows)]


def processes_of(session):
    found = []
    for name in os.listdir('/proc'):
        try:
            if name.isdigit() and int(open(f'/proc/{name}/stat').read().rpartition(')')[2].split()[3]) == session:
                found.append(name)
        except OSError:         # it ended
            continue
    return found


def own_bytes(pid):
    """Its share of what is in memory, but for mapped BPF maps, which are counted by themselves."""
    kib, counted = 0, True
    for line in open(f'/proc/{pid}/smaps'):
        words = line.split()
        if not words[0].endswith(':'):
            counted = 'bpf' not in line
        elif words[0] == 'Pss:' and counted:
            kib += int(words[1])
    return kib << 10


def bpf_bytes(pid):
    """Of its maps and programs, by their numbers."""
    found = {}
    for name in os.listdir(f'/proc/{pid}/fdinfo'):
        try:
            lines = dict(line.split(':', 1) for line in open(f'/proc/{pid}/fdinfo/{name}') if ':' in line)
        except OSError:
            continue
        if 'memlock' in lines:
            found[lines.get('map_id', lines.get('prog_id', name)), 'map_id' in lines] = int(lines['memlock'])
    return found


def memory(recorder):
    """MB of its processes, and of its BPF maps and programs."""
    own, bpf = 0, {}
    for pid in processes_of(recorder.process.pid):
        try:
            own += own_bytes(pid)
            bpf.update(bpf_bytes(pid))
        except OSError:
            continue
    return own / 1e6, sum(bpf.values()) / 1e6


def begin_and_end(count, rate, folder=None):
    """Processes of a few programs, at a rate a second; with a folder each of a program of its own."""
    begin = time.monotonic()
    for number in range(count):
        program = ('/bin/true', '/bin/ls', '/usr/bin/id', '/bin/cat')[number % 4]
        if folder:
            program = shutil.copy('/bin/true', f'{folder}/program{number}')
        os.waitpid(os.posix_spawn(program, [program, '/dev/null'], os.environ,
                                  file_actions=[(os.POSIX_SPAWN_OPEN, fd, '/dev/null', os.O_WRONLY, 0) for fd in (1, 2)]), 0)
        if folder:
            os.unlink(program)
        if rate:
            time.sleep(max(0, begin + (number + 1) / rate - time.monotonic()))


def per_process(recorder):
    """Microseconds of the agent's CPU for a process, beyond what it takes without."""
    begin, cpu = time.monotonic(), recorder.cpu_s()
    time.sleep(REST_S)
    rest = (recorder.cpu_s() - cpu) / (time.monotonic() - begin)
    begin, cpu = time.monotonic(), recorder.cpu_s()
    begin_and_end(PROCESSES, RATE)
    seconds = time.monotonic() - begin
    used = recorder.cpu_s() - cpu
    return 1e6 * (used - rest * seconds) / PROCESSES, 100 * used / seconds


def measure(recorder, build):
    """Rows: what, value."""
    recorder.clear()
    cpu, wall = start_cost(build, recorder.folder)
    rows = [['`record -- true`: CPU', f'{cpu:.2f} s'], ['`record -- true`: on the clock', f'{wall:.2f} s']]
    recorder.start()
    try:
        time.sleep(REST_S)
        own, bpf = memory(recorder)
        rows.append([f'memory with {len([n for n in os.listdir("/proc") if n.isdigit()])} processes: its own, of BPF',
                     f'{own:.0f} + {bpf:.0f} MB'])
        cost, share = per_process(recorder)
        rows += [[f'CPU for each of {RATE} new processes a second', f'{cost / 1000:.3f} ms'],
                 ['agent at that rate, of one core', f'{share:.2f} %']]
        begin_and_end(NEW_PROGRAMS, 0, recorder.folder)
        time.sleep(REST_S)
        own, bpf = memory(recorder)
        rows.append([f'memory after {NEW_PROGRAMS} programs never seen before', f'{own:.0f} + {bpf:.0f} MB'])
    finally:
        recorder.stop(False)
    return rows


def recorder_of(chosen):
    return next((r for r in chosen if isinstance(r, recorders.Argus) and r.name == 'argus lean'), None)
