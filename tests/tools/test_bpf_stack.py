"""tools/check-bpf-stack: chains of calls whose frames sum to more than 512 bytes."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/check-bpf-stack')
CLANG = shutil.which('clang') or max(glob.glob('/usr/bin/clang-[0-9]*'), default=None)
SOURCE = '''
static long (*const in_each)(unsigned, void *, void *, unsigned long long) = (void *)181;
__attribute__((noinline)) int inner(int i)
{
	volatile char room[INNER];
	room[i & 7] = i;
	return room[i & 3];
}
static long each(unsigned index, void *data)
{
	volatile char room[EACH];
	room[index & 7] = index;
	return room[index & 3];
}
__attribute__((section("tp_btf/x"))) int outer(int *context)
{
	volatile char room[OUTER];
	room[*context & 7] = 1;
	in_each(1, each, 0, 0);
	return inner(room[*context & 3]);
}
'''


@unittest.skipUnless(CLANG, 'no clang')
class Stack(unittest.TestCase):
    def check(self, **rooms):
        with tempfile.TemporaryDirectory() as build:
            os.makedirs(build + '/src/record/bpf')
            defines = [f'-D{name}={room}' for name, room in rooms.items()]
            subprocess.run([CLANG, '-target', 'bpf', '-O2', '-w', '-c', '-x', 'c', '-', '-o', build + '/src/record/bpf/a.bpf.o', *defines],
                           input=SOURCE, text=True, check=True)
            done = subprocess.run([sys.executable, '-B', CHECK, build], capture_output=True, text=True)
            return done.returncode, done.stdout

    def test_room_is_there(self):
        self.assertEqual(self.check(OUTER=256, INNER=224, EACH=64)[0], 0)

    def test_a_call_has_too_much(self):
        status, text = self.check(OUTER=256, INNER=264, EACH=64)
        self.assertEqual(status, 1, text)
        self.assertIn('> inner 264', text)

    def test_a_loops_function_has_too_much(self):
        status, text = self.check(OUTER=256, INNER=64, EACH=264)
        self.assertEqual(status, 1, text)
        self.assertIn('> each 264', text)

    def test_frames_are_rounded_up(self):
        self.assertEqual(self.check(OUTER=264, INNER=216, EACH=8)[0], 0)
        # 496 without
        self.assertEqual(self.check(OUTER=264, INNER=232, EACH=8)[0], 1)


if __name__ == '__main__':
    unittest.main()
