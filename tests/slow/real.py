#!/usr/bin/env python3
"""Real programs that are slow for a known reason, recorded once at the lean level with all
processes, and what the first line of `argus path` says of each: pgbench with and without
synchronous commits, make with one long rule, redis with one slow command in a hundred,
nginx before a backend that is slow for one client, sqlite writers that share a file, a pool
of Python processes; a backup that is packed, a log that Perl processes lock, one PHP process
for four clients, rsync with a limit.

usage: real.py [--argus PROGRAM] [--keep DIR | --replay DIR] [--show] [--json FILE] [NAME...]"""
import argparse
import base64
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../bench'))
import workloads  # noqa: E402


# So that what else the machine does takes no processor from them; servers start with it, too. A nice value counts only
# within a session where the kernel groups by sessions.
BEFORE_OTHERS = ('chrt', '-r', '1')


def serve_before_others(workload, command, *rest, **more):
    return serve(workload, [*BEFORE_OTHERS, *command], *rest, **more)


serve = workloads.Workload.serve
workloads.Workload.serve = serve_before_others


class Program:
    """`truth`: of the first line; what it lists may be any of these, what it leaves out is not asked."""
    bystanders = ()

    def __init__(self, folder):
        self.folder = folder
        self.workload = None

    def start(self):
        pass

    def stop(self):
        if self.workload:
            self.workload.stop()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(textwrap.dedent(text))
        return path

    def question(self, _trace):
        return []


class PgbenchSync(Program):
    why = 'one client; each transaction is one update and ends with a sync of the write-ahead log'
    truth = {'program': ['postgres'], 'doing': ['fdatasync', 'fsync']}
    bystanders = ('pgbench', 'checkpointer', 'background writer')
    more = ()

    def start(self):
        class Server(workloads.Postgres):
            def serve(self, command, *rest, **more):
                command = ['fsync=on' if word == 'fsync=off' else word for word in command]
                super().serve(command + [word for option in self.options for word in ('-c', option)], *rest, **more)
        self.workload = Server(self.folder, True)
        self.workload.flags, self.workload.options = '-N', self.more
        self.workload.start()
        self.script = self.write('update.sql', 'update pgbench_branches set bbalance = bbalance + 1 where bid = 1;\n')

    def command(self):
        return ['pgbench', '-n', '-f', self.script, '-c', '1', '-j', '1', '-T', '2', '-U', 'postgres', '-h', self.folder, 'postgres']


class PgbenchAsync(PgbenchSync):
    why = 'the same, and no commit waits for the log: the backend computes'
    truth = {'program': ['postgres'], 'lock': [None], 'doing': ['computing']}
    bystanders = ('walwriter', 'checkpointer', 'background writer')
    more = ('synchronous_commit=off',)


class Make(Program):
    why = 'twelve rules of 0.1 s and one of 2 s that is begun last'
    truth = {'program': ['gzip'], 'lock': [None], 'doing': ['computing']}
    bystanders = ('sleep', 'make', 'sh')

    def start(self):
        with open(os.path.join(self.folder, 'big'), 'wb') as file:
            file.write(base64.b64encode(random.Random(1).randbytes(48 << 20)))
        rules = '\n'.join(f'r{i}:\n\tsleep 0.1' for i in range(12))
        self.write('Makefile', 'all: ' + ' '.join(f'r{i}' for i in range(12)) + ' long\nlong:\n\tgzip -9 -c big > big.gz\n' + rules + '\n')

    def command(self):
        return ['make', '-s', '-j2', '-C', self.folder]


class RedisSlow(Program):
    why = 'one command in a hundred sorts a list of 50,000; the client waits for each answer'
    truth = {'program': ['redis-server'], 'lock': [None], 'function': ['sortCommandGeneric', 'sortCompare', 'compareStringObjectsWithFlags', 'pqsort'],
             'doing': ['computing']}
    bystanders = ('getCommand', 'bio_close_file', 'jemalloc_bg_thd')

    def start(self):
        self.workload = workloads.Redis(self.folder, True)
        self.workload.start()
        self.write('client.py', '''
            import socket, sys
            s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            f = s.makefile('rb')
            def ask(*words):
                s.sendall(b'*%d\\r\\n' % len(words) + b''.join(b'$%d\\r\\n%s\\r\\n' % (len(w), w) for w in words))
                return answer()
            def answer():
                line = f.readline()
                if line[:1] == b'$':
                    f.read(int(line[1:]) + 2)
                elif line[:1] == b'*':
                    for _ in range(int(line[1:])):
                        answer()
                return line
            if sys.argv[2] == 'fill':
                ask(b'SET', b'key', b'value')
                for _ in range(50):
                    ask(b'RPUSH', b'list', *[b'element-%d' % i for i in range(1000)])
            else:
                for i in range(3000):
                    if i % 100 == 50:
                        ask(b'SORT', b'list', b'ALPHA', b'LIMIT', b'0', b'1')
                    else:
                        ask(b'GET', b'key')
            ''')
        subprocess.run([sys.executable, os.path.join(self.folder, 'client.py'), str(self.workload.port), 'fill'], check=True)

    def command(self):
        return [sys.executable, os.path.join(self.folder, 'client.py'), str(self.workload.port), 'ask']


