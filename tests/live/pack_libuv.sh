#!/bin/bash
# The pack of libuv: each timer's and poll handle's callback lies in one that was seen, with its handle; each task of the
# thread pool is there with its function, thread and time, with an edge from who gave it, and its end with an edge from who ran it.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

library=/usr/lib/x86_64-linux-gnu/libuv.so.1
[ -e $library ] || skip "libuv is not installed"
cat >loop.c <<'END'
/* libuv's headers are not needed for this. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern void *uv_default_loop(void);
extern int uv_run(void *, int), uv_timer_init(void *, void *), uv_timer_start(void *, void (*)(void *), uint64_t, uint64_t), uv_timer_stop(void *);
extern int uv_queue_work(void *, void *, void (*)(void *), void (*)(void *, int));
extern int uv_poll_init(void *, void *, int), uv_poll_start(void *, int, void (*)(void *, int, int)), uv_poll_stop(void *);

static char timers[2][1024], handle[1024], requests[200][1024];
static int ticks, reads, ends[2];

static void say(const char *what, void *object)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	pthread_mutex_lock(&lock);
	printf("%s %d %ju %lld\n", what, (int)gettid(), (uintmax_t)(uintptr_t)object, t.tv_sec * 1000000000ll + t.tv_nsec);
	pthread_mutex_unlock(&lock);
}

static void work(void *request)
{
	say("work", request);
	usleep(500);
	say("worked", request);
}

static void after(void *request, int status)
{
	(void)status;
	say("after", request);
	usleep(50);
}

static void tick(void *timer)
{
	say("tick", timer);
	if (timer != timers[0])
		return;
	if (ticks < 200) {
		say("give", requests[ticks]);
		uv_queue_work(uv_default_loop(), requests[ticks], work, after);
	}
	if (++ticks == 220)
		for (int i = 0; i < 2; i++)
			uv_timer_stop(timers[i]);
}

static void ready(void *object, int status, int events)
{
	char byte;

	(void)status;
	(void)events;
	say("ready", object);
	if (read(ends[0], &byte, 1) == 1 && ++reads == 100)
		uv_poll_stop(object);
}

static void *writer(void *data)
{
	for (int i = 0; i < 100; i++) {
		usleep(3000);
		if (write(ends[1], "x", 1) != 1)
			break;
	}
	return data;
}

int main(void)
{
	pthread_t thread;

	if (pipe(ends))
		return 1;
	for (int i = 0; i < 2; i++) {
		uv_timer_init(uv_default_loop(), timers[i]);
		uv_timer_start(timers[i], tick, 5, 2 + i);
	}
	uv_poll_init(uv_default_loop(), handle, ends[0]);
	uv_poll_start(handle, 1, ready);
	pthread_create(&thread, 0, writer, 0);
	uv_run(uv_default_loop(), 0);
	pthread_join(thread, 0);
	return 0;
}
END
gcc -O1 -pthread -o loop loop.c $library
record_pack libuv --pack-budget 0 -o uv.trace -- ./loop >log.txt
address=$((16#$(nm loop | awk '$3 == "work" { print $1 }')))
argus dump --json -e probe uv.trace >probes.json
argus graph --json --list uv.trace >graph.json
python3 - $address <<'END'
import collections, json, sys

QUEUED = 0x70  # in a request: where the queue's links are
log = collections.defaultdict(list)
for line in open('log.txt'):
    what, tid, at, time = line.split()
    log[what].append((int(tid), int(at), int(time)))
by, probes = collections.defaultdict(list), {}
for e in json.load(open('probes.json'))['events']:
    by[e['probe_name']].append(e)
    probes[e['number']] = e

def value(e, field):
    return int(e.get(field, '0'), 0)

def spans(begin, end):
    """(tid, begin, end, event) of callbacks; none lies in another of its kind"""
    out, open_ = [], {}
    for e in sorted(by[begin] + by[end], key=lambda e: e['number']):
        if e['probe_name'] == begin:
            assert e['tid'] not in open_, e
            open_[e['tid']] = e
        elif e['tid'] in open_:
            b = open_.pop(e['tid'])
            out.append((e['tid'], b['time_ns'], e['time_ns'], b))
    assert not open_, open_
    return out

main = log['tick'][0][0]
# timers: as many as the program says, each around its own moment
timers = spans('uv-timer', 'uv-timer-end')
assert len(log['tick']) == len(timers) > 300, (len(log['tick']), len(timers))
for (tid, at, time), (thread, begin, end, e) in zip(log['tick'], timers):
    assert tid == thread and begin <= time <= end and value(e, 'arg1') == at, (tid, at, time, e)
# the poll handle, whose watcher is a part of it
polls = [s for s in spans('uv-io', 'uv-io-end') if any(at <= value(s[3], 'arg1') < at + 1024 for _, at, _ in log['ready'][:1])]
assert len(log['ready']) == len(polls) == 100, (len(log['ready']), len(polls))
for (tid, at, time), (thread, begin, end, e) in zip(log['ready'], polls):
    assert tid == thread and begin <= time <= end, (tid, time, e)
# tasks: given, run, done
gives = {value(e, 'arg1') - QUEUED: e for e in by['uv-submit']}
tasks = {value(s[3], 'arg1') - QUEUED: s for s in spans('uv-task', 'uv-task-end')}
dones = {value(s[3], 'arg1') - QUEUED: s for s in spans('uv-done', 'uv-done-end')}
assert len(log['give']) == len(log['work']) == len(log['after']) == len(gives) == len(tasks) == len(dones) == 200, (len(gives), len(tasks), len(dones))
for what, found in ('work', tasks), ('worked', tasks), ('after', dones):
    for tid, at, time in log[what]:
        thread, begin, end, _ = found[at]
        assert tid == thread and begin <= time <= end, (what, tid, time, found[at])
assert all(gives[at]['tid'] == tid and gives[at]['time_ns'] >= time for tid, at, time in log['give'])
edges = collections.defaultdict(dict)
for segment in json.load(open('graph.json'))['segments']:
    for e in segment['from']:
        edges[e['rule']][e['to_event']] = probes.get(e['from_event'])
for at, (thread, begin, end, e) in tasks.items():
    assert edges['uv-work'][e['number']] is gives[at], e
    run = edges['uv-ran'][dones[at][3]['number']]
    assert run['tid'] == thread and value(run, 'arg1') == at + QUEUED and run['probe_name'] == 'uv-task-end', run
assert len(edges['uv-work']) == len(edges['uv-ran']) == 200
assert len(edges['uv-timer-set']) == len(timers), (len(edges['uv-timer-set']), len(timers))
END
