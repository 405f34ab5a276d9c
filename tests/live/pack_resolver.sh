#!/bin/bash
# The pack of name resolution: each look-up that a program's threads logged is there, with its thread and its
# times, those that fail, too.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >look.c <<'END'
#define _GNU_SOURCE
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Names that no other machine is asked for. */
static void *look(void *data)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "::1", "no name at all" };
	for (int i = 0; i < 40; i++) {
		struct addrinfo *found = 0, hints = { .ai_socktype = SOCK_STREAM, .ai_flags = i % 4 == 1 ? 0 : AI_NUMERICHOST };
		long long begin = now();
		int r = getaddrinfo(names[i % 4], "80", &hints, &found);
		printf("%lld %lld %d %d\n", begin, now(), (int)gettid(), r);
		if (found)
			freeaddrinfo(found);
	}
	return data;
}

int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, look, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	return 0;
}
END
gcc -O1 -pthread -o look look.c
argus record --pack resolver -o look.trace -- ./look >log.txt 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe look.trace >probes.json
python3 - <<'END'
import json

log, begins, ends = {}, {}, {}
for line in open('log.txt'):
    begin, end, tid, result = map(int, line.split())
    log.setdefault(tid, []).append((begin, end, result))
for e in json.load(open('probes.json'))['events']:
    to = {'resolver-lookup': begins, 'resolver-lookup-end': ends}.get(e['probe_name'])
    if to is not None:
        to.setdefault(e['tid'], []).append(e['time_ns'])
assert len(log) == 3 and sum(result != 0 for calls in log.values() for *_, result in calls) == 30, log
assert set(begins) == set(ends) == set(log), (set(begins), set(log))
for tid, calls in log.items():
    assert len(begins[tid]) == len(ends[tid]) == len(calls) == 40, (len(begins[tid]), len(ends[tid]))
    for (begin, end, _), a, b in zip(calls, begins[tid], ends[tid]):
        assert begin <= a <= b <= end, (begin, a, b, end)
END
