"""cases/score.py: what counts as the right answer."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../cases'))
import score  # noqa: E402

RUN = {'victim_pid': 10, 'start_ns': 1000, 'end_ns': 2000, 'actors': {'root_hog1': '21', 'root_hog2': '22', 'relay': '30 31'}}
TRUTH = {'verdict': ['waiting'], 'culprit': ['root_hog*', 'cgroup'], 'chain': ['relay'], 'circle': True,
         'function_in_chain': 'get.*info', 'module': 'bash$', 'text': 'quota', 'trigger': ['relay']}


def answer(**changed):
    base = {
        'verdict': 'waiting', 'window': {'start_ns': 1000, 'end_ns': 2000}, 'victim': {'pid': 10, 'tid': 12, 'ppid': 1},
        'culprit': {'kind': 'thread', 'pid': 22, 'tid': 23, 'ppid': 1, 'function': 'getaddrinfo', 'module': '/usr/bin/bash'},
        'chain': [{'pid': 10, 'tid': 10, 'start_ns': 1000, 'end_ns': 1500, 'frames': []},
                  {'pid': 31, 'tid': 31, 'start_ns': 1500, 'end_ns': 2000, 'frames': [{'function': 'poll', 'module': 'libc'}]}],
        'circle': [{'pid': 10}], 'trigger': [{'pid': 30}], 'text': 'its quota was used up',
        'ledger': {'explained_ns': 900, 'unknown_ns': 100, 'lost_ns': 0},
    }
    return dict(base, **changed)


class Score(unittest.TestCase):
    def test_all_right(self):
        points = score.answer(answer(), TRUTH, RUN)
        self.assertTrue(all(points.values()), points)
        self.assertTrue(score.solved(points))
        self.assertAlmostEqual(score.unknown_share(answer()), 0.1)

    def test_wrong_culprit(self):
        for culprit in (None, {}, {'pid': 99, 'tid': 98, 'ppid': 97}, {'pid': 0, 'tid': 0}):
            self.assertFalse(score.answer(answer(culprit=culprit), TRUTH, RUN)['culprit'], culprit)

    def test_thread_child_and_kind_count(self):
        for culprit in ({'pid': 5, 'tid': 21}, {'pid': 5, 'tid': 5, 'ppid': 22}, {'kind': 'cgroup'}):
            self.assertTrue(score.answer(answer(culprit=culprit), TRUTH, RUN)['culprit'], culprit)

    def test_exactly_that_thread(self):
        truth = dict(TRUTH, culprit=['=relay'])
        for tid, right in ((30, True), (31, True), (32, False)):
            points = score.answer(answer(culprit={'pid': 30, 'tid': tid, 'ppid': 1}), truth, RUN)
            self.assertEqual(points['culprit'], right, tid)

    def test_as_stuck_as_the_victim(self):
        other = answer(victim={'pid': 30, 'tid': 30, 'ppid': 1})
        self.assertFalse(score.answer(other, TRUTH, RUN)['victim'])
        self.assertTrue(score.answer(other, dict(TRUTH, as_stuck=['relay']), RUN)['victim'])

    def test_empty_answer_fails_every_point(self):
        points = score.answer({}, TRUTH, RUN)
        self.assertFalse(any(points.values()), points)

    def test_gap_in_chain(self):
        chain = answer()['chain']
        chain[1]['start_ns'] = 1501
        self.assertFalse(score.answer(answer(chain=chain), TRUTH, RUN)['ledger'])

    def test_window_elsewhere(self):
        self.assertFalse(score.answer(answer(window={'start_ns': 2000, 'end_ns': 3000}), TRUTH, RUN)['time'])


if __name__ == '__main__':
    unittest.main()
