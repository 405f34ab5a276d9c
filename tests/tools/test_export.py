"""What `argus export` writes, read back by readers that share nothing with it: the same time
per thread and state as `argus info --threads` tells, and as a replay of the events does."""
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '../..')
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(ROOT, 'cases')]
import golden  # noqa: E402
import replay  # noqa: E402

ARGUS = os.path.join(os.path.abspath(os.environ.get('BUILD', os.path.join(ROOT, 'build'))), 'argus')
STATES = ('running', 'runnable', 'waiting', 'stopped', 'unknown')
TRACES = ('why_circle', 'why_plan_probe', 'why_stopped', 'why_starved', 'why_gap', 'why_drips', 'why_quota_partly', 'why_answered',
          'graph_early', 'graph_messages', 'info_and_dump')


# ---- readers ----

def fields(data):
    """(number, value) of a protocol buffer's message: numbers, or bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        elif key & 7 == 1:
            found.append((key >> 3, struct.unpack_from('<Q', data, at)[0]))
            at += 8
        elif key & 7 == 2:
            size = varint()
            assert at + size <= len(data), 'a field is longer than its message'
            found.append((key >> 3, data[at:at + size]))
            at += size
        else:
            raise ValueError(f'wire type {key & 7}')
    return found


def packed(data):
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def add(totals, tid, state, ns):
    totals.setdefault(tid, dict.fromkeys(STATES, 0))[state] += ns


class Perfetto:
    """Slices by nesting on their tracks in the order of time, as its importer does."""
    def __init__(self, data):
        self.totals, self.flows, self.ends, self.answer = {}, {}, {}, []
        threads, names, categories, events, tracks = {}, {}, {}, [], {}
        for number, packet in fields(data):
            assert number == 1
            parts = fields(packet)
            get = dict(parts)
            if 60 in get:
                track = dict(fields(get[60]))
                tracks[track[1]] = track.get(2, b'').decode()
                if 4 in track:
                    threads[track[1]] = dict(fields(track[4]))
            if 12 in get:
                for kind, entry in fields(get[12]):
                    entry = dict(fields(entry))
                    (categories if kind == 1 else names)[entry[1]] = entry[2].decode()
            if 11 in get:
                events.append((get[8], len(events), fields(get[11])))
        stacks = {}
        for time, _, parts in sorted(events):
            event = dict(parts)
            track, kind = event[11], event[9]
            assert track in tracks, 'an event on a track that is not told of'
            if kind == 1:
                stacks.setdefault(track, []).append((time, event, parts))
            elif kind == 2:
                begun, first, all_parts = stacks[track].pop()
                if track in threads:
                    add(self.totals, threads[track][2], categories[first[3]], time - begun)
                    assert names[first[10]].startswith(categories[first[3]])
                else:
                    texts = [dict(fields(v)).get(6, b'').decode() for n, v in all_parts if n == 4]
                    self.answer.append((tracks[track], begun, time, first[23].decode(), texts))
            else:
                for n, flow in parts:
                    if n in (47, 48):
                        (self.flows if n == 47 else self.ends)[flow] = (time, threads.get(track, {}).get(2), event[23].decode())
        assert not any(stacks.values()), 'a slice without an end'


def speedscope(data):
    document, totals = json.loads(data), {}
    frames = document['shared']['frames']
    for profile in document['profiles']:
        assert len(profile['samples']) == len(profile['weights'])
        tid = int(profile['name'].rsplit('/', 1)[1])
        assert sum(profile['weights']) <= profile['endValue'] - profile['startValue']
        for stack, ns in zip(profile['samples'], profile['weights']):
            add(totals, tid, frames[stack[0]]['name'].split(':')[0], ns)
            assert all(0 <= f < len(frames) for f in stack)
    return totals


def firefox(data):
    document, totals = json.loads(data), {}
    categories = [c['name'] for c in document['meta']['categories']]
    for thread in document['threads']:
        samples, stacks = thread['samples'], thread['stackTable']
        for table in ('samples', 'stackTable', 'frameTable', 'funcTable', 'markers', 'resourceTable', 'nativeSymbols'):
            for key, column in thread[table].items():
                if isinstance(column, list):
                    assert len(column) == thread[table]['length'], (table, key)
        assert samples['time'] == sorted(samples['time'])
        for stack, ms in zip(samples['stack'], samples['weight']):
            at = stack
            while stacks['prefix'][at] is not None:
                assert stacks['prefix'][at] < at
                at = stacks['prefix'][at]
            func = thread['frameTable']['func'][stacks['frame'][at]]
            root = thread['stringArray'][thread['funcTable']['name'][func]]
            assert root.split(':')[0] == categories[stacks['category'][stack]]
            add(totals, thread['tid'], root.split(':')[0], round(ms * 1e6))
        waits = sum(e - s for s, e in zip(thread['markers']['startTime'], thread['markers']['endTime']))
        mine = totals.get(thread['tid'], dict.fromkeys(STATES, 0))
        assert abs(waits * 1e6 - mine['waiting'] - mine['stopped']) < 1000, 'markers are not the waits'
    return totals


def pprof(data):
    parts, totals = fields(gzip.decompress(data)), {}
    texts = [v.decode() for n, v in parts if n == 6]
    types = [texts[dict(fields(v))[1]] for n, v in parts if n == 1]
    functions = {dict(fields(v))[1]: texts[dict(fields(v))[2]] for n, v in parts if n == 5}
    locations = {dict(fields(v))[1]: dict(fields(dict(fields(v))[4]))[1] for n, v in parts if n == 4}
    assert texts[0] == '' and len(set(texts)) == len(texts)
    for n, sample in parts:
        if n != 2:
            continue
        labels = {}
        for kind, value in fields(sample):
            if kind == 3:
                label = dict(fields(value))
                labels[texts[label[1]]] = texts[label[2]] if 2 in label else label.get(3, 0)
            elif kind == 1:
                assert all(locations[l] in functions for l in packed(value))
            else:
                for state, ns in zip(types, packed(value)):
                    if ns:
                        assert labels.get('state', state).startswith(state)
                        values = (state, ns)
        add(totals, labels['tid'], *values)
    return totals


@unittest.skipUnless(os.path.exists(ARGUS), 'argus is not built')
class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='argus-export-')
        cls.traces = []
        for name in TRACES:
            for kind, part, body in golden.parse(f'{ROOT}/tests/golden/{name}.test')[1]:
                if kind == 'trace':
                    cls.add_trace(f'{name}.{part}', '\n'.join(body) + '\n')
        cls.add_trace('hostile', HOSTILE)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def add_trace(cls, name, text):
        with open(f'{cls.folder.name}/{name}.text', 'w', errors='surrogateescape') as out:
            out.write(text)
        cls.run_argus('import', '--text', f'{name}.text', '-o', f'{name}.argus')
        cls.traces.append(name)

    @classmethod
    def run_argus(cls, *arguments):
        done = subprocess.run([ARGUS, *arguments], cwd=cls.folder.name, capture_output=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr.decode(errors='replace')
        return done.stdout

    def expected(self, name):
        totals = {}
        for t in json.loads(self.run_argus('info', '--threads', '--json', name + '.argus'))['thread_times']:
            for state in STATES:
                add(totals, t['tid'], state, t[state + '_ns'])
        return totals

    def check(self, form, read):
        for name in self.traces:
            with self.subTest(trace=name):
                self.assertEqual(read(self.run_argus('export', '--' + form, name + '.argus')), self.expected(name))

    def test_perfetto(self):
        self.check('perfetto', lambda data: Perfetto(data).totals)

    def test_speedscope(self):
        self.check('speedscope', speedscope)

    def test_firefox(self):
        self.check('firefox', firefox)

    def test_pprof(self):
        self.check('pprof', pprof)

    def test_info_is_the_replay(self):
        for name in self.traces:
            if name.startswith('why_gap'):
                continue         # a replay knows no losses
            with self.subTest(trace=name):
                events = replay.Replay(ARGUS, f'{self.folder.name}/{name}.argus')
                info = json.loads(self.run_argus('info', '--json', name + '.argus'))
                start, end = info['start_ns'], info['start_ns'] + info['duration_ns']
                mine = {}
                for thread in (t for threads in events.by_tid.values() for t in threads):
                    for low, high, state, _, _ in thread.spans(start, end):
                        if state != 'absent':
                            add(mine, thread.tid, state.replace('throttled', 'runnable'), high - low)
                expected = self.expected(name)
                for tid, states in expected.items():
                    # Before it is first seen a thread is unknown here, and nothing there.
                    self.assertEqual(dict(mine.get(tid), unknown=0), dict(states, unknown=0), tid)

    def test_flows_and_the_answer(self):
        read = Perfetto(self.run_argus('export', '--perfetto', 'why_circle.t.argus'))
        self.assertEqual(set(read.flows), set(read.ends))
        links = {(read.flows[f][1], read.ends[f][1], read.flows[f][2]) for f in read.flows}
        self.assertIn((10, 20, 'wake'), links)
        self.assertIn((10, 20, 'message'), links)
        self.assertIn((20, 10, 'wake'), links)
        self.assertTrue(all(read.flows[f][0] <= read.ends[f][0] for f in read.flows))
        answer = json.loads(self.run_argus('why', '--json', 'why_circle.t.argus'))
        whole = [a for a in read.answer if a[0] == 'Why was it stuck?']
        self.assertEqual([(a[1], a[2]) for a in whole], [(answer['window']['start_ns'], answer['window']['end_ns'])])
        self.assertEqual(whole[0][4], [answer['text']])
        chain = [(a[1], a[2]) for a in read.answer if a[0] == 'where the time went']
        self.assertEqual(chain, [(l['start_ns'], l['end_ns']) for l in answer['chain']])

    def test_a_process_and_a_stretch_of_time(self):
        whole = speedscope(self.run_argus('export', '--speedscope', 'why_circle.t.argus'))
        part = speedscope(self.run_argus('export', '--speedscope', '--pid', '20', 'why_circle.t.argus'))
        self.assertEqual(part, {20: whole[20]})
        half = speedscope(self.run_argus('export', '--speedscope', '--from', '1', '--to', '2', 'why_circle.t.argus'))
        self.assertEqual({sum(states.values()) for states in half.values()}, {10 ** 9})

    def test_stacks_have_names(self):
        document = json.loads(self.run_argus('export', '--speedscope', 'why_plan_probe.t.argus'))
        names = {f['name'] for f in document['shared']['frames']}
        self.assertTrue({'prepare', 'wait_until_ready', 'waiting: sleep'} <= names, names)

    def test_mistakes_are_said(self):
        for arguments, words in ((['--pprof', '--perfetto'], b'exclude'), ([], b'--perfetto'), (['--pprof', '-o', '/no/such/file'], b'/no/such/file')):
            done = subprocess.run([ARGUS, 'export', *arguments, 'why_circle.t.argus'], cwd=self.folder.name, capture_output=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


# Names that are no UTF-8, have quotes, brackets and control characters; a thread that never ends.
HOSTILE = r'''
1 [0] 10 task pid=10 flags=leader "\"<script>\\x"
1 [0] 20 task pid=20 flags=leader "\xff\xfe\x01,;"
1 [0] 0 switch next=10
1.5 [0] 10 switch next=20 state=sleeping wait=read object=pipe:1 syscall=read
1.7 [0] 20 wake target=10 syscall=write cause=thread
1.9 [0] 20 switch next=10
2.5 [0] 10 switch next=0 state=stopped wait=stop
3 [0] 0 mark "end"
'''


if __name__ == '__main__':
    unittest.main()
