"""A headless Firefox, driven through its Marionette protocol over a local port: no library.

    with Firefox() as firefox:
        firefox.open('file:///tmp/hang.html')
        firefox.run('return document.title')"""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

TIMEOUT_S = 60
PROGRAM = shutil.which('firefox-esr') or shutil.which('firefox')


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


class Firefox:
    def __init__(self, width=1280, height=800):
        self.profile, port = tempfile.mkdtemp(prefix='argus-firefox-'), free_port()
        with open(self.profile + '/user.js', 'w', encoding='ascii') as file:
            file.write(f'user_pref("marionette.port", {port});\nuser_pref("app.update.enabled", false);\n'
                       'user_pref("datareporting.policy.dataSubmissionEnabled", false);\nuser_pref("toolkit.telemetry.enabled", false);\n'
                       'user_pref("browser.shell.checkDefaultBrowser", false);\n')
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([PROGRAM, '--headless', '--no-remote', '--marionette', '--profile', self.profile, f'--width={width}',
                                         f'--height={height}'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, HOME=self.profile), start_new_session=True)
        self.socket, self.buffer, self.next_id = self._connect(port), b'', 1
        self._read()                # who it is
        self.call('WebDriver:NewSession', capabilities={})
        self.call('WebDriver:SetWindowRect', width=width, height=height + 100)

    def _connect(self, port):
        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                return socket.create_connection(('127.0.0.1', port), timeout=TIMEOUT_S)
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    # A message is its length in digits, a colon, and JSON.
    def _read(self):
        while True:
            digits, colon, rest = self.buffer.partition(b':')
            if colon and len(rest) >= int(digits):
                self.buffer = rest[int(digits):]
                return json.loads(rest[:int(digits)])
            data = self.socket.recv(1 << 16)
            if not data:
                raise RuntimeError('the browser has gone')
            self.buffer += data

    def call(self, method, **parameters):
        message = json.dumps([0, self.next_id, method, parameters]).encode()
        self.socket.sendall(b'%d:%s' % (len(message), message))
        while True:
            _, number, error, result = self._read()
            if number == self.next_id:
                self.next_id += 1
                if error:
                    raise RuntimeError(f"{method}: {error.get('message')}")
                return result

    def open(self, url):
        self.call('WebDriver:Navigate', url=url)
        end = time.monotonic() + TIMEOUT_S
        while self.run("return document.documentElement.dataset.ready") != 'yes':
            if time.monotonic() > end:
                raise RuntimeError(f'{url} is not ready')
            time.sleep(0.05)

    def run(self, script):
        return self.call('WebDriver:ExecuteScript', script=script, args=[])['value']
