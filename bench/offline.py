"""How fast recordings are read: each tool over its own recording of one workload."""
import os
import subprocess
import time

LIMIT_S = 40


def timed(title, command, events):
    """A row: seconds, events a second and peak memory of a shell command."""
    start = time.monotonic()
    process = subprocess.Popen(['timeout', str(LIMIT_S)] + command.split(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    lines = 0
    while block := process.stdout.read(1 << 20):
        lines += block.count(b'\n')
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    return {'title': title, 'command': command, 'seconds': seconds, 'events': events, 'lines': lines,
            'peak_mib': usage.ru_maxrss / 1024, 'status': process.returncode}


def commands(recorder, build):
    """What reads the recorder's recording: titles and commands."""
    folder = recorder.folder
    if recorder.name in ('argus lean', 'argus full'):
        return [(f'{recorder.name}: {what}', f'{build}/argus {what} {folder}/trace') for what in ('info', 'dump', 'graph', 'hangs', 'why')]
    return {
        'perf record': [('perf script', f'perf script -i {folder}/perf.data'),
                        ('perf sched timehist', f'perf sched timehist -w -i {folder}/perf.data'),
                        ('perf sched latency', f'perf sched latency -i {folder}/perf.data')],
        'trace-cmd': [('trace-cmd report', f'trace-cmd report -i {folder}/trace.dat')],
    }.get(recorder.name, [])


def record(recorder, workload):
    """How many events were recorded."""
    recorder.clear()
    recorder.start()
    workload.run()
    return recorder.stop()['events']


def read(recorder, build, events):
    rows = []
    for title, command in commands(recorder, build):
        row = timed(title, command, events)
        row['command'] = row['command'].replace(build + '/', '').replace(recorder.folder + '/', '')
        rows.append(row)
        print(f'  offline: {title}: {row["seconds"]:.2f} s, {events / row["seconds"] / 1e6:.2f} M events/s', flush=True)
    return rows


def measure(chosen, workload, build):
    rows = []
    for recorder in chosen:
        if not commands(recorder, build):
            continue
        try:
            events = record(recorder, workload)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as problem:
            print(f'  offline: {recorder.name}: {problem}', flush=True)
            continue
        rows += read(recorder, build, events)
    return rows
