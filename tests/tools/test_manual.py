"""tools/manual: every command and option of the program's table is in the pages, without
a line about it anywhere else."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
TABLE = {'version': 1, 'argus': '9.9', 'commands': [
    {'name': 'brandnew', 'arguments': '[FILE]', 'summary': 'does what nobody has done', 'rules': [
        {'one_of': ['fast', 'slow', 'x-y']}, {'option': 'fast', 'without': ['how']}],
     'help': 'First words.\n  a  table\n  of  two\nLast words.\n', 'options': [
         {'name': 'fast', 'letter': 'f', 'kind': 'flag', 'help': 'in a hurry'},
         {'name': 'slow', 'kind': 'flag', 'help': 'at leisure'},
         {'name': 'x-y', 'kind': 'flag', 'help': '.begins with a dot'},
         {'name': 'how', 'kind': 'word', 'value': 'HOW', 'choices': ['so', 'thus'], 'help': "it's \\done"}]}],
         'words': [{'name': 'brand', 'meaning': "a mark that's new"}]}


def pages(table):
    """Name and text of each page made of the table."""
    with tempfile.TemporaryDirectory() as folder:
        argus = os.path.join(folder, 'argus')
        with open(argus, 'w') as script:
            script.write("#!/bin/sh\n[ \"$*\" = 'help --json' ] && cat <<'END'\n" + json.dumps(table) + '\nEND\n')
        os.chmod(argus, 0o755)
        out = os.path.join(folder, 'out')
        os.mkdir(out)
        subprocess.run([os.path.join(ROOT, 'tools/manual'), argus, out], check=True)
        made = {}
        for name in os.listdir(out):
            with open(os.path.join(out, name), encoding='utf-8') as page:
                made[name] = page.read()
        return made


def shown(text):
    """As a reader sees it, on one line."""
    return ' '.join(subprocess.run(['groff', '-man', '-t', '-Tascii', '-rLL=2000n', '-P-cbou'], input=text, text=True, check=True,
                                   stdout=subprocess.PIPE).stdout.split())


class Manual(unittest.TestCase):
    def test_a_new_command_has_its_page(self):
        made = pages(TABLE)
        self.assertEqual(sorted(made), ['argus-brandnew.1', 'argus-rules.5', 'argus-trace.5', 'argus.1'])
        self.assertIn('does what nobody has done', made['argus.1'])
        self.assertIn('9.9', made['argus-brandnew.1'])
        self.assertIn(".TP\n\\fBbrand\\fR\na mark that\\(aqs new.\n", made['argus.1'])

    @unittest.skipUnless(shutil.which('groff'), 'groff is not installed')
    def test_a_new_option_has_its_line(self):
        text = shown(pages(TABLE)['argus-brandnew.1'])
        for words in ('-f, --fast in a hurry.', '--slow at leisure.', '--x-y .begins with a dot.', "--how HOW it's \\done.",
                      '--fast, --slow and --x-y exclude each other.', '--fast means nothing without --how.',
                      'First words. a table of two Last words.'):
            self.assertIn(words, text)

    def test_texts_are_about_commands(self):
        with open(os.path.join(ROOT, 'src/session/commands.def')) as table:
            commands = [line[8:line.index(')')] for line in table if line.startswith('COMMAND(')]
        for name in os.listdir(os.path.join(ROOT, 'docs/man')):
            self.assertIn(name[:-3], commands + ['argus'])


if __name__ == '__main__':
    unittest.main()
