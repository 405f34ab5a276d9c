"""Golden tests: a text trace, commands, and what they print.

A test is one file, NAME.test:

    What it shows, in a line or two.
    === trace first
    <a trace in the text form of docs/format.md; becomes the file first.argus>
    === file notes
    <any file a command needs>
    === argus why first.argus
    <standard output, to the letter>
    [3]

Each "===" line that is neither trace nor file is a shell command; it runs in a
folder of its own that holds the files. What follows is its standard output; a
last line [N] stands for exit status N (no such line: 0). Write 2>&1 where
messages are part of the test. Paths of that folder come out as $WORK, and
numbers that must not count are best cut in the command (sed).
"""
import difflib
import glob
import os
import re
import subprocess
import tempfile

TIMEOUT_S = 180


def find(folder):
    return sorted(glob.glob(folder + '/**/*.test', recursive=True))


def parse(path):
    """(header lines, [[kind, argument, body lines]])"""
    header, parts = [], []
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        text = file.read()
    for line in text.split('\n'):
        if line.startswith('=== '):
            word, _, rest = line[4:].partition(' ')
            parts.append([word, rest, []] if word in ('trace', 'file') else ['run', line[4:], []])
        else:
            (parts[-1][2] if parts else header).append(line)
    if parts and parts[-1][2] and parts[-1][2][-1] == '':
        parts[-1][2].pop()
    return header, parts


def run(command, work, env):
    try:
        done = subprocess.run(['sh', '-c', command], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f'[not finished after {TIMEOUT_S} s]', ''
    out = done.stdout.decode('utf-8', 'surrogateescape').replace(work, '$WORK')
    if out and not out.endswith('\n'):
        out += '\n[no newline at the end]\n'
    if done.returncode:
        out += f'[{done.returncode}]\n'
    return out, done.stderr.decode(errors='replace')


def check(path, argus, bless=False):
    """Text of what is wrong, '' when all is as expected."""
    header, parts = parse(path)
    wrong = []
    if not any(kind == 'run' for kind, _, _ in parts):
        return 'no command in it'
    with tempfile.TemporaryDirectory(prefix='argus-golden-') as work:
        bin_folder = os.path.join(work, '.bin')
        os.mkdir(bin_folder)
        os.symlink(os.path.abspath(argus), bin_folder + '/argus')
        env = {'PATH': bin_folder + ':' + os.environ['PATH'], 'HOME': work, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC',
               'NO_COLOR': '1', 'TERM': 'dumb',
               'ASAN_OPTIONS': 'detect_leaks=1:abort_on_error=0:exitcode=99', 'UBSAN_OPTIONS': 'halt_on_error=1:exitcode=99'}
        env['ARGUS_RUNTIME_DIR'] = work + '/run'  # a recorder that runs on the machine is no part of a test
        if 'ARGUS_BLOCK_EVENTS' in os.environ:
            env['ARGUS_BLOCK_EVENTS'] = os.environ['ARGUS_BLOCK_EVENTS']
        for part in parts:
            kind, argument, body = part
            text = '\n'.join(body) + ('\n' if body else '')
            if kind != 'run':
                if not re.fullmatch(r'[\w.-]+', argument):
                    return f'bad file name: {argument}'
                name = work + '/' + argument + ('.text' if kind == 'trace' else '')
                with open(name, 'w', encoding='utf-8', errors='surrogateescape') as out:
                    out.write(text)
                if kind == 'trace':
                    command = f'argus import --text {argument}.text -o {argument}.argus'
                    out, messages = run(command, work, env)
                    if not os.path.exists(f'{work}/{argument}.argus'):
                        return f'{command}: {out}{messages}'
                continue
            out, messages = run(argument, work, env)
            # Blank lines before the next "===" are layout, not output.
            if out.rstrip('\n') == text.rstrip('\n'):
                continue
            if bless:
                part[2] = out.split('\n')
                continue
            wrong += [f'$ {argument}'] + list(difflib.unified_diff(
                text.splitlines(), out.splitlines(), 'expected', 'came', lineterm=''))
            wrong += ['messages: ' + line for line in messages.splitlines()[:20]]
    if bless:
        lines = header + [line for kind, argument, body in parts
                          for line in ['=== ' + (f'{kind} {argument}' if kind != 'run' else argument)] + body]
        text = '\n'.join(lines).rstrip('\n') + '\n'
        if text != open(path, encoding='utf-8', errors='surrogateescape').read():
            with open(path, 'w', encoding='utf-8', errors='surrogateescape') as out:
                out.write(text)
    return '\n'.join(wrong)
