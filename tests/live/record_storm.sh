#!/bin/bash
# A storm out of the quiet: the agent, which sleeps long where nothing happens,
# is woken before the rings are full, and keeps up from then on. The storm begins
# as such a sleep does, so that without the wake-up a quarter of a second of it
# would have to fit into the rings.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >storm.c <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* The recorder's real-time thread; 0 when it has none. */
static int agent(void)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)getppid());
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)))
		if (atoi(entry->d_name) && (sched_getscheduler(atoi(entry->d_name)) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO)
			return atoi(entry->d_name);
	return 0;
}

/* How often the thread has gone to sleep. */
static long sleeps(int tid)
{
	char path[64], line[128];
	FILE *file;
	long count = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)getppid(), tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "voluntary_ctxt_switches: %ld", &count);
	if (file)
		fclose(file);
	return count;
}

int main(void)
{
	int tid = agent(), place = 0;
	long long begin = now_ms(), last = begin;
	long count = sleeps(tid);
	cpu_set_t set;

	/* a sleep that follows a long one is as long */
	for (; ; usleep(1000)) {
		if (!tid || now_ms() - begin > 60000)
			return 3;
		if (sleeps(tid) == count)
			continue;
		count = sleeps(tid);
		if (now_ms() - last >= 200)
			break;
		last = now_ms();
	}
	/* two on each of two processors, which make room for each other and for nobody else */
	setpriority(PRIO_PROCESS, 0, -20);
	for (; place < 3 && fork(); place++)
		;
	CPU_ZERO(&set);
	CPU_SET(place & 1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int i = 0; i < 150000; i++)
		sched_yield();
	usleep(500000);
	return 0;
}
END
gcc -O2 -o storm storm.c
status=0
# of others nothing is recorded, so that the recorder sleeps however busy the machine is
argus record --ring 2M --stacks none --freq 0 -o t.trace -- ./storm 2>/dev/null || status=$?
[ $status != 3 ] || skip "the machine is never quiet enough for a long sleep of the recorder, or it has no real-time thread"
[ $status = 0 ] || fail "status $status"
argus info --json t.trace >info
[ "$(json info 'd["lost"]')" = 0 ] || fail "$(json info 'd["lost"]') events were lost"
[ "$(json info 'd["types"]["switch"] > 200000')" = True ] || fail "only $(json info 'd["types"]["switch"]') switches: that is no storm"
