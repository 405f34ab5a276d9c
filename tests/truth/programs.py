"""The programs whose stacks are compared, each under a load of its own."""
import os
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Skip(Exception):
    pass


def need(*programs):
    for program in programs:
        if not shutil.which(program) and not os.path.exists(program):
            raise Skip("no " + program)


def wait_for(condition, what, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Skip("%s did not happen in %d s" % (what, seconds))
        time.sleep(0.02)


def threads_of(pid):
    try:
        return [int(t) for t in os.listdir("/proc/%d/task" % pid)]
    except FileNotFoundError:
        return []


def state_of(pid, tid):
    try:
        with open("/proc/%d/task/%d/stat" % (pid, tid), encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return "X"


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as stat:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(entry))
            except (FileNotFoundError, ProcessLookupError, IndexError):
                pass
    return found


def descendants(pid):
    found = []
    for child in children_of(pid):
        found += [child] + descendants(child)
    return found


class Case:
    """A program under load: start() returns the pids to look at."""

    def __init__(self, folder):
        self.folder = folder
        self.started = []

    def run(self, command, **how):
        how.setdefault("stdout", subprocess.DEVNULL)
        how.setdefault("stderr", subprocess.DEVNULL)
        how.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(command, start_new_session=True, cwd=self.folder, **how)
        self.started.append(process)
        return process

    def stop(self):
        for process in reversed(self.started):
            try:
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


class Bash(Case):
    def start(self):
        need("bash")
        script = 'f() { if [ $1 -gt 0 ]; then f $(($1-1)); else for i in {1..200}; do x=$(echo ${i//1/2}); done; fi; }\n' \
                 'while :; do f 5; [[ abcabc =~ (a|b)+c ]]; printf -v y "%s" "${BASH_VERSINFO[*]}"; done'
        return [self.run(["bash", "-c", script]).pid]


class Python(Case):
    def start(self):
        need("python3")
        script = "import threading, re, json, time, hashlib\n" \
                 "def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)\n" \
                 "def work():\n" \
                 "  while True:\n" \
                 "    fib(15); json.dumps([{'a': list(range(50))}] * 10); sorted(range(999), key=lambda v: -v)\n" \
                 "    re.match('(a+)+b', 'a' * 18); hashlib.sha256(b'x' * 65536).hexdigest(); time.sleep(0.001)\n" \
                 "for i in range(3): threading.Thread(target=work).start()\n"
        return [self.run(["python3", "-c", script]).pid]


class Sqlite(Case):
    def start(self):
        need("sqlite3")
        process = self.run(["sqlite3", ":memory:"], stdin=subprocess.PIPE)
        query = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t LIMIT 300000) " \
                "SELECT count(*), sum(length(printf('%d', x*7) || hex(x))), group_concat(DISTINCT x % 7) FROM t ORDER BY x;\n" * 400
        process.stdin.write(query.encode())
        process.stdin.flush()
        return [process.pid]


class Nginx(Case):
    def start(self):
        need("/usr/sbin/nginx", "wrk")
        os.chmod(self.folder, 0o755)
        with open(self.folder + "/index.html", "w", encoding="utf-8") as page:
            page.write("x" * 4096)
        with open(self.folder + "/nginx.conf", "w", encoding="utf-8") as conf:
            conf.write("pid %s/nginx.pid; error_log /dev/null; daemon off; worker_processes 2; events {}\n"
                       "http { access_log off; gzip on; gzip_min_length 1; gzip_types *; server { listen 127.0.0.1:18099; root %s; } }\n"
                       % (self.folder, self.folder))
        server = self.run(["/usr/sbin/nginx", "-c", self.folder + "/nginx.conf", "-p", self.folder])
        wait_for(lambda: len(children_of(server.pid)) >= 2, "nginx's start")
        self.run(["wrk", "-t1", "-c16", "-d600", "-H", "Accept-Encoding: gzip", "http://127.0.0.1:18099/index.html"])
        return [server.pid] + children_of(server.pid)


class Redis(Case):
    def start(self):
        need("redis-server", "redis-benchmark")
        server = self.run(["redis-server", "--port", "18098", "--save", "1 1", "--appendonly", "yes"])
        wait_for(lambda: len(threads_of(server.pid)) > 3, "redis's start")
        self.run(["sh", "-c", "sleep 0.5; while :; do redis-benchmark -p 18098 -n 200000 -c 20 -t set,get,lpush,lrange_100,zadd,mset; done"])
        return [server.pid]


