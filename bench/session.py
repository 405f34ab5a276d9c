"""How soon `argus debug` answers: the first question to a large trace, then the next ones."""
import os
import re
import subprocess
import time

LIMIT_S = 30
# A question whose answer is short, the same each time, and ends in this.
MARK, MARK_END = 'help quit', b'as in: quit\n'
# {wait}: the first event of a wait that an answer before has told of.
QUESTIONS = ('hangs', 'why', 'why 2', 'show path', 'back', 'here', 'slice', 'similar', 'threads', 'waits', 'timeline', 'events', 'search bash',
             'idle {wait}', 'why', 'undo')
A_WAIT = re.compile(r'waiting [^\n]*, event (\d+)')


class Session:
    """Lines go in; what could not be answered ends it, as it ends a script."""

    def __init__(self, build, trace):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([f'{build}/argus', 'debug', trace], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)

    def ask(self, line):
        """Seconds and the answer; None when the session ended over it."""
        start = time.monotonic()
        self.process.stdin.write(f'{line}\n{MARK}\n'.encode())
        self.process.stdin.flush()
        answer = b''
        while not answer.endswith(MARK_END):
            time.sleep(0.0005)
            answer += self.process.stdout.read() or b''
            if self.process.poll() is not None or time.monotonic() > start + LIMIT_S:
                return None
        return time.monotonic() - start, answer.decode(errors='replace')

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def measure(build, trace, kind):
    """Rows: each question's seconds, in one session from the index; again from the start behind one that ended it."""
    rows, wait, session = [], None, Session(build, trace)
    for number, question in enumerate(QUESTIONS):
        if '{wait}' in question and not wait:
            continue
        line = question.format(wait=wait)
        asked = session.ask(line)
        if not asked:
            session.close()
            session = Session(build, trace)
            session.ask('why')
            continue
        seconds, answer = asked
        found = A_WAIT.search(answer)
        wait = found[1] if found else wait
        title = ('load and ' if not number else '') + question.format(wait='EVENT')
        if any(row['question'] == title for row in rows):
            title += ', again'
        rows.append({'question': title, 'kind': kind, 'seconds': seconds})
    session.close()
    return rows


def text(rows, table):
    kinds = list(dict.fromkeys(row['kind'] for row in rows))
    questions = list(dict.fromkeys(row['question'] for row in rows))
    taken = {(row['question'], row['kind']): f"{row['seconds']:.3f}" for row in rows}
    return table(['question, s'] + kinds, [[question] + [taken.get((question, kind), '-') for kind in kinds] for question in questions])
