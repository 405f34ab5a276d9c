#!/bin/bash
# The pack of Qt 5: each event that a program posted, from several threads, is there with who posted it,
# and its delivery, with an edge.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

core=/usr/lib/x86_64-linux-gnu/libQt5Core.so.5
[ -e $core ] || skip "Qt 5 is not installed"
cat >post.c <<'END'
/* Qt's headers are not needed for this: its functions by the names that they have in the library. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void app_make(void *, int *, char **, int) __asm__("_ZN16QCoreApplicationC1ERiPPci");
extern void event_make(void *, int) __asm__("_ZN6QEventC1ENS_4TypeE");
extern void post(void *, void *, int) __asm__("_ZN16QCoreApplication9postEventEP7QObjectP6QEventi");
extern void process(int, int) __asm__("_ZN16QCoreApplication13processEventsE6QFlagsIN10QEventLoop17ProcessEventsFlagEEi");

static char app[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *poster(void *data)
{
	for (long i = 0; i < 100; i++) {
		void *event = malloc(64);

		event_make(event, 1000 + (int)(long)data);
		pthread_mutex_lock(&lock);
		printf("post %d %ju\n", (int)gettid(), (size_t)event);
		pthread_mutex_unlock(&lock);
		post(app, event, 0);
		usleep(200);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	app_make(app, &argc, argv, 0x050f08);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, poster, (void *)i);
	for (int i = 0; i < 300; i++) {
		process(0, 5);
		usleep(500);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	process(0, 100);
	printf("main %d\n", (int)gettid());
	fflush(stdout);
	_exit(0);
}
END
gcc -O1 -pthread -o post post.c $core
argus record --pack qt5 -o qt.trace -- ./post >log.txt 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe qt.trace >probes.json
argus graph --json qt.trace >graph.json
python3 - <<'END'
import collections, json

lines = [line.split() for line in open('log.txt')]
log = collections.Counter((int(tid), int(e)) for w, tid, *e in lines if w == 'post' for e in e)
main = next(int(tid) for w, tid, *_ in lines if w == 'main')
posts, events, ends = collections.Counter(), [], 0
for e in json.load(open('probes.json'))['events']:
    if e['probe_name'] == 'qt5-post' and e['tid'] != main:
        posts[e['tid'], int(e['arg2'], 0)] += 1
    elif e['probe_name'] == 'qt5-event' and 1000 <= int(e.get('arg3', '0'), 0) < 1003:
        events.append((e['tid'], int(e['arg2'], 0)))
    ends += e['probe_name'] == 'qt5-event-end'
assert posts == log and sum(log.values()) == 300, (sum(posts.values()), sum(log.values()))
assert collections.Counter(e for _, e in events) == collections.Counter(e for (_, e), n in log.items() for _ in range(n)), len(events)
assert {tid for tid, _ in events} == {main}
rules = {r['name']: r['uses'] for r in json.load(open('graph.json'))['rules'] if ' edge ' in r['text']}
assert rules['qt5-posted'] >= 300, rules
assert ends >= 300, ends
END
