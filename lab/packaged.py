"""Arrangements of real packaged programs: one waits for the next, by what it was made for
(children, pipes, sockets, proxies, locks of files and databases, a message bus), and the
last one is slow, stopped, or waits for something. A plan is a shell script; rounds.py
runs the victim's command again and again, and the fault happens in one of the rounds.
"""
import random
import re
import shlex

import endings

LINKS, CAUSES = {}, {}


def link(family, service=False):
    def add(function):
        LINKS[function.__name__] = {'make': function, 'family': family, 'service': service}
        return function
    return add


def cause(function):
    CAUSES[function.__name__] = function
    return function


class Arrangement:
    def __init__(self, rng):
        self.rng = rng
        self.before = []        # shell lines that start services
        self.ports = 0
        self.names = []
        self.chain, self.families = [], set()

    def role(self, name):
        """A name not used before."""
        self.names.append(name)
        return f'{name}_{self.names.count(name)}'

    def port(self):
        self.ports += 1
        return f'$PORT{self.ports}'

    def service(self, role, command):
        self.before.append(f'as {role} {command} </dev/null >>$LAB_DIR/{role}.out 2>&1 &')
        self.chain.append(role)

    def file(self, name, text):
        text = re.sub(r'\$(PORT\d+)', r'@\1@', text.replace('$LAB_DIR', '@DIR@'))
        self.before.append(f"cat >$LAB_DIR/{name} <<'END_OF_FILE'\n{text}\nEND_OF_FILE\nsed -i \"s|@DIR@|$LAB_DIR|g;"
                           + ''.join(f's|@PORT{i}@|$PORT{i}|g;' for i in range(1, self.ports + 1)) + f"\" $LAB_DIR/{name}; chmod 755 $LAB_DIR/{name}")


# Each link makes, of the command that the next one is, the command that waits for it.
# A command is words of the shell that may stand in any quotes but its own.

def script(at, command):
    """The command as a file, for what takes one word."""
    name = at.role('step') + '.sh'
    at.file(name, '#!/bin/sh\n' + at.rng.choice(['', 'exec ']) + command)
    return f'$LAB_DIR/{name}'


@link('child')
def bash_substitution(at, command):
    return f"bash -c 'x=$({script(at, command)}); echo \"$x\" >/dev/null'"


@link('child')
def make(at, command):
    name = at.role('Makefile')
    at.file(name, f'all:\n\t@{script(at, command)}')
    return f'make -s -f $LAB_DIR/{name}'


@link('child')
def timeout(at, command):
    return f'timeout 30 {script(at, command)}'


@link('child')
def xargs(at, command):
    at.before.append('echo one >$LAB_DIR/words')
    return f'xargs -a $LAB_DIR/words {script(at, command)}'


@link('child')
def find(at, command):
    return f'find $LAB_DIR/as -exec {script(at, command)} {{}} +'


@link('child')
def perl(at, command):
    return f"perl -e 'system(@ARGV)' {script(at, command)}"


@link('child')
def python(at, command):
    return f"python3 -S -c 'import os, sys; os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])' {script(at, command)}"


@link('child')
def awk(at, command):
    return f"awk 'BEGIN {{ system(\"{script(at, command)}\") }}'"


@link('child')
def git_alias(at, command):
    return f"git -c alias.x='!{script(at, command)}' x"


@link('child')
def vim(at, command):
    return f"vim -es -u NONE -c '!{script(at, command)}' -c q"


@link('pipe')
def terminal(at, command):
    return f'script -qec {script(at, command)} /dev/null'


@link('pipe')
def pipeline(at, command):
    return f"bash -c '{script(at, command)} | gzip -c | wc -c >/dev/null'"


@link('pipe', service=True)
def fifo(at, command):
    name = at.role('fifo')
    step = script(at, command)
    at.before.append(f'mkfifo $LAB_DIR/{name}')
    at.file(name + '.sh', f'#!/bin/bash\nwhile :; do {step} >@DIR@/{name}; sleep 0.01; done')
    at.service(at.role('writer'), f'$LAB_DIR/{name}.sh')
    return f'cat $LAB_DIR/{name}'


@link('tcp', service=True)
def socat(at, command):
    port, step = at.port(), script(at, command)
    at.service(at.role('socat'), f'socat TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork EXEC:{step}')
    return f'socat -u TCP:127.0.0.1:{port},retry=20,interval=0.1 STDOUT'


