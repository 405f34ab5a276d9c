#!/bin/bash
# The pack of GLib's main loop: each callback that a program logged is there with its function,
# thread and time, each end too, and an edge from where its source was attached.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

library=/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0
[ -e $library ] || skip "GLib is not installed"
cat >loop.c <<'END'
/* GLib's headers are not needed for this. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern unsigned g_idle_add(int (*)(void *), void *), g_timeout_add(unsigned, int (*)(void *), void *);
extern void *g_main_loop_new(void *, int);
extern void g_main_loop_run(void *), g_main_loop_quit(void *);
extern void *g_thread_pool_new(void (*)(void *, void *), void *, int, int, void *);
extern int g_thread_pool_push(void *, void *, void *);

static void *loop, *pool;
static int ticks;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void say(const char *what, void *function, void *data)
{
	printf("%s %lld %d %ju %ju\n", what, now(), (int)gettid(), (uintmax_t)(uintptr_t)function, (uintmax_t)(uintptr_t)data);
}

static int once(void *data)
{
	say("begin", once, data);
	usleep(2000);
	say("end", once, data);
	return 0;
}

static void *other(void *data)
{
	say("submit", once, data);
	g_idle_add(once, data);
	return 0;
}

static void task(void *data, void *more)
{
	(void)more;
	say("task", task, data);
	usleep(1000);
	say("done", task, data);
}

static int tick(void *data)
{
	say("begin", tick, data);
	if (ticks % 5 == 0) {
		pthread_t t;
		pthread_create(&t, 0, other, &ticks + ticks);
		pthread_join(t, 0);
		g_thread_pool_push(pool, &ticks + ticks, 0);
	}
	if (++ticks == 200)
		g_main_loop_quit(loop);
	say("end", tick, data);
	return 1;
}

int main(void)
{
	loop = g_main_loop_new(0, 0);
	pool = g_thread_pool_new(task, 0, 2, 0, 0);
	say("submit", tick, &loop);
	g_timeout_add(3, tick, &loop);
	g_main_loop_run(loop);
	usleep(200000); /* the last tasks */
	return 0;
}
END
gcc -O1 -pthread -o loop loop.c $library
record_pack glib -o glib.trace -- ./loop >log.txt
argus dump --json -e probe glib.trace >probes.json
argus graph --json glib.trace >graph.json
python3 - <<'END'
import json

log = [line.split() for line in open('log.txt')]
begins = [(int(t), int(tid), int(f), int(d)) for what, t, tid, f, d in log if what == 'begin']
ends = [int(t) for what, t, *_ in log if what == 'end']
probes = json.load(open('probes.json'))['events']
by = {}
for e in probes:
    by.setdefault(e['probe_name'], []).append(e)
calls = by['glib-callback']
assert len(begins) > 230, len(begins)
assert len(calls) == len(begins), (len(calls), len(begins))
for (t, tid, function, data), e in zip(begins, calls):
    assert e['tid'] == tid and int(e['arg2'], 0) == function and int(e.get('arg3', '0'), 0) == data, (e, function, data)
    assert e['time_ns'] <= t, 'a callback begins before its program says so'
after = by['glib-callback-end']
assert len(after) == len(ends)
for t, e, begin in zip(ends, after, calls):
    assert e['time_ns'] >= t and e['arg1'] == begin['arg1']
rules = {r['name']: r['uses'] for r in json.load(open('graph.json'))['rules'] if 'edge' in r['text']}
assert rules['glib-source'] == len(begins), rules
tasks = sorted((int(d), int(tid), int(f)) for what, t, tid, f, d in log if what == 'task')
found = sorted((int(e['arg2'], 0), e['tid'], int(e['arg3'], 0)) for e in by['glib-task'])
assert len(tasks) == 40 and tasks == found, (tasks, found)
assert len(by['glib-task-end']) == 40 and rules['glib-work'] == 40, rules
END
# a pack that a person wrote; what is wrong with it is told with its place
cat >mine.rules <<'END'
probe mine-tick at "./loop:tick";
END
nm loop | grep -q ' t tick' && argus record --pack ./mine.rules -o mine.trace -- ./loop >log.txt 2>record.txt
[ "$(argus dump -e probe mine.trace | grep -c mine-tick)" = 200 ] || fail "a pack from a file"
echo 'probe mine at 5;' >bad.rules
if argus record --pack ./bad.rules -o bad.trace -- true 2>record.txt; then fail "a bad pack was taken"; fi
grep -q 'bad.rules:1:15: a text' record.txt || fail "$(cat record.txt)"
echo 'probe mine at "./loop:tick" build "00";' >unfit.rules
if argus record --pack ./unfit.rules -o unfit.trace -- true 2>record.txt; then fail "a pack without a place was taken"; fi
grep -q 'does not know this build' record.txt || fail "$(cat record.txt)"
if argus record --pack nothing -o bad.trace -- true 2>record.txt; then fail "a pack that is not there was taken"; fi
grep -q "no pack 'nothing'" record.txt || fail "$(cat record.txt)"
