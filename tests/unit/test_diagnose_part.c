/* A part of a trace tells of its stretch of time what the whole tells: traces made at
 * random, cut at random. */
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
#include "trace/part.h"
#include "trace/writer.h"

#define CPUS 3u
#define THREADS 14u
#define STEPS 1500u
#define FIRST_TID 100u

enum { RUNNABLE, RUNNING, WAITING, WOKEN_EARLY, DEAD };

struct world {
	struct writer *writer;
	uint64_t now;
	uint32_t current[CPUS]; /* tid, 0 idle */
	unsigned state[THREADS * 4];
	unsigned count;
	unsigned seed;
};

static unsigned pick(struct world *w, unsigned below)
{
	w->seed = w->seed * 1103515245u + 12345u;
	return (w->seed >> 16) % below;
}

static void put(struct world *w, uint32_t tid, uint16_t cpu, uint16_t type, const void *data, const char *tail)
{
	struct event e = { .time = w->now, .tid = tid, .cpu = cpu, .type = type, .data = data, .tail = tail, .tail_length = (uint32_t)strlen(tail) };
	struct err err = { 0 };

	if (writer_add_event(w->writer, &e, &err))
		fail_msg("%s", err.text);
	w->now += 100 + pick(w, 900);
}

/* A thread in the state, 0 none. */
static uint32_t any(struct world *w, unsigned state)
{
	unsigned start = pick(w, w->count);

	for (unsigned i = 0; i < w->count; i++)
		if (w->state[(start + i) % w->count] == state)
			return FIRST_TID + (start + i) % w->count;
	return 0;
}

static void switch_on(struct world *w, uint16_t cpu)
{
	static const uint8_t states[] = { TASK_STATE_running, TASK_STATE_sleeping, TASK_STATE_sleeping, TASK_STATE_blocked };
	uint32_t tid = w->current[cpu], next = any(w, RUNNABLE);
	struct event_switch s = { .next = next, .object = 0x0700000000000000ull + pick(w, 5), .syscall = 202, .ustack = 0 };

	if (tid) {
		unsigned *state = &w->state[tid - FIRST_TID];

		s.state = states[pick(w, 4)];
		if (*state == WOKEN_EARLY)
			s.state = TASK_STATE_sleeping;
		else if (!pick(w, 200))
			s.state = TASK_STATE_dead;
		if (s.state == TASK_STATE_dead) {
			struct event_exit e = { .last = 1 };

			put(w, tid, cpu, EVENT_exit, &e, "");
		}
		if (s.state != TASK_STATE_running)
			s.wait = WAIT_KIND_futex;
		*state = s.state == TASK_STATE_dead ? DEAD : s.state == TASK_STATE_running || *state == WOKEN_EARLY ? RUNNABLE : WAITING;
	}
	if (!tid && !next)
		return;
	put(w, tid, cpu, EVENT_switch, &s, "");
	w->current[cpu] = next;
	if (next)
		w->state[next - FIRST_TID] = RUNNING;
}

static void step(struct world *w)
{
	uint16_t cpu = (uint16_t)pick(w, CPUS);
	uint32_t tid = w->current[cpu], target;
	unsigned what = pick(w, 10);

	if (what < 4) {
		struct event_wake wake = { .object = 3, .cause = WAKE_CAUSE_thread, .syscall = 202 };
		bool early = pick(w, 8) == 0;

		target = any(w, early ? RUNNING : WAITING);
		if (!target || target == tid)
			return;
		if (!tid || pick(w, 6) == 0) {
			wake.context = CONTEXT_hardirq;
			wake.cause = WAKE_CAUSE_timer;
		}
		wake.target = target;
		w->state[target - FIRST_TID] = early ? WOKEN_EARLY : RUNNABLE;
		put(w, tid, cpu, EVENT_wake, &wake, "");
	} else if (what == 4 && tid && w->count < THREADS * 4 && pick(w, 10) == 0) {
		struct event_fork fork = { .child = FIRST_TID + w->count, .child_pid = FIRST_TID + w->count };

		w->state[w->count++] = RUNNABLE;
		put(w, tid, cpu, EVENT_fork, &fork, "child");
	} else {
		switch_on(w, cpu);
	}
}

static struct trace *make(unsigned seed)
{
	struct writer_options options = { .cpus = CPUS };
	char path[] = "/tmp/argus-test-XXXXXX";
	struct world w = { .now = 1000000000, .count = THREADS, .seed = seed };
	struct err err = { 0 };
	struct trace *trace = NULL;
	int fd = mkstemp(path);

