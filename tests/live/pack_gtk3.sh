#!/bin/bash
# The pack of GTK 3: each event that a program logged before and behind its handling is there, with its
# type, thread and time.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
need_command Xvfb
need_command xdotool

gtk=/usr/lib/x86_64-linux-gnu/libgtk-3.so.0
[ -e $gtk ] || skip "GTK 3 is not installed"
cat >window.c <<'END'
/* GTK's headers are not needed for this. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern void gtk_init(int *, char ***), gtk_widget_show_all(void *), gtk_main(void), gtk_main_quit(void), gtk_main_do_event(void *);
extern void *gtk_window_new(int), *gtk_entry_new(void);
extern void gtk_container_add(void *, void *), gdk_event_handler_set(void (*)(void *, void *), void *, void *);
extern unsigned g_timeout_add(unsigned, int (*)(void *), void *);

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void handle(void *event, void *data)
{
	(void)data;
	uint32_t type = *(uint32_t *)event; /* the handling frees nothing of it */
	printf("begin %lld %d %u\n", now(), (int)gettid(), type);
	gtk_main_do_event(event);
	printf("end %lld %d %u\n", now(), (int)gettid(), type);
	fflush(stdout);
}

static int quit(void *data)
{
	(void)data;
	gtk_main_quit();
	return 0;
}

int main(int argc, char **argv)
{
	gtk_init(&argc, &argv);
	void *window = gtk_window_new(0), *entry = gtk_entry_new();
	gtk_container_add(window, entry);
	gdk_event_handler_set(handle, 0, 0);
	gtk_widget_show_all(window);
	g_timeout_add(4000, quit, 0);
	gtk_main();
	return 0;
}
END
gcc -O1 -o window window.c $gtk -L/usr/lib/x86_64-linux-gnu -l:libgdk-3.so.0 -l:libglib-2.0.so.0
cat >run.sh <<'END'
#!/bin/bash
./window >log.txt &
window=$!
for i in $(seq 40); do
	kill -0 $window 2>/dev/null || break
	xdotool mousemove $((10 + i)) $((10 + i)) click 1 key a 2>/dev/null
	sleep 0.03
done
wait $window
END
chmod +x run.sh
Xvfb -displayfd 3 -screen 0 400x300x24 3>display.txt 2>/dev/null &
server=$!
trap 'kill $server' EXIT
wait_until 20 test -s display.txt
DISPLAY=:$(cat display.txt)
export DISPLAY
NO_AT_BRIDGE=1 argus record --pack gtk3 -o gtk.trace -- ./run.sh >out.txt 2>record.txt || fail "$(cat record.txt out.txt)"
argus dump --json -e probe gtk.trace >probes.json
argus graph --json gtk.trace >graph.json
python3 - <<'END'
import json

log = [line.split() for line in open('log.txt')]
by = {}
for e in json.load(open('probes.json'))['events']:
    by.setdefault(e['probe_name'], []).append(e)
for what, name in (('begin', 'gtk-event'), ('end', 'gtk-event-end')):
    told = [(int(t), int(tid), int(kind)) for w, t, tid, kind in log if w == what]
    seen = by.get(name, [])
    assert len(told) > 40 and len(told) == len(seen), (what, len(told), len(seen))
    for (t, tid, kind), e in zip(told, seen):
        assert e['tid'] == tid and (e['time_ns'] >= t if what == 'begin' else e['time_ns'] <= t), (what, t, e)
        assert what == 'end' or int(e.get('arg2', '0'), 0) == kind, (kind, e)
kinds = {int(e.get('arg2', '0'), 0) for e in by['gtk-event']}
assert {3, 4, 7} <= kinds, f'no pointer and buttons among {kinds}'
graph = json.load(open('graph.json'))
assert {r['name']: r['uses'] for r in graph['rules']}['gtk-event'] >= len(by['gtk-event']), 'not each is a callback'
END
