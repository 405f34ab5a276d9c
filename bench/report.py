"""BENCH.md from what bench/run measured."""
import os
import platform
import statistics


def median(values):
    return statistics.median(values) if values else float('nan')


def machine():
    model = next((line.split(':')[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')), '?')
    return f'{os.cpu_count()} CPUs ({model}), kernel {platform.release()}'


def rounds(workloads):
    """How many ratios there are of each: "5", or "1 to 3" where time was short."""
    counts = [len(r['ratios']) for w in workloads for r in w['recorders'].values() if r['ratios']] or [0]
    return str(min(counts)) if min(counts) == max(counts) else f'{min(counts)} to {max(counts)}'


def spread(alone):
    """Ratios of neighbouring runs without a recorder: the noise of the method."""
    ratios = sorted(b / a for runs in alone for a, b in zip(runs, runs[1:]))
    return (ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]) if ratios else (float('nan'),) * 2


def ratio(workload, name):
    """Median slowdown, None where it was not measured."""
    return median(workload['recorders'].get(name, {}).get('ratios') or []) if workload['recorders'].get(name, {}).get('ratios') else None


def cost(runs):
    """What a recorder's own work adds to the rest's: time in BPF programs and its agent's
    CPU time over all other busy CPU time. Not what it does to caches, and the hooks' own entry."""
    own = sum(run['bpf']['ns'] / 1e9 + run['agent_s'] for run in runs)
    return own / max(sum(run['busy_s'] for run in runs) - own, 1e-9)


def row(cells):
    return '| ' + ' | '.join(str(cell) for cell in cells) + ' |'


def table(head, rows):
    return [row(head), row(['---'] * len(head))] + [row(r) for r in rows] + ['']


def lost(runs):
    gone, kept = sum(r['lost'] for r in runs), sum(r['events'] for r in runs)
    return '0' if not gone else f'{100 * gone / (gone + kept):.1f} %'


def number(value, form='{:.2f}'):
    return '-' if value is None or value != value else form.format(value)


def slowdowns(workloads, names, quick):
    rows = []
    for w in workloads:
        low, high = spread(w['alone'])
        rows.append([w['title'], f'{low:.2f}-{high:.2f}'] + [number(ratio(w, n)) for n in names])
    return ['## Slowdown', '',
            f'Runs without and with a recorder alternate; {rounds(workloads)} rounds{" of short runs" if quick else ""}; median of the ratios of a',
            'run to its two neighbours without a recorder. *A/A*: ratios of neighbouring runs without one (10th to 90th percentile), the noise',
            'of the method.', ''] + table(['workload', 'A/A'] + names, rows)


def sizes(workloads, names):
    rows = []
    for w in workloads:
        cells = [w['title']]
        for n in names:
            runs = w['recorders'].get(n, {}).get('runs') or []
            events = sum(r['events'] for r in runs)
            cells.append(f"{events // len(runs):,}; {sum(r['bytes'] for r in runs) / max(events, 1):.1f} B; {lost(runs)}" if runs else '-')
        rows.append(cells)
    return ['## Events, size, losses', '', 'Events of one run, bytes an event on disk (or in memory: floor), share lost.', ''] + \
        table(['workload'] + names, rows)


def added(workload, name):
    found = ratio(workload, name)
    return None if found is None else found - 1


def over(workload, name, peer):
    """A recorder's added time over a peer's, where that is more than noise."""
    mine, theirs = added(workload, name), added(workload, peer)
    low, high = spread(workload['alone'])
    if mine is None or theirs is None:
        return '-'
    return f'{mine / theirs:.2f}' if theirs > (high - low) / 2 else 'noise'


# What is compared with what: recorder, peer.
COMPARED = (('argus full, no stacks', 'trace-cmd'), ('argus full, no stacks', 'floor'), ('argus full', 'perf record -g'),
            ('argus lean', 'floor'))


def comparisons(workloads, names):
    pairs = [pair for pair in COMPARED if all(name in names for name in pair)]
    if not pairs:
        return []
    lines = ['## Added time beside that of others', '',
             'What a recorder adds to the time a workload takes, over what the other one adds; *noise* where that adds less than half the',
             'A/A spread.', '']
    return lines + table(['workload'] + [f'{a} / {b}' for a, b in pairs], [[w['title']] + [over(w, *pair) for pair in pairs] for w in workloads])


def endings(workloads, names):
    """What a recorder puts off until the workload has ended, a slowdown does not show."""
    def cell(workload, name):
        runs = [run for run in workload['recorders'].get(name, {}).get('runs') or [] if 'after_s' in run]
        return f"{median([r['after_s'] for r in runs]):.2f} s; {median([r['after_cpu_s'] for r in runs]):.2f} s" if runs else '-'

    rows = [[w['title']] + [cell(w, n) for n in names] for w in workloads]
    if all(c == '-' for r in rows for c in r[1:]):
        return []
    return ['## After the workload has ended', '',
            'Until the recorder has ended, too; the CPU time of it. The slowdowns above do not contain it: trace-cmd compresses then.', ''] + \
        table(['workload'] + names, rows)


def text(results):
    workloads = results['workloads']
    names = list(dict.fromkeys(name for w in workloads for name in w['recorders']))
    lines = ['# What recording costs', '',
             f'Measured by `make bench` on {machine()}. Every recorder records the whole machine: `perf record -a` (with -g: user and',
             'kernel stacks by frame pointers, at each event), `trace-cmd record` and the floor take sched_switch, sched_waking, syscall enter',
             'and exit; `argus lean` and `argus full` all that they record, by default with whole user stacks at waits and wake-ups, full at',
             'messages too. The floor (`bench/floor`) is the least a BPF recorder can do: hook, clock, a 32-byte store into a mapped ring, a polled',
             'real-time agent that keeps nothing.', '']
    if workloads:
        lines += slowdowns(workloads, names, results['quick']) + comparisons(workloads, names) + sizes(workloads, names) + \
            endings(workloads, names)
    timed = [n for n in names if any(w['recorders'].get(n, {}).get('timed') for w in workloads)]
    if timed:
        lines += ['## CPU time of the recorder', '',
                  'From one more run with kernel.bpf_stats_enabled: the slowdown that follows from its own CPU time (time in BPF programs and the',
                  'agent, over all other busy CPU time), which noise does not touch; time in BPF programs an event; agent CPU (once it records) as a',
                  'share of one core (events a second).', '']
        rows = []
        for w in workloads:
            cells = [w['title']]
            for n in timed:
                runs = [run for run in w['recorders'].get(n, {}).get('timed') or [] if run['events']]
                if not runs:
                    cells.append('-')
                    continue
                events, wall = sum(run['events'] for run in runs), sum(run['wall_s'] for run in runs)
                cells.append(f"**{1 + cost(runs):.3f}**; {sum(run['bpf']['ns'] for run in runs) / events:.0f} ns; "
                             f"{100 * sum(run['agent_s'] for run in runs) / wall:.1f} % ({events / wall / 1000:,.0f} k/s)")
            rows.append(cells)
        lines += table(['workload'] + timed, rows)
    if results['idle']:
        lines += ['## An idle machine', '', 'CPU time as a share of one core; events a second.', '']
        lines += table(['recorder', 'agent', 'BPF', 'events/s'], [
            [n, f"{100 * i['agent_s'] / i['seconds']:.2f} %", f"{100 * i['bpf_s'] / i['seconds']:.2f} %",
             f"{i['events'] / i['seconds']:,.0f}"] for n, i in results['idle'].items()])
    if results.get('own'):
        lines += ['## What the recorder itself takes', '', 'argus lean, with stacks; memory of all its processes (shared pages by their '
                  'share) and of its BPF maps and programs.', '']
        lines += table(['what', ''], results['own'])
    if results.get('now'):
        lines += ['## What is stuck now', '', '`argus now` on a machine with 300 processes and 2,000 threads that sleep (`bench/now.py`).', '']
        lines += table(['what', ''], results['now'])
    chromium = next((w for w in workloads if w['name'] == 'chromium'), None)
    if chromium:
        lines += ['## Chromium, as in the paper\'s table', '', 'Seconds, medians.', '']
        rows = [['no recorder', f"{median([s for runs in chromium['alone'] for s in runs]):.2f}"] + [
            f"{median([d[k] for d in chromium['alone_details']]):.2f}" for k in ('user', 'sys')]]
        rows += [[n, f"{median(r['values']):.2f}"] + [f"{median([d[k] for d in r['details']]):.2f}" for k in ('user', 'sys')]
                 for n, r in chromium['recorders'].items() if r['values']]
        lines += table(['recorder', 'real', 'user', 'sys'], rows)
    if results.get('offline'):
        lines += ['## Reading', '', 'Each tool over its own recording of sched messaging.', '']
        lines += table(['command', 'events', 's', 'M events/s', 'lines', 'peak MiB'], [
            [f"`{r['command']}`" + ('' if r['status'] in (0, 3) else f" (status {r['status']})"), f"{r['events']:,}", f"{r['seconds']:.2f}",
             f"{r['events'] / r['seconds'] / 1e6:.2f}", f"{r['lines']:,}", f"{r['peak_mib']:.0f}"] for r in results['offline']])
    if results.get('scale'):
        import scale
        lines += ['## Large traces', '', 'Composed (`bench/compose`) of one recording of a few minutes each (`bench/day.py`: servers, a desktop, '
                  'daemons, a compiler, hangs); lean and full level, and a full ring of the flight recorder. The page cache is dropped before '
                  'each command, which runs in a memory group of its own; the index is written in the background, waited for, then used. '
                  'Below, the peers over recordings of sched messaging.', '']
        lines += scale.text(results['scale'])
    if results.get('page'):
        import page
        lines += ['## The page of `argus serve` on a long trace', ''] + page.text(results['page'], table)
    lines += ['## Commands', ''] + [f"- {w['title']}: `{w['command']}`" for w in workloads]
    lines += [f'- not measured: {text}' for text in results['skipped']]
    return '\n'.join(lines) + '\n'
