#!/usr/bin/env python3
"""How answers grow with the trace: traces of a day (day.py) composed to many sizes, up to
a full ring of the flight recorder (compose), read with the page cache dropped, in a
memory group; beside them the peers over recordings of their own. `make bench` calls it,
and it runs alone:

    bench/scale.py [--large] [--prepare DIR | --from DIR] [--out FILE] [BUILD]

--large adds 170 million events of the full level and the ring of 385 million. --prepare
only records and composes; --from reads what it left in DIR, so that a quiet machine is
needed for the reading alone."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import day
import group
import offline
import recorders
import report
import session
import workloads

# By level, what is composed.
SIZES = {'lean': (1_000_000, 6_000_000, 20_000_000, 60_000_000), 'full': (1_000_000, 20_000_000)}
LARGE = {'lean': (), 'full': (170_000_000,)}
RING = 385_000_000
STORMS = 2
COMPARED = 20_000_000     # the size that is compared with the peers
GROUP_LIMIT = 6 << 30     # bytes; so that the machine outlives a reader
RING_LIMIT = 1 << 30      # for what is asked of a ring
MS = 1_000_000
PAIR = 'sched messaging, once: graph'
PROBLEMS = (RuntimeError, OSError, ValueError, subprocess.SubprocessError)


def drop_caches():
    try:
        os.sync()
        with open('/proc/sys/vm/drop_caches', 'w') as out:
            out.write('3\n')
    except OSError:
        pass


def size_of(trace):
    return sum(os.path.getsize(f'{trace}/{name}') for name in os.listdir(trace)) if os.path.isdir(trace) else os.path.getsize(trace)


def forget(trace):
    files = [f'{trace}/{name}' for name in os.listdir(trace)] if os.path.isdir(trace) else [trace]
    for name in files:
        if os.path.exists(name + '.index'):
            os.unlink(name + '.index')


def index_size(trace):
    return sum(os.path.getsize(f'{trace}/{name}') for name in os.listdir(trace) if name.endswith('.index'))


def measured(title, build, trace, words, events, limit=GROUP_LIMIT):
    """A row of a command in a memory group of its own, from a cold page cache. Ends when the index is
    written, which a process of its own does behind the answer."""
    drop_caches()
    memory = group.MemoryGroup(limit)
    try:
        found = memory.run([f'{build}/argus', *words, trace], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        memory.close()
    row = {'title': title, 'command': ' '.join(['argus', *words]), 'events': events, 'bytes': size_of(trace), 'seconds': found['seconds'],
           'status': found['status'], 'peak_mib': found['anonymous'] / 2**20, 'group_mib': found['peak'] / 2**20}
    print(f'  scale: {events:,} events, {title}: {row["seconds"]:.2f} s, {row["peak_mib"]:.0f} MiB', flush=True)
    return row


def read(build, trace, kind, size):
    """Rows: the graph and an answer the first time, then from the index; other commands, which have none."""
    forget(trace)
    rows = [measured(f'{kind}: graph', build, trace, ['graph'], size)]
    forget(trace)
    for title, words in (('hangs, the first time', ['hangs']), ('hangs, from the index', ['hangs']), ('why, from the index', ['why']),
                         ('infer', ['infer']), ('dump of a second', ['dump', '--from', '-1s']), ('info', ['info'])):
        rows.append(measured(f'{kind}: {title}', build, trace, words, size))
    if abs(size - COMPARED) < COMPARED // 10:
        rows += read_paths(build, trace, kind, size) + session.measure(build, trace, kind)
    forget(trace)
    return rows


def read_paths(build, trace, kind, size):
    """Rows: the path of who ran most, who is there all the time, and of who waits most, without the index and with it."""
    told = subprocess.run([f'{build}/argus', 'info', '--threads', '--json', trace], check=True, capture_output=True, text=True, errors='replace')
    threads = json.loads(told.stdout)['thread_times']
    lives = {t['tid']: t['running_ns'] + t['runnable_ns'] + t['waiting_ns'] for t in threads}
    there = [t for t in threads if t['running_ns'] > MS and lives[t['tid']] > max(lives.values()) * 0.9]
    rows = []
    for title, who in (('works', max(there, key=lambda t: t['running_ns'])), ('waits', max(there, key=lambda t: t['waiting_ns']))):
        for when in ('the first time', 'from the index'):
            if when == 'the first time':
                forget(trace)
            rows.append(measured(f"{kind}: path of who {title}, {when}", build, trace, ['path', '--tid', str(who['tid'])], size))
            if when == 'the first time':
                measured(f'{kind}: hangs, which writes it', build, trace, ['hangs'], size)
    return rows


def read_ring(build, trace, size):
    """Rows: what a person asks after a hang, with what the recorder has noted by then and without."""
    with open(trace + '.truth', encoding='utf-8') as source:
        hangs = [json.loads(line) for line in source]
    middle = hangs[len(hangs) // 2]
    forget(trace)
    rows = [measured('ring: hangs, the first time', build, trace, ['hangs'], size, RING_LIMIT)]
    for title, words in (('hangs', ['hangs']), ('hangs of ten minutes', ['hangs', '--last', '10m']), ('why', ['why']),
                         ('why of a moment', ['why', '--at', f"{(middle['from_s'] + middle['to_s']) / 2:.3f}"]),
                         ('dump of a second', ['dump', '--from', '-1s']), ('infer', ['infer']), ('info', ['info'])):
        rows.append(measured(f'ring: {title}', build, trace, words, size, RING_LIMIT))
    print(f'  scale: ring: its index has {index_size(trace) / 2**20:.0f} MiB', flush=True)
    forget(trace)
    return rows


def peers(build, folder):
    return [kind(f'{folder}/{kind.__name__}', build) for kind in (recorders.Perf, recorders.TraceCmd) if shutil.which(kind.needs[0])]


def compose(build, level, recording, trace, words):
    done = subprocess.run([f'{build}/compose', *words, '--truth', trace + '.truth', recording, trace], check=True, capture_output=True, text=True)
    print(f'  scale: {level}: {done.stdout.strip()}', flush=True)
    return int(done.stdout.split()[0])


def prepare(build, folder, large):
    """Records, composes; what there is to read goes into DIR/list."""
    found = {'traces': [], 'peers': {}}
    for level, sizes in SIZES.items():
        recording = f'{folder}/day-{level}'
        try:
            day.record(recording, build, level)
        except PROBLEMS as problem:
            print(f'  scale: {level}: {problem}', flush=True)
            continue
        for size in sizes + (LARGE[level] if large else ()):
            trace = f'{folder}/{level}-{size}'
            found['traces'].append([level, trace, compose(build, level, recording, trace, ['--events', str(size)])])
        if large and level == 'lean':
            trace = folder + '/ring'
            found['traces'].append(['ring', trace, compose(build, 'ring', recording, trace, ['--ring', '--storms', str(STORMS), '--events', str(RING)])])
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
        rows += read_ring(build, trace, size) if kind == 'ring' else read(build, trace, kind, size)
    for peer in peers(build, folder):
        if peer.name in found['peers']:
            size = os.path.getsize(f"{peer.folder}/{'perf.data' if isinstance(peer, recorders.Perf) else 'trace.dat'}")
            rows += [dict(row, bytes=size) for row in offline.read(peer, build, found['peers'][peer.name])]
    if recorders.Full.name in found['peers']:
        trace = f'{folder}/Full/trace'
        forget(trace)
        rows.append(measured(PAIR, build, trace, ['graph'], found['peers'][recorders.Full.name]))
    return rows


def measure(build, large=False):
    with tempfile.TemporaryDirectory(prefix='argus-scale-', dir='/var/tmp') as folder:
        prepare(build, folder, large)
        return read_all(build, folder)


def beside(rows):
    """In words: the graph's events a second against the peers'."""
    rows = [row for row in rows if 'title' in row]
    rates = {row['title']: row['events'] / row['seconds'] for row in rows}
    own = [row['events'] / row['seconds'] for row in rows if row['title'].endswith(': graph') and abs(row['events'] - COMPARED) < COMPARED // 10]
    words = [f"{min(own) / rates[peer]:.1f} times {peer}" for peer in rates if ':' not in peer and peer != 'why'] if own else []
    lines = ['Slowest graph of 20 million events against the peers, in events a second: ' + ', '.join(words) + '.', ''] if words else []
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
    head = ['command', 'events', 'trace MiB', 's', 'ns/event', 'peak MiB', 'with page cache']
    return report.table(head, [
        [r['title'] + ('' if r.get('status', 0) in (0, 3) else f" (status {r['status']})"), f"{r['events']:,}",
         f"{r['bytes'] / 2**20:.0f}" if r['bytes'] else '', f"{r['seconds']:.2f}", f"{r['seconds'] / r['events'] * 1e9:.1f}", f"{r['peak_mib']:.0f}",
         f"{r['group_mib']:.0f}" if 'group_mib' in r else ''] for r in rows]) + questions + beside(rows)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--large', action='store_true', help='170 million events of the full level and the ring of 385 million too')
    parser.add_argument('--prepare', metavar='DIR')
    parser.add_argument('--from', metavar='DIR', dest='source')
    parser.add_argument('--out', help='also write the table to this file')
    parser.add_argument('build', nargs='?', default=root + '/build')
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, also by recorders
    if options.prepare:
        os.makedirs(options.prepare)
        prepare(build, options.prepare, options.large)
        return
    rows = read_all(build, options.source) if options.source else measure(build, options.large)
    lines = '\n'.join(text(rows))
    if options.out:
        with open(options.out, 'w') as out:
            out.write(lines + '\n')
    print(lines)


if __name__ == '__main__':
    sys.exit(main())
