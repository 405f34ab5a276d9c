#!/bin/bash
# A program that tells what it does by dist/argus.h: each job that it logged is submitted, taken
# up and run, by the right threads, with an edge; a flag that is set and looked at.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >jobs.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "argus.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static long queue[1000], put, got;
static volatile int done;

static void run(long job)
{
	argus_begin(job);
	usleep((unsigned)(job % 7) * 100);
	argus_end(job);
}

static void *work(void *data)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (got == put)
			pthread_cond_wait(&more, &lock);
		long job = queue[got++];
		argus_invoke(job);
		pthread_mutex_unlock(&lock);
		if (!job)
			break;
		printf("%ld %d\n", job, (int)gettid());
		run(job);
	}
	done = 1;
	argus_flag_set(&done, 1);
	return data;
}

static void hand(long job)
{
	pthread_mutex_lock(&lock);
	argus_submit(job);
	queue[put++] = job;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	for (long job = 1; job <= 300; job++) {
		hand(job * 1000 + job);
		usleep(500);
	}
	hand(0);
	for (int is = 0; !is; usleep(1000)) {
		is = done;
		argus_flag_get(&done, is);
	}
	pthread_join(t, 0);
	return 0;
}
END
gcc -Wall -Wextra -Werror -O2 -pthread -I"$HERE/../dist" -o jobs jobs.c
if command -v clang-19 >/dev/null; then
	clang-19 -Wall -Wextra -Werror -O1 -pthread -I"$HERE/../dist" -o jobs-clang jobs.c
fi
argus record --pack argus=./jobs -o jobs.trace -- ./jobs >log.txt 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe jobs.trace >probes.json
argus graph --json jobs.trace >graph.json
python3 - <<'END'
import json

log = [tuple(map(int, line.split())) for line in open('log.txt')]
by = {}
for e in json.load(open('probes.json'))['events']:
    by.setdefault(e['probe_name'], []).append((int(e.get('arg1', '0'), 0), e['tid']))
assert len(log) == 300
assert by['argus-begin'] == log and by['argus-end'] == log
assert by['argus-invoke'][:300] == log and len(by['argus-invoke']) == 301
assert [key for key, _ in by['argus-submit'][:300]] == [key for key, _ in log]
assert all(tid != log[0][1] for _, tid in by['argus-submit'])
rules = {r['name']: r['uses'] for r in json.load(open('graph.json'))['rules'] if 'edge' in r['text']}
assert rules['argus-work'] == 301, rules
assert rules['argus-flag'] >= 1, rules
END
if argus record --pack argus -o bad.trace -- true 2>record.txt; then fail "the pack was taken without a program"; fi
grep -q 'it needs the program or library' record.txt || fail "$(cat record.txt)"
if argus record --pack argus=/bin/true -o bad.trace -- true 2>record.txt; then fail "a program without marks was taken"; fi
grep -q 'none of its probes' record.txt || fail "$(cat record.txt)"
