"""The page of `argus report`, looked at in a real browser: each kind of answer, names that
try to break out, keyboard and zoom, what --redact leaves out. One browser serves all."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path.insert(0, TESTS)
import browser  # noqa: E402
import golden  # noqa: E402

ARGUS = os.path.join(os.environ.get('BUILD', os.path.join(TESTS, '../build')), 'argus')
# Kind of answer -> a golden test, the trace in it, and the question.
KINDS = {
    'busy': ('why_times', 't', []), 'waiting': ('why_worker', 't', []), 'yield': ('why_flag_loop', 't', []),
    'starved': ('why_starved', 't', []), 'io': ('why_kernel_thread', 't', ['--tid', '10']), 'circle': ('why_circle', 't', []),
    'none': ('why_none', 't', []), 'base': ('why_base', 'bad', ['--tid', '10', '--from', '0.1', '--to', '4']),
}
HOSTILE = ['<script>window.broken=1</script>', '</script><img src=x onerror=window.broken=1>', '" onclick="window.broken=1', "'>&lt;b>x",
           '\u202egnp.exe', '\u2066a\u200bb\u2069', '\u0410rgus \u05d0\u05d1\u05d2 (pid 20) woke it. The culprit is', 'n' * 4096, '${x}`;{{y}}\\u003c/script']


def argus(*words, status=(0,)):
    done = subprocess.run([ARGUS, *words], capture_output=True, env=dict(os.environ, TZ='UTC', LC_ALL='C.UTF-8'))
    if done.returncode not in status:
        raise AssertionError(f'argus {words}: {done.returncode} {done.stderr.decode()}')
    return done.stdout.decode()


def escaped(text):
    return ''.join(f'\\x{byte:02x}' if byte < 32 or byte > 126 or chr(byte) in '"\\' else chr(byte) for byte in text.encode())


def squeezed(text):
    return re.sub(r'\s+', '', text)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not browser.PROGRAM:
            raise unittest.SkipTest('chromium is missing (tools/setup test)')
        if 'page' in subprocess.run([ARGUS, 'report', '/'], capture_output=True).stderr.decode().split(':')[1]:
            raise unittest.SkipTest('built without the page')
        cls.work = tempfile.TemporaryDirectory(prefix='argus-page-')
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.work.cleanup()

    def path(self, name):
        return os.path.join(self.work.name, name)

    def trace(self, name, text):
        with open(self.path(name + '.text'), 'w', encoding='utf-8', errors='surrogateescape') as file:
            file.write(text)
        argus('import', '--text', self.path(name + '.text'), '-o', self.path(name + '.argus'))
        return self.path(name + '.argus')

    def golden(self, test, name):
        for kind, argument, body in golden.parse(f'{TESTS}/golden/{test}.test')[1]:
            if kind == 'trace' and argument == name:
                return self.trace(f'{test}.{name}'.replace('/', '.'), '\n'.join(body) + '\n')
        raise AssertionError(f'{test} has no trace {name}')

    def report(self, trace, *words):
        """The page, opened, and what `argus why --json` answers to the same question."""
        path = trace + '.html'
        argus('report', trace, '-o', path, *words, status=(0, 3))
        question = [word for word in words if word != '--redact']
        page = self.browser.page('file://' + path)
        self.addCleanup(page.close)
        self.assertLess(os.path.getsize(path), 2 << 20)
        return page, json.loads(argus('why', trace, '--json', *question, status=(0, 3)))

    def check_clean(self, page):
        self.assertEqual(page.complaints, [])
        self.assertEqual(len(page.requests), 1, page.requests)
        self.assertIsNone(page.run('window.broken'))

    # ---- each kind of answer ----

    def check_answer(self, kind):
        test, name, question = KINDS[kind]
        if kind == 'base':
            question = question + ['--base', self.golden(test, 'good')]
        page, answer = self.report(self.golden(test, name), *question)
        seen = squeezed(page.visible_text())
        self.check_clean(page)
        if kind == 'none':
            self.assertIn(squeezed(answer['text']), seen)
            return page, answer
        for who in (answer['victim'], answer['culprit']):
            self.assertIn(squeezed(f"{who['comm']} {who['tid']}"), seen)
        self.assertIn('verdict' + answer['verdict'], seen)
        for sentence in re.split(r'(?<=\.) ', answer['text']):
            self.assertIn(squeezed(sentence), seen)
        lanes = page.run("[...document.querySelectorAll('.left > .timeline .who')].map((who) => who.textContent)")
        for step in answer['path']:
            self.assertIn(f"{step['comm']} {step['tid']}", lanes)
        # The canvas is no empty one.
        self.assertGreater(page.run('''(() => { const c = document.querySelector('canvas');
            return new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size; })()'''), 5)
        return page, answer

    def test_busy(self):
        page, _ = self.check_answer('busy')
        self.assertEqual(page.run("[...document.querySelectorAll('.lane')][0].querySelectorAll('.victim, .culprit').length"), 2)

    def test_waiting(self):
        page, answer = self.check_answer('waiting')
        route = page.run("[...document.querySelectorAll('.route .chip-who')].map((who) => who.textContent)")
        self.assertEqual(route, [f"{step['comm']} {step['tid']}" for step in answer['path']])

    def test_yield(self):
        self.check_answer('yield')

    def test_starved(self):
        page, answer = self.check_answer('starved')
        self.assertEqual(len(answer['alternatives']) + 1, page.run("document.querySelectorAll('.ways input').length"))
        page.run('document.querySelector("canvas").focus()')
        page.key('l')
        self.assertEqual(page.run("[...document.querySelectorAll('.ways input')].findIndex((input) => input.checked)"), 1)

    def test_io(self):
        self.check_answer('io')

    def test_circle(self):
        self.check_answer('circle')

    # ---- where the time went ----

    def test_path(self):
        """Each line of the fold, and beside it when the path was there: all the time, once."""
        trace = self.golden('path/convoy', 't')
        page, _ = self.report(trace, '--tid', '10', '--from', '0', '--to', '0.032')
        told = json.loads(argus('path', '--tid', '10', '--json', trace))
        rows = page.run("[...document.querySelectorAll('.path tbody tr')].map((row) => row.textContent)")
        self.assertEqual(len(rows), len(told['rows']))
        for row, line in zip(rows, told['rows']):
            self.assertIn(line['function'] or line['thread'], row)
            self.assertIn(f"{int(line['share'] * 100 + 0.5)} %", row)
        width = page.run("""[...document.querySelectorAll('.strip i')].reduce((sum, piece) => sum + parseFloat(piece.style.width), 0)""")
        self.assertAlmostEqual(width, 100, delta=0.5)
        self.check_clean(page)

    def test_path_without_hang(self):
        """Nothing hung: the page tells where the run's time went."""
        page, answer = self.report(self.golden('path/convoy', 't'))
        self.assertEqual(answer['verdict'], 'none')
        self.assertIn('commit_journal', page.run("document.querySelector('.path tbody tr').textContent"))
        self.check_clean(page)

    def test_no_hang(self):
        page, _ = self.check_answer('none')
        self.assertEqual(page.run('document.querySelectorAll("canvas").length'), 0)

    def test_baseline_stands_below(self):
        page, answer = self.check_answer('base')
        self.assertIn('when all went well, in the other trace', page.visible_text())
        lanes = page.run("[...document.querySelectorAll('.baseline .who')].map((who) => who.textContent)")
        self.assertIn(str(answer['baseline']['waiter']['tid']), ' '.join(lanes))

    # ---- names ----

    def test_hostile_names(self):
        for number, name in enumerate(HOSTILE):
            with self.subTest(name=name[:30]):
                body = next(body for kind, _, body in golden.parse(TESTS + '/golden/why_circle.test')[1] if kind == 'trace')
                text = '\n'.join(body).replace('"parent"', f'"{escaped(name)}"').replace('"child"', f'"{escaped(name[::-1])}"')
                text = text.replace('1 [0] 10 descriptor object=pipe:1 channel_out=0x1 fd=4 kind=pipe access=2',
                                    f'1 [0] 10 descriptor object=pipe:1 channel_out=0x1 fd=4 kind=pipe access=2 "{escaped(name)}"')
                page, answer = self.report(self.trace(f'hostile{number}', text + '\n'))
                self.check_clean(page)
                self.assertEqual(answer['victim']['tid'], 10)
                self.assertEqual(page.run("document.querySelectorAll('img, b, script').length"), 0)
                self.assertEqual(page.run("document.body.scrollWidth"), page.run("innerWidth"))
                text = page.run("document.body.textContent + [...document.querySelectorAll('[title]')].map((e) => e.title).join()")
                self.assertIsNone(re.search('[\u200b-\u200f\u202a-\u202e\u2066-\u2069]', text))
                shown = page.run("document.querySelector('.chip-who .name').textContent")
                plain = re.sub('[\u200b-\u200f\u202a-\u202e\u2066-\u2069]', lambda c: f'\\u{ord(c[0]):04x}', answer['victim']['comm'])
                self.assertEqual(shown[:20], plain[:20])
                self.assertLessEqual(len(shown), 24)

    def test_policy_lets_nothing_in(self):
        page, _ = self.report(self.golden('why_circle', 't'))
        page.run("""(() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s);
            const i = document.createElement('img'); i.setAttribute('onerror', 'window.broken = 1'); i.src = 'http://127.0.0.1:9/'; document.body.append(i);
            document.body.insertAdjacentHTML('beforeend', '<p style="color: red" onclick="window.broken = 1">x</p>'); document.body.lastElementChild.click(); })()""")
        page.settle()
        self.assertIsNone(page.run('window.broken'))
        self.assertTrue(any('Content Security Policy' in complaint for complaint in page.complaints), page.complaints)

    # ---- looking around ----

    def test_keyboard(self):
        page, answer = self.report(self.golden('why_worker', 't'))
        whole = page.run("document.querySelector('canvas').focus(), 1")
        self.assertEqual(whole, 1)
        seen = set()
        for key in ('Home', 'ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowLeft'):
            page.key(key)
            seen.add(page.run("document.querySelector('.details').textContent"))
        self.assertGreaterEqual(len(seen), 3)
        page.key('0')
        before = page.run("(({from, to}) => to - from)(document.querySelector('.timeline').dataset)")
        page.key('+')
        page.key('+')
        after = page.run("(({from, to}) => to - from)(document.querySelector('.timeline').dataset)")
        self.assertLess(after, before * 0.6)
        page.key('0')
        self.assertEqual(page.run("(({from, to}) => to - from)(document.querySelector('.timeline').dataset)"), before)
        self.assertEqual(page.run("document.querySelector('.details [aria-live]') !== null"), True)
        # All that can be clicked can be reached without a mouse.
        self.assertEqual(page.run("[...document.querySelectorAll('.mention, .chip, .quiet')].every((e) => e.tagName === 'BUTTON' || e.href)"), True)
        self.assertEqual(answer['victim']['tid'], int(page.run("document.querySelector('.lane .id').textContent")))

    def test_pointer_and_zoom(self):
        page, _ = self.report(self.golden('why_circle', 't'))
        box = page.run("(({x, y, width}) => [x, y, width])(document.querySelector('canvas').getBoundingClientRect())")
        page.mouse('mouseMoved', box[0] + box[2] / 2, box[1] + 26 + 14)
        self.assertIn('waiting to read on pipe', page.run("document.querySelector('.details').textContent"))
        page.mouse('mouseMoved', box[0] + box[2] / 2, box[1] + 26 + 34 + 14)
        self.assertIn('waiting in poll', page.run("document.querySelector('.details').textContent"))
        page.mouse('mouseWheel', box[0] + box[2] / 2, box[1] + 40, deltaX=0, deltaY=-400, modifiers=2)
        page.wait("document.querySelector('.timeline').dataset.from > 0")
        start = page.run("+document.querySelector('.timeline').dataset.from")
        page.mouse('mousePressed', box[0] + 400, box[1] + 40, button='left', clickCount=1)
        page.mouse('mouseMoved', box[0] + 300, box[1] + 40, button='left')
        page.mouse('mouseReleased', box[0] + 300, box[1] + 40, button='left', clickCount=1)
        self.assertGreater(page.run("+document.querySelector('.timeline').dataset.from"), start)

    def test_sentences_lead_to_what_they_rest_on(self):
        page, answer = self.report(self.golden('why_circle', 't'))
        page.run("[...document.querySelectorAll('.mention')].find((m) => m.textContent.startsWith('child')).click()")
        page.settle()
        self.assertTrue(page.run("document.querySelector('.details h3').textContent").startswith(answer['culprit']['comm']))
        page.run("[...document.querySelectorAll('.mention.event')].find((m) => m.textContent === 'event 16').click()")
        page.settle()
        self.assertIn('event 16', page.run("document.querySelector('.details').textContent"))

    def test_light_dark_and_paper(self):
        trace = self.golden('why_worker', 't')
        light, _ = self.report(trace)
        ground = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(light.run(ground), 'rgb(246, 247, 248)')
        dark = self.browser.page('file://' + trace + '.html', prefers_color_scheme='dark')
        self.addCleanup(dark.close)
        self.assertEqual(dark.run(ground), 'rgb(17, 19, 21)')
        dark.key('t')
        self.assertEqual(dark.run(ground), 'rgb(246, 247, 248)')
        self.assertGreater(len(light.call('Page.printToPDF', landscape=True, printBackground=True)['data']), 10000)
        self.check_clean(light)

    # ---- what leaves the machine ----

    def test_redacted(self):
        text = '\n'.join(next(body for kind, _, body in golden.parse(TESTS + '/golden/why_circle.test')[1] if kind == 'trace'))
        text = text.replace('1 [0] 10 descriptor object=pipe:1 channel_out=0x1 fd=4 kind=pipe access=2',
                            '1 [0] 10 descriptor object=pipe:1 channel_out=0x1 fd=4 kind=pipe access=2 "/home/ann/a secret/in"')
        text = text.replace('1 [0] 20 descriptor object=pipe:2 channel_out=0x2 fd=6 kind=pipe access=2',
                            '1 [0] 20 descriptor object=pipe:2 channel_out=0x2 fd=6 kind=pipe access=2 "10.1.2.3:80->10.9.9.9:1234"')
        text = '0.9 [0] 0 machine "hostname=annsbox\\x00kernel=6.1.0\\x00"\n' + text + '\n4.15 [0] 0 mark "call of Ann"\n'
        trace = self.trace('secrets', text.replace('"parent"', '"parent\\x00/opt/ann/bin\\x00parent --password=hunter2\\x00"'))
        plain = argus('report', trace, '--json')
        for word in ('a secret', '10.1.2.3', 'annsbox', 'call of Ann', '6.1.0'):
            self.assertIn(word, plain)
        hidden = argus('report', trace, '--json', '--redact')
        for word in ('ann', 'secret', '10.1.2.3', '10.9.9.9', 'hunter2', self.work.name, 'call of'):
            self.assertNotIn(word, hidden)
        document = json.loads(hidden)
        self.assertTrue(document['redacted'])
        self.assertIn('waiting to read on pipe [', json.dumps(document))
        page, _ = self.report(trace, '--redact')
        self.check_clean(page)
        self.assertIn('redacted', page.visible_text())
        self.assertNotIn('secret', page.run('document.documentElement.outerHTML'))

    def test_bad_input(self):
        for words, says in ((['/nonexistent'], 'nonexistent'), ([self.golden('why_circle', 't'), '-o', '/nonexistent/x.html'], 'nonexistent/x.html'),
                            ([self.golden('why_circle', 't'), '--json', '-o', 'x'], 'json')):
            done = subprocess.run([ARGUS, 'report', *words], capture_output=True)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(says, done.stderr.decode())

    def test_damaged_traces(self):
        """Empty, cut and overwritten ones: a page that says what is missing, or a sentence; nothing breaks."""
        with open(self.golden('why_circle', 't'), 'rb') as file:
            whole = file.read()
        chance, pages = random.Random(20), 0
        damaged = [b'', whole[:8], b'\0' * len(whole), *(whole[:len(whole) * i // 12] for i in range(1, 12))]
        for _ in range(12):
            torn = bytearray(whole)
            for _ in range(20):
                torn[chance.randrange(len(torn))] = chance.randrange(256)
            damaged.append(bytes(torn))
        for number, data in enumerate(damaged):
            trace = self.path(f'damaged{number}.argus')
            with open(trace, 'wb') as file:
                file.write(data)
            done = subprocess.run([ARGUS, 'report', trace, '-o', trace + '.html'], capture_output=True, timeout=60)
            self.assertIn(done.returncode, (0, 1, 3), done.stderr)
            if done.returncode == 1:
                self.assertRegex(done.stderr.decode(), r"^argus report: ['\w]")
                self.assertFalse(os.path.exists(trace + '.html'))
                continue
            page, pages = self.browser.page('file://' + trace + '.html'), pages + 1
            self.check_clean(page)
            self.assertTrue(page.run("document.querySelector('h1').textContent"))
            page.close()
        self.assertGreater(pages, 3)

    def test_states_without_colours(self):
        """By lightness alone what ran, could not, waited and stood stopped look different: each has its shape."""
        text = '1 [0] 10 task pid=10 flags=leader "one"\n1 [0] 20 task pid=20 flags=leader "other"\n1 [0] 0 switch next=10\n'
        text += '2 [0] 10 switch next=20 state=running\n3 [0] 20 switch next=10 state=sleeping wait=sleep timeout_ns=9s syscall=nanosleep\n'
        text += '4 [0] 10 switch next=0 state=sleeping wait=read object=pipe:1 syscall=read\n'
        text += '6 [0] 0 wake target=10 syscall=write cause=thread object=pipe:1\n6 [0] 0 switch next=10\n'
        text += '6.01 [0] 10 switch next=0 state=stopped wait=stop\n8 [0] 0 switch next=10\n8.5 [0] 10 switch next=0 state=sleeping wait=sleep\n'
        trace = self.trace('states', text)
        for scheme in ('light', 'dark'):
            argus('report', trace, '--tid', '10', '--from', '0', '--to', '7.5', '-o', trace + '.html', status=(0, 3))
            page = self.browser.page('file://' + trace + '.html', prefers_color_scheme=scheme)
            self.addCleanup(page.close)
            # Of each state a column of lightnesses in the middle of its time, from top to bottom of its lane, and how it varies to the right.
            page.run("document.querySelector('canvas').focus()")
            page.key('0')
            columns = page.run('''(() => {
                const canvas = document.querySelector('.left canvas'), { from, to } = document.querySelector('.timeline').dataset;
                const scale = canvas.width / canvas.getBoundingClientRect().width, wide = canvas.getBoundingClientRect().width;
                return [0.9, 1.9, 4.9, 6.9].map((at) => {
                    const x = (at * 1e9 - from) / (to - from) * wide;
                    const { data } = canvas.getContext('2d').getImageData(x * scale, 27 * scale, 12 * scale, 32 * scale), columns = [];
                    const width = Math.round(12 * scale);
                    for (let i = 0; i < data.length / 4; i++)
                        (columns[i % width] ??= []).push(Math.round(0.2126 * data[4 * i] + 0.7152 * data[4 * i + 1] + 0.0722 * data[4 * i + 2]));
                    return columns;
                });
            })()''')
            for i, one in enumerate(columns):
                for other in columns[:i]:
                    differs = max(sum(abs(a - b) > 24 for a, b in zip(*pair)) for pair in zip(one, other))
                    self.assertGreaterEqual(differs, 2, (scheme, one[0], other[0]))


if __name__ == '__main__':
    unittest.main()