class NginxSlow(Program):
    why = 'a backend behind nginx does 15 ms of something for one client and answers others at once; the path of that client is asked'
    truth = {'program': ['python3', 'backend'], 'lock': [None], 'function': ['Handler.slow_client'], 'doing': ['sleeping']}
    bystanders = ('nginx', 'quick_client')

    def start(self):
        self.workload = workloads.Nginx(self.folder, True)
        self.backend_port = workloads.free_port()
        path = self.write('backend.py', '''
            import http.server, sys, time
            class Handler(http.server.BaseHTTPRequestHandler):
                protocol_version = 'HTTP/1.1'
                def slow_client(self):
                    time.sleep(0.015)
                def quick_client(self):
                    pass
                def do_GET(self):
                    self.slow_client() if self.path == '/slow' else self.quick_client()
                    self.send_response(200)
                    self.send_header('Content-Length', '2')
                    self.end_headers()
                    self.wfile.write(b'ok')
                def log_message(self, *words):
                    pass
            http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
            ''')
        self.workload.serve([sys.executable, path, str(self.backend_port)], lambda: workloads.answers(self.backend_port))
        self.workload.port = workloads.free_port()
        os.chmod(self.folder, 0o755)
        f, p = self.folder, self.workload.port
        self.write('nginx.conf', f'''
            daemon off; worker_processes 1; pid {f}/pid; error_log {f}/error.log; user root; events {{ worker_connections 256; }}
            http {{ access_log off; client_body_temp_path {f}/t1; proxy_temp_path {f}/t2; fastcgi_temp_path {f}/t3;
            uwsgi_temp_path {f}/t4; scgi_temp_path {f}/t5;
            server {{ listen 127.0.0.1:{p}; location / {{ proxy_pass http://127.0.0.1:{self.backend_port}; }} }} }}
            ''')
        self.workload.serve(['nginx', '-c', f + '/nginx.conf', '-p', f], lambda: workloads.answers(p))
        self.write('clients.py', '''
            import http.client, os, sys
            def ask(path, count):
                c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
                for _ in range(count):
                    c.request('GET', path)
                    c.getresponse().read()
            for _ in range(2):
                if not os.fork():
                    ask('/quick', 200)
                    os._exit(0)
            ask('/slow', 80)
            ''')

    def command(self):
        return [sys.executable, os.path.join(self.folder, 'clients.py'), str(self.workload.port)]


class SqliteWriters(Program):
    why = 'three writers share a file: who commits syncs the file and its journal while it has the lock, others sleep and try again'
    truth = {'program': ['python3'], 'lock': [None], 'doing': ['fdatasync', 'fsync', 'sleeping']}
    bystanders = ()

    def start(self):
        self.write('writers.py', '''
            import os, sqlite3, sys
            path = sys.argv[1] + '/data.db'
            sqlite3.connect(path).execute('create table if not exists t (a int)').connection.commit()
            children = []
            for n in range(3):
                pid = os.fork()
                if not pid:
                    c = sqlite3.connect(path, timeout=60)
                    for i in range(60):
                        c.execute('insert into t values (?)', (i,))
                        c.commit()
                    os._exit(0)
                children.append(pid)
            for _ in children:
                os.wait()
            ''')

    def command(self):
        return [sys.executable, os.path.join(self.folder, 'writers.py'), self.folder]


class PythonPool(Program):
    why = 'two processes of a pool share forty jobs of 40 ms of computing'
    truth = {'program': ['python3'], 'function': ['transform_block'], 'lock': [None], 'doing': ['computing']}
    bystanders = ('_handle_tasks', '_handle_results', '_handle_workers')

    def start(self):
        self.write('pool.py', '''
            import multiprocessing, time
            def transform_block(n):
                until = time.process_time() + 0.04
                total = 0
                while time.process_time() < until:
                    total += sum(range(1000))
                return total
            if __name__ == '__main__':
                with multiprocessing.Pool(2) as pool:
                    list(pool.imap(transform_block, range(40)))
            ''')

    def command(self):
        return [sys.executable, os.path.join(self.folder, 'pool.py')]


class Backup(Program):
    why = 'an archive of a folder is packed by one gzip -9; tar and who stores it wait for it'
    truth = {'program': ['gzip'], 'lock': [None], 'doing': ['computing']}
    bystanders = ('tar', 'dd', 'sh', 'dash')

    def start(self):
        os.mkdir(os.path.join(self.folder, 'documents'))
        for i in range(24):
            with open(os.path.join(self.folder, 'documents', str(i)), 'wb') as file:
                file.write(base64.b64encode(random.Random(i).randbytes(1 << 20)))

    def command(self):
        return ['sh', '-c', f'cd {self.folder}; tar cf - documents | gzip -9 | dd of=packed bs=64k status=none']


