"""bench/: pieces measured apart become one page; what perf lost is counted."""
import os
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench'))
import pieces  # noqa: E402
import recorders  # noqa: E402
import report  # noqa: E402


def piece(alone, **ratios):
    run = {'events': 1000, 'bytes': 4000, 'lost': 0, 'bpf': {'ns': 1e8, 'runs': 10}, 'agent_s': 0.1, 'busy_s': 2.2, 'wall_s': 1.0}
    return {'name': 'w', 'title': 'work', 'command': 'work', 'alone': [alone], 'alone_details': [],
            'recorders': {name: {'ratios': [ratio], 'runs': [run], 'values': [1], 'details': [], 'timed': [run]}
                          for name, ratio in ratios.items()}}


class Pieces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def merged(self):
        return pieces.merged(self.folder.name, ['v', 'w'], ['trace-cmd', 'floor', 'argus lean'])

    def test_pieces_add_up_in_order(self):
        pieces.keep(self.folder.name, False, workloads=[piece([1, 1], **{'argus lean': 1.2, 'floor': 1.1})])
        pieces.keep(self.folder.name, True, workloads=[piece([2, 2], **{'argus lean': 1.4, 'trace-cmd': 2.0})], skipped=['w: late', 'x: no'])
        found = self.merged()
        self.assertEqual(list(found['workloads'][0]['recorders']), ['trace-cmd', 'floor', 'argus lean'])
        self.assertEqual(found['workloads'][0]['recorders']['argus lean']['ratios'], [1.2, 1.4])
        self.assertEqual(found['skipped'], ['x: no'])
        self.assertEqual(report.spread(found['workloads'][0]['alone']), (1, 1))     # no ratio across pieces
        text = report.text(found)
        self.assertIn('| work | 1.00-1.00 | 2.00 | 1.10 | 1.30 |', text)
        self.assertIn('**1.100**', text)                                            # 0.2 s of 2.2 s are its own
        pieces.forget(self.folder.name)
        self.assertEqual(self.merged()['workloads'], [])

    def test_the_page_is_in_the_text(self):
        row = {'count': 9, 'median_ms': 0.2, 'p99_ms': 7.5, 'most_ms': 9.1}
        pieces.keep(self.folder.name, False, page={
            'events': 20000000, 'seconds': 1950, 'threads': 2000, 'first_view_s': 0.9, 'short': row, 'long': row, 'closer': row,
            'server_bytes': 91 << 20, 'chromium': {'p95_ms': 6.4, 'frames': row, 'above_empty_bytes': 78000000}})
        text = report.text(self.merged())
        self.assertIn('| first view, from the index | 1 s | 0.90 s |', text)
        self.assertIn('| script and layout a frame, 95th percentile | 8 ms | 6.4 ms of 9 |', text)
        self.assertIn('| memory of the page above an empty one | 200 MB | 78 MB |', text)

    def test_perf_counts(self):
        path = self.folder.name + '/perf.data'
        body = b''.join((struct.pack('<IHHQ', 9, 0, 16, 7), struct.pack('<IHHQQ', 2, 0, 24, 1, 5), struct.pack('<IHHQ', 13, 0, 16, 3)))
        with open(path, 'wb') as file:
            file.write(b'\0' * 40 + struct.pack('<QQ', 56, len(body)) + body)
        self.assertEqual(recorders.perf_counts(path), (1, 8))

    def test_names(self):
        self.assertEqual([kind.name for kind in recorders.chosen(['floor'])], ['floor'])
        self.assertRaises(ValueError, recorders.chosen, ['argus'])


if __name__ == '__main__':
    unittest.main()
