#!/bin/bash
# The pack of X11: each request whose answer two threads waited for is there, with its number, its thread and its times;
# the answer tells of the one that waits for a client that keeps the server for itself.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
need_command Xvfb

library=/usr/lib/x86_64-linux-gnu/libxcb.so.1
[ -e $library ] || skip "XCB is not installed"
cat >ask.c <<'END'
/* XCB's headers are not needed for this. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern void *xcb_connect(const char *, int *);
extern int xcb_connection_has_error(void *), xcb_flush(void *);
extern unsigned xcb_get_input_focus(void *), xcb_grab_server(void *), xcb_ungrab_server(void *);
extern void *xcb_wait_for_reply(void *, unsigned, void **), *xcb_wait_for_reply64(void *, unsigned long, void **);

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void ask(void *c, int wide)
{
	unsigned number = xcb_get_input_focus(c);
	long long begin = now();
	free(wide ? xcb_wait_for_reply64(c, number, 0) : xcb_wait_for_reply(c, number, 0));
	printf("%lld %lld %d %u\n", begin, now(), (int)gettid(), number);
}

static void *ask_often(void *data)
{
	void *c = xcb_connect(0, 0);
	for (int i = 0; i < 50; i++)
		ask(c, i % 2);
	return data;
}

static void *keep(void *data)
{
	usleep(700000);
	xcb_ungrab_server(data);
	xcb_flush(data);
	return 0;
}

int main(void)
{
	pthread_t threads[2];
	void *keeper = xcb_connect(0, 0), *c = xcb_connect(0, 0);
	if (xcb_connection_has_error(keeper) || xcb_connection_has_error(c))
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], 0, ask_often, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], 0);
	xcb_grab_server(keeper);
	ask(keeper, 0);
	pthread_create(&threads[0], 0, keep, keeper);
	ask(c, 0);
	pthread_join(threads[0], 0);
	return 0;
}
END
gcc -O1 -pthread -o ask ask.c $library
mkfifo display
Xvfb -displayfd 3 -screen 0 640x480x8 3>display 2>xvfb.txt & server=$!
trap 'kill $server 2>/dev/null || true' EXIT
read -r -t 30 number <display || fail "no X server: $(cat xvfb.txt)"
DISPLAY=:$number argus record -a --pack x11 -o x11.trace -- ./ask >log.txt 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe x11.trace >probes.json
python3 - <<'END'
import json

log, begins, ends = {}, {}, {}
for line in open('log.txt'):
    begin, end, tid, number = map(int, line.split())
    log.setdefault(tid, []).append((begin, end, number))
for e in json.load(open('probes.json'))['events']:
    if e['tid'] in log and e['probe_name'] in ('x11-request', 'x11-request64'):
        begins.setdefault(e['tid'], []).append((e['time_ns'], int(e['arg2'], 0) & 0xffffffff, e['probe_name']))
    if e['tid'] in log and e['probe_name'] in ('x11-request-end', 'x11-request64-end'):
        ends.setdefault(e['tid'], []).append(e['time_ns'])
assert len(log) == 3 and sum(map(len, log.values())) == 102, log
for tid, calls in log.items():
    assert len(begins[tid]) == len(ends[tid]) == len(calls), (len(begins[tid]), len(ends[tid]), len(calls))
    for (begin, end, number), (a, which, _), b in zip(calls, begins[tid], ends[tid]):
        assert begin <= a <= b <= end and which == number, (begin, a, b, end, which, number)
    assert len(calls) < 50 or sum(name == 'x11-request64' for *_, name in begins[tid]) == 25
last = max((call, tid) for tid, calls in log.items() for call in calls)
print(last[1], last[0][0], last[0][1], last[0][2], file=open('wait.txt', 'w'))
END
read -r tid from to number <wait.txt
[ $((to - from)) -gt 400000000 ] || fail "it did not wait: $((to - from)) ns"
argus why --tid "$tid" --from "@$from" --to "@$to" x11.trace >why.txt || true
says why.txt "a request to the X server, number $number" || fail "$(cat why.txt)"
