#!/bin/bash
# The pack of Wayland clients: each event that a client's functions were called for, with its name, function, object and time, and
# each round trip, beside what the client logs; its compositor is libwayland-server alone.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

folder=/usr/lib/x86_64-linux-gnu
[ -e $folder/libwayland-client.so.0 ] && [ -e $folder/libwayland-server.so.0 ] || skip "libwayland is not installed"
cat >server.c <<'END'
extern void *wl_display_create(void);
extern int wl_display_add_socket(void *, const char *), wl_display_init_shm(void *);
extern void wl_display_run(void *);

int main(void)
{
	void *display = wl_display_create();

	if (!display || wl_display_init_shm(display) || wl_display_add_socket(display, "wayland-argus"))
		return 1;
	wl_display_run(display);
	return 0;
}
END
cat >client.c <<'END'
/* libwayland's headers are not needed for this. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern void *wl_display_connect(const char *);
extern int wl_display_roundtrip(void *), wl_display_dispatch(void *), wl_proxy_add_listener(void *, void (**)(void), void *);
extern void *wl_proxy_marshal_flags(void *, uint32_t, const void *, uint32_t, uint32_t, ...);
extern void wl_proxy_destroy(void *);
extern const char wl_registry_interface[], wl_callback_interface[];

static int answers;

static void say(const char *what, void *function, void *object)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("%s %d %ju %ju %lld\n", what, (int)gettid(), (uintmax_t)(uintptr_t)function, (uintmax_t)(uintptr_t)object,
	       t.tv_sec * 1000000000ll + t.tv_nsec);
}

static void global(void *data, void *registry, uint32_t name, const char *interface, uint32_t version)
{
	(void)data;
	(void)name;
	(void)interface;
	(void)version;
	say("global", (void *)global, registry);
}

static void gone(void *data, void *registry, uint32_t name)
{
	(void)data;
	(void)registry;
	(void)name;
}

static void done(void *data, void *callback, uint32_t number)
{
	(void)data;
	(void)number;
	say("done", (void *)done, callback);
	usleep(200);
	say("end", (void *)done, callback);
	answers++;
	wl_proxy_destroy(callback);
}

int main(void)
{
	static void (*registry_functions[])(void) = { (void (*)(void))global, (void (*)(void))gone };
	static void (*callback_functions[])(void) = { (void (*)(void))done };
	void *display = wl_display_connect("wayland-argus");

	if (!display)
		return 1;
	for (int i = 0; i < 20; i++) {
		void *registry = wl_proxy_marshal_flags(display, 1, wl_registry_interface, 1, 0, (void *)0);

		wl_proxy_add_listener(registry, registry_functions, 0);
		say("trip", (void *)main, 0);
		wl_display_roundtrip(display);
		say("back", (void *)main, 0);
		wl_proxy_destroy(registry);
	}
	for (int i = 0; i < 100; i++) {
		void *callback = wl_proxy_marshal_flags(display, 0, wl_callback_interface, 1, 0, (void *)0);

		wl_proxy_add_listener(callback, callback_functions, 0);
		while (answers == i)
			if (wl_display_dispatch(display) < 0)
				return 1;
	}
	return 0;
}
END
gcc -O1 -w -o server server.c $folder/libwayland-server.so.0
gcc -O1 -w -o client client.c $folder/libwayland-client.so.0
export XDG_RUNTIME_DIR=$PWD
chmod 700 .
./server &
server=$!
trap 'kill $server' EXIT
wait_until 20 test -S wayland-argus
record_pack wayland --pack-budget 0 -o wayland.trace -- ./client >log.txt
argus dump --json -e probe,probe_text wayland.trace >probes.json
python3 - <<'END'
import collections, json

log = collections.defaultdict(list)
for line in open('log.txt'):
    what, tid, function, thing, time = line.split()
    log[what].append((int(time), int(tid), int(function), int(thing)))
by, names = collections.defaultdict(list), {}
for e in json.load(open('probes.json'))['events']:
    if e['type'] == 'probe':
        by[e['probe_name']].append(e)
    else:
        names[by['wayland-event'][-1]['number']] = e['text']

def value(e, field):
    return int(e.get(field, '0'), 0)

own = {f for what in ('global', 'done') for _, _, f, _ in log[what]}
events = [(b, e) for b, e in zip(by['wayland-event'], by['wayland-event-end']) if value(b, 'arg1') in own]
assert len(by['wayland-event']) == len(by['wayland-event-end'])
wanted = sorted([(t, 'global', *rest) for t, *rest in log['global']] + [(t, 'done', *rest) for t, *rest in log['done']])
assert len(wanted) == len(events) >= 120, (len(wanted), len(events))
for (time, what, tid, function, thing), (begin, end) in zip(wanted, events):
    assert begin['tid'] == tid and value(begin, 'arg1') == function and value(begin, 'arg2') == thing, (what, begin)
    assert begin['time_ns'] <= time <= end['time_ns'] and names[begin['number']] == what, (what, time, begin, end)
for (time, *_), (_, end) in zip(log['end'], [p for p in events if names[p[0]['number']] == 'done']):
    assert time <= end['time_ns']
trips = list(zip(by['wayland-trip'], by['wayland-trip-end']))
assert len(log['trip']) == len(trips) == 20, len(trips)
for (time, *_), (back, *_), (begin, end) in zip(log['trip'], log['back'], trips):
    assert time <= begin['time_ns'] <= end['time_ns'] <= back, (time, back, begin, end)
END
