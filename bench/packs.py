#!/usr/bin/env python3
"""What packs cost programs in use: processor time that a GTK window which scrolls, a Node server and a page of Flask, both at about
half load, take for the same work, alone, recorded at the lean level, and recorded so with their packs on; the rounds alternate,
medians of what a round's three make of each other.

Usage: packs.py [--argus build/argus] [--rounds N] [--seconds N] [--only window|server|page] [--node PROGRAM --node-pack NAME]. Needs
root, gcc, GTK 3, Xvfb, node, Flask.
Two lines for each program, and the load."""
import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

WINDOW = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
extern void gtk_init(int *, char ***), gtk_main(void), gtk_main_quit(void), gtk_container_add(void *, void *), gtk_widget_show_all(void *);
extern void gtk_window_set_default_size(void *, int, int), gtk_text_buffer_set_text(void *, const char *, int);
extern void gtk_adjustment_set_value(void *, double);
extern double gtk_adjustment_get_upper(void *);
extern void *gtk_window_new(int), *gtk_scrolled_window_new(void *, void *), *gtk_text_view_new(void), *gtk_text_view_get_buffer(void *);
extern void *gtk_scrolled_window_get_vadjustment(void *);
extern unsigned g_timeout_add(unsigned, int (*)(void *), void *);
static long left, at;
static double used(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}
static double begun;
static int step(void *adjustment)
{
	if (++at == 50)
		begun = used();
	gtk_adjustment_set_value(adjustment, (double)(at * 7 % (long)(gtk_adjustment_get_upper(adjustment) - 600)));
	if (at < left)
		return 1;
	printf("%f\n", used() - begun);
	gtk_main_quit();
	return 0;
}
int main(int count, char **words)
{
	static char text[400000];
	void *window, *scrolled, *view;
	left = atol(words[1]);
	for (int i = 0; i < 4000; i++)
		sprintf(text + strlen(text), "line %d of a text that is long enough to scroll\n", i);
	gtk_init(&count, &words);
	window = gtk_window_new(0);
	scrolled = gtk_scrolled_window_new(0, 0);
	view = gtk_text_view_new();
	gtk_text_buffer_set_text(gtk_text_view_get_buffer(view), text, -1);
	gtk_window_set_default_size(window, 800, 600);
	gtk_container_add(scrolled, view);
	gtk_container_add(window, scrolled);
	gtk_widget_show_all(window);
	g_timeout_add(16, step, gtk_scrolled_window_get_vadjustment(scrolled));
	gtk_main();
	return 0;
}
"""
SERVER = r"""
const begun = { cpu: null };
require('http').createServer((request, response) => {
	if (request.url == '/begin')
		begun.cpu = process.cpuUsage();
	const used = begun.cpu ? process.cpuUsage(begun.cpu) : { user: 0, system: 0 };
	let sum = 0;
	for (let i = 0; i < WORK; i++)
		sum += Math.sqrt(i);
	response.end(JSON.stringify({ sum, cpu: used.user + used.system }));
}).on('listening', function () { this.keepAliveTimeout = 0; }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
"""
PAGE = r"""
import time
from flask import Flask, render_template_string
app, begun = Flask(__name__), [0.0]
TEXT = '<html><body><ul>{% for i in rows %}<li>{{ loop.index }}: {{ i }}</li>{% endfor %}</ul></body></html>'
@app.route('/')
def page():
    return render_template_string(TEXT, rows=['row %d' % i for i in range(40)])
@app.route('/begin')
def begin():
    begun[0] = time.process_time()
    return '{}'
@app.route('/end')
def end():
    return {'cpu': (time.process_time() - begun[0]) * 1e6}
import logging, werkzeug.serving
logging.getLogger('werkzeug').disabled = True
server = werkzeug.serving.make_server('127.0.0.1', 0, app, threaded=True)
print(server.port, flush=True)
server.serve_forever()
"""
RATE = 1500         # requests a second
PAGES = 250         # of them, a second
KINDS = ('alone', 'recorded', 'recorded with packs')


def recorded(argus, kind, packs, trace, command):
    if kind == KINDS[0]:
        return command
    return [argus, 'record', '-o', trace] + (sum((['--pack', p] for p in packs), []) if kind == KINDS[2] else []) + ['--'] + command


class Window:
    """A window that is begun anew each time"""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def seconds(self, kind):
        """Processor seconds of the window's own process"""
        steps = self.options.seconds * 60
        out = subprocess.run(recorded(self.options.argus, kind, ('glib', 'gtk3', 'gdbus', 'x11'), f'{self.folder}/t', [f'{self.folder}/window', str(steps)]),
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, env={**os.environ, 'GTK_MODULES': ''})
        return float(out.stdout)

    def done(self):
        pass


class Served:
    """A server that lives through all rounds: recorded from outside, and asked so many times a second"""

    def __init__(self, options, folder, packs, program, rate):
        self.options, self.folder, self.packs, self.rate = options, folder, packs, rate
        self.server = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.server.stdout.readline())
        self.connection = http.client.HTTPConnection('127.0.0.1', self.port)
        for _ in range(1000):    # until it is compiled
            self.ask('/')

    def ask(self, path):
        self.connection.request('GET', path)
        return self.connection.getresponse().read()

    def seconds(self, kind):
        """Its processor seconds for the requests of a round"""
        trace, recorder = f'{self.folder}/t', None
        if kind != KINDS[0]:
            chosen = [] if kind == KINDS[1] else ['--packs', 'auto'] if self.packs is None else sum((['--pack', p] for p in self.packs), [])
            recorder = subprocess.Popen([self.options.argus, 'record', '-o', trace, '-p', str(self.server.pid)] + chosen +
                                        ['--', 'sh', '-c', 'echo ready; exec cat'],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            recorder.stdout.readline()
        for _ in range(self.rate):    # and its stacks are known
            self.ask('/')
        self.ask('/begin')
        begin, count = time.monotonic(), self.options.seconds * self.rate
        for i in range(count):
            rest = begin + i / self.rate - time.monotonic()
            if rest > 0:
                time.sleep(rest)
            self.ask('/')
        used = json.loads(self.ask('/end'))['cpu'] / 1e6
        if recorder:
            recorder.communicate()
        return used

    def done(self):
        self.connection.close()
        self.server.kill()
        self.server.wait()


def node_server(options, folder):
    return Served(options, folder, (options.node_pack,), [options.node, f'{folder}/server.js'], RATE)


def flask_page(options, folder):
    """All packs whose library is here: Python has none of its own"""
    return Served(options, folder, None, ['/usr/bin/python3', f'{folder}/page.py'], PAGES)


def hits_of(argus, trace):
    """Hits of all probes of a trace, those a second while it lasted"""
    text = subprocess.run([argus, 'info', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return (sum(int(n.replace(',', '')) for n in re.findall(r'^probe .*, ([\d,]+) times?', text, re.M)),
            len(re.findall('off from', text)))


def more(with_it, without):
    """What it takes more, round by round: the median, and the middle half of the rounds"""
    ratios = sorted(100 * (a / b - 1) for a, b in zip(with_it, without))
    return f'{statistics.median(ratios):+.1f} % ({ratios[len(ratios) // 4]:+.1f} to {ratios[-1 - len(ratios) // 4]:+.1f})'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--argus', default='build/argus')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=int, default=8)
    parser.add_argument('--work', type=int, default=60000, help='what the server computes for each request')
    parser.add_argument('--only', choices=('window', 'server', 'page'))
    parser.add_argument('--node', default='node')
    parser.add_argument('--node-pack', default='node')
    options = parser.parse_args()
    options.argus = os.path.abspath(options.argus)
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/window.c', 'w') as out:
            out.write(WINDOW)
        with open(f'{folder}/server.js', 'w') as out:
            out.write(SERVER.replace('WORK', str(options.work)))
        with open(f'{folder}/page.py', 'w') as out:
            out.write(PAGE)
        libraries = [f'/usr/lib/x86_64-linux-gnu/lib{name}.so.0' for name in ('gtk-3', 'glib-2.0')]
        subprocess.run(['gcc', '-O1', '-w', '-o', f'{folder}/window', f'{folder}/window.c'] + libraries, check=True)
        ends = os.pipe()
        screen = subprocess.Popen(['Xvfb', '-displayfd', str(ends[1]), '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'],
                                  pass_fds=[ends[1]], stderr=subprocess.DEVNULL)
        os.environ['DISPLAY'] = ':' + os.read(ends[0], 20).decode().strip()
        try:
            for key, name, make in (('window', 'a GTK window that scrolls', Window), ('server', 'a Node server', node_server),
                                    ('page', 'a page of Flask', flask_page)):
                if options.only not in (None, key):
                    continue
                rows, hits, program = {kind: [] for kind in KINDS}, [], make(options, folder)
                for _ in range(options.rounds):
                    for kind in KINDS:
                        rows[kind].append(program.seconds(kind))
                        if kind == KINDS[2]:
                            hits.append(hits_of(options.argus, f'{folder}/t'))
                program.done()
                alone, lean, packs = (rows[kind] for kind in KINDS)
                usual = statistics.median(alone)
                print(f'{name}: {100 * usual / options.seconds:.1f} % of a processor alone; recorded {more(lean, alone)} of that,'
                      f' with packs {more(packs, alone)}; the packs are {more(packs, lean)} of what it takes recorded', flush=True)
                print(f'  {statistics.median(h for h, _ in hits) / options.seconds:,.0f} hits a second; probes turned off: {max(o for _, o in hits)};'
                      f' spread {" ".join(f"{100 * (max(r) - min(r)) / statistics.median(r):.0f}%" for r in rows.values())}', flush=True)
        finally:
            screen.terminate()
            screen.wait()
    print(f'load {os.getloadavg()[0]:.1f}')


if __name__ == '__main__':
    main()
