#!/usr/bin/env python3
"""How soon `argus serve` answers on a large trace, and what its page costs in Chromium:

    bench/page.py [--build BUILD] [--requests N] [--json FILE] TRACE

The first view, from the start of the program to the first lanes, with the index there; pans
and zooms at random places, windows of a microsecond to all of it, by how long the window is;
in Chromium, while the page pans and zooms by keys and wheel: script and layout a frame from
its own trace, and the memory of its processes above those of an empty page."""
import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tests'))
import browser  # noqa: E402

ROWS, CELLS, LEAST_NS = 38, 2560, 1000
SHORT_NS = 5_000_000_000
# Of the main thread, what is script or layout; of those that lie in another, the outer one counts.
WORK = {'FunctionCall', 'FireAnimationFrame', 'EventDispatch', 'TimerFire', 'EvaluateScript', 'RunMicrotasks', 'Layout', 'UpdateLayoutTree',
        'MajorGC', 'MinorGC', 'V8.GC_SCAVENGER', 'HitTest', 'PrePaint', 'Paint'}


class Server:
    """An `argus serve` of its own, asked over one connection that stays."""

    def __init__(self, build, trace):
        self.begun = time.monotonic()
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([f'{build}/argus', 'serve', '--no-browser', trace], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.match(r'http://([\d.]+):(\d+)/ : open (\S+) in', line)
        if not found:
            raise RuntimeError(line + self.process.stderr.read())
        self.port, self.path = int(found[2]), found[3]
        self.connection, self.cookie = http.client.HTTPConnection('127.0.0.1', self.port, timeout=300), None

    def enter(self):
        with open(self.path, encoding='utf-8') as file:
            token = re.search(r'name="token" value="([0-9a-f]+)"', file.read())[1]
        self.connection.request('POST', '/enter', 'token=' + token, {'Origin': 'null'})
        reply = self.connection.getresponse()
        reply.read()
        self.cookie = reply.getheader('Set-Cookie').split(';')[0]

    def get(self, path):
        self.connection.request('GET', path, headers={'Cookie': self.cookie})
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status != 200:
            raise RuntimeError(f'{path}: {reply.status} {data[:200]}')
        return data

    def timed(self, path):
        begin = time.monotonic()
        data = self.get(path)
        return time.monotonic() - begin, data

    def memory(self):
        with open(f'/proc/{self.process.pid}/smaps_rollup', encoding='ascii') as file:
            return int(re.search(r'Anonymous:\s+(\d+)', file.read())[1]) * 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else None


def spread(values):
    return {'count': len(values), 'median_ms': percentile(values, 0.5) * 1e3, 'p99_ms': percentile(values, 0.99) * 1e3, 'most_ms': max(values) * 1e3}


def lanes(about, middle, length, threads):
    begin = max(about['start_ns'], min(about['end_ns'] - length, int(middle - length / 2)))
    return f"/lanes?from={begin}&to={begin + length}&cells={CELLS}&threads={','.join(map(str, threads))}"


def first_view(server):
    """Seconds from the server's start to the page, what the trace is, its threads and their first lanes."""
    server.enter()
    server.get('/')
    about = json.loads(server.get('/about'))['about']
    threads = json.loads(server.get('/threads'))['threads']
    server.get(lanes(about, about['start_ns'], about['end_ns'] - about['start_ns'], range(min(ROWS, len(threads)))))
    return time.monotonic() - server.begun, about, len(threads)


def pans(server, about, threads, count):
    """Seconds of each answer and, where it is told more closely in a moment, until that; by the window: windows of all lengths at random places, and walks
    from there to the side and closer, as a hand does it."""
    chance, whole = random.Random(20), about['end_ns'] - about['start_ns']
    short, long, closer = [], [], []
    while len(short) + len(long) < count:
        length = int(LEAST_NS * (whole / LEAST_NS) ** chance.random())
        middle, first = about['start_ns'] + chance.random() * whole, chance.randrange(max(1, threads - ROWS))
        for _ in range(4):
            question = lanes(about, middle, length, range(first, min(threads, first + ROWS)))
            seconds, data = server.timed(question)
            begin = time.monotonic() - seconds
            while data[:4] == bytes(4):
                time.sleep(0.01)
                data = server.timed(question)[1]
            closer.append(time.monotonic() - begin)
            (short if length <= SHORT_NS else long).append(seconds)
            middle += length * chance.choice((-0.8, -0.2, 0.2, 0.8))
            length = max(LEAST_NS, int(length * chance.choice((1, 1 / 1.4, 1))))
    return short, long, closer


# ---- in Chromium ----

def frames_of(events):
    """Seconds of script and layout in each frame of the page's main thread."""
    ended = {}
    for e in events:
        if e.get('name') == 'AnimationFrame' and e.get('ph') == 'e':
            ended.setdefault((e['pid'], e['tid']), []).append(e['ts'])
    main = max(ended, key=lambda key: len(ended[key]))
    work = sorted((e['ts'], e['ts'] + e.get('dur', 0)) for e in events if e.get('ph') == 'X' and (e['pid'], e['tid']) == main and e['name'] in WORK)
    ends, outer = 0, []
    for begin, end in work:
        if begin >= ends:
            outer.append((begin, end - begin))
            ends = end
    frames, starts = [], sorted(ended[main])
    for begin, end in zip(starts, starts[1:]):
        frames.append(sum(long for at, long in outer if begin <= at < end) / 1e6)
    return frames


def memory_of(page):
    """Bytes of the process that shows the page: what is its own, and of what is shared its share. Which it is, the browser does not tell: the one that
    computes when the page is made to."""
    def processes():
        return {process['id']: process['cpuTime'] for process in page.browser.call('SystemInfo.getProcessInfo')['processInfo'] if process['type'] == 'renderer'}

    before = processes()
    page.run('for (const end = performance.now() + 300; performance.now() < end;);')
    after = processes()
    busiest = max(after, key=lambda pid: after[pid] - before.get(pid, 0))
    with open(f'/proc/{busiest}/smaps_rollup', encoding='ascii') as file:
        return int(re.search(r'Pss:\s+(\d+)', file.read())[1]) * 1024


def move(page, seconds):
    """Pans and zooms by keys and wheel."""
    end, chance = time.monotonic() + seconds, random.Random(20)
    while time.monotonic() < end:
        for kind in ('rawKeyDown', 'keyUp'):
            page.call('Input.dispatchKeyEvent', type=kind, key=chance.choice(('ArrowLeft', 'ArrowRight', 'ArrowRight')))
        page.call('Input.dispatchMouseEvent', type='mouseWheel', x=chance.randrange(300, 1200), y=400, deltaX=0, deltaY=chance.choice((-60, -60, 50)),
                  modifiers=2)
        if chance.random() < 0.02:
            page.key('0')
    page.settle()


def in_chromium(server, seconds=10):
    with browser.Browser() as chromium:
        blank = chromium.page('data:text/html,<html data-ready=yes>')
        empty = memory_of(blank)
        blank.close()
        before = time.monotonic()
        page = chromium.page('file://' + server.path)
        page.run("location.hash = '#trace'")
        page.wait('document.documentElement.dataset.lanes > 0')
        shown = time.monotonic() - before
        page.run("document.querySelector('.scroll').focus()")
        move(page, seconds)
        memory = memory_of(page)     # before it records itself
        chromium.call('Tracing.start', traceConfig={'includedCategories': ['devtools.timeline']},
                      transferMode='ReportEvents')
        move(page, seconds)
        chromium.call('Tracing.end')
        while not any(e['method'] == 'Tracing.tracingComplete' for e in chromium.events.get(None, [])):
            chromium.read(5)
        events = [event for e in chromium.events[None] if e['method'] == 'Tracing.dataCollected' for event in e['params']['value']]
        found = {'frames': spread(frames_of(events)), 'p95_ms': percentile(frames_of(events), 0.95) * 1e3, 'seconds': seconds, 'first_lanes_s': shown,
                 'above_empty_bytes': memory - empty, 'complaints': page.complaints}
        page.close()
    return found


def measure(build, trace, requests):
    with Server(build, trace) as server:
        warm = first_view(server)[0]          # makes the index, where it is not there
    with Server(build, trace) as server:
        seconds, about, threads = first_view(server)
        short, long, closer = pans(server, about, threads, requests)
        found = {'events': about['events'], 'seconds': (about['end_ns'] - about['start_ns']) / 1e9, 'threads': threads, 'first_time_s': warm,
                 'first_view_s': seconds, 'short': spread(short), 'long': spread(long), 'closer': spread(closer), 'server_bytes': server.memory()}
    if browser.PROGRAM:
        with Server(build, trace) as server:
            found['chromium'] = in_chromium(server)
    return found


def measure_composed(build):
    """The same over a trace of its own: a lean day of 20 million events."""
    import day  # pylint: disable=import-outside-toplevel
    import scale  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory(prefix='argus-page-', dir='/var/tmp') as folder:
        day.record(folder + '/day', build, 'lean')
        scale.compose(build, 'lean', folder + '/day', folder + '/trace', ['--events', str(scale.COMPARED)])
        return measure(build, folder + '/trace', 2000)


def text(found, table):
    """Lines of BENCH.md: each figure beside its aim."""
    def answers(row):
        return f"{row['median_ms']:.1f} ms, {row['p99_ms']:.1f} ms, {row['most_ms']:.1f} ms of {row['count']}"

    rows = [['first view, from the index', '1 s', f"{found['first_view_s']:.2f} s"],
            ['pans and zooms, windows of 5 s or less: median, 99th percentile, most', '50 ms', answers(found['short'])],
            ['longer windows: median, 99th percentile, most', '50 ms', answers(found['long'])],
            ['until nothing closer is to come: median, 99th percentile, most', '', answers(found['closer'])],
            ['memory of the server', '', f"{found['server_bytes'] / 2**20:.0f} MiB"]]
    if 'chromium' in found:
        shown = found['chromium']
        rows += [['script and layout a frame, 95th percentile', '8 ms', f"{shown['p95_ms']:.1f} ms of {shown['frames']['count']}"],
                 ['memory of the page above an empty one', '200 MB', f"{shown['above_empty_bytes'] / 1e6:.0f} MB"]]
    return [f"`bench/page.py TRACE`, {found['events']:,} events in {found['seconds']:.0f} s, {found['threads']} threads shown.", ''] + \
        table(['what', 'aim', 'measured'], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', default=os.path.join(HERE, '..', 'build'))
    parser.add_argument('--requests', type=int, default=2000)
    parser.add_argument('--json', metavar='FILE', help='also write what was measured')
    parser.add_argument('trace')
    options = parser.parse_args()
    found = measure(os.path.abspath(options.build), options.trace, options.requests)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as out:
            json.dump(found, out, indent='\t')
    print(f"{found['events']:,} events in {found['seconds']:.0f} s, {found['threads']} threads")
    print(f"first view: {found['first_view_s']:.2f} s from the index, {found['first_time_s']:.2f} s without")
    for words, name in (('windows of 5 s or less', 'short'), ('longer windows', 'long'), ('until nothing closer is to come', 'closer')):
        row = found[name]
        print(f"{words}: median {row['median_ms']:.1f} ms, 99th percentile {row['p99_ms']:.1f} ms, most {row['most_ms']:.1f} ms ({row['count']} answers)")
    print(f"memory of the server: {found['server_bytes'] / 2**20:.0f} MiB")
    if 'chromium' in found:
        page = found['chromium']
        print(f"script and layout a frame: median {page['frames']['median_ms']:.1f} ms, 95th percentile {page['p95_ms']:.1f} ms, most "
              f"{page['frames']['most_ms']:.1f} ms ({page['frames']['count']} frames in {page['seconds']} s)")
        print(f"memory of the page: {page['above_empty_bytes'] / 2**20:.0f} MiB above an empty one")


if __name__ == '__main__':
    sys.exit(main())
