"""The pages opened by a headless Firefox: the report of each kind of answer, and a served one."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..')]
import browser  # noqa: E402
import firefox  # noqa: E402
import test_page  # noqa: E402
import test_serve  # noqa: E402


@unittest.skipUnless(firefox.PROGRAM, 'firefox-esr is missing (tools/setup test)')
class PageInFirefox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if 'page' in subprocess.run([test_page.ARGUS, 'report', '/'], capture_output=True).stderr.decode().split(':')[1]:
            raise unittest.SkipTest('built without the page')
        cls.work = tempfile.TemporaryDirectory(prefix='argus-page-')
        cls.firefox = firefox.Firefox()

    @classmethod
    def tearDownClass(cls):
        cls.firefox.close()
        cls.work.cleanup()

    path, trace, golden = test_page.Page.path, test_page.Page.trace, test_page.Page.golden

    def visible_text(self):
        return test_page.squeezed(self.firefox.run('return ' + browser.VISIBLE_TEXT))

    def test_reports(self):
        for kind, (test, name, question) in test_page.KINDS.items():
            with self.subTest(kind=kind):
                if kind == 'base':
                    question = question + ['--base', self.golden(test, 'good')]
                trace = self.golden(test, name)
                test_page.argus('report', trace, '-o', trace + '.html', *question, status=(0, 3))
                answer = json.loads(test_page.argus('why', trace, '--json', *question, status=(0, 3)))
                self.firefox.open('file://' + trace + '.html')
                seen = self.visible_text()
                for who in (answer['victim'], answer['culprit']):
                    if who:
                        self.assertIn(test_page.squeezed(f"{who['comm']} {who['tid']}"), seen)
                for sentence in re.split(r'(?<=\.) ', answer['text']):
                    self.assertIn(test_page.squeezed(sentence), seen)

    def test_served(self):
        server = test_serve.Server(self.golden('why_circle', 't'))
        self.addCleanup(server.end)
        self.firefox.call('WebDriver:Navigate', url='file://' + server.path)
        self.firefox.open(f'http://127.0.0.1:{server.port}/#why')
        end = time.monotonic() + firefox.TIMEOUT_S
        while 'parent(pid10)wasstuck' not in self.visible_text() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertIn('parent(pid10)wasstuck', self.visible_text())


if __name__ == '__main__':
    unittest.main()
