"""cases/check_answer.py: finds planted untruths, and passes what is true: the answers of all golden tests."""
import copy
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '../..')
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(ROOT, 'cases')]
import check_answer  # noqa: E402
import golden  # noqa: E402
import replay  # noqa: E402

ARGUS = os.path.join(os.path.abspath(os.environ.get('BUILD', os.path.join(ROOT, 'build'))), 'argus')

# Test, part of the text, what stands in its place, words of the finding.
UNTRUTHS = [
    ('meant', 'a server that rested meanwhile had no news for it', 'the program itself worked', 'nobody on the way worked'),
    ('kept_out', 'way to 10.0.0.2:80', 'way to 10.0.0.3:80', 'was not found connecting'),
    ('on_the_way', 'client (pid 10) hung', 'backend (pid 20) hung', 'is the victim itself'),
    ('keeper', 'perl (pid 22) has the pipe', 'client (pid 10) has the pipe', 'no pipe in common'),
    ('far_host', '203.0.113.53:443 (TCP), which', '203.0.113.54:443 (TCP), which', 'has no TCP socket that leads to'),
    ('circle', 'stuck for 3.000 s', 'stuck for 2.000 s', 'stuck for'),
    ('circle', 'parent (pid 10) was stuck', 'paront (pid 10) was stuck', 'is called'),
    ('circle', 'it was waiting. It', 'it was busy computing. It', 'busy computing'),
    ('circle', 'it was waiting. It', 'it was stopped. It', 'it was stopped'),
    ('circle', 'waiting to read on pipe; child', 'waiting to write on pipe; child', 'waiting to write'),
    ('circle', 'waiting to read on pipe; child', 'waiting to read on Unix socket; child', 'Unix socket'),
    ('circle', 'woke it (event 16)', 'woke it (event 9)', 'event 9'),
    ('circle', 'woke it (event 16)', 'created the thread that woke it (event 16)', 'creates nobody'),
    ('circle', 'child (pid 20) woke it', 'child (pid 21) woke it', 'no thread 21'),
    ('circle', 'parent (pid 10) -> child (pid 20) -> parent (pid 10)', 'child (pid 20) -> parent (pid 10) -> child (pid 20)', 'not that of the document'),
    ('circle', 'a timeout of 3.000 s broke', 'a timeout of 1.500 s broke', 'Only a timeout'),
    ('circle', 'waiting in poll for 3.000 s', 'waiting in poll for 1.700 s', 'charged with'),
    ('circle', 'waiting in poll for', 'sleeping for', 'charged with'),
    ('circle', 'waiting in poll for', 'computing for', 'charged with'),
    ('circle', 'it is in another process', 'it is in the same process', 'in another process'),
    ('circle', ' They wait for each other', ' Perhaps they wait for each other', 'not understood'),
    ('circle', ' In which function is not known: no stacks were recorded.', ' Its user was asleep.', 'not understood'),
    ('circle', ' The culprit is child', ' The fault is with child', 'not understood'),
    ('beam', 'computing for 2.997 s', 'computing for 999.0 ms', 'charged with'),
    ('beam', 'was set to work on its behalf (event 13)', 'was set to work on its behalf (event 10)', 'woke 20'),
    ('beam', 'relay (pid 20) woke it (event 13)', 'app (pid 10) woke it (event 13)', 'what set it off'),
    ('beam', ' relay (pid 20) was passing it on; worker (pid 30) was set to work on its behalf (event 13).', '', 'vague'),
    ('stopped', 'stopped for', 'waiting on a futex for', 'charged with'),
    ('stopped', 'shell (pid 30) stopped it by a signal (event 7)', 'client (pid 10) stopped it by a signal (event 7)', 'what set it off'),
    ('stopped', '(event 7)', '(event 8)', 'event 8'),
    ('plan_probe', 'in prepare (app)', 'in wait_until_ready (app)', 'function'),
    ('plan_probe', ' in prepare (app)', '', 'vague'),
    ('plan_probe', ', 75 % of its processor time there', ', 12 % of its processor time there', '12 %'),
    ('plan_probe', '30 times, every 100.0 ms', '12 times, every 100.0 ms', '12 times'),
    ('plan_probe', '30 times, every 100.0 ms', '30 times, every 700.0 ms', '30 times'),
    ('plan_probe', ', in wait_until_ready;', ', in wait_for_nothing;', 'on no stack'),
    ('file_lock', 'holds the file lock', 'has not accepted its connection', 'listens nowhere'),
    ('file_lock', 'holder (pid 20) holds the file lock (event 6)', 'holder (pid 20) woke it (event 6)', 'no wake-up'),
    ('quota_partly', 'quota of 50.0 ms in each', 'quota of 20.0 ms in each', 'quota'),
    ('quota_partly', 'went to hog (pid 10)', 'went to late (pid 11)', 'most of the quota'),
    ('quota_moved', 'went to hog (pid 10)', 'went to stranger (pid 12)', 'most of the quota'),
    ('ended_kin', 'loader (thread 12 of process 10, reader) is of its process', 'ticker (thread 11 of process 10, reader) is of its process',
     'no thread of its process that ended'),
    ('gap', 'In the window 1 event was lost', 'In the window 7 events were lost', 'events lost'),
    ('gap', 'in a stretch of 2.650 s', 'in a stretch of 1.650 s', 'longest gap'),
    ('base', '3.900 s is unexplained', '1.000 s is unexplained', 'ledger'),
    ('condition', 'It waits for itself', 'It waits for nothing', 'not understood'),
    ('standing_circle', 'stuck for 25.000 s', 'stuck for 9.000 s', 'stuck for 9.000 s: it waited since'),
    ('standing_circle', '(since 01:47:20;', '(since 01:48:20;', 'since'),
    ('stopped', ' In which function', ' That is no guess: each wait on the way, and who holds what it is for, stood like this for the whole time. '
                                     'In which function', 'no guess'),
    ('starved', 'processor for 3.950 s of', 'processor for 4.800 s of', 'could have run'),
    ('starved', 'processor for 3.950 s of', 'processor for 1.000 s of', 'could have run'),
    ('starved', 'hog (pid 20), which had', 'xz (pid 10), which had', 'culprit'),
    ('callback', 'begun at 0.090 s (event 27)', 'begun at 0.090 s (event 28)', 'the document knows none'),
    ('callback', 'begun at 0.090 s', 'begun at 0.190 s', 'a callback begins'),
    ('callback', 'attached its source', 'made it', 'the document says otherwise'),
]
# What is changed in the document, words of the finding.
WRONG_DOCUMENTS = [
    (lambda a: a['ledger'].update(explained_ns=a['ledger']['explained_ns'] + 1000000), 'ledger'),
    (lambda a: a['window'].update(end_ns=a['window']['end_ns'] + 10 ** 10), 'window'),
    (lambda a: a['chain'][-1].update(state='running'), 'chain'),
    (lambda a: a['chain'][0].update(end_ns=a['chain'][0]['end_ns'] - 1), 'gap or overlap'),
    (lambda a: a['chain'][-1].update(comm='someone'), 'is called'),
    (lambda a: a['path'][1].update(event=11), 'event'),
    (lambda a: a['path'][1].update(charged_ns=10 ** 12), 'charged'),
    (lambda a: a['culprit'].update(pid=10, tid=10), 'culprit'),
    (lambda a: a['culprit'].update(ppid=77), 'parent'),
    (lambda a: a['circle'].reverse(), 'circle'),
    (lambda a: a['alternatives'].append(dict(a['victim'], what='running for 70 % of the window', time_ns=0, event=0, confidence=70)), '70 %'),
]


