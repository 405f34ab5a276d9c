#!/bin/bash
# The pack of X11, events: each event that a program takes by Xlib is there with its kind, place, thread and time, and is over when the
# program looks for the next one.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
need_command Xvfb

library=/usr/lib/x86_64-linux-gnu/libX11.so.6
[ -e $library ] || skip "Xlib is not installed"
cat >events.c <<'END'
/* Xlib's headers are not needed for this. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern void *XOpenDisplay(const char *);
extern unsigned long XDefaultRootWindow(void *), XCreateSimpleWindow(void *, unsigned long, int, int, unsigned, unsigned, unsigned, unsigned long, unsigned long);
extern unsigned long XInternAtom(void *, const char *, int);
extern int XSelectInput(void *, unsigned long, long), XMapWindow(void *, unsigned long), XNextEvent(void *, void *), XPending(void *), XFlush(void *);
extern int XChangeProperty(void *, unsigned long, unsigned long, unsigned long, int, int, const void *, int);
extern int XMoveResizeWindow(void *, unsigned long, int, int, unsigned, unsigned);

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(void)
{
	void *display = XOpenDisplay(0);
	union { int kind; long room[24]; } event;
	unsigned long window, name;
	int seen = 0;

	if (!display)
		return 1;
	window = XCreateSimpleWindow(display, XDefaultRootWindow(display), 0, 0, 100, 100, 0, 0, 0);
	name = XInternAtom(display, "ARGUS_TEST", 0);
	XSelectInput(display, window, 1l << 22 | 1l << 17 | 1l << 15);
	XMapWindow(display, window);
	while (seen < 150) {
		if (seen % 3 == 0)
			XMoveResizeWindow(display, window, seen, 0, 100 + seen, 100);
		XChangeProperty(display, window, name, 31, 8, 0, "x", 1);
		XFlush(display);
		do {
			XNextEvent(display, &event);
			printf("%lld %d %d %ju ", now(), (int)gettid(), event.kind, (uintmax_t)(uintptr_t)&event);
			usleep(300);
			printf("%lld\n", now());
			seen++;
		} while (XPending(display));
	}
	return 0;
}
END
gcc -O1 -w -o events events.c $library
mkfifo display
Xvfb -displayfd 3 -screen 0 640x480x8 3>display 2>xvfb.txt & server=$!
trap 'kill $server 2>/dev/null || true' EXIT
read -r -t 30 number <display || fail "no X server: $(cat xvfb.txt)"
export DISPLAY=:"$number"
record_pack x11 --pack-budget 0 -o x11.trace -- ./events >events.txt
argus dump --json -e probe x11.trace >probes.json
python3 - <<'END'
import json

log = [[int(word) for word in line.split()] for line in open('events.txt')]
events = json.load(open('probes.json'))['events']
mine = [e for e in events if e['probe_name'] == 'x11-event']
assert len(log) == len(mine) >= 150, (len(log), len(mine))
for (time, tid, kind, at, until), e in zip(log, mine):
    assert e['tid'] == tid and int(e['arg1'], 0) == at and int(e['arg2'], 0) == kind and e['time_ns'] <= time, (time, kind, e)
    after = [n for n in events if n['number'] > e['number'] and n['probe_name'] == 'x11-event-next'][0]
    assert until <= after['time_ns'], (until, after)
assert len({kind for _, _, kind, *_ in log}) >= 3, 'three kinds of events'
END
