"""tests/golden.py: the runner of the golden tests."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import golden  # noqa: E402


class Golden(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name + '/one.test'

    def tearDown(self):
        self.folder.cleanup()

    def check(self, text, bless=False):
        open(self.path, 'w').write(text)
        return golden.check(self.path, '/bin/true', bless)

    def test_right(self):
        self.assertEqual(self.check('what\n=== file f\na\nb\n=== cat f\na\nb\n=== false\n[1]\n'), '')

    def test_wrong_output_and_status(self):
        self.assertIn('-c', self.check('=== file f\na\n=== cat f\nc\n'))
        self.assertIn('+[1]', self.check('=== false\n'))

    def test_nothing_to_run_fails(self):
        self.assertNotEqual(self.check('only words\n'), '')

    def test_import_that_fails_is_said(self):
        self.assertIn('import', self.check('=== trace t\nx\n=== true\n'))

    def test_bless_keeps_the_rest(self):
        self.assertEqual(self.check('what\n\n=== file f\na\n\n=== cat f; exit 3\nold\n=== true\n', True), '')
        self.assertEqual(open(self.path).read(), 'what\n\n=== file f\na\n\n=== cat f; exit 3\na\n\n[3]\n\n=== true\n')
        self.assertEqual(golden.check(self.path, '/bin/true'), '')


if __name__ == '__main__':
    unittest.main()
