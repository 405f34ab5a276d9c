"""`argus serve`: who may ask, what it answers, and the page over it in a real browser:
hangs, answers, corrections, two tabs, all threads, its end."""
import http.client
import json
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path.insert(0, TESTS)
import browser  # noqa: E402
import golden  # noqa: E402

ARGUS = os.path.join(os.environ.get('BUILD', os.path.join(TESTS, '../build')), 'argus')

# Two are set to work before an answer is waited for.
FORK = '''1 [0] 10 task pid=10 flags=leader "client"
1 [0] 20 task pid=20 flags=leader "server20"
1 [0] 30 task pid=30 flags=leader "server30"
1.0 [0] 0 switch next=20
1.001 [0] 20 switch next=30 state=sleeping wait=read object=pipe:1 syscall=read
1.002 [0] 30 switch next=10 state=sleeping wait=read object=pipe:2 syscall=read
1.1 [0] 10 wake target=20 syscall=write cause=thread object=pipe:1
1.101 [0] 10 wake target=30 syscall=write cause=thread object=pipe:2
1.102 [0] 10 switch next=20 state=sleeping wait=read object=pipe:3 syscall=read
1.2 [0] 20 switch next=30 state=sleeping wait=read object=pipe:1 syscall=read
4.9 [0] 30 wake target=10 syscall=write cause=thread object=pipe:3
4.901 [0] 30 switch next=10 state=sleeping wait=read object=pipe:2 syscall=read
5 [0] 10 exit last=1
5.001 [0] 10 switch next=0 state=dead wait=exit
'''


