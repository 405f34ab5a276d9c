/* src/record/proc_clocks.c, of the threads of this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/proc_clocks.h"
#include "record/proc_text.h"
#include "record/processes.h"

static atomic_int other;
static int hold[2];

static void *sleeps(void *unused)
{
	char byte;

	(void)unused;
	atomic_store(&other, gettid());
	return read(hold[0], &byte, 1) == 1 ? NULL : &other;
}

static bool is_asleep(uint32_t tid, struct task_found *t, struct proc_thread *more)
{
	char status[4096], stat[1024];

	assert_true(proc_text_read((uint32_t)getpid(), tid, "status", status, sizeof(status)));
	assert_true(proc_text_read((uint32_t)getpid(), tid, "stat", stat, sizeof(stat)));
	assert_true(proc_text_thread(status, stat, (uint64_t)sysconf(_SC_CLK_TCK), t, more));
	return t->waiting.state == TASK_STATE_sleeping;
}

static void tells_when_a_sleeper_last_ran(void **state)
{
	struct proc_clocks clocks;
	struct proc_thread more;
	struct task_found t;
	uint64_t before, at, start;
	pthread_t thread;

	(void)state;
	assert_int_equal(pipe(hold), 0);
	proc_clocks_open(&clocks);
	before = clock_now_ns();
	assert_int_equal(pthread_create(&thread, NULL, sleeps, NULL), 0);
	while (!atomic_load(&other) || !is_asleep((uint32_t)atomic_load(&other), &t, &more))
		usleep(1000);
	start = proc_clocks_monotonic(&clocks, t.task.start_ns);
	/* told in steps of a hundredth of a second, downwards */
	assert_true(start <= clock_now_ns() && start + 10000000 >= before - 1000000);
	t.task.start_ns = start;
	t.task.pid = (uint32_t)getpid();
	t.tid = (uint32_t)atomic_load(&other);
	at = proc_clocks_ran(&clocks, &t, more.processor);
	assert_true(at >= start && at <= clock_now_ns());
	/* of a processor that is not there, and of a thread that is not: from now on */
	assert_true(proc_clocks_ran(&clocks, &t, UINT32_MAX) >= at);
	at = clock_now_ns();
	t.tid = 0;
	assert_true(proc_clocks_ran(&clocks, &t, 0) >= at);
	assert_int_equal(write(hold[1], "", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	proc_clocks_close(&clocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_when_a_sleeper_last_ran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
