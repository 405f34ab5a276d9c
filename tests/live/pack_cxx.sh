#!/bin/bash
# The pack of C++'s futures and threads: each wait for a future with its begin and end, and an edge from who set its result; each
# std::thread with the class that it runs, and an edge from who started it.
. "$HERE/live/_lib.sh"
need_bpf
need_command g++

cat >futures.cc <<'END'
#include <atomic>
#include <cstdio>
#include <ctime>
#include <future>
#include <thread>
#include <unistd.h>
#include <vector>

static struct { const char *what; int tid, number; long long time; } lines[20000];
static std::atomic<int> count;

static void say(const char *what, int number)
{
	int i = count++;
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	lines[i] = { what, gettid(), number, t.tv_sec * 1000000000ll + t.tv_nsec };
}

struct setter {
	std::promise<int> *promise;
	int number;
	void operator()() const
	{
		say("begin", number);
		usleep(8000);
		say("set", number);
		promise->set_value(number);
		say("end", number);
	}
};

static void wait_for(std::future<int> &result, int number)
{
	say("wait", number);
	if (number % 3 == 1)
		result.wait_for(std::chrono::seconds(100));
	else if (number % 3 == 2)
		result.wait_until(std::chrono::system_clock::now() + std::chrono::seconds(100));
	result.get();
	say("got", number);
}

int main()
{
	puts("begun 0 0 0"); /* the page in which classes' names lie, too, is read */
	for (int i = 0; i < 120; i++) {
		std::promise<int> promise;
		std::future<int> result = promise.get_future();

		say("start", i);
		std::thread thread(setter{ &promise, i });
		wait_for(result, i);
		thread.join();
	}
	for (int i = 120; i < 160; i++) { /* without a wait */
		std::promise<int> promise;
		std::future<int> result = promise.get_future();

		promise.set_value(i);
		result.get();
	}
	for (int i = 200; i < 260; i++) {
		say("start", i);
		auto result = std::async(std::launch::async, [i] {
			say("begin", i);
			usleep(8000);
			say("set", i);
			return i;
		});
		wait_for(result, i);
	}
	usleep(100000);
	for (int i = 0; i < count; i++)
		printf("%s %d %d %lld\n", lines[i].what, lines[i].tid, lines[i].number, lines[i].time);
	return 0;
}
END
g++ -O1 -std=c++17 -pthread -o futures futures.cc
record_pack cxx --pack-budget 0 -o futures.trace -- ./futures >log.txt
argus dump --json -e probe,probe_text futures.trace >probes.json
argus graph --json --list futures.trace >graph.json
python3 - <<'END'
import collections, json

log = collections.defaultdict(dict)
for line in open('log.txt'):
    what, tid, number, time = line.split()
    log[what][int(number)] = (int(tid), int(time))
by, numbers, texts = collections.defaultdict(list), {}, []
for e in json.load(open('probes.json'))['events']:
    if e['type'] == 'probe_text':
        texts.append(e)
        continue
    by[e['probe_name']].append(e)
    numbers[e['number']] = e
edges = collections.defaultdict(dict)
for segment in json.load(open('graph.json'))['segments']:
    for e in segment['from']:
        edges[e['rule']][e['to_event']] = numbers.get(e['from_event'])

# waits: each that had to wait lies within what the program says, and its edge comes from who set it
begins, ends = by['cxx-wait'], by['cxx-waited']
assert len(begins) == len(ends), (len(begins), len(ends))
found = 0
for (number, (tid, got)) in sorted(log['got'].items()):
    mine = [(b, e) for b, e in zip(begins, ends) if log['wait'][number][1] <= b['time_ns'] and e['time_ns'] <= got]
    if not mine:    # it was there already
        assert log['set'][number][1] < got
        continue
    found += 1
    begin, end = mine[-1]
    assert begin['tid'] == end['tid'] == tid and begin['arg2'] == end['arg1'], (number, begin, end)
    by_whom = edges['cxx-result'].get(end['number'])
    assert by_whom and by_whom['tid'] == log['set'][number][0] and by_whom['time_ns'] >= log['set'][number][1], (number, end, by_whom)
assert found >= 0.5 * len(log['got']), (found, len(log['got']))
# threads: each with its class, begun before it says so, and an edge from who started it
threads = by['cxx-thread']
assert len(threads) == len(log['begin']) == len(by['cxx-thread-end']) == 180, (len(threads), len(by['cxx-thread-end']))
own = {tid: number for number, (tid, _) in log['begin'].items()}
for e in threads:
    number = own[e['tid']]
    assert log['start'][number][1] <= e['time_ns'] <= log['begin'][number][1], (number, e)
    text = [t['text'] for t in texts if t['tid'] == e['tid'] and t['number'] > e['number']][0]
    assert ('setter' in text) == (number < 200), text
    start = edges['cxx-started'][e['number']]
    assert start['tid'] == log['start'][number][0] and start['time_ns'] >= log['start'][number][1], (number, start)
END
