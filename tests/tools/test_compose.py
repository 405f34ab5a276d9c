"""bench/compose: a small recording played again and again is a trace like any other, whose
hangs are where the truth file says."""
import json
import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get('BUILD', os.path.join(HERE, '../../build')))
STUCK_S = 4
HEAD = '''1 [1] 10 task pid=10 flags=leader "client"
1 [1] 20 task pid=20 flags=leader "server"
1.0 [0] 0 switch next=20
1.001 [0] 20 switch next=10 state=sleeping wait=read object=pipe:7 syscall=read
'''


# Who is born and ends while it is played has another number each time, also inside of its namespace.
CHILD = '''{:.6f} [0] 10 fork child=30 child_pid=30 "child"
{:.6f} [0] 10 switch next=30 state=sleeping wait=child syscall=wait4
{:.6f} [0] 30 task pid=30 parent=10 ns_tid=30 flags=leader "child"
{:.6f} [0] 30 exit last=1
{:.6f} [0] 30 switch next=10 state=dead wait=exit
'''


def ask(at, answer_s):
    """The client asks, waits, and naps; the server answers after a while."""
    nap = '' if answer_s < 0.01 else f'''{at + 0.0012:.6f} [0] 20 switch next=0 state=sleeping wait=sleep syscall=nanosleep timeout_ns={int(answer_s * 1e9)}
{at + answer_s:.6f} [0] 0 wake target=20 context=hardirq cause=timer armer=20
{at + answer_s + 0.0001:.6f} [0] 0 switch next=20
'''
    end = at + answer_s + 0.002
    return f'''{at:.6f} [0] 10 wake target=20 syscall=write cause=thread object=pipe:7
{at + 0.001:.6f} [0] 10 switch next=20 state=sleeping wait=futex object=futex:1 hint=20 hint_kind=mutex_owner syscall=futex
{nap}{end:.6f} [0] 20 wake target=10 syscall=write cause=thread object=pipe:8
{end + 0.0001:.6f} [0] 20 switch next=10 state=sleeping wait=read object=pipe:7 syscall=read
{end + 0.0002:.6f} [0] 10 switch next=0 state=sleeping wait=sleep syscall=nanosleep timeout_ns=5000000
{end + 0.0052:.6f} [0] 0 wake target=10 context=hardirq cause=timer armer=10
{end + 0.0053:.6f} [0] 0 switch next=10
'''


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f'{words}: {done.stdout}{done.stderr}')
    return done.stdout


class Compose(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.recording = self.folder.name + '/day'
        text, at = HEAD, 1.002
        while at < 3:
            text += ask(at, 0.001)
            if 2 < at < 2.01:
                text += CHILD.format(at + 0.0075, at + 0.0076, at + 0.0077, at + 0.0078, at + 0.0079)
            at += 0.0101
        self.even = (1.05, at - 0.02)
        begin = at
        text += ask(begin + 0.5, STUCK_S)
        at = begin + 0.5 + STUCK_S + 0.01
        while at < begin + STUCK_S + 1.5:
            text += ask(at, 0.001)
            at += 0.0101
        text += f'{at:.6f} [0] 10 switch next=0 state=sleeping wait=sleep syscall=nanosleep\n{at + 0.1:.6f} [0] 0 mark "end"\n'
        with open(self.folder.name + '/text', 'w', encoding='utf-8') as out:
            out.write(text)
        run(BUILD + '/argus', 'import', '--text', self.folder.name + '/text', '-o', self.recording)
        ns = [int(t * 1e9) for t in (*self.even, begin - 0.01, at - 0.05, begin + 0.501, begin + 0.5 + STUCK_S + 0.002)]
        with open(self.recording + '.parts', 'w', encoding='utf-8') as out:
            out.write(f'part even even {ns[0]} {ns[1]}\npart hang pipe-4 {ns[2]} {ns[3]}\nhang pipe {ns[4]} {ns[5]} 10 20\n')

    def composed(self, *words):
        trace = self.folder.name + '/composed'
        run(BUILD + '/compose', *words, '--truth', trace + '.truth', self.recording, trace)
        with open(trace + '.truth', encoding='utf-8') as source:
            return trace, [json.loads(line) for line in source]

    def test_hangs_are_where_the_truth_says(self):
        trace, truth = self.composed('--events', '60000', '--rate', '500')
        found = json.loads(run(BUILD + '/argus', 'hangs', '--json', trace))
        self.assertGreaterEqual(json.loads(run(BUILD + '/argus', 'info', '--json', trace))['events'], 60000)
        self.assertTrue(truth)
        for hang in truth:
            self.assertTrue([h for h in found if h['tid'] == hang['victim'] and abs(h['end_ns'] - hang['to_ns']) < 4e8], hang)
            self.assertAlmostEqual((hang['to_ns'] - hang['from_ns']) / 1e9, STUCK_S, delta=0.1)

    def test_children_are_known_by_their_new_numbers(self):
        trace, _ = self.composed('--events', '60000', '--rate', '500')
        told = [line for line in run(BUILD + '/argus', 'dump', '--state', trace).splitlines() if ' task ' in line and '"child"' in line]
        self.assertGreater(len({re.search(r'pid=(\d+)', line)[1] for line in told}), 1)
        for line in told:
            self.assertEqual(re.search(r' pid=(\d+)', line)[1], re.search(r'ns_tid=(\d+)', line)[1], line)

    def test_files_of_a_ring_are_read_alone(self):
        trace, truth = self.composed('--ring', '--events', '30000', '--rate', '500')
        self.assertTrue(truth)
        for name in os.listdir(trace):
            self.assertGreater(json.loads(run(BUILD + '/argus', 'info', '--json', f'{trace}/{name}'))['events'], 0)
        run(BUILD + '/argus', 'hangs', trace)


if __name__ == '__main__':
    unittest.main()