@link('unix socket', service=True)
def socat_unix(at, command):
    name, step = at.role('line'), script(at, command)
    at.service(at.role('socat'), f'socat UNIX-LISTEN:$LAB_DIR/{name},fork EXEC:{step}')
    return f'socat -u UNIX-CONNECT:$LAB_DIR/{name},retry=20,interval=0.1 STDOUT'


HTTP = '''import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.0'
    def do_GET(self):
        if 'work' in self.path:
            os.spawnv(os.P_WAIT, sys.argv[2], [sys.argv[2]])
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
    def log_message(self, *arguments):
        pass
server = http.server.%s
server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()'''


def http_server(at, command):
    port, step = at.port(), script(at, command)
    name = at.role('server')
    at.file(name + '.py', HTTP % at.rng.choice(['HTTPServer', 'ThreadingHTTPServer']))
    at.service(name, f'python3 $LAB_DIR/{name}.py {port} {step}')
    return port


def others(at, port):
    """Other clients, one after the other, whose requests are quick."""
    at.before.append(f'while :; do curl -s -o /dev/null http://127.0.0.1:{port}/quick; sleep 0.1; done &')


@link('tcp', service=True)
def http(at, command):
    port = http_server(at, command)
    if at.rng.random() < 0.5:
        others(at, port)
    return f'curl -s --retry 20 --retry-delay 0 --retry-connrefused http://127.0.0.1:{port}/work'


@link('relay', service=True)
def haproxy(at, command):
    back, front = http_server(at, command), at.port()
    limit = at.rng.choice(['', ' maxconn 4'])
    at.file('haproxy.cfg', f'defaults\n  mode http\n  timeout connect 20s\n  timeout client 30s\n  timeout server 30s\nlisten all\n'
            f'  bind 127.0.0.1:@{front[1:]}@\n  server one 127.0.0.1:@{back[1:]}@{limit}')
    at.service(at.role('haproxy'), 'haproxy -f $LAB_DIR/haproxy.cfg -db')
    others(at, front)
    return f'curl -s --retry 20 --retry-delay 0 --retry-connrefused http://127.0.0.1:{front}/work'


@link('relay', service=True)
def nginx(at, command):
    back, front = http_server(at, command), at.port()
    at.file('nginx.conf', f'daemon off;\npid @DIR@/nginx.pid;\nerror_log @DIR@/nginx.err;\nworker_processes 1;\nevents {{ }}\nhttp {{\n access_log off;\n'
            f' client_body_temp_path @DIR@/t1; proxy_temp_path @DIR@/t2; fastcgi_temp_path @DIR@/t3; uwsgi_temp_path @DIR@/t4; scgi_temp_path @DIR@/t5;\n'
            f' server {{\n  listen 127.0.0.1:@{front[1:]}@;\n  location / {{ proxy_pass http://127.0.0.1:@{back[1:]}@; }}\n }}\n}}')
    at.service(at.role('nginx'), 'nginx -c $LAB_DIR/nginx.conf -e $LAB_DIR/nginx.err')
    others(at, front)
    return f'curl -s --retry 20 --retry-delay 0 --retry-connrefused http://127.0.0.1:{front}/work'


SERVICE = '''import os, sys
from gi.repository import Gio, GLib
NODE = Gio.DBusNodeInfo.new_for_xml('<node><interface name="t.Work"><method name="Do"/><method name="Ping"/></interface></node>')
def call(connection, sender, path, interface, method, parameters, invocation):
    if method == 'Do':
        os.spawnv(os.P_WAIT, sys.argv[1], [sys.argv[1]])
    invocation.return_value(None)
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.register_object('/t', NODE.interfaces[0], call, None, None)
Gio.bus_own_name_on_connection(bus, sys.argv[2], 0, None, None)
GLib.MainLoop().run()'''


