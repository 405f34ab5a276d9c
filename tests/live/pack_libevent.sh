#!/bin/bash
# The pack of libevent, in both of its libraries: each callback that a program logged is there with its event, function, data, thread and
# time, each end behind its log's, and an edge from who added the event or made it active last.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >loop.c <<'END'
/* libevent's headers are not needed for this. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EV_READ 0x02
#define EV_SIGNAL 0x08
#define EV_PERSIST 0x10

extern void *event_base_new(void), *event_new(void *, int, short, void (*)(int, short, void *), void *);
extern int event_add(void *, const struct timeval *), event_base_dispatch(void *), event_base_loopbreak(void *);
extern void event_active(void *, int, short);

static void *base, *again;
static int ticks, ends[2];

static void say(const char *what, void *function, void *data)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("%s %d %ju %ju %lld\n", what, (int)gettid(), (uintmax_t)(uintptr_t)function, (uintmax_t)(uintptr_t)data,
	       t.tv_sec * 1000000000ll + t.tv_nsec);
}

static void once(int fd, short what, void *data)
{
	(void)fd;
	(void)what;
	say("begin", once, data);
	usleep(200);
	say("end", once, data);
}

static void ready(int fd, short what, void *data)
{
	char byte;

	(void)what;
	say("begin", ready, data);
	if (read(fd, &byte, 1) != 1)
		say("nothing", ready, data);
	say("end", ready, data);
}

static void told(int number, short what, void *data)
{
	(void)number;
	(void)what;
	say("begin", told, data);
	say("end", told, data);
}

static void tick(int fd, short what, void *data)
{
	struct timeval soon = { 0, 500 };

	(void)fd;
	(void)what;
	say("begin", tick, data);
	if (ticks % 4 == 0) {
		say("set", once, &ends);
		event_add(again, &soon);
	} else if (ticks % 4 == 1) {
		if (write(ends[1], "x", 1) != 1)
			say("nothing", tick, data);
	} else if (ticks % 4 == 2) {
		say("set", once, &ends);
		event_active(again, EV_READ, 1);
	} else if (ticks % 20 == 3) {
		raise(SIGUSR1);
	}
	if (++ticks == 200)
		event_base_loopbreak(base);
	say("end", tick, data);
}

int main(void)
{
	struct timeval often = { 0, 3000 };

	if (pipe(ends))
		return 1;
	base = event_base_new();
	again = event_new(base, -1, 0, once, &ends);
	say("set", tick, &base);
	event_add(event_new(base, -1, EV_PERSIST, tick, &base), &often);
	say("set", ready, &ticks);
	event_add(event_new(base, ends[0], EV_READ | EV_PERSIST, ready, &ticks), 0);
	say("set", told, 0);
	event_add(event_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, told, 0), 0);
	event_base_dispatch(base);
	return 0;
}
END
looked=
for name in libevent-2.1.so.7 libevent_core-2.1.so.7; do
	library=/usr/lib/x86_64-linux-gnu/$name
	[ -e $library ] || continue
	gcc -O1 -o loop loop.c $library
	record_pack libevent --pack-budget 0 -o loop.trace -- ./loop >log.txt
	looked=1
	argus dump --json -e probe loop.trace >probes.json
	argus graph --json --list loop.trace >graph.json
	python3 - <<'END'
import collections, json

log = [line.split() for line in open('log.txt')]
says = collections.defaultdict(list)
for what, tid, function, data, time in log:
    says[what].append((int(time), int(tid), int(function), int(data)))
by, numbers = collections.defaultdict(list), {}
for e in json.load(open('probes.json'))['events']:
    by[e['probe_name']].append(e)
    numbers[e['number']] = e

def value(e, field):
    return int(e.get(field, '0'), 0)

own = {function for _, _, function, _ in says['begin']}
# libevent's own, for signals, are callbacks, too
calls = [(c, e) for c, e in zip(by['event-callback'], by['event-callback-end']) if value(c, 'arg2') in own]
assert len(by['event-callback']) == len(by['event-callback-end'])
assert len(says['begin']) == len(says['end']) == len(calls) > 340, (len(says['begin']), len(calls))
edges = {}
for segment in json.load(open('graph.json'))['segments']:
    for e in segment['from']:
        if e['rule'] == 'event-added':
            edges[e['to_event']] = numbers[e['from_event']]
for (time, tid, function, data), (until, *_), (call, end) in zip(says['begin'], says['end'], calls):
    assert call['tid'] == tid and value(call, 'arg2') == function and value(call, 'arg3') == data, (call, function, data)
    assert call['time_ns'] <= time and until <= end['time_ns'], (call, time, until, end)
    set_by = edges[call['number']]
    assert set_by['arg1'] == call['arg1']
    last = max(t for t, _, f, _ in says['set'] if f == function and t <= time)
    assert last <= set_by['time_ns'] <= call['time_ns'], (set_by, last)
print(len(calls))
END
done
[ -n "$looked" ] || skip "libevent is not installed"
