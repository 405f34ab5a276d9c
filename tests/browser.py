"""A headless Chromium, driven through its DevTools protocol over a pipe: no port, no library.

    with Browser() as browser:
        page = browser.page('file:///tmp/hang.html')
        page.run('document.title')

One browser serves all pages of a test, for its start takes longest. What a page logs as an
error, what it throws and whatever it asks the network for is kept in `page.complaints` and
`page.requests`."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

TIMEOUT_S = 60
PROGRAM = shutil.which('chromium')

# The text that can be seen in the window as it is: text nodes, clipped to it and to what scrolls.
VISIBLE_TEXT = '''(() => {
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let text = '';
	for (let node; (node = walk.nextNode()); ) {
		const element = node.parentElement, style = getComputedStyle(element);
		if (style.visibility === 'hidden' || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName))
			continue;
		const range = document.createRange();
		range.selectNodeContents(node);
		const seen = [...range.getClientRects()].some((box) => box.width > 0 && box.bottom > 0 && box.top < innerHeight &&
			box.right > 0 && box.left < innerWidth);
		if (seen)
			text += node.data + (style.display === 'inline' ? '' : ' ');
	}
	return text.replace(/\\s+/g, ' ');
})()'''


class PageError(Exception):
    pass


class Browser:
    def __init__(self, width=1280, height=800, program=PROGRAM):
        self.profile = tempfile.mkdtemp(prefix='argus-browser-')
        self.next_id, self.answers, self.events, self.buffer = 1, {}, {}, b''
        to_read, self.writing = os.pipe()
        self.reading, to_write = os.pipe()

        def descriptors():
            # It reads commands from descriptor 3 and writes to 4. They may be among those at hand.
            one, two = os.dup(to_read), os.dup(to_write)
            os.dup2(one, 3)
            os.dup2(two, 4)

        self.process = subprocess.Popen(
            [program, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run',
             '--disable-background-networking', '--disable-component-update', '--disable-extensions', '--force-device-scale-factor=1',
             '--remote-debugging-pipe', f'--user-data-dir={self.profile}', f'--window-size={width},{height}', 'about:blank'],
            preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.size = width, height

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.call('Browser.close')
        except (PageError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.writing)
        os.close(self.reading)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, session=None, **parameters):
        message = {'id': self.next_id, 'method': method, 'params': parameters}
        if session:
            message['sessionId'] = session
        self.next_id += 1
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.writing, data):]
        end = time.monotonic() + TIMEOUT_S
        while message['id'] not in self.answers:
            if not self.read(end - time.monotonic()):
                raise PageError(f'{method}: no answer after {TIMEOUT_S} s')
        answer = self.answers.pop(message['id'])
        if 'error' in answer:
            raise PageError(f"{method}: {answer['error'].get('message')}")
        return answer.get('result', {})

    def read(self, seconds):
        """Takes in what has come; False when nothing did."""
        if not select.select([self.reading], [], [], max(0, seconds))[0]:
            return False
        data = os.read(self.reading, 1 << 20)
        if not data:
            raise PageError('the browser has gone')
        self.buffer += data
        *messages, self.buffer = self.buffer.split(b'\0')
        for message in map(json.loads, messages):
            if 'id' in message:
                self.answers[message['id']] = message
            else:
                self.events.setdefault(message.get('sessionId'), []).append(message)
        return True

    def page(self, url, **media):
        return Page(self, url, **media)


class Page:
    def __init__(self, browser, url, **media):
        self.browser = browser
        self.target = browser.call('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.call('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        width, height = browser.size
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        if media:
            self.call('Emulation.setEmulatedMedia', features=[{'name': key.replace('_', '-'), 'value': value} for key, value in media.items()])
        self.call('Page.navigate', url=url)
        self.wait("document.documentElement.dataset.ready === 'yes'")
        self.settle()

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, expression):
        """The value of a script's expression, as JSON; awaits promises."""
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            details = answer['exceptionDetails']
            raise PageError(details.get('exception', {}).get('description') or details.get('text'))
        return answer['result'].get('value')

    def wait(self, condition):
        end = time.monotonic() + TIMEOUT_S
        while not self.holds(condition):
            if time.monotonic() > end:
                raise PageError(f'not so after {TIMEOUT_S} s: {condition}; {self.complaints}')
            self.browser.read(0.02)

    def holds(self, condition):
        try:
            return self.run(f'!!({condition})')
        except PageError:           # of a page that is just being left, or not there yet
            return False

    def settle(self):
        """Until the next picture but one has been drawn: of the tab in front."""
        self.call('Page.bringToFront')
        self.run('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def key(self, key, shift=False):
        text = key if len(key) == 1 else ''
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, modifiers=8 if shift else 0, **({'text': text} if text and kind == 'keyDown' else {}))
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)
        self.settle()

    def click(self, selector):
        self.run(f'document.querySelector({json.dumps(selector)}).click()')
        self.settle()

    def visible_text(self):
        return self.run(VISIBLE_TEXT)

    def picture(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    def _events(self, method):
        return [e['params'] for e in self.browser.events.get(self.session, []) if e['method'] == method]

    @property
    def complaints(self):
        thrown = [e['exceptionDetails'].get('text', '') + str(e['exceptionDetails'].get('exception', {}).get('description', ''))
                  for e in self._events('Runtime.exceptionThrown')]
        logged = [e['entry']['text'] for e in self._events('Log.entryAdded') if e['entry']['level'] == 'error']
        return thrown + logged

    @property
    def requests(self):
        return [e['request']['url'] for e in self._events('Network.requestWillBeSent') if not e['request']['url'].startswith('data:')]

    def close(self):
        self.browser.call('Target.closeTarget', targetId=self.target)
