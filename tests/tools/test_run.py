#!/usr/bin/env python3
"""Which tests of a cmocka program left, and why, as tests/run reads it."""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader('run', os.path.join(TESTS, 'run'))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader('run', loader))
loader.exec_module(run)

SAID = """[==========] Running 4 test(s).
[ RUN      ] test_goes
some words
[       OK ] test_goes
[ RUN      ] test_silent
[  SKIPPED ] test_silent
[ RUN      ] test_reason
more words
needs root
[  SKIPPED ] test_reason
[ RUN      ] test_also
[       OK ] test_also
[==========] 4 test(s) run.
[  PASSED  ] 2 test(s).
[  SKIPPED ] 2 test(s), listed below:
[  SKIPPED ] test_silent
[  SKIPPED ] test_reason

 2 SKIPPED TEST(S)
"""


class Skips(unittest.TestCase):
    def test_each_once_with_its_reason(self):
        self.assertEqual(run.skips_of(SAID), {'test_silent': 'it does not say why', 'test_reason': 'needs root'})

    def test_none(self):
        self.assertEqual(run.skips_of('[  PASSED  ] 2 test(s).\n'), {})


if __name__ == '__main__':
    unittest.main()
