#!/usr/bin/env python3
"""Machines on which all is well: desktops, servers without and with work, builds, daemons
that wait, interpreters, containers, pipelines, of packaged programs. `argus now` is asked what has been
stuck for longer than its usual threshold, and must claim nothing of them.

usage: healthy.py [--argus PROGRAM] [--user NAME] [--looks N] [MACHINE...]

What is not installed is passed over. With --user it is asked as that user, over /proc."""
import argparse
import ctypes
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
PR_SET_CHILD_SUBREAPER = 36
SEARCHED = os.environ['PATH'] + ':/usr/sbin'


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


class Windows(Shell):
    """A session with a window manager, a bus and programs of both toolkits, at which nobody sits."""
    name, needs = 'windows', ('Xvfb', 'openbox', 'dbus-run-session', 'mousepad', 'featherpad')

    def start(self):
        display, environment = ':78', dict(os.environ, HOME=self.folder, DISPLAY=':78', NO_AT_BRIDGE='1', QT_QPA_PLATFORM='xcb')
        self.serve(['Xvfb', display, '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'], lambda: os.path.exists('/tmp/.X11-unix/X' + display[1:]))
        self.serve(['dbus-run-session', '--', 'sh', '-c', 'openbox & mousepad & featherpad & xterm & evince & wait'], lambda: True,
                   env=environment, cwd=self.folder)
        time.sleep(3)


def words_of(**options):
    return [word for name, value in options.items() for word in ('-o', f'{name}={value}')]


class Sessions(Shell):
    """A server of shells, somebody logged in over it, and one who has not yet said who he is."""
    name, needs = 'ssh', ('sshd', 'ssh', 'ssh-keygen')

    def start(self):
        port = workloads.free_port()
        for key in ('host', 'key'):
            workloads.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{self.folder}/{key}'])
        os.chmod(self.folder, 0o700)
        os.makedirs('/run/sshd', exist_ok=True)
        self.serve([shutil.which('sshd', path=SEARCHED), '-D', '-e', '-f', '/dev/null', '-p', str(port), '-h', self.folder + '/host',
                    *words_of(ListenAddress='127.0.0.1', AuthorizedKeysFile=self.folder + '/key.pub', PermitRootLogin='yes', StrictModes='no',
                              PidFile=self.folder + '/pid')], lambda: workloads.answers(port))
        self.serve(['ssh', '-tt', '-F', '/dev/null', *words_of(StrictHostKeyChecking='no', UserKnownHostsFile=self.folder + '/known'),
                    '-i', self.folder + '/key', '-p', str(port), '127.0.0.1', 'cat'], lambda: True)
        self.serve(['python3', '-c', f'import socket, time\nc = socket.create_connection(("127.0.0.1", {port}))\ntime.sleep(1000)'], lambda: True)


class Cron(Shell):
    name, needs = 'cron', ('cron',)
    lines = ('exec cron -f',)


class Apache(Shell):
    """Processes that hand the right to accept among them, and a client that keeps its connection."""
    name, needs = 'apache', ('apache2',)

    def start(self):
        port, modules = workloads.free_port(), '/usr/lib/apache2/modules'
        with open(self.folder + '/conf', 'w', encoding='utf-8') as file:
            file.write(f'ServerName localhost\nListen 127.0.0.1:{port}\nPidFile {self.folder}/pid\nErrorLog {self.folder}/log\nUser www-data\n'
                       f'LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n'
                       f'DefaultRuntimeDir {self.folder}\nDocumentRoot {self.folder}\n')
        self.serve(['apache2', '-DFOREGROUND', '-f', self.folder + '/conf'], lambda: workloads.answers(port))
        self.serve(['python3', '-c', f'import http.client, time\nc = http.client.HTTPConnection("127.0.0.1", {port})\nc.request("GET", "/")\n'
                    'c.getresponse().read()\ntime.sleep(1000)'], lambda: True)


