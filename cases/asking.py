"""What `cases/run` and `lab/run` share: recording a command with Argus, and asking about it."""
import contextlib
import json
import os
import subprocess
import tempfile
import time

ASK_LIMIT_S = 120


def ask(argus, *arguments):
    """(document or None, exit status, seconds, messages)"""
    start = time.monotonic()
    try:
        done = subprocess.run([argus, *arguments], capture_output=True, timeout=ASK_LIMIT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, None, ASK_LIMIT_S, f'not answered after {ASK_LIMIT_S} s'
    seconds = time.monotonic() - start
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    return document, done.returncode, seconds, done.stderr.decode(errors='replace').strip()


def record(argus, level, trace, command, limit_s, env=None, options=()):
    """(what the command printed, '') or (None, what went wrong)."""
    command = [argus, 'record', '--level', level, *options, '-o', trace, '--', *command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(command, stdout=out, stderr=messages, stdin=subprocess.DEVNULL, start_new_session=True, env=env)
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(2)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            return None, f'not finished after {limit_s} s'
        finally:
            # what the command left behind, and the command itself, which goes on when its recording is ended
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
        out.seek(0)
        messages.seek(0)
        if not os.path.exists(trace):
            return None, f'record ended with status {status}: {messages.read().decode(errors="replace").strip()[-600:]}'
        return out.read().decode(errors='replace'), ''