class Postgres(Case):
    def start(self):
        folders = [f for f in ("/usr/lib/postgresql/%d/bin" % v for v in range(19, 11, -1)) if os.path.isdir(f)]
        if not folders:
            raise Skip("no postgres")
        need("pgbench", "runuser")
        data = self.folder + "/data"
        os.chmod(self.folder, 0o777)
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        subprocess.run(as_user + [folders[0] + "/initdb", "-A", "trust", "-D", data], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        server = self.run(as_user + [folders[0] + "/postgres", "-D", data, "-p", "18097", "-k", self.folder, "-c", "listen_addresses="])
        wait_for(lambda: os.path.exists(self.folder + "/.s.PGSQL.18097"), "postgres's start")
        bench = as_user + ["pgbench", "-h", self.folder, "-p", "18097"]
        time.sleep(1)
        subprocess.run(bench + ["-i", "-s", "2", "postgres"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.run(bench + ["-c", "4", "-T", "600", "postgres"])
        time.sleep(0.5)
        return [p for p in descendants(server.pid) if "postgres" in os.readlink("/proc/%d/exe" % p)]

    def stop(self):
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Desktop(Case):
    display = ":87"

    def screen(self):
        need("Xvfb", "dbus-run-session")
        number = self.display[1:]
        self.run(["Xvfb", self.display, "-screen", "0", "1024x768x24", "-nolisten", "tcp"])
        wait_for(lambda: os.path.exists("/tmp/.X11-unix/X" + number), "the X server's start")
        return dict(os.environ, DISPLAY=self.display, HOME=self.folder, QT_QPA_PLATFORM="xcb", NO_AT_BRIDGE="1")

    def find(self, root, name):
        found = []

        def there():
            found[:] = [p for p in descendants(root) if os.path.basename(os.readlink("/proc/%d/exe" % p)) == name]
            return bool(found)
        wait_for(there, name + "'s start")
        return found

    def poke(self, environment):
        need("xdotool")
        self.run(["sh", "-c", "while :; do xdotool type --delay 15 'some words and (brackets) '; xdotool key ctrl+a ctrl+c End ctrl+v; "
                  "xdotool mousemove 200 20 click 1 mousemove 60 20 click 1 key Escape; done"], env=environment)


class Gtk(Desktop):
    display = ":87"

    def start(self):
        need("mousepad")
        environment = self.screen()
        session = self.run(["dbus-run-session", "--", "mousepad", self.folder + "/text.c"], env=environment)
        pids = self.find(session.pid, "mousepad")
        time.sleep(2)
        self.poke(environment)
        return pids


class Qt(Desktop):
    display = ":88"

    def start(self):
        need("featherpad")
        environment = self.screen()
        session = self.run(["dbus-run-session", "--", "featherpad", self.folder + "/text.c"], env=environment)
        pids = self.find(session.pid, "featherpad")
        time.sleep(2)
        self.poke(environment)
        return pids


class Chromium(Case):
    def start(self):
        need("chromium")
        with open(self.folder + "/page.html", "w", encoding="utf-8") as page:
            page.write("<script>setInterval(() => { document.body.innerHTML = Array.from({length: 200}, (_, i) => "
                       "`<p style='width:${i % 97}%'>${Math.random()}</p>`).join('') }, 30)</script><body></body>")
        browser = self.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                            "--user-data-dir=" + self.folder + "/profile", "file://" + self.folder + "/page.html"])
        wait_for(lambda: len(descendants(browser.pid)) >= 4, "chromium's start")
        time.sleep(3)
        return [browser.pid] + [p for p in descendants(browser.pid) if len(threads_of(p)) > 2][:3]


class Node(Case):
    """JavaScript, compiled at run time; frame pointers lead through it."""

    def start(self):
        need("node")
        with open(self.folder + "/work.js", "w", encoding="utf-8") as script:
            script.write("const zlib = require('zlib'), crypto = require('crypto'), fs = require('fs');\n"
                         "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
                         "function deep(n, f) { return n ? deep(n - 1, f) + 1 : f(); }\n"
                         "function turn() {\n"
                         "  deep(10, () => fib(15)); [...Array(500).keys()].sort((a, b) => b - a).map(String);\n"
                         "  JSON.parse(JSON.stringify(Array(200).fill({ a: [1, 2, 3] }))); 'ab'.repeat(500).replace(/(a|b)+?/g, x => x);\n"
                         "  deep(5, () => zlib.deflateSync(Buffer.alloc(20000, 'x')).length); fs.readFileSync(__filename);\n"
                         "  crypto.pbkdf2('a', 'b', 500, 32, 'sha256', () => {}); setImmediate(turn);\n"
                         "}\nturn();\n")
        return [self.run(["node", "--perf-basic-prof", "--interpreted-frames-native-stack", self.folder + "/work.js"]).pid]

    def stop(self):
        super().stop()
        for process in self.started:
            if os.path.exists("/tmp/perf-%d.map" % process.pid):
                os.unlink("/tmp/perf-%d.map" % process.pid)


class Fixture(Case):
    """A compiled program that does what is hard to walk."""
    source = compiler = None
    options = ["-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-pthread"]
    optimize, strip = "-O2", True

    def start(self):
        need(self.compiler)
        program = self.folder + "/fixture"
        made = subprocess.run([self.compiler, self.optimize] + self.options + ["-o", program, HERE + "/" + self.source],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, text=True)
        if made.returncode:
            raise Skip("%s cannot make it: %s" % (self.compiler, (made.stderr.splitlines() or [""])[0]))
        if self.strip:
            subprocess.run(["strip", program], check=True)
        return [self.run([program]).pid]


class FixtureC(Fixture):
    source, compiler = "hard.c", "gcc"


class FixtureClang(Fixture):
    source, compiler = "hard.c", "clang-19"


class FixtureStatic(Fixture):
    source, compiler = "hard.c", "gcc"
    options = Fixture.options + ["-static"]


class FixtureStaticPie(Fixture):
    source, compiler = "hard.c", "gcc"
    options = Fixture.options + ["-static-pie"]


class FixtureDebugFrame(Fixture):
    """Call frame information in .debug_frame alone."""
    source, compiler, strip = "hard.c", "gcc", False
    options = ["-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g", "-pthread"]


class FixtureCpp(Fixture):
    source, compiler = "hard.cc", "g++"


class FixtureRust(Fixture):
    source, compiler, optimize = "hard.rs", "rustc", "-O"
    options = ["-C", "force-frame-pointers=no", "-C", "panic=unwind"]


CASES = {"fixture-c": FixtureC, "fixture-clang": FixtureClang, "fixture-c++": FixtureCpp, "fixture-rust": FixtureRust,
         "static": FixtureStatic, "static-pie": FixtureStaticPie, "debug_frame": FixtureDebugFrame, "bash": Bash, "python3": Python,
         "sqlite3": Sqlite, "nginx": Nginx, "redis-server": Redis, "postgres": Postgres, "gtk": Gtk, "qt": Qt, "chromium": Chromium,
         "node": Node}
