"""`argus path` and its kin over traces that are too long to be written down: a hang made of
many short waits, thousands of threads, a chain of waits through thousands of threads."""
import json
import os
import subprocess
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
ARGUS = os.path.join(os.environ.get('BUILD', os.path.join(TESTS, '../build')), 'argus')


class Path(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory(prefix='argus-path-')
        self.addCleanup(self.work.cleanup)

    def argus(self, *words, given=None, status=(0,)):
        done = subprocess.run([ARGUS, *words], input=given, capture_output=True, text=True, env=dict(os.environ, TZ='UTC', LC_ALL='C.UTF-8'))
        self.assertIn(done.returncode, status, done.stderr)
        return done.stdout

    def trace(self, lines):
        text, path = (os.path.join(self.work.name, name) for name in ('text', 'trace.argus'))
        with open(text, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
        self.argus('import', '--text', text, '-o', path)
        return path

    # ---- many short waits ----

    def pieces(self):
        """An event loop whose one turn takes 2 s: four hundred times it waits 4 ms for a worker."""
        lines = ['1 [0] 10 task pid=10 flags=leader "desk"', '1 [0] 11 task pid=10 "worker"', '1.000 [0] 0 switch next=10']
        at = 1.0

        def next_line(seconds, words):
            nonlocal at
            at += seconds
            lines.append(f'{at:.6f} {words}')

        def rest():
            next_line(0.002, '[0] 10 switch next=0 state=sleeping wait=poll syscall=poll')
            next_line(0.1, '[0] 0 wake target=10 context=softirq cause=network vector=3')
            next_line(0, '[0] 0 switch next=10')
        for _ in range(8):
            rest()
        for i in range(400):
            next_line(0.001, '[0] 10 wake target=11 syscall=futex cause=thread')
            next_line(0, '[0] 10 switch next=11 state=sleeping wait=futex object=futex:1 syscall=futex')
            next_line(0.004, '[0] 11 wake target=10 syscall=futex cause=thread')
            next_line(0, '[0] 11 switch next=10 state=sleeping wait=futex object=futex:2 syscall=futex')
        for _ in range(3):
            rest()
        return self.trace(lines)

    def test_why_folds_short_links(self):
        trace = self.pieces()
        window = ('--tid', '10', '--from', '0.8', '--to', '2.8')
        text = self.argus('why', *window, trace)
        self.assertIn('Most of it went by in short pieces', text)
        self.assertRegex(text, r'79 % worker \(computing; 397 times, median 4\.0 ms\)')
        folded = json.loads(self.argus('why', '--json', *window, trace))['folded']
        self.assertEqual(folded['rows'][0]['what'], 'worker')
        self.assertAlmostEqual(folded['rows'][0]['ns'] / folded['total_ns'], 0.79, places=2)

    def test_hangs_folds_short_links(self):
        text = self.argus('hangs', '--all', self.pieces())
        self.assertIn('desk (pid 10)', text)
        self.assertRegex(text, r'\n +80 % worker \(computing; 400 times, median 4\.0 ms\)')

    def test_long_links_are_not_folded(self):
        trace = self.trace(['1 [0] 10 task pid=10 flags=leader "desk"', '1.000 [0] 0 switch next=10',
                            '1.001 [0] 10 switch next=0 state=sleeping wait=sleep syscall=nanosleep timeout_ns=3s',
                            '4.001 [0] 0 wake target=10 context=hardirq cause=timeout', '4.001 [0] 0 switch next=10', '4.1 [0] 10 switch next=0'])
        answer = json.loads(self.argus('why', '--json', '--tid', '10', trace))
        self.assertNotIn('folded', answer)

    def test_debug_path(self):
        trace = self.pieces()
        said = self.argus('debug', trace, given='why\npath\npath tid 11 0.8 0.9\n')
        self.assertRegex(said, r'The path of desk \(pid 10\) through 2\.\d+ s')
        self.assertIn('worker: computing', said)
        self.assertIn('The path of worker (thread 11) through 0.100 s', said)
        for line, words in (('path run', 'this is not a recording of one command'), ('path pid 4711', 'process 4711 is not in the trace'),
                            ('path tid 11 2 1', 'the window ends before it begins'), ('path 1 2', 'path [run')):
            done = subprocess.run([ARGUS, 'debug', trace], input=line + '\n', capture_output=True, text=True)
            self.assertIn(words, done.stdout + done.stderr)

    # ---- thousands of threads ----

    def crowd(self, threads):
        """All stand for one lock, that goes from one to the next, 1 ms each; the first waits for the last one's end."""
        lines = ['1 [0] 10 task pid=10 flags=leader "crowd"', *(f'1 [0] {100 + i} task pid=10 "worker-{i}"' for i in range(threads)),
                 '1.000 [0] 0 switch next=10']
        for i in range(threads):
            lines.append(f'{1.001 + i * 1e-6:.6f} [0] 10 wake target={100 + i} syscall=futex cause=thread')
        lines.append('1.050 [0] 10 switch next=100 state=sleeping wait=futex object=futex:2 syscall=futex')
        for i in range(1, threads):
            lines.append(f'{1.050 + i * 1e-6:.6f} [1] {0 if i == 1 else 99 + i} switch next={100 + i}'
                         + ('' if i == 1 else ' state=sleeping wait=futex object=futex:1 syscall=futex hint=100 hint_kind=mutex_owner'))
        lines.append(f'{1.050 + threads * 1e-6:.6f} [1] {99 + threads} switch next=0 state=sleeping wait=futex object=futex:1 syscall=futex '
                     'hint=100 hint_kind=mutex_owner')
        for i in range(threads):
            at = 1.1 + i * 0.001
            target = 101 + i if i + 1 < threads else 10
            lines.append(f'{at:.6f} [0] {100 + i} wake target={target} syscall=futex cause=thread')
            lines.append(f'{at:.6f} [0] {100 + i} switch next={target} state=dead wait=exit')
        lines.append(f'{1.1 + threads * 0.001:.6f} [0] 10 switch next=0 state=dead wait=exit')
        return self.trace(lines)

    def test_thousands_of_threads(self):
        told = json.loads(self.argus('path', '--pid', '10', '--what-if', '--json', self.crowd(5000)))
        first = told['rows'][0]
        self.assertEqual((first['thread'], first['lock']), ('worker-N', 'a lock'))
        self.assertGreater(first['share'], 0.9)
        self.assertEqual(first['queue']['threads'], 4999)
        self.assertEqual(told['pools'][0]['threads'], 5000)
        # Each moment once, whatever is known of it.
        self.assertEqual(sum(row['ns'] for row in told['rows']), told['total_ns'])
        half = [change for change in told['what_if'] if change['change'] == 'half' and change['row'] == 0][0]
        self.assertTrue(half['told'])
        self.assertLess(half['run_ns'], told['total_ns'] * 0.6)

    def test_chain_through_thousands(self):
        """Each thread waits for the next one: the walk ends somewhere, and says so; no moment is told twice."""
        threads = 3000
        lines = [f'1 [0] {10 + i} task pid={10 + i} flags=leader "link"' for i in range(threads)] + ['1.000 [0] 0 switch next=10']
        for i in range(threads - 1):
            lines.append(f'{1.001 + i * 1e-5:.6f} [0] {10 + i} switch next={11 + i} state=sleeping wait=read object=pipe:{i + 1} syscall=read')
        for i in reversed(range(threads - 1)):
            at = 2 + (threads - i) * 1e-5
            lines.append(f'{at:.6f} [0] {11 + i} wake target={10 + i} syscall=write cause=thread object=pipe:{i + 1}')
            lines.append(f'{at:.6f} [0] {11 + i} switch next={10 + i} state=dead wait=exit')
        lines.append('2.1 [0] 10 switch next=0 state=dead wait=exit')
        told = json.loads(self.argus('path', '--pid', '10', '--json', self.trace(lines)))
        self.assertEqual(sum(row['ns'] for row in told['rows']), told['total_ns'])
        self.assertEqual(told['total_ns'], 1100000000)


if __name__ == '__main__':
    unittest.main()