class Server:
    def __init__(self, trace, *words, **more):
        environment = {key: value for key, value in os.environ.items() if key not in ('DISPLAY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR')}
        self.process = subprocess.Popen([ARGUS, 'serve', '--no-browser', trace, *words], stderr=subprocess.PIPE, text=True,
                                        env=dict(environment, TZ='UTC', LC_ALL='C.UTF-8', **more))
        line = self.process.stderr.readline()
        found = re.match(r'http://([\d.]+):(\d+)/ : open (\S+) in', line)
        if not found:
            raise AssertionError(line + self.process.stderr.read())
        self.port, self.path = int(found[2]), found[3]
        with open(self.path, encoding='utf-8') as file:
            self.token = re.search(r'name="token" value="([0-9a-f]{64})"', file.read())[1]
        self.cookie, self.said = None, ''

    def ask(self, method, path, body=None, status=200, cookie=True, **headers):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        if cookie and self.cookie:
            headers.setdefault('Cookie', self.cookie)
        connection.request(method, path, body, {key.replace('_', '-'): value for key, value in headers.items()})
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        if reply.status != status:
            raise AssertionError(f'{method} {path}: {reply.status} in place of {status}: {data[:200]}')
        return reply, data

    def enter(self):
        reply, _ = self.ask('POST', '/enter', 'token=' + self.token, Origin='null')
        self.cookie = reply.getheader('Set-Cookie').split(';')[0]
        return reply

    def json(self, path, **more):
        return json.loads(self.ask('GET', path, **more)[1])

    def line(self, line, path='/ask'):
        return json.loads(self.ask('POST', path, line)[1])

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        if not self.process.stderr.closed:
            self.said = self.process.stderr.read()
            self.process.stderr.close()
        return self.said


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        said = subprocess.run([ARGUS, 'serve', '/nonexistent'], capture_output=True).stderr.decode()
        if 'this build of Argus has no' in said:
            raise unittest.SkipTest('built without the server')
        cls.work = tempfile.TemporaryDirectory(prefix='argus-serve-')

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def trace(self, test, name='t'):
        body = next(body for kind, argument, body in golden.parse(f'{TESTS}/golden/{test}.test')[1] if kind == 'trace' and argument == name)
        return self.trace_of(test, '\n'.join(body) + '\n')

    def trace_of(self, name, text):
        path = os.path.join(self.work.name, f'{self._testMethodName}.{name}')
        with open(path + '.text', 'w', encoding='utf-8', errors='surrogateescape') as file:
            file.write(text)
        subprocess.run([ARGUS, 'import', '--text', path + '.text', '-o', path], check=True, capture_output=True)
        return path

    def server(self, trace, *words, **more):
        server = Server(trace, *words, **more)
        self.addCleanup(server.end)
        return server

    # ---- who may ask ----

    def test_the_token_is_the_users_and_good_once(self):
        server = self.server(self.trace('why_circle'))
        folder = os.path.dirname(server.path)
        self.assertEqual(stat.S_IMODE(os.stat(server.path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        for path in ('/', '/about', '/threads', '/alive', '/nothing'):
            server.ask('GET', path, status=403)
        server.ask('POST', '/ask', 'why', status=403)
        server.ask('POST', '/enter', 'token=' + '0' * 64, status=403)
        server.ask('POST', '/enter', '', status=403)
        cookie = server.enter().getheader('Set-Cookie')
        self.assertIn('HttpOnly', cookie)
        self.assertIn('SameSite=Strict', cookie)
        self.assertFalse(os.path.exists(folder))
        server.ask('POST', '/enter', 'token=' + server.token, status=403)
        reply, page = server.ask('GET', '/')
        policy = reply.getheader('Content-Security-Policy')
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn('unsafe', policy)
        self.assertIsNone(reply.getheader('Access-Control-Allow-Origin'))
        self.assertIn(b'<title>Argus</title>', page)
        server.ask('GET', '/about', cookie=False, status=403)
        server.ask('GET', '/about', Cookie=server.cookie[:-1], status=403)

    def test_other_hosts_and_pages_are_refused(self):
        server = self.server(self.trace('why_circle'))
        server.ask('POST', '/enter', 'token=' + server.token, Host='evil.example', status=403)
        server.ask('POST', '/enter', 'token=' + server.token, Origin='http://evil.example', status=403)
        server.enter()
        server.ask('GET', '/about', Host='evil.example', status=403)
        server.ask('GET', '/about', Host=f'127.0.0.1.evil.example:{server.port}', status=403)
        server.ask('GET', '/about', Origin='http://evil.example', status=403)
        server.ask('POST', '/ask', 'why', Origin='null', status=403)
        server.ask('GET', '/about', Sec_Fetch_Site='cross-site', status=403)
        server.ask('GET', '/about', Host='localhost:9999')       # behind a forwarding
        server.ask('GET', '/about', Origin=f'http://127.0.0.1:{server.port}', Sec_Fetch_Site='same-origin')

    def test_requests_that_are_none(self):
        server = self.server(self.trace('why_circle'))
        for bytes_ in (b'', b'GET', b'GET / HTTP/1.1\r\n', b'\0' * 4096, b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\n\r\n',
                       b'POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\ntoken='):
            with socket.create_connection(('127.0.0.1', server.port), timeout=10) as connection:
                connection.sendall(bytes_)
        server.enter()
        server.ask('POST', '/ask', 'x' * 100000, status=413)
        server.ask('DELETE', '/about', status=405)
        server.ask('GET', '/nothing', status=404)
        server.ask('GET', '/lanes?from=5&to=4', status=400)
        server.ask('GET', '/lanes?from=0&to=99999999999999999999', status=400)
        self.assertEqual(server.ask('GET', '/lanes?threads=99999999999,x')[1][8:], struct.pack('<I', 0))
        self.assertIn('no verb', server.line('nonsense')['error'])
        self.assertIn('NUL', server.line('why\0')['error'])
        self.assertEqual(server.line('why')['view']['answer']['verdict'], 'waiting')

    # ---- what it answers ----

    def test_answers_are_those_of_the_command_line(self):
        trace = self.trace('why_circle')
        server = self.server(trace)
        server.enter()
        about = server.json('/about')
        hangs = json.loads(subprocess.run([ARGUS, 'hangs', '--json', trace], capture_output=True).stdout)
        self.assertEqual([(h['tid'], h['start_ns']) for h in about['hangs']], [(h['tid'], h['start_ns']) for h in hangs])
        view = server.line('why 1')['view']
        self.assertEqual(view['answer'], json.loads(subprocess.run([ARGUS, 'why', '--json', trace], capture_output=True).stdout))
        report = json.loads(subprocess.run([ARGUS, 'report', '--json', trace], capture_output=True).stdout)
        self.assertEqual(view['picture'], report['picture'])

    def test_lanes_add_up(self):
        trace = self.trace('why_circle')
        server = self.server(trace)
        server.enter()
        about, threads = server.json('/about')['about'], server.json('/threads')['threads']
        times = json.loads(subprocess.run([ARGUS, 'info', '--threads', '--json', trace], capture_output=True).stdout)['thread_times']
        for thread, running in zip(threads, self.lanes(server, about, threads)):
            exact = next(t['running_ns'] for t in times if t['tid'] == thread['tid'])
            self.assertLess(abs(running - exact), 1000, thread)
            self.assertEqual(thread['running_ns'], exact)

    def lanes(self, server, about, threads, first=0, last=1):
        """Nanoseconds by thread that the lanes of a part of the trace say it ran."""
        length = about['end_ns'] - about['start_ns']
        start, end = about['start_ns'] + int(length * first), about['start_ns'] + int(length * last)
        question = f"/lanes?from={start}&to={end}&cells=1000&threads=" + ','.join(map(str, range(len(threads))))
        data = server.ask('GET', question)[1]
        while data[:4] == b'\0\0\0\0':        # it is told more closely in a moment
            data = server.ask('GET', question)[1]
        at, found = 4, []
        for _ in threads:
            _, count = struct.unpack_from('<II', data, at)
            starts = struct.unpack_from(f'<{count}I', data, at + 8) + (0x7fffffff,)
            states = struct.unpack_from(f'<{count}I', data, at + 8 + count * 4)
            at += 8 + count * 8
            shares = [1 if state & 255 == 1 else (state >> 8 & 255) / 100 if state & 255 == 7 else 0 for state in states]
            found.append(sum((e - s) * (end - start) / 0x7fffffff * share for s, e, share in zip(starts, starts[1:], shares)))
        self.assertEqual(at, len(data))
        return found

    def test_a_trace_in_blocks(self):
        """Read as long ones are: all of it from the overview, which the index keeps; parts of it
        from the scene, after which threads have other numbers; and answers stay what they are."""
        trace = self.trace('why_spinlock')
        answer = json.loads(subprocess.run([ARGUS, 'why', '--json', trace], capture_output=True).stdout)
        seen = []
        small = self.server(trace)
        small.enter()
        closely = [self.lanes(small, small.json('/about')['about'], small.json('/threads')['threads'], first, first + 0.05)
                   for first in (0, 0.3, 0.6, 0.9)]
        for _ in range(2):
            server = self.server(trace, ARGUS_BLOCK_EVENTS='40')
            server.enter()
            about, threads = server.json('/about')['about'], server.json('/threads')['threads']
            for thread, running in zip(threads, self.lanes(server, about, threads)):
                self.assertGreaterEqual(running, thread['running_ns'] * 0.99, thread)
                self.assertLess(running - thread['running_ns'], (about['end_ns'] - about['start_ns']) * 0.2, thread)
            halves = [self.lanes(server, about, threads, first, first + 0.05) for first in (0, 0.3, 0.6, 0.9)]
            for thread, *exact in zip(threads, *closely):
                at = threads.index(thread)
                for part, running in zip(halves, exact):
                    self.assertLess(abs(part[at] - running), 1000, thread)
            view = server.line('why')['view']['answer']
            self.lanes(server, about, threads, 0.95, 1)
            again = server.line('show path')['view']['answer']
            self.assertEqual((view['victim'], view['culprit'], view['verdict']), (answer['victim'], answer['culprit'], answer['verdict']))
            self.assertEqual((again['victim'], again['culprit'], again['chain']), (view['victim'], view['culprit'], view['chain']))
            seen.append((threads, halves))
            server.end()
        self.assertEqual(seen[0], seen[1])

    def test_steps_are_those_of_the_session(self):
        """Each place has what `here` says; where the way forks, the choices are those that `forward` lists."""
        trace = self.trace_of('fork', FORK)
        server = self.server(trace)
        server.enter()
        self.assertIsNone(server.line('help', '/step')['node'])
        node = server.line('here 10 2', '/step')['node']
        said = subprocess.run([ARGUS, 'debug', trace, '-c', 'here 10 2', '-c', 'forward'], capture_output=True).stdout.decode()
        listed = re.findall(r'^ (\d)  (\w+) \(pid (\d+)\): (.*), event (\d+) \((\d+) %\)$', said, re.M)
        self.assertEqual(len(listed), 2, said)
        self.assertEqual([(str(i + 1), hop['comm'], str(hop['pid']), hop['link'], str(hop['event']), str(hop['confidence']))
                          for i, hop in enumerate(node['forward'])], listed)
        self.assertIn('chooses', server.line('forward 9', '/step')['error'])
        there = server.line('forward 2', '/step')
        self.assertIn(f"server{listed[1][2]} (pid {listed[1][2]}) at", there['said'])
        self.assertIsNone(there['view'])
        self.assertEqual([place['tid'] for place in there['node']['slice']], [10, int(listed[1][2])])
        self.assertEqual(there['node']['wait']['event'], int(re.search(r'event (\d+)', there['said'])[1]))
        # a link goes anywhere, and an event it did not cause is cut by the two that are named
        node = server.line(f"here 10 @{node['time_ns']}", '/step')['node']
        wait = node['wait']
        self.assertEqual([hop['event'] for hop in node['back']], [wait['end_event']])
        server.line(f"cut {wait['end_event']} {wait['run_event']}", '/step')
        self.assertIn(f"cut edge {wait['end_event']} -> {wait['run_event']};", server.line('knowledge')['said'])

    def test_a_step_to_another_stretch(self):
        """Of a trace in blocks: threads have other numbers there, and the way there is left."""
        trace = self.trace('why_spinlock')
        places, nodes = None, []
        for events in ('1000000', '40'):
            server = self.server(trace, ARGUS_BLOCK_EVENTS=events)
            server.enter()
            about, threads = server.json('/about')['about'], server.json('/threads')['threads']
            length = about['end_ns'] - about['start_ns']
            places = places or [(thread['tid'], about['start_ns'] + int(length * at)) for thread in threads for at in (0.98, 0.02, 0.5)]
            nodes.append([server.line(f'here {tid} @{at}', '/step')['node'] for tid, at in places])
            server.line('why')
            stepped = server.line('back', '/step')
            self.assertTrue(stepped['said'] or stepped['error'])
            server.end()
        for small, large in zip(*nodes):
            self.assertEqual((small['tid'], small['time_ns'], small['comm']), (large['tid'], large['time_ns'], large['comm']))

    def test_a_trace_that_grows(self):
        """What was written since is said, and looked at when one asks for it; corrections are not lost over it."""
        trace, longer = self.trace_of('short', FORK), self.trace_of('long', FORK + ''.join(
            f'{6 + i} [0] 0 switch next=20\n{6 + i}.5 [0] 20 switch next=0 state=sleeping wait=read object=pipe:1 syscall=read\n' for i in range(2000)))
        server = self.server(trace)
        server.enter()
        self.assertEqual(server.json('/alive')['grown_bytes'], 0)
        before, grown = server.json('/about')['about'], os.path.getsize(longer) - os.path.getsize(trace)
        os.replace(longer, trace)
        self.assertEqual(server.json('/alive')['grown_bytes'], grown)
        self.assertEqual(server.json('/about')['about'], before)
        server.line('why tid 10 0.05 3')
        server.line('object pipe:2 answers')
        self.assertIn('not saved', json.loads(server.ask('POST', '/again', '', status=409)[1])['error'])
        server.line('undo')
        after = json.loads(server.ask('POST', '/again', '')[1])['about']
        self.assertGreater(after['events'], before['events'] + 3000)
        self.assertEqual(server.json('/alive'), {'corrections': 0, 'unsaved': 0, 'grown_bytes': 0, 'opened': 1})
        self.assertEqual([thread['tid'] for thread in server.json('/threads')['threads']], [10, 20, 30])
        os.unlink(trace)
        server.ask('POST', '/again', '', status=409)
        self.assertEqual(server.json('/about')['about']['events'], after['events'])

    def test_recorder(self):
        """Where none runs that is said; the hangs of one that does are listed. Both are what the command says."""
        server = self.server(self.trace('why_circle'))
        server.enter()
        found, said = server.json('/recorder'), subprocess.run([ARGUS, 'status', '--json'], capture_output=True)
        if said.returncode:
            self.assertIsNone(found['status'])
            self.assertIn(found['error'], said.stderr.decode())
            self.assertEqual(found['saved'], [])
        else:
            self.assertEqual(set(found['status']), set(json.loads(said.stdout)))

    def test_ends_by_itself_and_says_what_is_not_saved(self):
        server = self.server(self.trace('why_circle'), '--linger', '1s')
        server.enter()
        server.line('why')
        self.assertEqual(server.line('object pipe:2 answers')['corrections'], 1)
        server.process.wait(30)
        self.assertEqual(server.process.returncode, 0)
        self.assertIn('1 corrections were not saved', server.end())

    def test_a_port_that_is_taken(self):
        trace = self.trace('why_circle')
        server = self.server(trace)
        done = subprocess.run([ARGUS, 'serve', '--no-browser', '--port', str(server.port), trace], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f'127.0.0.1:{server.port}', done.stderr.decode())
        self.assertIn('--port 0', done.stderr.decode())
        server.end()
        self.assertFalse(os.path.exists(os.path.dirname(server.path)))

    def test_no_browser_to_start(self):
        """The address is told all the same, and how to get there."""
        trace = self.trace('why_circle')
        environment = {key: value for key, value in os.environ.items() if key not in ('DISPLAY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR')}
        for more, says in (({}, r'ssh -L (\d+):127.0.0.1:\1 '), ({'DISPLAY': ':99', 'PATH': '/nonexistent'}, 'no xdg-open')):
            process = subprocess.Popen([ARGUS, 'serve', '--linger', '1s', trace], stderr=subprocess.PIPE, text=True, env=dict(environment, **more))
            self.assertRegex(process.stderr.readline(), r'^http://127.0.0.1:\d+/ : open /')
            self.assertRegex(process.stderr.readline() + process.stderr.readline() if not more else process.stderr.readline(), says)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)

    # ---- in a browser ----

    @unittest.skipUnless(browser.PROGRAM, 'chromium is missing (tools/setup test)')
    def test_in_a_browser(self):
        trace = self.trace('why_circle')
        server = self.server(trace)
        with browser.Browser() as chromium:
            page = chromium.page('file://' + server.path)
            self.assertEqual(page.run('location.pathname'), '/')
            self.assertEqual(page.run('document.cookie'), '')
            self.assertIn('1 hang', page.visible_text())
            page.run("document.querySelector('.hangs a').click()")
            page.wait("document.querySelector('h1')?.textContent.startsWith('parent (pid 10) was stuck')")
            self.check_corrections(chromium, page, server, trace)
            self.check_node_view(page, trace)
            self.check_trace_view(page)
            page.run("location.hash = '#now'")
            page.wait('document.documentElement.dataset.recorder')
            self.assertIn('who is stuck right now?', page.visible_text())
            self.assertEqual(page.complaints, [])
            self.assertEqual([url for url in page.requests if not url.startswith((f'http://127.0.0.1:{server.port}/', 'file://' + server.path))], [])
            server.end()
            page.run("document.querySelector('.line').value = 'why', document.querySelector('.ask').requestSubmit()")
            page.wait("document.body.textContent.includes('Argus does not answer')")

    def opened(self, chromium, server):
        page = chromium.page('file://' + server.path)
        self.assertEqual(page.run('location.pathname'), '/')
        return page

    @unittest.skipUnless(browser.PROGRAM, 'chromium is missing (tools/setup test)')
    def test_each_kind_of_answer(self):
        """Served, each shows who, whom and its sentences; the trace beside it has lanes; a browser that leaves in the middle harms nobody."""
        with browser.Browser() as chromium:
            for test in ('why_times', 'why_worker', 'why_flag_loop', 'why_starved', 'why_circle', 'why_none'):
                with self.subTest(test=test):
                    server = self.server(self.trace(test))
                    page = self.opened(chromium, server)
                    page.run("fetch('lanes?cells=4000&threads=' + [...Array(300).keys()].join()), location.hash = '#why'")
                    page.call('Page.reload')
                    page.wait("document.documentElement.dataset.ready === 'yes' && document.documentElement.dataset.view === 'why'")
                    seen = re.sub(r'\s+', '', page.visible_text())
                    server.cookie = '; '.join(f"{one['name']}={one['value']}" for one in page.call('Network.getCookies')['cookies'])
                    asked = server.line('why')
                    for sentence in re.split(r'(?<=\.) ', asked['view']['answer']['text'] if asked['view'] else asked['said'].strip()):
                        self.assertIn(re.sub(r'\s+', '', sentence), seen)
                    page.run("location.hash = '#trace'")
                    page.wait('document.documentElement.dataset.lanes > 0')
                    self.assertEqual(page.complaints, [])
                    page.close()
                    server.end()

    @unittest.skipUnless(browser.PROGRAM, 'chromium is missing (tools/setup test)')
    def test_hostile_names(self):
        """Wherever names stand they are texts: in the list, the answer, on the slice, among all threads."""
        names = ['<script>window.broken=1</script>', '"><img src=x onerror=window.broken=1>', '\u202egnp.exe', 'n' * 4096]
        with browser.Browser() as chromium:
            for name in names:
                escaped = ''.join(f'\\x{byte:02x}' if byte < 32 or byte > 126 or chr(byte) in '"\\' else chr(byte) for byte in name.encode())
                body = next(body for kind, _, body in golden.parse(TESTS + '/golden/why_circle.test')[1] if kind == 'trace')
                server = self.server(self.trace_of('hostile', '\n'.join(body).replace('"parent"', f'"{escaped}"') + '\n'))
                page = self.opened(chromium, server)
                for view, there in (('#hangs', '.hangs td'), ('#why', '.chip-who'), ('#node', '.here h1'), ('#trace', '.scroll canvas')):
                    page.run(f"location.hash = '{view}'")
                    page.wait(f"document.querySelector('{there}')")
                    page.settle()
                    self.assertEqual(page.run("document.querySelectorAll('img, b, main script').length"), 0)
                    self.assertIsNone(re.search('[\u200b-\u200f\u202a-\u202e\u2066-\u2069]', page.run("document.body.textContent")))
                    self.assertEqual(page.run('document.body.scrollWidth'), page.run('innerWidth'), (view, name[:20]))
                self.assertIsNone(page.run('window.broken'))
                self.assertEqual(page.complaints, [])
                page.close()
                server.end()

    @unittest.skipUnless(browser.PROGRAM, 'chromium is missing (tools/setup test)')
    def test_five_hundred_threads(self):
        """All are there, only those in view are asked for, and one is found by name."""
        lines = ['1 [0] 100 task pid=100 flags=leader "many"'] + [f'1 [0] {100 + i} task pid=100 "worker{i}"' for i in range(1, 500)]
        lines += [f'{1 + i / 100:.3f} [0] {100 + (i - 1) % 500 if i else 0} switch next={100 + i % 500}' + (' state=sleeping wait=sleep' if i else '')
                  for i in range(2000)]
        with browser.Browser() as chromium:
            server = self.server(self.trace_of('many', '\n'.join(lines) + '\n'))
            page = self.opened(chromium, server)
            page.run("location.hash = '#trace'")
            page.wait('document.documentElement.dataset.lanes > 0')
            self.assertIn('500 of 500 threads', page.visible_text())
            self.assertLess(page.run('+document.documentElement.dataset.lanes'), 100)
            page.run("document.querySelector('.scroll').scrollTop = 1e6")
            page.wait('document.documentElement.dataset.lanes > 40')
            page.run("document.querySelector('[type=search]').value = 'worker321', document.querySelector('[type=search]').dispatchEvent(new Event('input'))")
            page.settle()
            self.assertIn('1 of 500 threads', page.visible_text())
            self.assertEqual(page.complaints, [])

    def type_line(self, page, line):
        count = page.run("+(document.querySelector('.said-lines').dataset.count ?? 0)")
        page.run(f"document.querySelector('.line').value = {json.dumps(line)}, document.querySelector('.ask').requestSubmit()")
        page.wait(f"document.querySelector('.said-lines').dataset.count > {count}")
        page.settle()
        return page.run("document.querySelector('.said-lines').textContent")

    def check_corrections(self, chromium, page, server, trace):
        """As in `argus debug`: one engine, one file; another tab and a reload show them."""
        other = chromium.page(f'http://127.0.0.1:{server.port}/#why')
        other.wait("document.querySelector('h1')?.textContent.startsWith('parent')")
        self.type_line(page, 'object pipe:2 answers')
        self.type_line(page, 'save')
        self.assertIn('1 correction, saved', page.visible_text())
        self.assertIn('answers', page.visible_text())
        other.wait("document.body.textContent.includes('answers')")
        self.assertEqual(other.run("document.querySelectorAll('b').length"), 0)
        text = subprocess.run([ARGUS, 'debug', trace, '-c', 'knowledge'], capture_output=True).stdout.decode()
        self.assertIn('answers', text)
        page.call('Page.reload')
        page.wait("document.documentElement.dataset.ready === 'yes' && document.querySelector('h1')?.textContent.startsWith('parent')")
        self.assertIn('answers', page.visible_text())
        self.assertIn('The answer is now: parent (pid 10)', self.type_line(page, 'undo'))
        other.close()

    def check_node_view(self, page, trace):
        """By keyboard: to who ended the wait, and back by the address; a wait that is harmless is known to `argus debug`."""
        page.run("document.activeElement.blur(), location.hash = '#why'")
        page.wait("document.querySelector('h1')?.textContent.startsWith('parent')")
        page.run("location.hash = '#node'")
        page.wait("document.querySelector('.here h1')?.textContent.startsWith('parent')")
        first = page.run('location.hash')
        self.assertRegex(first, r'^#node=10@\d+$')
        self.assertGreater(page.run("document.querySelectorAll('.around .before .chip').length"), 0)
        page.run("document.querySelector('.before .chip').click()")
        page.wait(f'location.hash !== {json.dumps(first)}')
        page.wait("document.querySelectorAll('.way li').length === 2")
        self.assertIn(page.run("document.querySelector('.here h1 .name').textContent"), ('parent', 'child'))
        page.key('h')
        page.wait("document.querySelector('.state-corrections').textContent.includes('not saved')")
        page.run("[...document.querySelectorAll('.action')].find((button) => button.title === 'save').click()")
        page.wait("document.querySelector('.state-corrections').textContent.includes(', saved')")
        text = subprocess.run([ARGUS, 'debug', trace, '-c', 'knowledge'], capture_output=True).stdout.decode()
        self.assertIn('idle wait', text)
        page.run("[...document.querySelectorAll('.action')].find((button) => button.title === 'undo').click()")
        page.wait("document.querySelector('.state-corrections').textContent === '0 corrections, 1 not saved'")
        page.run(f'location.hash = {json.dumps(first)}')
        page.wait("document.querySelectorAll('.way li').length === 3")
        page.run("document.querySelector('.line').value = 'similar', document.querySelector('.ask').requestSubmit()")
        page.wait("document.querySelector('.said-lines').textContent.includes('similar')")
        self.assertEqual(page.run('location.hash'), first)

    def check_trace_view(self, page):
        page.run("location.hash = '#trace'")
        page.wait('document.documentElement.dataset.lanes > 0')
        self.assertIn('2 of 2 threads', page.visible_text())
        page.run("document.querySelector('.scroll').focus()")
        page.key('+')
        page.key('ArrowRight')
        self.assertNotIn('2 of 2 threads, 3.200 s', page.visible_text())
        page.key('0')
        self.assertIn('2 of 2 threads, 3.200 s', page.visible_text())
        page.run("document.querySelector('[type=search]').value = 'chi', document.querySelector('[type=search]').dispatchEvent(new Event('input'))")
        page.settle()
        self.assertIn('1 of 2 threads', page.visible_text())


if __name__ == '__main__':
    unittest.main()
