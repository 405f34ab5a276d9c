"""The page of `argus infer --page` and `argus diff --page` in a real browser: the tree as a
flame graph, the heat map, search, keyboard, names that try to break out."""
import json
import os
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


@unittest.skipUnless(browser.PROGRAM, 'chromium is missing (tools/setup test)')
class ProfilePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory(prefix='argus-profile-')
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.work.cleanup()

    def trace(self, test, name, change=lambda text: text):
        body = next(body for kind, argument, body in golden.parse(f'{TESTS}/golden/{test}.test')[1] if kind == 'trace' and argument == name)
        path = os.path.join(self.work.name, f'{self._testMethodName}.{name}')
        with open(path + '.text', 'w', encoding='utf-8') as file:
            file.write(change('\n'.join(body)) + '\n')
        subprocess.run([ARGUS, 'import', '--text', path + '.text', '-o', path], check=True, capture_output=True)
        return path

    def page(self, *words):
        path = os.path.join(self.work.name, self._testMethodName + '.html')
        done = subprocess.run([ARGUS, words[0], '--json', '--page', path, *words[1:]], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        page = self.browser.page('file://' + path)
        self.addCleanup(page.close)
        return page, json.loads(done.stdout)

    def check_clean(self, page):
        self.assertEqual(page.complaints, [])
        self.assertEqual(len(page.requests), 1, page.requests)
        self.assertIsNone(page.run('window.broken'))

    def boxes(self, page, kind=''):
        return page.run(f"[...document.querySelectorAll('.flame .box{kind}')].map((box) => box.querySelector('bdi').textContent)")

    def test_two_runs(self):
        page, told = self.page('diff', self.trace('diff_requests', 'base'), self.trace('diff_requests', 'buggy'))
        self.assertIn('What took longer', page.visible_text())
        functions = {frame['function'] for path in told['paths'] for frame in path['frames']}
        self.assertLessEqual(functions, set(self.boxes(page)))
        hot = told['paths'][0]['frames'][told['paths'][0]['hot']]
        marked = page.run("[...document.querySelectorAll('.flame .slower, .flame .new')].map((box) => box.textContent)")
        self.assertTrue(any(text in ('▲ ' + hot['function'], '+ ' + hot['function']) for text in marked), (hot, marked))
        rows = page.run("[...document.querySelectorAll('.heat tr')].map((row) => [...row.querySelectorAll('.cell')].map((cell) => cell.textContent))")
        self.assertEqual([len(row) for row in rows], [len(path['frames']) for path in told['paths']])
        self.assertTrue(all('0' in row for row in rows))
        self.assertEqual(page.run("document.querySelectorAll('.heat .ring').length"), len(rows))
        self.check_clean(page)

    def test_one_run(self):
        trace = self.trace('infer_figure3', 'fig3')
        page, told = self.page('infer', trace)
        self.assertEqual(page.run("document.querySelectorAll('.flame .slower, .flame .faster').length"), 0)
        shown = page.run("[...document.querySelectorAll('.path tbody tr')].map((row) => row.querySelector('.name').textContent)")
        self.assertEqual(shown, [one['function'] for one in told['functions']])
        self.assertIn(told['functions'][0]['function'], self.boxes(page))
        self.check_clean(page)

    def test_search_and_keyboard(self):
        page, told = self.page('infer', self.trace('infer_figure3', 'fig3'))
        everything, name = self.boxes(page), told['functions'][0]['function']
        page.key('/')
        page.run(f"document.activeElement.value = {json.dumps(name)}, document.activeElement.dispatchEvent(new Event('input'))")
        page.settle()
        self.assertTrue(all(name in found for found in self.boxes(page, '.found')))
        self.assertRegex(page.run("document.querySelector('.said-of').textContent"), r'^\d+ contexts?, ')
        page.run("document.activeElement.value = '', document.activeElement.dispatchEvent(new Event('input')), document.querySelector('.flame').focus()")
        said = set()
        for key in ('ArrowDown', 'ArrowDown', 'ArrowDown'):
            page.key(key)
            said.add(page.run("document.querySelector('.said-of').textContent"))
        self.assertEqual(len(said), 3)
        at = page.run("document.querySelector('.flame .at bdi').textContent")
        page.key('Enter')
        self.assertEqual(page.run(f"[...document.querySelectorAll('.flame .box')].find((box) => box.querySelector('bdi').textContent === {json.dumps(at)}).style.width"), '100%')
        page.key('0')
        self.assertEqual(self.boxes(page), everything)

    def test_hostile_names(self):
        hostile = '<script>window.broken=1</script>\\xe2\\x80\\xae' + 'n' * 4000
        trace = self.trace('infer_figure3', 'fig3', lambda text: text.replace('"A"', f'"{hostile}"'))
        page, _ = self.page('infer', trace)
        self.check_clean(page)
        self.assertEqual(page.run("document.querySelectorAll('img, script').length"), 0)
        self.assertIsNone(re.search('[\u202a-\u202e\u2066-\u2069]', page.run("document.body.textContent + [...document.querySelectorAll('[title]')].map((e) => e.title)")))


if __name__ == '__main__':
    unittest.main()
