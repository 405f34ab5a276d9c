#!/bin/bash
# A storm out of the quiet: the agent, which sleeps long where nothing happens,
# is woken before the rings are full, and keeps up from then on. The storm begins
# as such a sleep does, so that without the wake-up a quarter of a second of it
# would have to fit into the rings.
# alone: keeps all processors busy before all others
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

/* How often the recorder's real-time threads, of which one works here, have gone to sleep; 0 when it has none. */
static long sleeps(void)
{
	char path[64], line[128];
	struct dirent *entry;
	long count, sum = 0;
	FILE *file;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)getppid());
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		if (!atoi(entry->d_name) || (sched_getscheduler(atoi(entry->d_name)) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)getppid(), atoi(entry->d_name));
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			sum += sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1 ? count : 0;
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

int main(void)
{
	int place = 0;
	long long begin = now_ms(), last = begin;
	long count = sleeps();
	cpu_set_t set;

	/* a sleep that follows a long one is as long */
	for (; ; usleep(1000)) {
		if (!count || now_ms() - begin > 60000)
			return 3;
		if (sleeps() == count)
			continue;
		count = sleeps();
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
