#!/usr/bin/env python3
"""Machines on which all is well: a desktop, servers without and with work, builds, daemons
that wait, interpreters, pipelines, of packaged programs. `argus now` is asked what has been
stuck for longer than its usual threshold, and must claim nothing of them.

usage: healthy.py [--argus PROGRAM] [--user NAME] [--looks N] [MACHINE...]

What is not installed is passed over. With --user it is asked as that user, over /proc."""
import argparse
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../bench'))
import day  # noqa: E402  (beside the benchmarks)
import workloads  # noqa: E402

STANDS_S = 7            # longer than the threshold


class Shell(workloads.Workload):
    """A few programs, begun as one writes them."""
    lines = ()

    def start(self):
        for line in self.lines:
            self.serve(['sh', '-c', line.replace('DIR', self.folder)], lambda: True)

    def stop(self):
        """All that they have begun, too, in sessions of their own as well."""
        begun = {server.pid for server in self.servers}
        for _ in range(2):
            for pid in [int(name) for name in os.listdir('/proc') if name.isdigit()]:
                if session(pid) in begun or self.folder in command_line(pid):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        super().stop()


class Pipelines(Shell):
    name, needs = 'pipelines', ('tail', 'grep', 'sort')
    lines = ('touch DIR/log; tail -f DIR/log | grep --line-buffered error | sort', 'while sleep 3; do :; done',
             'mkfifo DIR/fifo; cat DIR/fifo', '(sleep 1000 & wait)')


class Daemons(Shell):
    name, needs = 'daemons', ('dbus-daemon', 'ssh-agent')
    lines = ('exec dbus-daemon --session --nofork --address=unix:path=DIR/bus', 'exec ssh-agent -D -a DIR/agent',
             'exec gpg-agent --homedir DIR --server', 'exec python3 -m http.server --bind 127.0.0.1 0 --directory DIR')


class Terminals(Shell):
    name, needs = 'terminals', ('tmux', 'vim', 'script')
    lines = ('exec script -q -c "tmux -S DIR/tmux new-session \'vim -n DIR/file\'" /dev/null',
             'exec script -q -c "less /etc/services" /dev/null', 'exec script -q -c "bash --norc" /dev/null')


class Python(Shell):
    name, needs = 'python', ('python3',)
    lines = ('exec python3 -c "import concurrent.futures as c, time\nwith c.ThreadPoolExecutor(4) as p:\n'
             ' list(p.map(abs, range(9)))\n time.sleep(1000)"',
             'exec python3 -c "import asyncio; asyncio.run(asyncio.sleep(1000))"',
             'exec python3 -c "import multiprocessing as m, time\nif __name__ == \'__main__\':\n p = m.Pool(3); p.map(abs, [1]); time.sleep(1000)"',
             'exec python3 -c "import queue, threading\nq = queue.Queue()\n[threading.Thread(target=q.get).start() for _ in range(3)]"')


class Node(Shell):
    name, needs = 'node', ('node',)
    lines = ('exec node -e "require(\'http\').createServer((q, s) => s.end()).listen(0, \'127.0.0.1\')"',)


class Java(Shell):
    name, needs = 'java', ('java', 'javac')

    def start(self):
        with open(self.folder + '/Idle.java', 'w', encoding='utf-8') as file:
            file.write('import java.util.concurrent.*;\npublic class Idle { public static void main(String[] a) throws Exception {\n'
                       'ExecutorService e = Executors.newFixedThreadPool(4); for (int i = 0; i < 9; i++) e.submit(() -> 1);\n'
                       'new ServerSocketHolder(); Thread.sleep(1000000); }\n'
                       'static class ServerSocketHolder { ServerSocketHolder() throws Exception { java.net.ServerSocket s = new '
                       'java.net.ServerSocket(0); new Thread(() -> { try { s.accept(); } catch (Exception x) { } }).start(); } } }\n')
        subprocess.run(['javac', '-d', self.folder, self.folder + '/Idle.java'], check=True, stderr=subprocess.DEVNULL)
        self.serve(['java', '-cp', self.folder, 'Idle'], lambda: True)


