#!/usr/bin/env python3
"""How long naming 10,000 distinct frames takes, with lines and inlined functions: the
first time, and with what was kept then. The frames are spread over the code of a
program with debug information.

usage: names.py ARGUS PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile
import time

FRAMES = 10000


def code_of(program):
    """Offset in the file and length of .text; the build-id."""
    sections = subprocess.run(['readelf', '-SW', program], stdout=subprocess.PIPE, text=True, check=True).stdout
    text = re.search(r'\.text +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)', sections)
    notes = subprocess.run(['readelf', '-n', program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return int(text.group(1), 16), int(text.group(2), 16), re.search(r'Build ID: (\w+)', notes).group(1)


def main():
    argus, program = (os.path.realpath(p) for p in sys.argv[1:3])
    start, length, build_id = code_of(program)
    with tempfile.TemporaryDirectory() as folder:
        lines = ['1 0 module module=1 "%s" "%s"' % (program, build_id)]
        lines += ['1 0 frame node=%d parent=0 module=1 address=%#x' % (i + 1, start + i * length // FRAMES) for i in range(FRAMES)]
        subprocess.run([argus, 'import', '--text', '-o', 'frames.trace'], input='\n'.join(lines) + '\n', text=True, cwd=folder,
                       check=True, stderr=subprocess.DEVNULL)
        os.mkdir(folder + '/kept', 0o700)
        environment = dict(os.environ, ARGUS_CACHE_DIR=folder + '/kept')
        environment.pop('DEBUGINFOD_URLS', None)
        for what in ('the first time', 'with what was kept'):
            begin = time.monotonic()
            said = subprocess.run([argus, 'symbolize', 'frames.trace'], cwd=folder, env=environment, text=True, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            taken = time.monotonic() - begin
            # inlined functions have lines of their own
            frames = [line for line in said.splitlines() if '+0x' in line]
            with_line = sum(1 for line in frames if re.search(r':\d+$', line))
            print('%8.3f s  %d frames, %d with a line, %s  %s' % (taken, len(frames), with_line, what, program))


if __name__ == '__main__':
    main()
