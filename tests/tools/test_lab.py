"""lab/: plans repeat, a run counts only if its fault did happen as planned, and what is said of the unseen half."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
sys.path[:0] = [os.path.join(ROOT, 'lab'), os.path.join(ROOT, 'cases')]
import shapes  # noqa: E402
import tables  # noqa: E402
import verify  # noqa: E402

S = 1000000000
TRUTH = {'victim': 'viewer', 'span_ms': 1500, 'late': [['pipe_0', 'viewer']]}
LOG = f'''role viewer 10 10
role cutter 11 12
late pipe_0 viewer 10 {5 * S} {6.5 * S:.0f}
fault cutter 12 {5 * S} {6.4 * S:.0f}
stuck viewer 10 10 {5 * S} {6.5 * S:.0f}
rounds 50 20 4000000
'''


class Plans(unittest.TestCase):
    def test_a_seed_repeats(self):
        for seed in range(40):
            self.assertEqual(shapes.plan_of(seed), shapes.plan_of(seed))

    def test_all_kinds_come(self):
        truths = [shapes.plan_of(seed)[1] for seed in range(300)]
        self.assertEqual({t['shape'] for t in truths}, {*shapes.SHAPES, 'packaged'})
        self.assertGreaterEqual(sum(bool(t.get('packaged')) for t in truths), 60)
        import faults
        self.assertEqual(set(faults.FAULTS) - {t['fault'] for t in truths}, set())
        self.assertLessEqual(sum('spin_bare' in t['links'] for t in truths), 15)

    def test_programs_compile(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for seed in range(400, 412):
            source, truth = shapes.plan_of(seed)
            if not truth.get('packaged'):
                shapes.prepare(source, truth, folder, ['gcc', '-std=gnu17', '-Wall', '-Wno-unused-function', '-Werror', '-O1', '-I' + ROOT + '/lab'])


class Verify(unittest.TestCase):
    def test_as_planned(self):
        run, problem = verify.run_of(LOG, TRUTH, 'fault')
        self.assertEqual(problem, '')
        self.assertEqual((run['victim_pid'], run['hang_ms'], run['actors']['cutter'], run['pids']), (10, 1500, '12', [10, 11]))

    def test_what_did_not_bite_does_not_count(self):
        for old, new in ((f'fault cutter 12 {5 * S}', f'fault cutter 12 {6 * S}'), ('fault', 'fall'), ('stuck', 'stick'), ('pipe_0', 'pipe_1'),
                         ('rounds 50 20', 'rounds 50 1'), ('rounds', 'r'), (f'{6.5 * S:.0f}\nrounds', f'{5.5 * S:.0f}\nrounds'), ('role cutter', 'problem cutter')):
            self.assertIn(old, LOG)
            run, problem = verify.run_of(LOG.replace(old, new), TRUTH, 'fault')
            self.assertTrue(run is None and problem, (old, new))
        self.assertIsNone(verify.run_of(LOG, TRUTH, 'healthy')[0])


class Tables(unittest.TestCase):
    def test_counts(self):
        sure = {'verdict': 'busy', 'culprit': {'confidence': 95}}
        asked = {'pid': {'answer': sure, 'points': {'culprit': True, 'verdict': True, 'chain': False}}, 'alone': {'points': {'culprit': False, 'verdict': True}}}
        truth = {'mechanisms': ['pipe'], 'fault': 'sleeping', 'shape': 'line'}
        text = tables.text([{'seed': 1, 'mode': 'fault', 'level': 'lean', 'truth': truth, 'asked': asked},
                            {'seed': 1, 'mode': 'healthy', 'level': 'lean', 'truth': truth, 'asked': {}, 'hangs': [{}], 'foreign_hangs': 0, 'silent': False}], 3)
        self.assertIn('| culprit | 1/1 | 0/1 | - | - |', text)
        self.assertIn('| chain | 0/1 | 0/0 |', text)
        self.assertIn('| line | 1/1 | 0/1 | - | - | 0/1 |', text)
        self.assertIn('| 95 | 1 | 100 |', text)
        self.assertIn('1 false alarms', text)
        self.assertIn('3 more were thrown away', text)


class Runner(unittest.TestCase):
    def test_help(self):
        done = subprocess.run([ROOT + '/lab/run', '-h'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn('--show-unseen', done.stdout)


if __name__ == '__main__':
    unittest.main()