@link('D-Bus', service=True)
def dbus(at, command):
    name, step = at.role('service'), script(at, command)
    if 'export DBUS' not in ' '.join(at.before):
        at.before += ['as bus dbus-daemon --session --nofork --nosyslog --nopidfile --address=unix:path=$LAB_DIR/bus >/dev/null 2>&1 &',
                      'export DBUS_SESSION_BUS_ADDRESS=unix:path=$LAB_DIR/bus', 'until [ -S $LAB_DIR/bus ]; do sleep 0.05; done']
        at.chain.append('bus')
    at.file(name + '.py', SERVICE)
    at.service(name, f'python3 $LAB_DIR/{name}.py {step} t.{name}')
    if at.rng.random() < 0.5:
        at.before.append('while :; do dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames >/dev/null; sleep 0.1; done &')
    return f'dbus-send --session --print-reply --reply-timeout=20000 --dest=t.{name} /t t.Work.Do'


@link('file lock', service=True)
def file_lock(at, command):
    name, step = at.role('lock'), script(at, command)
    at.file(name + '.sh', f'#!/bin/bash\nwhile :; do flock @DIR@/{name} {step}; sleep 0.03; done')
    at.service(at.role('holder'), f'$LAB_DIR/{name}.sh')
    return f'flock $LAB_DIR/{name} true'


@link('look', service=True)
def sqlite(at, command):
    """The command runs inside of another's transaction; sqlite waits by sleeping and looking."""
    name, step = at.role('base'), script(at, command)
    at.before.append(f"sqlite3 $LAB_DIR/{name} 'create table t (n); insert into t values (1);'")
    at.file(name + '.sql', f'.timeout 20000\nbegin immediate;\n.shell {step}\nupdate t set n = n + 1;\ncommit;')
    at.file(name + '.sh', f'#!/bin/bash\nwhile :; do sqlite3 @DIR@/{name} <@DIR@/{name}.sql; sleep 0.05; done')
    at.service(at.role('holder'), f'$LAB_DIR/{name}.sh')
    return f"sqlite3 -cmd '.timeout 20000' $LAB_DIR/{name} 'update t set n = n + 1'"


# Causes: (what is done when all goes well, what is done once, culprits).

@cause
def sleeping(at, seconds):
    return 'true', f'@DIR@/as cause sleep {seconds}', ['cause']


@cause
def computing(at, seconds):
    return 'true', '@DIR@/as cause ' + at.rng.choice([
        f"perl -e 'use Time::HiRes \"time\"; $e = time + {seconds}; 1 while time < $e'",
        f"python3 -S -c 'import time\ne = time.monotonic() + {seconds}\nwhile time.monotonic() < e: pass'",
        f'timeout {seconds} sha256sum /dev/zero', f'timeout {seconds} gzip -9 -c /dev/urandom >/dev/null']), ['cause']


@cause
def stopped(at, seconds):
    return 'true', f"@DIR@/as resumer sh -c 'sleep {seconds}; kill -CONT $(cat @DIR@/stopped)' </dev/null >/dev/null 2>&1 &\n@DIR@/as cause sh -c 'echo $$ >@DIR@/stopped; kill -STOP $$; true'", ['cause', 'resumer']


@cause
def feeder(at, seconds):
    """A reader of a pipe whose writer takes its time."""
    at.before.append('mkfifo $LAB_DIR/feed')
    return 'true', f"@DIR@/as cause sh -c 'sleep {seconds}; echo' </dev/null >@DIR@/feed 2>/dev/null &\ncat @DIR@/feed", ['cause']


@cause
def redis(at, seconds):
    """A server of one thread is busy with another client's request."""
    port = at.port()
    at.before.append(f'as cause redis-server --port {port} --bind 127.0.0.1 --save "" --enable-debug-command yes >/dev/null 2>&1 &')
    at.before.append(f'until redis-cli -p {port} ping >/dev/null 2>&1; do sleep 0.05; done')
    if at.rng.random() < 0.6:
        at.before.append(f'redis-cli -p {port} subscribe news >/dev/null &')
    if at.rng.random() < 0.6:
        at.before.append(f'while :; do redis-cli -p {port} incr other >/dev/null; sleep 0.06; done &')
    at.families.add('tcp')
    step = at.rng.choice([f'debug sleep {seconds}', 'eval "local e = tonumber(redis.call(\'time\')[1]) + ' + str(2 if seconds < 3 else int(seconds)) + ' while tonumber(redis.call(\'time\')[1]) < e do end" 0'])
    shell = port.replace('$', '@') + '@'
    return f'redis-cli -p {shell} incr mine', f'@DIR@/as asker redis-cli -p {shell} {step} </dev/null >/dev/null 2>&1 &\nsleep 0.05\nredis-cli -p {shell} incr mine', ['cause', 'asker']