class Asked:
    """A golden test's traces, and the answers to its questions."""
    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory(prefix='argus-check-')
        self.traces = {}
        _, self.parts = golden.parse(path)
        for kind, name, body in self.parts:
            if kind != 'run':
                with open(f'{self.folder.name}/{name}' + ('.text' if kind == 'trace' else ''), 'w', errors='surrogateescape') as out:
                    out.write('\n'.join(body) + '\n')
            if kind == 'trace':
                self.run('import', '--text', name + '.text', '-o', name + '.argus')

    def run(self, *arguments):
        return subprocess.run([ARGUS, *arguments], cwd=self.folder.name, capture_output=True, stdin=subprocess.DEVNULL).stdout

    def questions(self):
        found = []
        for kind, command, _ in self.parts:
            for words in re.findall(r'argus why ([^|;>&]*)', command) if kind == 'run' else ():
                words = [w for w in shlex.split(words) if w != '--json']
                if words not in found and '-h' not in words:
                    found.append(words)
        return found

    def answer(self, words):
        try:
            return json.loads(self.run('why', '--json', *words))
        except ValueError:
            return None      # a mistake in the question

    def replay(self, answer):
        name = answer['trace']
        if name not in self.traces:
            self.traces[name] = replay.Replay(ARGUS, f'{self.folder.name}/{name}')
        return self.traces[name]


