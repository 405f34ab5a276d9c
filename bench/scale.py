#!/usr/bin/env python3
"""How the event graph grows: large traces composed of recorded ones (compose.c), read with
the page cache dropped, then from the index; beside them the peers over recordings of
their own. `make bench` calls it, and it runs alone:

    bench/scale.py [--large] [--prepare DIR | --from DIR] [--out FILE] [BUILD]

--large adds 170 million events. --prepare only records and composes; --from reads what
it left in DIR, so that a quiet machine is needed for the reading alone."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import offline
import recorders
import report
import session
import workloads

SIZES = (2_300_000, 18_500_000)
LARGE = 170_000_000
ASKED = 50_000_000    # larger ones: the graph alone
PAIR = 'sched messaging, once: graph'
INDEX_LIMIT_S = 60
# What the traces are composed of: workloads and levels. The second kind is full of
# system calls and messages, each of which has to be joined with its other end.
KINDS = {
    'mixed': ((workloads.Redis, recorders.Lean), (workloads.Redis, recorders.Full), (workloads.Make, recorders.Full),
              (workloads.Messaging, recorders.Lean)),
    'full level': ((workloads.Redis, recorders.Full), (workloads.Messaging, recorders.Full), (workloads.Postgres, recorders.Full),
                   (workloads.Nginx, recorders.Full)),
}
SIZES_OF = {'full level': (18_500_000,)}    # the others: all sizes
PROBLEMS = (RuntimeError, OSError, ValueError, subprocess.SubprocessError)


def drop_caches():
    try:
        os.sync()
        with open('/proc/sys/vm/drop_caches', 'w') as out:
            out.write('3\n')
    except OSError:
        pass


def record(build, folder, inputs):
    """Paths of the recordings that could be made."""
    paths = []
    for number, (workload_kind, recorder_kind) in enumerate(inputs):
        base = f'{folder}/{number}'
        os.makedirs(base + '/work')
        os.makedirs(base + '/trace')
        workload = workload_kind(base + '/work', True)
        recorder = recorder_kind(base + '/trace', build)
        try:
            workload.start()
            recorder.start()
            workload.run()
            recorder.stop()
            paths.append(base + '/trace/trace')
        except PROBLEMS as problem:
            print(f'  scale: {workload.name}: {problem}', flush=True)
        finally:
            workload.stop()
    return paths


def forget(trace):
    if os.path.exists(trace + '.graph'):
        os.unlink(trace + '.graph')


def await_index(trace):
    """A process of its own writes it; whoever asks meanwhile waits for that."""
    end = time.monotonic() + INDEX_LIMIT_S
    while os.path.exists(trace + '.graph.tmp') and time.monotonic() < end:
        time.sleep(0.02)


def read(build, trace, kind, size):
    """Rows: the graph built from a cold file, then from the index; a question without one, and with it."""
    rows = []
    for title, command in (('graph, cold', 'graph'), ('graph, from the index', 'graph'), ('why, the first time', 'why'), ('why, from the index', 'why')):
        if not rows:
            forget(trace)
            drop_caches()
        elif 'first' in title:
            forget(trace)
        if command == 'why' and size > ASKED:
            continue
        row = offline.timed(f'{kind}: {title}', f'{build}/argus {command} {trace}', size)
        await_index(trace)
        row.update(bytes=os.path.getsize(trace), command='argus ' + command)
        rows.append(row)
        print(f'  scale: {size:,} events, {title}: {row["seconds"]:.2f} s, {row["peak_mib"]:.0f} MiB', flush=True)
    if 10_000_000 < size <= ASKED:
        rows += session.measure(build, trace, kind)
    return rows


def peers(build, folder):
    return [kind(f'{folder}/{kind.__name__}', build) for kind in (recorders.Perf, recorders.TraceCmd) if shutil.which(kind.needs[0])]


def prepare(build, folder, sizes):
    """Records, composes; what there is to read goes into DIR/list."""
    subprocess.run(['ninja', '-C', build, 'compose'], check=True, stdout=subprocess.DEVNULL)
    found = {'traces': [], 'peers': {}}
    for kind, inputs in KINDS.items():
        base = f'{folder}/{kind.split()[0]}'
        os.makedirs(base)
        recordings = record(build, base, inputs)
        for size in SIZES_OF.get(kind, sizes) if recordings else ():
            trace = f'{folder}/{kind.split()[0]}-{size}'
            done = subprocess.run([f'{build}/compose', trace, str(size), *recordings], check=True, capture_output=True, text=True)
            found['traces'].append([kind, trace, int(done.stdout.split()[0])])
    own = recorders.Full(f'{folder}/Full', build)
    for peer in [*peers(build, folder), own]:
        try:
            found['peers'][peer.name] = offline.record(peer, workloads.Messaging(folder, True))
        except PROBLEMS as problem:
            print(f'  scale: {peer.name}: {problem}', flush=True)
    with open(folder + '/list', 'w') as out:
        json.dump(found, out)


def read_all(build, folder):
    found, rows = json.load(open(folder + '/list')), []
    for kind, trace, size in found['traces']:
        rows += read(build, trace, kind, size)
    for peer in peers(build, folder):
        if peer.name in found['peers']:
            size = os.path.getsize(f"{peer.folder}/{'perf.data' if isinstance(peer, recorders.Perf) else 'trace.dat'}")
            rows += [dict(row, bytes=size) for row in offline.read(peer, build, found['peers'][peer.name])]
    if recorders.Full.name in found['peers']:
        trace = f'{folder}/Full/trace'
        forget(trace)
        rows.append(dict(offline.timed(PAIR, f'{build}/argus graph {trace}', found['peers'][recorders.Full.name]), bytes=os.path.getsize(trace)))
        await_index(trace)
    return rows


def measure(build, sizes=SIZES):
    with tempfile.TemporaryDirectory(prefix='argus-scale-', dir='/var/tmp') as folder:
        prepare(build, folder, sizes)
        return read_all(build, folder)


def beside(rows):
    """In words: the graph's events a second against the peers'."""
    rows = [row for row in rows if 'title' in row]
    rates = {row['title']: row['events'] / row['seconds'] for row in rows}
    own = [row['events'] / row['seconds'] for row in rows if 'graph, cold' in row['title'] and row['events'] > 10_000_000]
    words = [f"{min(own) / rates[peer]:.1f} times {peer}" for peer in rates if ':' not in peer and peer != 'why'] if own else []
    lines = ['Slowest large graph against the peers, in events a second: ' + ', '.join(words) + '.', ''] if words else []
    perf = [row for row in rows if row['title'] == 'perf script']
    once = [row for row in rows if row['title'] == PAIR]
    if perf and once:
        lines += [f"The graph of one run of sched messaging takes {once[0]['peak_mib']:.0f} MiB at most; perf.data of one like it has "
                  f"{perf[0]['bytes'] / 2**20:.0f} MiB.", '']
    return lines


def text(rows):
    asked = [row for row in rows if 'question' in row]
    questions = ['Questions in one session of `argus debug`, one after the other, from the index:', ''] + session.text(asked, report.table) if asked else []
    rows = [row for row in rows if 'question' not in row]
    head = ['command', 'events', 'trace MiB', 's', 'M events/s', 'ns/event', 'peak MiB']
    return report.table(head, [
        [r['title'], f"{r['events']:,}", f"{r['bytes'] / 2**20:.0f}" if r['bytes'] else '', f"{r['seconds']:.2f}",
         f"{r['events'] / r['seconds'] / 1e6:.2f}", f"{r['seconds'] / r['events'] * 1e9:.0f}", f"{r['peak_mib']:.0f}"] for r in rows]) + questions + beside(rows)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--large', action='store_true', help='170 million events too')
    parser.add_argument('--prepare', metavar='DIR')
    parser.add_argument('--from', metavar='DIR', dest='source')
    parser.add_argument('--out', help='also write the table to this file')
    parser.add_argument('build', nargs='?', default=root + '/build')
    options = parser.parse_args()
    build, sizes = os.path.abspath(options.build), SIZES + ((LARGE,) if options.large else ())
    if options.prepare:
        os.makedirs(options.prepare)
        prepare(build, options.prepare, sizes)
        return
    rows = read_all(build, options.source) if options.source else measure(build, sizes)
    lines = '\n'.join(text(rows))
    if options.out:
        with open(options.out, 'w') as out:
            out.write(lines + '\n')
    print(lines)


if __name__ == '__main__':
    sys.exit(main())
