#!/bin/bash
# The pack of libdbus: each call that waited for its answer is there in its thread and time, with an edge from where its
# own message was made, and the method's name there; also where messages are sent in another order than they were made.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
need_command dbus-daemon

library=/usr/lib/x86_64-linux-gnu/libdbus-1.so.3
[ -e $library ] || skip "libdbus is not installed"
cat >call.c <<'END'
/* libdbus's headers are not needed for this. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern void *dbus_bus_get(int, void *);
extern void *dbus_message_new_method_call(const char *, const char *, const char *, const char *);
extern void *dbus_connection_send_with_reply_and_block(void *, void *, int, void *);
extern void dbus_message_unref(void *);

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(void)
{
	static const char *const methods[] = { "ListNames", "GetId", "ListActivatableNames", "NoSuchMethod" };
	void *bus = dbus_bus_get(0, 0), *messages[4];

	for (int i = 0; bus && i < 30; i++) {
		for (int k = 0; k < 4; k++)
			messages[k] = dbus_message_new_method_call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", methods[k]);
		for (int k = 3; k >= 0; k--) {
			long long begin = now();
			void *answer = dbus_connection_send_with_reply_and_block(bus, messages[k], -1, 0);

			printf("%lld %lld %d %ju %s\n", begin, now(), (int)gettid(), (uintmax_t)(uintptr_t)messages[k], methods[k]);
			dbus_message_unref(messages[k]);
			if (answer)
				dbus_message_unref(answer);
		}
	}
	return !bus;
}
END
gcc -O1 -o call call.c $library
cat >run.sh <<'END'
#!/bin/bash
address=$(dbus-daemon --session --fork --print-address=1 --print-pid=1)
end() { kill "${address##*$'\n'}"; }
trap end EXIT
export DBUS_SESSION_BUS_ADDRESS=${address%%$'\n'*}
./call >log.txt
END
chmod +x run.sh
argus record --pack dbus --pack-budget 0 -o bus.trace -- ./run.sh 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe,probe_text bus.trace >probes.json
argus graph --json --list bus.trace >graph.json
python3 - <<'END'
import json

log = [line.split() for line in open('log.txt')]
tid = int(log[0][2])
by, made, method = {}, {}, ''
for e in json.load(open('probes.json'))['events']:
    if e['tid'] != tid:
        continue
    if e['type'] == 'probe_text':
        method = e.get('text')
        continue
    by.setdefault(e['probe_name'], []).append(e)
    if e['probe_name'] == 'dbus-made':
        made[e['number']] = method
begins = [e for e in by['dbus-call'] if e['time_ns'] >= int(log[0][0])]
ends = [e for e in by['dbus-call-end'] if e['time_ns'] >= int(log[0][0])]
assert len(log) == 120 == len(begins) == len(ends), (len(log), len(begins), len(ends))
edges = {}
for segment in json.load(open('graph.json'))['segments']:
    for e in segment['from']:
        if e['rule'] == 'dbus-message':
            edges[e['to_event']] = e['from_event']
unread = 0
for (begin, end, _, message, method), a, b in zip(log, begins, ends):
    assert int(a['arg2'], 0) == int(message)
    assert int(begin) <= a['time_ns'] <= b['time_ns'] <= int(end), (begin, a, b, end)
    name = made[edges[a['number']]]
    unread += not name
    assert name in (method, '', None), (name, method)
assert unread <= 1, unread  # a page that nobody has read before
END
