#!/bin/bash
# The pack of OpenMP: each thread's part of each parallel region with its function, and who began the region; each wait at a
# barrier with its begin and end, and an edge to each thread that waited from the one that the program's own log has there last.
# Where threads spin at a barrier and never sleep, no wake-up tells who was late: the answer names the thread that was.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >team.c <<'END'
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define REGIONS 40
#define ROUNDS 4

static struct { const char *what; int tid, region, round; long long time; } lines[20000];
static int count;

static void say(const char *what, int region, int round)
{
	int i = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	lines[i].what = what;
	lines[i].tid = gettid();
	lines[i].region = region;
	lines[i].round = round;
	lines[i].time = t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void cancelled(int region)
{
#pragma omp parallel num_threads(3)
	{
		say("part", region, 0);
#pragma omp for
		for (int i = 0; i < 30; i++) {
#pragma omp cancel for if (i < 0)
			if (i == 5)
				usleep(1000);
		}
		say("end", region, 0);
	}
}

int main(void)
{
	for (int region = 0; region < REGIONS; region++) {
		say("fork", region, 0);
#pragma omp parallel num_threads(4)
		{
			int me = omp_get_thread_num();

			say("part", region, 0);
			for (int round = 0; round < ROUNDS; round++) {
				if ((me + round + region) % 4 == 0)
					usleep(2000);
				say("come", region, round);
#pragma omp barrier
				say("go", region, round);
			}
			if (me == region % 4)
				usleep(1000);
			say("end", region, 0);
		}
	}
	say("fork", REGIONS, 0);
	cancelled(REGIONS);
	usleep(300000); /* the last waits' ends */
	for (int i = 0; i < count; i++)
		printf("%s %d %d %d %lld\n", lines[i].what, lines[i].tid, lines[i].region, lines[i].round, lines[i].time);
	return 0;
}
END
gcc -O1 -fopenmp -o team team.c
record_pack openmp --pack-budget 0 -o team.trace -- ./team >log.txt
argus dump --json -e probe team.trace >probes.json
argus graph --json --list team.trace >graph.json
python3 - "$(nm team | awk '/main._omp_fn.0$/ { print $1 }')" <<'END'
import collections, json, sys

REGIONS, ROUNDS, TEAM, LAST_TEAM = 40, 4, 4, 3
log = collections.defaultdict(list)
for line in open('log.txt'):
    what, tid, region, number, time = line.split()
    log[what].append((int(tid), int(region), int(number), int(time)))
events = json.load(open('probes.json'))['events']
by, numbers = collections.defaultdict(list), {}
for e in events:
    by[e['probe_name']].append(e)
    numbers[e['number']] = e

def value(e, field):
    return int(e.get(field, '0'), 0)

# each thread's part, with the function, before the program says so, and its end behind
begins = collections.defaultdict(list)
for e in sorted(by['gomp-begin'] + by['gomp-part'], key=lambda e: e['number']):
    begins[e['tid']].append(e)
ends = collections.defaultdict(list)
for e in by['gomp-part-end']:
    ends[e['tid']].append(e)
wanted = collections.defaultdict(list)
for (tid, region, _, time), (tid2, region2, _, until) in zip(sorted(log['part']), sorted(log['end'])):
    assert (tid, region) == (tid2, region2)
    wanted[tid].append((region, time, until))
assert sum(map(len, wanted.values())) == REGIONS * TEAM + LAST_TEAM
for tid, parts in wanted.items():
    assert len(parts) == len(begins[tid]) == len(ends[tid]), (tid, len(parts), len(begins[tid]), len(ends[tid]))
    for (region, time, until), b, e in zip(parts, begins[tid], ends[tid]):
        assert b['time_ns'] <= time and until <= e['time_ns'], (region, time, b, e)
        if region < REGIONS:
            assert value(b, 'arg1') & 0xfff == int(sys.argv[1], 16) & 0xfff, b
# waits: as many come as the program says, each barrier is opened once, by the last one, and all others go on behind that
rounds = collections.defaultdict(list)
for tid, region, number, time in log['come']:
    rounds[region, number].append((time, tid))
barriers = REGIONS * (ROUNDS + 1)
comes = [e for e in by['gomp-come']]
opens = [e for e in by['gomp-open']]
goes = [e for e in by['gomp-go'] if e.get('arg2') == e.get('arg3')]
assert len(opens) >= barriers + 1 and len(comes) >= barriers * TEAM + LAST_TEAM, (len(opens), len(comes))
lasts = [e for e in comes if value(e, 'arg2') & 1]
assert len(lasts) == len(opens), (len(lasts), len(opens))
assert len(goes) == len(comes) - len(lasts), (len(goes), len(comes), len(lasts))
edges = collections.defaultdict(dict)
for segment in json.load(open('graph.json'))['segments']:
    for e in segment['from']:
        edges[e['rule']][e['to_event']] = numbers.get(e['from_event'])
for go in goes:
    by_whom = edges['gomp-last'].get(go['number'])
    assert by_whom and by_whom['probe_name'] == 'gomp-open' and value(by_whom, 'arg2') == value(go, 'arg2') and by_whom['time_ns'] <= go['time_ns'], go
    assert by_whom['tid'] != go['tid'], go
# whom the program has at a barrier long after all others, who opened it
late = checked = 0
for (region, number), at in rounds.items():
    at.sort()
    if at[-1][0] - at[-2][0] < 1000000:
        continue
    opened = [e for e in opens if at[-1][0] <= e['time_ns']][0]
    checked += 1
    late += opened['tid'] != at[-1][1]
assert checked > barriers / 4 and not late, (checked, late)
assert len(edges['gomp-team']) == REGIONS * (TEAM - 1) + LAST_TEAM - 1, len(edges['gomp-team'])
for number, begin in edges['gomp-team'].items():
    region = [r for _, r, _, time in log['fork'] if time <= numbers[number]['time_ns']][-1]
    assert begin['time_ns'] >= log['fork'][region][3], (number, begin)
print(len(goes), 'waits', checked, 'late ones')
END

cat >late.c <<'END'
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 20; i++) {
		if (i == 10 && omp_get_thread_num() == 1) {
			printf("%d\n", gettid());
			usleep(3000000);
		}
#pragma omp barrier
	}
	return 0;
}
END
gcc -O1 -fopenmp -o late late.c
OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinity record_pack openmp -o late.trace -- ./late >late.txt
argus why --json late.trace >why.json
python3 - "$(cat late.txt)" <<'END' || fail "not the late one: $(argus why late.trace)"
import json, sys

answer = json.load(open('why.json'))
ways = [(step['tid'], step['link']) for step in answer['path']]
assert answer['verdict'] == 'yield' and answer['culprit']['tid'] == int(sys.argv[1]), answer['culprit']
assert ways[-1] == (int(sys.argv[1]), 'came last to where it waited'), ways
END