class PerlLog(Program):
    why = 'three processes append to one log under flock; who has it syncs the file'
    truth = {'program': ['perl'], 'lock': ['file'], 'doing': ['fdatasync', 'fsync']}

    def start(self):
        self.write('log.pl', '''
            use Fcntl ':flock';
            use IO::Handle;
            for my $n (1 .. 3) {
                next if fork;
                open my $log, '>>', $ARGV[0] or die;
                for my $i (1 .. 80) {
                    my $sum = 0;
                    $sum += $_ for 1 .. 2000;
                    flock $log, LOCK_EX;
                    print $log "entry $n $i $sum\\n";
                    $log->flush;
                    $log->sync;
                    flock $log, LOCK_UN;
                }
                exit 0;
            }
            1 while wait > 0;
            ''')

    def command(self):
        return ['perl', os.path.join(self.folder, 'log.pl'), os.path.join(self.folder, 'log')]


class PhpPages(Program):
    why = 'four clients ask one PHP process, which computes 4 ms for each page; the path of who asks is asked'
    truth = {'program': ['php'], 'lock': [None], 'doing': ['computing']}
    bystanders = ('ab',)

    def start(self):
        self.workload = workloads.Workload(self.folder, True)
        self.port = workloads.free_port()
        self.write('index.php', '''
            <?php
            for ($i = 0, $until = hrtime(true) + 4000000; hrtime(true) < $until; $i++)
                $text = hash('sha256', "page $i");
            echo strlen($text);
            '''.strip())
        self.workload.serve(['php', '-S', f'127.0.0.1:{self.port}', '-t', self.folder], lambda: workloads.answers(self.port))

    def command(self):
        return ['ab', '-q', '-n', '300', '-c', '4', f'http://127.0.0.1:{self.port}/index.php']


class RsyncLimit(Program):
    why = 'rsync may send 8 MB a second, and waits for the clock'
    truth = {'program': ['rsync'], 'lock': [None], 'doing': ['sleeping']}

    def start(self):
        with open(os.path.join(self.folder, 'image'), 'wb') as file:
            file.write(random.Random(2).randbytes(16 << 20))

    def command(self):
        return ['rsync', '--bwlimit=8000', '--no-whole-file', os.path.join(self.folder, 'image'), os.path.join(self.folder, 'copy')]


PROGRAMS = {'pgbench_sync': PgbenchSync, 'pgbench_async': PgbenchAsync, 'make': Make, 'redis': RedisSlow, 'nginx': NginxSlow,
            'sqlite': SqliteWriters, 'python_pool': PythonPool, 'backup': Backup, 'perl_log': PerlLog,
            'php_pages': PhpPages, 'rsync_limit': RsyncLimit}


def check(program, answer):
    if not answer['rows']:
        return 'there is no line'
    first = answer['rows'][0]
    for key in ('lock', 'program', 'thread', 'function'):
        if key in program.truth and first[key] not in program.truth[key]:
            return f'{key} {first[key]}, not {program.truth[key][0]}'
    if {first['function'], first['thread'], first['program']} & set(program.bystanders):
        return 'a bystander'
    # How long one waits for a processor is the machine's, busy as it may be.
    doing = [d['what'] for d in first['doing'] if d['class'] != 'runnable']
    if not doing or doing[0] not in program.truth['doing']:
        return f"doing {doing}, not {program.truth['doing'][0]}"
    return ''


def record(options, kind, trace):
    with tempfile.TemporaryDirectory(prefix='argus-real.', dir='/var/tmp') as folder:
        program = kind(folder)
        try:
            program.start()
            time.sleep(0.2)
            done = subprocess.run([options.argus, 'record', '--all', '-o', trace, '--', *BEFORE_OTHERS, *program.command()], capture_output=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr.decode())
        finally:
            program.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--keep')
    parser.add_argument('--replay')
    parser.add_argument('--show', action='store_true')
    parser.add_argument('--json')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    folder = options.replay or options.keep or tempfile.mkdtemp(prefix='argus-real.')
    os.makedirs(folder, exist_ok=True)
    results = []
    try:
        for name in options.names or PROGRAMS:
            trace, kind = os.path.join(folder, name + '.argus'), PROGRAMS[name]
            if not options.replay:
                try:
                    record(options, kind, trace)
                except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                    print(f'{name:14} not run: {str(error)[:300]}', flush=True)
                    continue
            done = subprocess.run([options.argus, 'path', '--json', trace], capture_output=True, check=False)
            wrong = done.stderr.decode() if done.returncode else check(kind, json.loads(done.stdout))
            results.append({'program': name, 'why': kind.why, 'wrong': wrong})
            print(f'{name:14} {wrong or "right"}', flush=True)
            if options.show or wrong:
                print(subprocess.run([options.argus, 'path', '--top', '4', trace], capture_output=True, check=False).stdout.decode(), flush=True)
    finally:
        if not options.keep and not options.replay:
            shutil.rmtree(folder)
    print(f"{sum(not r['wrong'] for r in results)} of {len(results)} right")
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)
    return any(r['wrong'] for r in results)


if __name__ == '__main__':
    sys.exit(main())
