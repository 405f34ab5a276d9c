#!/bin/bash
# The pack of GDBus, calls that do not wait: each answer's callback has an edge from its own call, also where a server
# answers in another order and all calls have one callback and no data; what a proxy calls; who serves each call.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
need_command dbus-daemon

folder=/usr/lib/x86_64-linux-gnu
[ -e $folder/libgio-2.0.so.0 ] || skip "GIO is not installed"
cat >common.h <<'END'
/* GIO's headers are not needed for this. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern void *g_bus_get_sync(int, void *, void *);
extern void g_variant_get(void *, const char *, ...), g_variant_unref(void *);
extern void *g_variant_new(const char *, ...), *g_main_loop_new(void *, int), *g_main_context_new(void);
extern void g_main_loop_run(void *), g_main_loop_quit(void *), g_main_context_push_thread_default(void *);
extern unsigned g_timeout_add(unsigned, int (*)(void *), void *);
extern void *g_dbus_connection_call_sync(void *, const char *, const char *, const char *, const char *, void *, const void *, int, int,
					 void *, void **);

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void say(const char *what, unsigned number, const char *method)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	printf("%s %lld %d %u %s\n", what, now(), (int)gettid(), number, method);
	pthread_mutex_unlock(&lock);
}
END
cat >serve.c <<'END'
#include "common.h"

extern void *g_dbus_node_info_new_for_xml(const char *, void **);
extern unsigned g_dbus_connection_register_object(void *, const char *, void *, const void *, void *, void *, void **);
extern void g_dbus_method_invocation_return_value(void *, void *);

static struct waiting {
	void *invocation;
	unsigned number;
} waiting[2000];

static int answer(void *data)
{
	struct waiting *w = data;

	g_dbus_method_invocation_return_value(w->invocation, g_variant_new("(u)", w->number));
	return 0;
}

static void serve(void *bus, const char *sender, const char *path, const char *interface, const char *method, void *arguments,
		  void *invocation, void *data)
{
	struct waiting w = { invocation, 0 };

	(void)bus, (void)sender, (void)path, (void)interface, (void)data;
	g_variant_get(arguments, "(u)", &w.number);
	say("serve", w.number, method);
	if (!strcmp(method, "Later")) { /* every second one is overtaken */
		waiting[w.number] = w;
		g_timeout_add(w.number % 2 ? 1 : 9, answer, &waiting[w.number]);
	} else {
		usleep(300);
		answer(&w);
	}
	say("served", w.number, method);
}

int main(void)
{
	static void *table[16] = { serve };
	void *bus = g_bus_get_sync(2, 0, 0);
	char *info = g_dbus_node_info_new_for_xml("<node><interface name='test.Serve'><method name='Later'><arg type='u' direction='in'/>"
						  "<arg type='u' direction='out'/></method><method name='AtOnce'><arg type='u' direction='in'/>"
						  "<arg type='u' direction='out'/></method></interface></node>", 0);
	void **interfaces;

	setvbuf(stdout, 0, _IOLBF, 0);
	memcpy(&interfaces, info + 16, 8);
	g_dbus_connection_register_object(bus, "/test", interfaces[0], table, 0, 0, 0);
	g_dbus_connection_call_sync(bus, "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName", g_variant_new("(su)", "test.Serve", 0u),
				    0, 0, -1, 0, 0);
	g_main_loop_run(g_main_loop_new(0, 0));
	return 0;
}
END
cat >ask.c <<'END'
#include "common.h"

extern void g_dbus_connection_call(void *, const char *, const char *, const char *, const char *, void *, const void *, int, int, void *,
				   void (*)(void *, void *, void *), void *);
extern void *g_dbus_connection_call_finish(void *, void *, void **);
extern void *g_dbus_proxy_new_sync(void *, int, void *, const char *, const char *, const char *, void *, void **);
extern void g_dbus_proxy_call(void *, const char *, void *, int, int, void *, void (*)(void *, void *, void *), void *);
extern void *g_dbus_proxy_call_finish(void *, void *, void **), *g_dbus_proxy_call_sync(void *, const char *, void *, int, int, void *, void **);

#define EACH 100

static const char *const methods[] = { "Later", "AtOnce" };
static __thread void *loop;
static __thread unsigned left;

static void take(const char *what, void *answer)
{
	unsigned number = 9999;

	if (answer)
		g_variant_get(answer, "(u)", &number);
	say(what, number, methods[number / 2 % 2]);
	usleep(100);
	if (!--left)
		g_main_loop_quit(loop);
}

static void answered(void *bus, void *result, void *data)
{
	(void)data;
	take("answer", g_dbus_connection_call_finish(bus, result, 0));
}

static void proxy_answered(void *proxy, void *result, void *data)
{
	(void)data;
	take("answer", g_dbus_proxy_call_finish(proxy, result, 0));
}

static void *ask(void *data)
{
	void *bus = g_bus_get_sync(2, 0, 0), *context = g_main_context_new(), *proxy;
	unsigned first = *(unsigned *)data;

	g_main_context_push_thread_default(context);
	loop = g_main_loop_new(context, 0);
	proxy = g_dbus_proxy_new_sync(bus, 1 | 2, 0, "test.Serve", "/test", "test.Serve", 0, 0);
	for (unsigned i = first; i < first + EACH; i++) {
		const char *method = methods[i / 2 % 2];

		say("ask", i, method);
		if (i % 5 == 4)
			g_dbus_proxy_call(proxy, method, g_variant_new("(u)", i), 0, -1, 0, proxy_answered, 0);
		else
			g_dbus_connection_call(bus, "test.Serve", "/test", "test.Serve", method, g_variant_new("(u)", i), 0, 0, -1, 0, answered, 0);
		say("asked", i, method);
		left++;
		if (i % 10 == 9)
			g_main_loop_run(loop);
	}
	for (unsigned i = first + EACH; i < first + EACH + 10; i++) {
		say("wait", i, methods[i / 2 % 2]);
		if (!g_dbus_proxy_call_sync(proxy, methods[i / 2 % 2], g_variant_new("(u)", i), 0, -1, 0, 0))
			return 0;
		say("waited", i, methods[i / 2 % 2]);
	}
	return 0;
}

