"""The workloads of `make bench`. Each is a class with start() (servers, data; in a
folder of its own, on loopback, with its own configuration), run() -> seconds for a
fixed amount of work, or seconds a unit of it, and stop(). `command` is what BENCH.md
prints."""
import os
import re
import shutil
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def run(command, cwd=None, env=None):
    """Output of a command that must succeed."""
    done = subprocess.run(command, shell=isinstance(command, str), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=cwd, env=env)
    text = done.stdout.decode(errors='replace')
    if done.returncode:
        raise RuntimeError(f'{command}: status {done.returncode}: {text[-600:]}')
    return text


def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise RuntimeError(f'no {pattern!r} in: {text[-600:]}')
    return float(found[1])


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Workload:
    needs = ()
    unit = 's'

    def __init__(self, folder, quick):
        self.folder, self.quick, self.servers, self.detail = folder, quick, [], {}

    def start(self):
        pass

    def serve(self, command, ready, **options):
        """Starts a server and waits until `ready()`."""
        log = open(self.folder + '/server.log', 'ab')
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **options)
        self.servers.append(server)
        for _ in range(600):
            if server.poll() is not None:
                break
            if ready():
                return server
            time.sleep(.1)
        raise RuntimeError(f'{command[0]} did not start: {open(self.folder + "/server.log", errors="replace").read()[-600:]}')

    def stop(self):
        for server in self.servers:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        self.servers = []


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


class Pipe(Workload):
    name, title, needs = 'pipe', 'perf bench sched pipe, one CPU', ('perf',)

    @property
    def command(self):
        return f'taskset -c 0 perf bench sched pipe -l {300000 if self.quick else 600000}'

    def run(self):
        return number(r'Total time: ([\d.]+)', run(self.command))


class Messaging(Pipe):
    name, title = 'messaging', 'perf bench sched messaging'

    @property
    def command(self):
        return f'perf bench sched messaging -g 5 -l {500 if self.quick else 1500}'


class Syscall(Pipe):
    name, title = 'syscall', 'perf bench syscall basic'

    @property
    def command(self):
        return f'perf bench syscall basic -l {5000000 if self.quick else 20000000}'