	close(fd);
	unlink(path);
	if (writer_create(path, false, &options, &w.writer, &err))
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < THREADS; i++) {
		struct event_task task = { .pid = FIRST_TID + i / 3 * 3, .start_ns = 5 };

		put(&w, FIRST_TID + i, 0, EVENT_task, &task, "name");
	}
	for (unsigned i = 0; i < STEPS; i++)
		step(&w);
	if (writer_close(w.writer, &err) || trace_open(path, &trace, &err))
		fail_msg("%s", err.text);
	unlink(path);
	return trace;
}

static void stand_at(struct arena *arena, const struct trace *trace, uint64_t time, struct standing_events *ret_events)
{
	struct standing *standing = standing_new(NULL, 0);
	struct trace_cursor *cursor = trace_cursor_new(trace, NULL);
	struct standing_events events;
	size_t bytes;
	unsigned char *as_bytes;

	for (const struct event *e; (e = trace_cursor_next(cursor)) && e->time < time; )
		standing_see(standing, e);
	standing_take(arena, standing, time, &events);
	as_bytes = arena_alloc(arena, standing_bytes(&events), 1);
	bytes = standing_put(&events, as_bytes);
	assert_int_equal(standing_get(arena, as_bytes, bytes, ret_events), 0);
	assert_int_equal(ret_events->count, events.count);
	assert_int_not_equal(standing_get(arena, as_bytes, bytes - 1, &events), 0);
	trace_cursor_free(cursor);
	standing_free(standing);
}

static const struct wait *wait_of(const struct scene *scene, const struct span *span)
{
	return span->state == SPAN_WAITING || span->state == SPAN_STOPPED ? &scene->waits[span_wait(span)] : NULL;
}

static void same_at(const struct scene *whole, const struct scene *part, uint32_t tid, uint64_t time)
{
	uint32_t a = tables_thread(whole->tables, tid, time), b = tables_thread(part->tables, tid, time);
	const struct span *x, *y;
	const struct wait *v, *w;

	if (!a)
		return;
	x = scene_span(whole, a, time);
	if (!b) {
		if (x->state != SPAN_ABSENT)
			fail_msg("tid %u is not in the part, and %s", tid, span_state_name(x->state));
		return;
	}
	y = scene_span(part, b, time);
	if (!y)
		fail_msg("tid %u has no span", tid);
	if (x->state != y->state && !(x->state == SPAN_ABSENT && y->state == SPAN_UNKNOWN))
		fail_msg("tid %u at %lu: %s in the whole, %s in the part", tid, (unsigned long)time, span_state_name(x->state),
			 span_state_name(y->state));
	v = wait_of(whole, x);
	w = wait_of(part, y);
	if (!v)
		return;
	assert_int_equal(v->start_ns, w->start_ns);
	assert_int_equal(v->end_ns, w->end_ns);
	assert_int_equal(v->begin_event, w->begin_event);
	assert_int_equal(v->end_event, w->end_event);
	assert_int_equal(v->object, w->object);
	assert_int_equal(v->end, w->end);
	assert_int_equal(v->waker ? whole->tables->threads[v->waker].tid : 0, w->waker ? part->tables->threads[w->waker].tid : 0);
}

static void test_parts_tell_the_same(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct trace *trace = make(seed);
		const struct trace_summary *summary = trace_summary(trace);
		struct scene *whole;
		struct err err = { 0 };

		if (scene_build(trace, NULL, &whole, &err))
			fail_msg("%s", err.text);
		for (unsigned cut = 1; cut < 9; cut++) {
			uint64_t from = summary->start_ns + (summary->end_ns - summary->start_ns) * cut / 9;
			struct standing_events standing;
			struct trace *part;
			struct scene *scene;
			struct arena arena;

			arena_init(&arena);
			stand_at(&arena, trace, from, &standing);
			part = trace_part(trace, from, summary->end_ns, &standing);
			if (scene_build(part, NULL, &scene, &err))
				fail_msg("%s", err.text);
			assert_int_equal(scene->start_ns, from);
			for (uint64_t time = from; time < summary->end_ns; time += 1700)
				for (uint32_t tid = FIRST_TID; tid < FIRST_TID + THREADS * 4; tid++)
					same_at(whole, scene, tid, time);
			scene_free(scene);
			trace_close(part);
			arena_done(&arena);
		}
		scene_free(whole);
		trace_close(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_parts_tell_the_same) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
