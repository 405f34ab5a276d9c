# shellcheck shell=bash
# Events and pool tasks of Qt, for tests that source this with the version: each event that a program posted, from
# several threads, and its delivery with the receiver's class; each task of a thread pool in its thread, with its class; edges
# from who posted or started it.
. "$HERE/live/_lib.sh"
need_bpf
need_command g++

version=$1
core=/usr/lib/x86_64-linux-gnu/libQt${version}Core.so.$version
[ -e "$core" ] || skip "Qt $version is not installed"
cat >post.cpp <<'END'
// Qt's headers are not needed for this: its functions by the names that they have in the library.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern "C" {
extern void app_make(void *, int *, char **, int) __asm__("_ZN16QCoreApplicationC1ERiPPci");
extern void event_make(void *, int) __asm__("_ZN6QEventC1ENS_4TypeE");
extern void post(void *, void *, int) __asm__("_ZN16QCoreApplication9postEventEP7QObjectP6QEventi");
extern void process(int, int) __asm__("_ZN16QCoreApplication13processEventsE6QFlagsIN10QEventLoop17ProcessEventsFlagEEi");
extern void *pool_get(void) __asm__("_ZN11QThreadPool14globalInstanceEv");
extern void pool_start(void *, void *, int) __asm__("_ZN11QThreadPool5startEP9QRunnablei");
extern bool pool_wait(void *, int) __asm__("_ZN11QThreadPool11waitForDoneEi");
}

static char app[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *what, void *object)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	pthread_mutex_lock(&lock);
	printf("%s %d %ju %lld\n", what, (int)gettid(), (size_t)object, t.tv_sec * 1000000000ll + t.tv_nsec);
	pthread_mutex_unlock(&lock);
}

namespace work {
// as QRunnable is laid out; the number says that it is not deleted
struct Task {
	virtual void run()
	{
		say("task", this);
		usleep(300);
		say("done", this);
	}
	virtual ~Task() {}
	int kept = VERSION == 5 ? -1 : 0;
};
}

static void *poster(void *data)
{
	for (long i = 0; i < 100; i++) {
		void *event = malloc(64);

		event_make(event, 1000 + (int)(long)data);
		say("post", event);
		post(app, event, 0);
		work::Task *task = new work::Task;
		say("start", task);
		pool_start(pool_get(), task, 0);
		usleep(200);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	app_make(app, &argc, argv, VERSION << 16);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, poster, (void *)i);
	for (int i = 0; i < 300; i++) {
		process(0, 5);
		usleep(500);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	process(0, 100);
	pool_wait(pool_get(), -1);
	say("main", 0);
	fflush(stdout);
	_exit(0);
}
END
g++ -O1 -DVERSION="$version" -pthread -o post post.cpp "$core"
record_pack "qt$version" --pack-budget 0 -o qt.trace -- ./post >log.txt
argus dump --json -e probe,probe_text qt.trace >probes.json
argus graph --json --list qt.trace >graph.json
python3 - "$version" <<'END'
import collections, json, sys

qt = f'qt{sys.argv[1]}'
log = collections.defaultdict(list)
for line in open('log.txt'):
    what, tid, at, time = line.split()
    log[what].append((int(tid), int(at), int(time)))
main = log['main'][0][0]
probes, by, last = {}, collections.defaultdict(list), {}
for e in json.load(open('probes.json'))['events']:
    if e['type'] == 'probe_text':
        last[e['tid']]['text'] = e.get('text')
        continue
    last[e['tid']] = probes[e['number']] = e
    by[e['probe_name']].append(e)

def number(e, field):
    return int(e.get(field, '0'), 0)

posts = collections.Counter((e['tid'], number(e, 'arg2')) for e in by[f'{qt}-post'] if e['tid'] != main)
posted = collections.Counter((tid, at) for tid, at, _ in log['post'])
assert posted.total() == 300 and not posted - posts, (posted.total(), (posted - posts).total())
events = [e for e in by[f'{qt}-event'] if 1000 <= number(e, 'arg3') < 1003]
assert len(events) == 300 and {e['tid'] for e in events} == {main}, len(events)
assert {e['text'] for e in events} == {'16QCoreApplication'}, {e['text'] for e in events}
assert len(by[f'{qt}-event-end']) >= 300

# each task with its thread, between which times it ran at least, and its class
tasks = [e for e in by[f'{qt}-task'] if number(e, 'arg1')]
ran = sorted(log['task'], key=lambda t: t[2])
assert len(log['task']) == len(log['start']) == 300 == len(tasks), (len(log['task']), len(tasks))
done = {(tid, at): time for tid, at, time in log['done']}
begun = {(tid, at): time for tid, at, time in log['task']}
ends = [e for e in by[f'{qt}-task-end'] if number(e, 'arg1')]
for e in tasks:
    key = e['tid'], number(e, 'arg1')
    assert e['time_ns'] <= begun[key], e
    assert e.get('text') == 'N4work4TaskE', e
assert sorted((e['tid'], number(e, 'arg1')) for e in tasks) == sorted(begun)
assert sorted((e['tid'], number(e, 'arg1')) for e in ends) == sorted(begun), len(ends)
assert all(e['time_ns'] >= done[e['tid'], number(e, 'arg1')] for e in ends)

# edges: from the thread that says that it posted or started it
posters = {at: tid for tid, at, _ in log['post']}
starters = {at: tid for tid, at, _ in log['start']}
right, wrong = collections.Counter(), 0
again = collections.Counter(at for _, at, _ in log['post'])
for segment in json.load(open('graph.json'))['segments']:
    for edge in segment['from']:
        a, b = probes.get(edge['from_event']), probes.get(edge['to_event'])
        if edge['rule'] == f'{qt}-posted' and 1000 <= number(b, 'arg3') < 1003:
            at = number(b, 'arg2')
            good = number(a, 'arg2') == at and (again[at] > 1 or a['tid'] == posters[at])
        elif edge['rule'] == f'{qt}-started':
            good = a['tid'] == starters[number(b, 'arg1')]
        else:
            continue
        right[edge['rule']] += good
        wrong += not good
assert right[f'{qt}-posted'] == right[f'{qt}-started'] == 300 and not wrong, (right, wrong)
END
