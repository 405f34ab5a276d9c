/* See proc_clocks.h. */
#include "record/proc_clocks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/proc_text.h"
#include "record/processes.h"

#define NS_PER_MS 1000000.0
#define NOT_ASKED INT64_MIN
#define READINGS 3

void proc_clocks_open(struct proc_clocks *clocks)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);

	*clocks = (struct proc_clocks){ .boot_ahead_ns = clock_ahead_ns(CLOCK_BOOTTIME) };
	while ((long)clocks->late.length < processors && clocks->late.length < CPU_SETSIZE)
		vec_push(&clocks->late, NOT_ASKED);
}

void proc_clocks_close(struct proc_clocks *clocks)
{
	vec_done(&clocks->late);
}

uint64_t proc_clocks_monotonic(const struct proc_clocks *clocks, uint64_t boottime_ns)
{
	int64_t at = (int64_t)boottime_ns - clocks->boot_ahead_ns;

	return at > 0 ? (uint64_t)at : 0;
}

/* When the thread last ran, by the run queue's clock; 0 where the kernel does not tell. */
static uint64_t queue_time(uint32_t pid, uint32_t tid)
{
	char text[4096], *at, *colon;
	double ms;

	if (!proc_text_read(pid, tid, "sched", text, sizeof(text)) || !(at = strstr(text, "se.exec_start")) || !(colon = strchr(at, ':')))
		return 0;
	ms = strtod(colon + 1, NULL);
	return ms > 0 ? (uint64_t)(ms * NS_PER_MS) : 0;
}

/* A queue's clock leaves out what a hypervisor stole of its processor, seconds in a few hours:
 * how late it is there, as this thread sees it, which has just been looked at by the scheduler.
 * Where this thread may not go, what its own processor says must do. */
static int64_t ask(uint32_t processor)
{
	int64_t late = INT64_MAX;
	cpu_set_t before, there;
	bool moved;

	CPU_ZERO(&there);
	CPU_SET(processor, &there);
	moved = !sched_getaffinity(0, sizeof(before), &before) && !sched_setaffinity(0, sizeof(there), &there);
	for (int i = 0; i < READINGS; i++) {
		uint64_t at;

		sched_yield();
		at = queue_time((uint32_t)getpid(), (uint32_t)gettid());
		if (!at) {
			late = 0;
		} else if ((int64_t)(clock_now_ns() - at) < late) {
			late = (int64_t)(clock_now_ns() - at);
		}
	}
	if (moved)
		sched_setaffinity(0, sizeof(before), &before);
	return late;
}

uint64_t proc_clocks_ran(struct proc_clocks *clocks, const struct task_found *t, uint32_t processor)
{
	uint64_t now = clock_now_ns(), at = queue_time(t->task.pid, t->tid);

	if (!at || processor >= clocks->late.length)
		return now;
	if (clocks->late.items[processor] == NOT_ASKED)
		clocks->late.items[processor] = ask(processor);
	at += (uint64_t)clocks->late.items[processor];
	return at > now ? now : at < t->task.start_ns ? t->task.start_ns : at;
}
