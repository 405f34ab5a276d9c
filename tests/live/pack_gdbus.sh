#!/bin/bash
# The pack of GDBus: each call that waited for its answer is there with its method's name, its thread and
# its length, the refused ones too.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
need_command dbus-daemon

gio=/usr/lib/x86_64-linux-gnu/libgio-2.0.so.0
[ -e $gio ] || skip "GIO is not installed"
cat >call.c <<'END'
/* GIO's headers are not needed for this. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern void *g_bus_get_sync(int, void *, void *);
extern void *g_dbus_connection_call_sync(void *, const char *, const char *, const char *, const char *, void *, const void *, int, int,
					 void *, void **);

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void call(void *bus, const char *to, const char *interface, const char *method, int limit_ms)
{
	long long begin = now();
	g_dbus_connection_call_sync(bus, to, "/org/freedesktop/DBus", interface, method, 0, 0, 0, limit_ms, 0, 0);
	printf("%lld %lld %d %s\n", begin, now(), (int)gettid(), method);
}

int main(void)
{
	void *bus = g_bus_get_sync(2, 0, 0);
	static const char *const methods[] = { "ListNames", "GetId", "ListActivatableNames", "NoSuchMethod" };
	for (int i = 0; bus && i < 100; i++)
		call(bus, "org.freedesktop.DBus", "org.freedesktop.DBus", methods[i % 4], -1);
	return !bus;
}
END
gcc -O1 -o call call.c $gio
cat >run.sh <<'END'
#!/bin/bash
address=$(dbus-daemon --session --fork --print-address=1 --print-pid=1)
kill_bus() { kill "${address##*$'\n'}"; }
trap kill_bus EXIT
export DBUS_SESSION_BUS_ADDRESS=${address%%$'\n'*}
./call >log.txt
END
chmod +x run.sh
argus record --pack gdbus -o bus.trace -- ./run.sh 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe,probe_text bus.trace >probes.json
python3 - <<'END'
import json

log = [line.split() for line in open('log.txt')]
by, last = {}, {}
for e in json.load(open('probes.json'))['events']:
    if e['type'] == 'probe_text':
        assert e['argument'] == 4 and last[e['tid']]['probe_name'] == 'gdbus-call', e
        last[e['tid']]['text'] = e.get('text')
        continue
    by.setdefault(e['probe_name'], []).append(e)
    last[e['tid']] = e
begins, ends = by['gdbus-call'], by['gdbus-call-end']
tid = int(log[0][2])
mine = [e for e in begins if e['tid'] == tid and e['time_ns'] >= int(log[0][0])]
back = [e for e in ends if e['tid'] == tid and e['time_ns'] >= int(log[0][0])]
assert len(log) == 100 == len(mine) == len(back), (len(log), len(mine), len(back))
for i, ((begin, end, _, method), a, b) in enumerate(zip(log, mine, back)):
    # the first may stand in a page that nobody has read before
    assert a.get('text') == method or (not i and not a.get('text')), (a, method)
    assert int(begin) <= a['time_ns'] <= b['time_ns'] <= int(end), (begin, a, b, end)
END
