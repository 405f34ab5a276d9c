"""How the event graph grows: large traces composed of recorded ones (compose.c), built
with the page cache dropped, then loaded from the index."""
import os
import subprocess
import tempfile

import offline
import recorders

SIZES = (2_300_000, 18_500_000, 170_000_000)


def drop_caches():
    try:
        os.sync()
        open('/proc/sys/vm/drop_caches', 'w').write('3\n')
    except OSError:
        pass


def record(build, folder, workload):
    """A lean and a full recording of the workload."""
    paths = []
    for kind in (recorders.Lean, recorders.Full):
        os.makedirs(f'{folder}/{kind.level}')
        recorder = kind(f'{folder}/{kind.level}', build)
        recorder.clear()
        recorder.start()
        workload.run()
        recorder.stop()
        paths.append(f'{recorder.folder}/trace')
    return paths


def measure(workload, build, sizes=SIZES):
    subprocess.run(['ninja', '-C', build, 'compose'], check=True, stdout=subprocess.DEVNULL)
    rows = []
    with tempfile.TemporaryDirectory(prefix='argus-scale-', dir='/var/tmp') as folder:
        try:
            inputs = record(build, folder, workload)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as problem:
            print(f'  scale: {problem}', flush=True)
            return rows
        for size in sizes:
            trace = f'{folder}/composed'
            subprocess.run([f'{build}/compose', trace, str(size), *inputs], check=True, stdout=subprocess.DEVNULL)
            if os.path.exists(trace + '.graph'):
                os.unlink(trace + '.graph')
            drop_caches()
            for title in ('built', 'from the index'):
                row = offline.timed(f'graph, {title}', f'{build}/argus graph {trace}', size)
                row['bytes'] = os.path.getsize(trace)
                rows.append(row)
                print(f'  scale: {size:,} events, {title}: {row["seconds"]:.2f} s, {row["peak_mib"]:.0f} MiB', flush=True)
    return rows
