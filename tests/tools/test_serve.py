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

    def line(self, line):
        return json.loads(self.ask('POST', '/ask', line)[1])

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
        path = os.path.join(self.work.name, f'{self._testMethodName}.{test}')
        body = next(body for kind, argument, body in golden.parse(f'{TESTS}/golden/{test}.test')[1] if kind == 'trace' and argument == name)
        with open(path + '.text', 'w', encoding='utf-8') as file:
            file.write('\n'.join(body) + '\n')
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
        self.assertEqual(server.ask('GET', '/lanes?threads=99999999999,x')[1][4:], struct.pack('<I', 0))
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
        data = server.ask('GET', f"/lanes?from={start}&to={end}&cells=1000&threads=" + ','.join(map(str, range(len(threads)))))[1]
        at, found = 0, []
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
        for _ in range(2):
            server = self.server(trace, ARGUS_BLOCK_EVENTS='40')
            server.enter()
            about, threads = server.json('/about')['about'], server.json('/threads')['threads']
            for thread, running in zip(threads, self.lanes(server, about, threads)):
                self.assertGreaterEqual(running, thread['running_ns'] * 0.99, thread)
                self.assertLess(running - thread['running_ns'], (about['end_ns'] - about['start_ns']) * 0.2, thread)
            halves = [self.lanes(server, about, threads, first, first + 0.05) for first in (0, 0.3, 0.6, 0.9)]
            view = server.line('why')['view']['answer']
            self.lanes(server, about, threads, 0.95, 1)
            again = server.line('show path')['view']['answer']
            self.assertEqual((view['victim'], view['culprit'], view['verdict']), (answer['victim'], answer['culprit'], answer['verdict']))
            self.assertEqual((again['victim'], again['culprit'], again['chain']), (view['victim'], view['culprit'], view['chain']))
            seen.append((threads, halves))
            server.end()
        self.assertEqual(seen[0], seen[1])

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
            self.check_trace_view(page)
            self.assertEqual(page.complaints, [])
            self.assertEqual([url for url in page.requests if not url.startswith((f'http://127.0.0.1:{server.port}/', 'file://' + server.path))], [])
            server.end()
            page.run("document.querySelector('.line').value = 'why', document.querySelector('.ask').requestSubmit()")
            page.wait("document.body.textContent.includes('Argus does not answer')")

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