def asked(name):
    return Asked(f'{ROOT}/tests/golden/why_{name}.test')


@unittest.skipUnless(os.path.exists(ARGUS), 'argus is not built')
class CheckAnswer(unittest.TestCase):
    def test_untruths_are_found(self):
        known = {}
        for name, part, instead, words in UNTRUTHS:
            with self.subTest(name=name, said=instead):
                if name not in known:
                    one = asked(name)
                    self.addCleanup(one.folder.cleanup)
                    known[name] = one, [a for a in map(one.answer, one.questions()) if a]
                one, answers = known[name]
                answer = next((a for a in answers if part in a['text']), None)
                self.assertIsNotNone(answer, f'"{part}" is in no answer any more')
                found = check_answer.check(ARGUS, '', dict(answer, text=answer['text'].replace(part, instead, 1)), one.replay(answer))
                self.assertTrue(any(words in text for text in found), found)

    def test_wrong_documents_are_found(self):
        one = asked('circle')
        self.addCleanup(one.folder.cleanup)
        answer = one.answer(one.questions()[0])
        for number, (change, words) in enumerate(WRONG_DOCUMENTS):
            with self.subTest(number=number, words=words):
                wrong = copy.deepcopy(answer)
                change(wrong)
                found = check_answer.check(ARGUS, '', wrong, one.replay(answer))
                self.assertTrue(any(words in text for text in found), found)

    def test_still_stuck_is_found(self):
        one = asked('open_loop')
        self.addCleanup(one.folder.cleanup)
        answer = one.answer(one.questions()[0])
        answer['plan'].append({'option': '--duration', 'value': '10s', 'why': 'it was still stuck at the end: a stretch of that is enough'})
        self.assertTrue(any('still stuck' in text for text in check_answer.check(ARGUS, '', answer, one.replay(answer))))

    def test_true_answers_pass(self):
        asked_for = 0
        for path in sorted(glob.glob(ROOT + '/tests/golden/*.test')):
            with open(path, errors='replace') as file:
                if 'argus why' not in file.read():
                    continue
            one = Asked(path)
            self.addCleanup(one.folder.cleanup)
            for words in one.questions():
                answer = one.answer(words)
                if answer:
                    asked_for += 1
                    with self.subTest(test=os.path.basename(path), asked=' '.join(words)):
                        self.assertEqual(check_answer.check(ARGUS, '', answer, one.replay(answer)), [], answer['text'])
        self.assertGreater(asked_for, 40)

    def test_command(self):
        one = asked('circle')
        self.addCleanup(one.folder.cleanup)
        command = [sys.executable, '-B', f'{ROOT}/cases/check_answer.py', '--argus', ARGUS, one.folder.name + '/t.argus']
        answer = one.answer(one.questions()[0])
        answer['text'] = answer['text'].replace('waiting in poll', 'sleeping')
        with open(one.folder.name + '/answer.json', 'w') as out:
            json.dump(answer, out)
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        done = subprocess.run(command + [one.folder.name + '/answer.json'], capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'sleeping', done.stdout)

    def test_printed_times_are_cut(self):
        """A loop "every 1 us" may be one of every 1.9 us."""
        for text, most in (('1 us', 2000), ('999 us', 1000000), ('1.9 ms', 2000000), ('3.000 s', 3001000000)):
            self.assertEqual(check_answer.at_most(text), most)

    def test_functions_are_compared_by_their_brief_names(self):
        for name, brief in (('work', 'work'), ('ns::Pool<int>::run(Task&) const', 'ns::Pool::run'), ('guess~', 'guess'),
                            ('void f<g<int> >::h(int (*)(char))', 'f::h'), ('libc.so.6+0x1234', 'libc.so.6+0x1234')):
            self.assertEqual(replay.brief(name), brief)


if __name__ == '__main__':
    unittest.main()