class Redis(Workload):
    name, title, needs = 'redis', 'redis-benchmark GET', ('redis-server', 'redis-benchmark')

    def start(self):
        self.port = free_port()
        self.serve(['redis-server', '--port', str(self.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir',
                    self.folder], lambda: answers(self.port))
        run(self.command)

    @property
    def command(self):
        return f'redis-benchmark -p {getattr(self, "port", "PORT")} -t get -n {100000 if self.quick else 300000} --csv'

    def run(self):
        return 1 / number(r'"GET","([\d.]+)"', run(self.command))


class Nginx(Workload):
    name, title, needs = 'nginx', 'nginx under wrk, a 4 KiB file', ('nginx', 'wrk')

    def start(self):
        self.port = free_port()
        open(self.folder + '/page', 'wb').write(b'x' * 4096)
        os.chmod(self.folder, 0o755)
        open(self.folder + '/nginx.conf', 'w').write(
            f'daemon off; worker_processes 1; pid {self.folder}/pid; error_log {self.folder}/error.log;\n'
            'user root; events { worker_connections 256; }\n'
            f'http {{ access_log off; client_body_temp_path {self.folder}/t1; proxy_temp_path {self.folder}/t2;\n'
            f'fastcgi_temp_path {self.folder}/t3; uwsgi_temp_path {self.folder}/t4; scgi_temp_path {self.folder}/t5;\n'
            f'server {{ listen 127.0.0.1:{self.port}; root {self.folder}; }} }}\n')
        self.serve(['nginx', '-c', self.folder + '/nginx.conf', '-p', self.folder], lambda: answers(self.port))
        run(self.command)

    @property
    def command(self):
        return f'wrk -t 1 -c 16 -d {1 if self.quick else 3} http://127.0.0.1:{getattr(self, "port", "PORT")}/page'

    def run(self):
        return 1 / number(r'Requests/sec:\s*([\d.]+)', run(self.command))


class Postgres(Workload):
    name, title, needs, flags = 'pgbench-S', 'pgbench -S (select only)', ('pgbench', 'psql'), '-S'

    def start(self):
        binaries = sorted(os.listdir('/usr/lib/postgresql'), key=float)[-1]
        binaries = f'/usr/lib/postgresql/{binaries}/bin'
        user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups']
        shutil.chown(self.folder, 'postgres')
        run(user + [binaries + '/initdb', '-N', '-A', 'trust', '-D', self.folder + '/db'], cwd=self.folder)
        self.serve(user + [binaries + '/postgres', '-D', self.folder + '/db', '-k', self.folder, '-c', 'listen_addresses=', '-c',
                           'fsync=off', '-c', 'autovacuum=off'],
                   lambda: subprocess.call(['psql', '-U', 'postgres', '-h', self.folder, '-c', 'select 1', 'postgres'],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0, cwd=self.folder)
        run(['pgbench', '-q', '-i', '-s', '10', '-U', 'postgres', '-h', self.folder, 'postgres'])
        run(self.command)

    @property
    def command(self):
        return f'pgbench -n {self.flags} -c 4 -j 1 -T {2 if self.quick else 4} -U postgres -h {self.folder} postgres'

    def run(self):
        return 1 / number(r'tps = ([\d.]+)', run(self.command))


class PostgresWrites(Postgres):
    name, title, flags = 'pgbench-B', 'pgbench (TPC-B)', '-b tpcb-like'


class SevenZip(Workload):
    name, title, needs = '7z', '7z a', ('7z',)

    def start(self):
        size = (8 if self.quick else 24) << 20
        with open(self.folder + '/data', 'wb') as out:
            for folder, _, names in sorted(os.walk('/usr/include')):
                for name in sorted(names):
                    if out.tell() < size and os.path.isfile(f'{folder}/{name}'):
                        out.write(open(f'{folder}/{name}', 'rb').read())

    @property
    def command(self):
        return f'7z a -bd -y -mx=3 {self.folder}/archive.7z {self.folder}/data'

    def run(self):
        if os.path.exists(self.folder + '/archive.7z'):
            os.unlink(self.folder + '/archive.7z')
        start = time.monotonic()
        run(self.command)
        return time.monotonic() - start


class Make(Workload):
    name, title, needs = 'make', 'a make of small C files', ('make', 'gcc')

    def start(self):
        count = 60 if self.quick else 150
        for i in range(count):
            open(f'{self.folder}/f{i}.c', 'w').write(
                '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n' +
                ''.join(f'int f{i}_{k}(int n) {{ char b[64]; snprintf(b, sizeof b, "%d", n * {k}); return (int)strlen(b); }}\n'
                        for k in range(20)))
        open(self.folder + '/Makefile', 'w').write(
            'all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -O1 -c -o $@ $<\nclean:\n\trm -f *.o\n')

    @property
    def command(self):
        return f'make -s -C {self.folder} -j {os.cpu_count()}'

    def run(self):
        run(f'make -s -C {self.folder} clean')
        start = time.monotonic()
        run(self.command)
        return time.monotonic() - start


class Chromium(Workload):
    """Real time counts; user and system time are kept beside it, as the paper does."""
    name, title, needs = 'chromium', 'Chromium, headless: script, layout, canvas', ('chromium',)

    @property
    def command(self):
        return (f'chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run '
                f'--user-data-dir={self.folder}/profile --dump-dom file://{HERE}/page.html?{4 if self.quick else 12}')

    def run(self):
        shutil.rmtree(self.folder + '/profile', ignore_errors=True)
        before, start = os.times(), time.monotonic()
        text = run(self.command, env=dict(os.environ, HOME=self.folder))
        seconds, after = time.monotonic() - start, os.times()
        if 'finished' not in text:
            raise RuntimeError('the page did not finish: ' + text[-400:])
        self.detail = {'user': after.children_user - before.children_user, 'sys': after.children_system - before.children_system}
        return seconds


class MariaDB(Workload):
    name, title, needs = 'mariadb', 'sysbench oltp_read_write on MariaDB', ('mariadbd', 'sysbench', 'mariadb-install-db')

    def start(self):
        data, self.socket = self.folder + '/data', self.folder + '/socket'
        run(['mariadb-install-db', '--no-defaults', '--user=root', f'--datadir={data}', '--skip-test-db',
             '--auth-root-authentication-method=normal'])
        client = ['mariadb', '--no-defaults', '-uroot', '-S', self.socket, '-e']
        self.serve(['mariadbd', '--no-defaults', '--user=root', f'--datadir={data}', f'--socket={self.socket}', '--skip-networking',
                    f'--pid-file={self.folder}/pid', '--innodb-flush-log-at-trx-commit=2', '--skip-log-bin'],
                   lambda: subprocess.call(client + ['select 1'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0)
        run(client + ['create database sbtest'])
        run(self.sysbench + ' prepare')
        run(self.command)

    @property
    def sysbench(self):
        return (f'sysbench oltp_read_write --mysql-socket={getattr(self, "socket", "SOCKET")} --mysql-user=root --tables=4 '
                f'--table-size=10000 --threads=4 --time={2 if self.quick else 5}')

    @property
    def command(self):
        return self.sysbench + ' run'

    def run(self):
        return 1 / number(r'transactions:\s+\d+\s+\(([\d.]+) per sec', run(self.command))


ALL = (Pipe, Messaging, Syscall, Redis, Nginx, Postgres, PostgresWrites, SevenZip, Make, Chromium, MariaDB)