@cause
def bindfs(at, seconds):
    """A file system in user space whose server is stopped."""
    at.before += ['mkdir -p $LAB_DIR/real $LAB_DIR/mount; echo text >$LAB_DIR/real/file', 'as cause bindfs -f $LAB_DIR/real $LAB_DIR/mount >/dev/null 2>&1 &',
                  'FUSE=$!', 'until mountpoint -q $LAB_DIR/mount; do sleep 0.05; done', 'echo $FUSE >$LAB_DIR/fuse']
    at.families.add('FUSE')
    return 'cat @DIR@/mount/file', f"kill -STOP $(cat @DIR@/fuse)\n@DIR@/as resumer sh -c 'sleep {seconds}; kill -CONT $(cat @DIR@/fuse)' </dev/null >/dev/null 2>&1 &\nls -l @DIR@/mount >/dev/null; cat @DIR@/mount/file", ['cause', 'resumer']


COMPANY = ['sleep 100', 'tail -f $LAB_DIR/log >/dev/null', 'flock $LAB_DIR/own.lock sleep 100', "perl -e 'while (1) { select undef, undef, undef, 0.02 }'",
           "bash -c 'while :; do sleep 0.2; done'", "python3 -S -c 'import signal; signal.pause()'", 'socat UNIX-LISTEN:$LAB_DIR/idle.sock,fork -',
           "bash -c 'cat $LAB_DIR/idle.fifo'"]


def plan_of(seed):
    rng = random.Random(seed * 1000 + 7)
    at = Arrangement(rng)
    at.ports = 0
    span_ms = rng.randrange(1300, 2100)
    if endings.kind_of(seed):
        span_ms = endings.span_ms(seed)
    cause_name = rng.choice(sorted(CAUSES))
    quick, slow, culprit = CAUSES[cause_name](at, span_ms / 1000)
    count = rng.choice([1, 1, 2, 2, 3])
    kinds, command = [], '$LAB_DIR/root'
    for _ in range(count):
        family = rng.choice(sorted({k['family'] for k in LINKS.values()}))
        name = rng.choice([n for n in sorted(LINKS) if LINKS[n]['family'] == family and n not in kinds] or sorted(LINKS))
        if name in kinds:
            continue
        command = LINKS[name]['make'](at, command)
        kinds.insert(0, name)
        at.families.add(family)
    root = ('#!/bin/sh\n[ -n "${BASH_VERSION:-}" ] && set +m\nif [ -e @DIR@/now ] && mkdir @DIR@/fault 2>/dev/null; then\n'
            'read -r up _ </proc/uptime; began=${up%.*}${up#*.}0000000\n' + slow +
            '\nread -r up _ </proc/uptime; echo "fault root $$ $began ${up%.*}${up#*.}0000000" >>@DIR@/log\nelse\n' + quick + '\nfi')
    ports = at.ports
    body = at.before
    at.before = []
    at.file('root', root)
    company = [c + ' </dev/null >/dev/null 2>&1 &' for c in rng.sample(COMPANY, rng.choice([1, 2, 3]))]
    lines = ['#!/bin/bash', 'cd $LAB_DIR; mkfifo idle.fifo; . $LAB_HERE/packaged.sh', *[f'PORT{i}=$(port {i})' for i in range(1, ports + 1)],
             *at.before, *body, *company, f'rounds {span_ms} {" ".join([shlex.quote(command)])}', 'finish']
    truth = {'seed': seed, 'packaged': True, 'shape': 'packaged', 'fault': cause_name, 'links': kinds, 'mechanisms': sorted(at.families | {cause_name}),
             'victim': 'victim', 'culprit': culprit, 'verdict': ['waiting'], 'late': [], 'span_ms': span_ms, 'rounds_before': 2}
    if endings.kind_of(seed):
        truth['ending'] = endings.truth_of(seed, span_ms)
    if cause_name == 'computing':
        truth['verdict'].append('busy')
    if kinds and kinds[0] == 'sqlite':
        truth['verdict'].append('yield')
    if cause_name == 'bindfs':
        truth['verdict'].append('io')
    return '\n'.join(lines) + '\n', truth