class Proxies(Shell):
    """Daemons of the network: a proxy, a cache, names."""
    name, needs = 'proxies', ('haproxy', 'memcached', 'dnsmasq')

    def start(self):
        ports = [workloads.free_port() for _ in range(3)]
        with open(self.folder + '/haproxy', 'w', encoding='utf-8') as file:
            file.write(f'defaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n'
                       f'listen all\n bind 127.0.0.1:{ports[0]}\n server one 127.0.0.1:{ports[1]}\n')
        self.serve(['memcached', '-u', 'nobody', '-l', '127.0.0.1', '-p', str(ports[1])], lambda: workloads.answers(ports[1]))
        self.serve(['haproxy', '-f', self.folder + '/haproxy'], lambda: workloads.answers(ports[0]))
        self.serve(['dnsmasq', '-k', '-p', str(ports[2]), '-a', '127.0.0.1', '-z', '-u', 'nobody', '-C', '/dev/null', '-x', ''],
                   lambda: workloads.answers(ports[2]))
        self.serve(['python3', '-c', f'import socket, time\nc = socket.create_connection(("127.0.0.1", {ports[0]}))\nc.sendall(b"get a\\r\\n")\n'
                    'c.recv(9)\ntime.sleep(1000)'], lambda: True)


class Containers(Shell):
    """Programs in name spaces of their own."""
    name, needs = 'containers', ('bwrap', 'unshare', 'redis-server')
    lines = ('exec bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all sh -c "sleep 1000 & tail -f /dev/null | cat & wait"',
             'exec bwrap --ro-bind / / --proc /proc --dev /dev --unshare-pid --unshare-net redis-server --port 7000 --save "" --dir /',
             'exec unshare --fork --pid --mount-proc sh -c "while sleep 2; do :; done"')


class Builds(Shell):
    """Builds one after the other, in which parents wait for their children, a compression, a shell that works on files."""
    name, needs = 'builds', ('make', 'gcc', 'xz', 'git')
    lines = ('cd DIR && while :; do make -s -B -j2; done', 'head -c 40M /dev/urandom | nice xz -9 >/dev/null; sleep 1000',
             'cd DIR && git init -q .; while :; do date >>a; git add a; git -c user.name=a -c user.email=a commit -q -m a; sleep 1; done')

    def start(self):
        for name, text in (('a.c', 'int main(void) { return 0; }\n'), ('b.c', '#include <stdio.h>\nvoid b(void) { puts("b"); }\n'),
                           ('Makefile', 'program: a.o b.o\n\tgcc -o $@ $^\n%.o: %.c\n\tsleep 0.3; gcc -O1 -c -o $@ $<\n')):
            with open(f'{self.folder}/{name}', 'w', encoding='utf-8') as file:
                file.write(text)
        super().start()


class Chromium(Shell):
    name, needs = 'browser', ('chromium',)
    lines = ('exec chromium --headless --no-sandbox --disable-gpu --user-data-dir=DIR --remote-debugging-port=0 about:blank',)


MACHINES = (Pipelines, Daemons, Terminals, Python, Node, Java, IdleClients, Sessions, Cron, Apache, Proxies, Containers, Builds, Chromium,
            Windows, day.Desktop, workloads.Redis, workloads.Nginx, workloads.Postgres, workloads.MariaDB, workloads.Make)


def parent(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
            return int(stat.read().rpartition(')')[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def machine_of(pid, machines):
    """Its name; what lost its parent is this process's child and belongs to some machine, too."""
    begun, below = {server.pid: machine.name for machine in machines for server in machine.servers}, pid
    while pid and pid not in begun:
        below, pid = pid, parent(pid)
        if pid == os.getpid():
            return begun.get(session(below), 'one of them')
    return begun.get(pid)


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


def end_orphans():
    """What a machine has left behind is this process's child by now."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG) != (0, 0):
                continue
        except ChildProcessError:
            return
        for pid in [int(name) for name in os.listdir('/proc') if name.isdigit()]:
            if parent(pid) == os.getpid():
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


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
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
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
                if not all(shutil.which(program, path=SEARCHED) for program in kind.needs):
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
            for thread in ask(options):
                name = machine_of(thread['pid'], machines)
                if name:
                    claims.append((name, thread))
    finally:
        stop.set()
        for machine in machines:
            machine.stop()
        end_orphans()
        shutil.rmtree(base, ignore_errors=True)
    for name, thread in claims:
        print(f"{name}: {thread['comm']} (pid {thread['pid']}) is said to be stuck: {thread['reason']}; "
              f"{(thread['answer'] or {}).get('text', '')}")
    print(f'{len(machines)} healthy machines, {options.looks} looks: {len(claims)} claims')
    return 1 if claims or not machines else 0


if __name__ == '__main__':
    sys.exit(main())
