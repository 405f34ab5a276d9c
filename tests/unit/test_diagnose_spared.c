/* A scene that spares memory forgets the spans of threads that have many, and lays them out again as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "diagnose/scene.h"
#include "trace/trace.h"
#include "trace/writer.h"

#define THREADS 9u
#define FIRST_TID 100u
#define TURNS 60000u          /* three spans each: more than may stay */
#define TURN_NS 10000u

static char path[] = "/tmp/argus-test-XXXXXX";
static unsigned seed = 5;

static unsigned pick(unsigned below)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % below;
}

static void put(struct writer *writer, uint64_t time, uint32_t tid, uint16_t type, const void *data)
{
	struct event e = { .time = time, .tid = tid, .type = type, .data = data, .tail = "" };
	struct err err = { 0 };

	if (writer_add_event(writer, &e, &err))
		fail_msg("%s", err.text);
}

/* Each is woken by the one before it, who then waits; the last one has few turns. */
static void write_trace(void)
{
	struct writer_options options = { .cpus = 1, .recording = 77 };
	struct writer *writer;
	struct err err = { 0 };
	uint32_t now = FIRST_TID;

	if (writer_create(path, true, &options, &writer, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < THREADS; i++)
		put(writer, 1000, FIRST_TID + i, EVENT_task, &(struct event_task){ .pid = FIRST_TID + i });
	for (unsigned turn = 0; turn < TURNS; turn++) {
		uint64_t time = 1000000 + (uint64_t)turn * TURN_NS + pick(TURN_NS / 2);
		uint32_t next = FIRST_TID + (turn % 4096 ? pick(THREADS - 1) : THREADS - 1);

		if (next == now)
			continue;
		put(writer, time, now, EVENT_wake, &(struct event_wake){ .target = next, .cause = WAKE_CAUSE_thread });
		put(writer, time + pick(TURN_NS / 3) + 1, now, EVENT_switch,
		    &(struct event_switch){ .next = next, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_futex, .object = next });
		now = next;
		if (turn % 1000 == 999 && writer_flush(writer, UINT64_MAX, &err))
			fail_msg("%s", err.text);
	}
	if (writer_close(writer, &err))
		fail_msg("%s", err.text);
}

static void assert_same(const struct scene *whole, const struct scene *spared, uint32_t thread)
{
	const struct scene_thread *a = &whole->threads[thread], *b = &spared->threads[thread];

	scene_need_spans(spared, thread);
	assert_int_equal(a->span_count, b->span_count);
	assert_memory_equal(a->spans, b->spans, (a->span_count + 1) * sizeof(*a->spans));
	assert_int_equal(a->running_ns, b->running_ns);
}

static void passed(void *data)
{
	++*(unsigned *)data;
}

static void test_spared(void **state)
{
	struct scene *whole = NULL, *spared = NULL;
	struct trace *trace;
	struct err err = { 0 };
	unsigned passes = 0, gone = 0;
	const struct scene_watch watch = { NULL, passed, &passes };
	(void)state;

	if (trace_open(path, &trace, &err) || scene_build(trace, NULL, &whole, &err))
		fail_msg("%s", err.text);
	mem_give_back();
	if (scene_build_watched(trace, &watch, NULL, &spared, &err))
		fail_msg("%s", err.text);
	assert_int_equal(passes, 1);
	assert_int_equal(spared->thread_count, whole->thread_count);
	assert_int_equal(spared->episode_count, whole->episode_count);
	assert_memory_equal(spared->episodes, whole->episodes, whole->episode_count * sizeof(*whole->episodes));
	for (unsigned i = 0; i < 200; i++) {
		uint32_t thread = 1 + pick(whole->thread_count - 1);
		uint64_t from = whole->start_ns + pick(TURNS) * (uint64_t)TURN_NS, to = from + pick(TURNS) * (uint64_t)TURN_NS;
		struct state_times a, b;
		const struct span *x = scene_span(whole, thread, from), *y = scene_span(spared, thread, from);

		assert_true(!x == !y && (!x || !memcmp(x, y, sizeof(*x))));
		scene_state_times(whole, thread, from, to, &a);
		scene_state_times(spared, thread, from, to, &b);
		assert_memory_equal(&a, &b, sizeof(a));
		assert_same(whole, spared, thread);
		scene_spare(spared);
		for (uint32_t k = 1; k < spared->thread_count; k++)
			gone += spared->threads[k].span_count && !spared->threads[k].spans;
		for (uint32_t k = 1; k < spared->thread_count && i % 50 == 0; k++)
			assert_same(whole, spared, k);
	}
	assert_true(gone > 0);
	scene_spare(whole); /* keeps all */
	assert_same(spared, whole, 1);
	scene_free(spared);
	scene_free(whole);
	trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_spared) };
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	write_trace();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
