"""docs/json.md against what the commands print: every member that the source writes, or
that a golden test shows, is described in the command's section; every member that a
section names is one that the source writes."""
import glob
import json
import os
import re
import sys
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
ROOT = os.path.join(TESTS, '..')
sys.path.insert(0, TESTS)
import golden  # noqa: E402

# Section -> the sources that write its JSON.
SOURCES = {
    'hangs': ['session/cmd_hangs.c'],
    'now': ['session/now_tell.c', 'session/loop_tasks.c'],
    'help': ['session/help.c'],
    'rules': ['session/cmd_rules.c'],
    'why': ['session/why.c', 'session/loop_tasks.c', 'diagnose/answer_json.c', 'diagnose/answer_baseline.c'],
    'report': ['session/view.c', 'session/picture.c'],
    'path': ['session/cmd_path.c', 'session/path_requests.c', 'path/report.c'],
    'info': ['session/cmd_info.c', 'session/stack_health.c', 'session/thread_times.c'],
    'dump': ['session/cmd_dump.c'],
    'graph': ['session/cmd_graph.c', 'session/graph_show.c', 'session/graph_check_show.c'],
    'infer': ['session/cmd_infer.c', 'session/cmd_diff.c', 'infer/report_json.c', 'session/profiling.c'],
    'symbolize': ['session/cmd_symbolize.c'],
    'status': ['session/cmd_status.c', 'record/flight.c'],
    'doctor': ['session/cmd_doctor.c'],
}
# Members whose own members are numbers or names of the trace, not of the format.
OPEN = {'types', 'state_types', 'machine', 'edges', 'contradictions', 'stacks'}
# Events have their fields beside the members.
OPEN_COMMANDS = {'dump'}
KEY = re.compile(r'\b(?:json_(?:object|array|text|text_length|u64|i64|double|bool|null|time|thread|edges)|put_deeds|'
                 r'show_inlined_json|graph_json_segment|answer_contrast_json|put_\w+)\([^";]*?"(\w+)"')


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def sections():
    parts = re.split(r'^## (.*)$', read('docs', 'json.md'), flags=re.M)
    found = {}
    for title, text in zip(parts[1::2], parts[2::2]):
        for name in re.findall(r'argus (\w+)', title):
            found[name] = text
    found['infer'] = found['diff'] = read('docs', 'inference.md')
    return found


def members(document):
    if isinstance(document, list):
        for item in document:
            yield from members(item)
    elif isinstance(document, dict):
        for key, value in document.items():
            yield key
            if key not in OPEN:
                yield from members(value)


def once(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise AssertionError(f'a key twice: {keys}')
    return dict(pairs)


class JsonDocs(unittest.TestCase):
    def setUp(self):
        self.sections = sections()
        self.words = {name: set(re.findall(r'\w+', ' '.join(re.findall(r'`([^`]*)`', text)))) for name, text in self.sections.items()}

    def test_every_command_has_a_section(self):
        for path in glob.glob(os.path.join(ROOT, 'src/session/cmd_*.c')):
            name = os.path.basename(path)[4:-2]
            if re.search(r'OPTION_JSON|\{ "json", ', read('src/session', os.path.basename(path))):
                self.assertIn(name, self.sections, f'{name} --json is not described')

    def test_what_the_source_writes_is_described(self):
        for name, sources in SOURCES.items():
            for source in sources:
                keys = set(KEY.findall(read('src', source)))
                self.assertTrue(keys or source.endswith(('flight.c', 'profiling.c')), f'no member found in {source}')
                self.assertEqual(keys - self.words[name], set(), f'{source}: not described for {name} --json')

    def test_what_golden_tests_show_is_described(self):
        documents = 0
        for path in golden.find(os.path.join(TESTS, 'golden')):
            for kind, command, body in golden.parse(path)[1]:
                found = re.match(r'argus (\w+)\b(?!.*\|).*--json', command) if kind == 'run' else None
                if not found:
                    continue
                try:
                    document = json.loads('\n'.join(line for line in body if not re.fullmatch(r'\[\d+\]', line)), object_pairs_hook=once)
                except ValueError:
                    continue
                documents += 1
                if found[1] not in OPEN_COMMANDS:
                    self.assertEqual(set(members(document)) - self.words[found[1]], set(), f'{path}: {command}')
        self.assertGreater(documents, 0)

    def test_what_is_described_is_written(self):
        for name, text in self.sections.items():
            if name in ('infer', 'diff'):
                continue
            rows = re.findall(r'^\| (`.*?) \|', text, re.M)
            source = ' '.join(read('src', path) for path in SOURCES[name]) if rows else ''
            for row in rows:
                for member in re.findall(r'`(\w+)`', row):
                    self.assertRegex(source, rf'"{member}"', f'{name}: {member} is described, but not written')


if __name__ == '__main__':
    unittest.main()