class IdleClients(Shell):
    """A server with connections over which nothing is asked."""
    name, needs = 'clients', ('redis-server', 'redis-cli')

    def start(self):
        port = workloads.free_port()
        self.serve(['redis-server', '--port', str(port), '--bind', '127.0.0.1', '--save', '', '--dir', self.folder],
                   lambda: workloads.answers(port))
        for _ in range(3):
            self.serve(['sh', '-c', f'sleep 1000 | redis-cli -p {port} subscribe news'], lambda: True)


class Chromium(Shell):
    name, needs = 'browser', ('chromium',)
    lines = ('exec chromium --headless --no-sandbox --disable-gpu --user-data-dir=DIR --remote-debugging-port=0 about:blank',)


MACHINES = (Pipelines, Daemons, Terminals, Python, Node, Java, IdleClients, Chromium, day.Desktop, workloads.Redis, workloads.Nginx,
            workloads.Postgres, workloads.MariaDB, workloads.Make)


def sessions_of(machine):
    return {server.pid for server in machine.servers}


def session(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
            return int(stat.read().rpartition(')')[2].split()[3])
    except (OSError, IndexError, ValueError):
        return 0


def command_line(pid):
    try:
        with open(f'/proc/{pid}/cmdline', encoding='utf-8', errors='replace') as line:
            return line.read()
    except OSError:
        return ''


def ask(options):
    how = {}
    if options.user:
        how = {'user': options.user, 'group': pwd.getpwnam(options.user).pw_gid, 'extra_groups': []}
    asked = subprocess.run([options.argus, 'now', '--json'], capture_output=True, text=True, check=False, cwd='/', **how)
    if asked.returncode not in (0, 1):
        raise RuntimeError(asked.stderr)
    return json.loads(asked.stdout)['threads']


def work(machines, stop):
    """Some have something to do meanwhile."""
    while not stop.is_set():
        for machine in machines:
            if isinstance(machine, (workloads.Redis, workloads.Postgres, workloads.Make, day.Desktop)) and not stop.is_set():
                try:
                    machine.run()
                except (RuntimeError, OSError, subprocess.SubprocessError):
                    pass


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1])
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--user')
    parser.add_argument('--looks', type=int, default=3)
    parser.add_argument('machines', nargs='*')
    options = parser.parse_args()
    base, machines, claims = tempfile.mkdtemp(prefix='healthy-'), [], []
    os.chmod(base, 0o755)
    stop = threading.Event()
    try:
        for kind in MACHINES:
            if options.machines and kind.name not in options.machines:
                continue
            folder = f'{base}/{kind.name}'
            os.mkdir(folder, 0o777)
            machine = kind(folder, True)
            try:
                if not all(shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin') for program in kind.needs):
                    raise RuntimeError('its programs are not all there')
                machine.start()
                machines.append(machine)
            except (RuntimeError, OSError, subprocess.SubprocessError) as problem:
                machine.stop()
                print(f'{kind.name}: passed over: {str(problem)[-200:]}', flush=True)
        worker = threading.Thread(target=work, args=(machines, stop), daemon=True)
        for number in range(options.looks):
            time.sleep(STANDS_S)
            if number == 1:
                worker.start()
            ours = {pid: machine.name for machine in machines for pid in sessions_of(machine)}
            for thread in ask(options):
                name = ours.get(session(thread['pid']))
                if name:
                    claims.append((name, thread))
    finally:
        stop.set()
        for machine in machines:
            machine.stop()
        shutil.rmtree(base, ignore_errors=True)
    for name, thread in claims:
        print(f"{name}: {thread['comm']} (pid {thread['pid']}) is said to be stuck: {thread['reason']}; "
              f"{(thread['answer'] or {}).get('text', '')}")
    print(f'{len(machines)} healthy machines, {options.looks} looks: {len(claims)} claims')
    return 1 if claims or not machines else 0


if __name__ == '__main__':
    sys.exit(main())