int main(void)
{
	unsigned first[] = { 0, 200, 400 };
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, ask, &first[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	return 0;
}
END
gcc -O1 -pthread -o serve serve.c $folder/libgio-2.0.so.0 $folder/libglib-2.0.so.0
gcc -O1 -pthread -o ask ask.c $folder/libgio-2.0.so.0 $folder/libglib-2.0.so.0
cat >run.sh <<'END'
#!/bin/bash
address=$(dbus-daemon --session --fork --print-address=1 --print-pid=1)
export DBUS_SESSION_BUS_ADDRESS=${address%%$'\n'*}
./serve >serve.txt &
server=$!
end() { kill $server ${address##*$'\n'}; }
trap end EXIT
for _ in $(seq 200); do
	dbus-send --session --dest=org.freedesktop.DBus --print-reply / org.freedesktop.DBus.GetNameOwner string:test.Serve >/dev/null 2>&1 && break
	sleep 0.05
done
./ask >log.txt
END
chmod +x run.sh
record_pack gdbus --pack-budget 0 -o bus.trace -- ./run.sh
argus dump --json -e probe,probe_text bus.trace >probes.json
argus graph --json --list bus.trace >graph.json
python3 - <<'END'
import bisect, collections, json

def read(name):
    lines = collections.defaultdict(dict)
    for line in open(name):
        what, time, tid, number, method = line.split()
        lines[what][int(number)] = (int(time), int(tid), method)
    return lines

log, served = read('log.txt'), read('serve.txt')
assert len(log['ask']) == len(log['answer']) == 300 and len(log['wait']) == len(log['waited']) == 30, {w: len(l) for w, l in log.items()}
assert len(served['serve']) == 330, len(served['serve'])
probes, text, last = {}, {}, {}
for e in json.load(open('probes.json'))['events']:
    if e['type'] == 'probe_text':
        text[last[e['tid']]] = e.get('text')
    else:
        probes[e['number']] = e
        last[e['tid']] = e['number']

def within(name, begin, end, tid):
    """The probes of this name in the stretch of the thread"""
    return [n for n, e in probes.items() if e['probe_name'] == name and e['tid'] == tid and begin <= e['time_ns'] <= end]

# each call with its method, its message and its serial number, in its thread, between what the program says around it
sends, asks = {}, {}
unread = 0
for number, (time, tid, method) in log['ask'].items():
    end = log['asked'][number][0]
    ask, send, serial = (within(name, time, end, tid) for name in ('gdbus-ask', 'gdbus-send', 'gdbus-serial'))
    assert len(ask) == len(send) == len(serial) == 1, (number, ask, send, serial)
    unread += not text.get(ask[0])
    assert text.get(ask[0]) in (method, '', None), (number, text.get(ask[0]))
    asks[ask[0]] = sends[send[0]] = number
assert unread <= 2, unread  # a page that nobody has read before
# each answer's callback has an edge from its call, none from another one
edges = []
for segment in json.load(open('graph.json'))['segments']:
    for e in segment.get('from', []):
        if e['rule'] in ('gdbus-asked', 'gdbus-proxy-asked'):
            edges.append(e)
callbacks = {}
for n, e in probes.items():
    if e['probe_name'] == 'gio-callback':
        callbacks.setdefault(e['tid'], []).append((e['time_ns'], n))
found = {}
for number, (time, tid, method) in log['answer'].items():
    at = bisect.bisect(callbacks[tid], (time,))
    found[callbacks[tid][at - 1][1]] = number
assert len(found) == 300, len(found)
right = wrong = 0
for e in edges:
    number = sends.get(e['from_event'], asks.get(e['from_event']))
    if e['to_event'] in found and number is not None:
        right += found[e['to_event']] == number
        wrong += found[e['to_event']] != number
assert not wrong and right >= 298, (right, wrong, len(edges))
# a proxy's calls that wait
for number, (time, tid, method) in log['wait'].items():
    begin, end = within('gdbus-proxy-call', time, log['waited'][number][0], tid), within('gdbus-sent-end', time, log['waited'][number][0], tid)
    assert len(begin) == len(end) == 1 and begin[0] < end[0], (number, begin, end)
    assert text.get(begin[0]) in (method, '', None), (number, text.get(begin[0]))
# who serves: each method by its name, in the server's thread
serves = sorted((e['time_ns'], n) for n, e in probes.items() if e['probe_name'] == 'gdbus-serve')
ends = sorted(e['time_ns'] for e in probes.values() if e['probe_name'] == 'gdbus-serve-end')
assert len(serves) == len(ends) == 330, (len(serves), len(ends))
for number, (time, tid, method) in served['serve'].items():
    at, n = serves[bisect.bisect(serves, (time,)) - 1]
    assert probes[n]['tid'] == tid and text.get(n) == method, (number, method, text.get(n))
    assert at <= time <= served['served'][number][0] <= ends[bisect.bisect_left(serves, (at, n))], number
answers = sum(e['probe_name'] == 'gdbus-answer' for e in probes.values())
assert answers >= 330, answers
print('calls', len(found), 'edges', right, 'wrong', wrong, 'served', len(serves))
END
