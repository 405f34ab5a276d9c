/* Joins against a pipe that is played through: several threads write and read at random,
 * each call moves its bytes at one moment between its begin and its end. What is joined
 * for certain must be so; the horizon is short, so that joins are made amid the traffic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/join.h"

#define CALLS 20000
#define THREADS 6
#define LENGTH_MOST 40         /* of a call, from its begin to the move and from there to its end */
#define HORIZON 400            /* more than any call takes */

struct call {
	uint64_t begin, end, place;
	uint32_t bytes;
	bool receives;
};

struct thread {
	enum { IDLE, BEGUN, MOVED } step;
	uint64_t begin, next;
	size_t call;
};

struct model {
	struct joins joins;
	struct call calls[CALLS + THREADS];
	size_t count;
	uint64_t now, sent, received;
	uint32_t random;
	size_t certain, ambiguous, wrong;
};

static uint32_t below(struct model *model, uint32_t most)
{
	model->random = model->random * 1664525u + 1013904223u;
	return (model->random >> 8) % most;
}

static void take(struct joins *joins, const struct join_edge *edge)
{
	struct model *model = (struct model *)joins;
	assert_true(edge->send < model->count && edge->receive < model->count);
	const struct call *send = &model->calls[edge->send], *receive = &model->calls[edge->receive];
	uint64_t from = send->place > receive->place ? send->place : receive->place;
	uint64_t send_end = send->place + send->bytes, end = receive->place + receive->bytes;

	if (send_end < end)
		end = send_end;
	model->certain += !edge->ambiguous;
	model->ambiguous += edge->ambiguous;
	model->wrong += !edge->ambiguous && (end <= from || end - from != edge->bytes);
}

/* A moment of the thread's. */
static void step(struct model *model, struct thread *thread, bool receives, uint32_t pause)
{
	uint32_t bytes = 1 + below(model, 20);
	uint64_t *place = receives ? &model->received : &model->sent;

	if (thread->step == IDLE && !below(model, pause)) {
		thread->step = BEGUN;
		thread->begin = model->now;
		thread->next = model->now + 1 + below(model, LENGTH_MOST);
	} else if (thread->step == BEGUN && model->now >= thread->next) {
		if (receives && model->sent - model->received < bytes)
			bytes = (uint32_t)(model->sent - model->received);
		if (!bytes) {
			/* it sleeps until there is something */
			thread->begin = model->now;
			return;
		}
		model->calls[model->count] = (struct call){ .begin = thread->begin, .place = *place, .bytes = bytes, .receives = receives };
		*place += bytes;
		thread->call = model->count++;
		thread->step = MOVED;
		thread->next = ++model->now + below(model, LENGTH_MOST);
	} else if (thread->step == MOVED && model->now >= thread->next) {
		model->calls[thread->call].end = model->now++;
		thread->step = IDLE;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

static void play(unsigned writers, unsigned readers, uint32_t pause, bool is_ambiguous)
{
	struct model *model = test_calloc(1, sizeof(*model));
	struct thread threads[THREADS] = { 0 };

	model->now = 1000;
	while (model->count < CALLS) {
		model->now++;
		for (unsigned i = 0; i < writers + readers; i++)
			step(model, &threads[i], i >= writers, pause);
	}
	for (unsigned i = 0; i < writers + readers; i++)
		if (threads[i].step == MOVED)
			model->calls[threads[i].call].end = ++model->now;
	qsort(model->calls, model->count, sizeof(model->calls[0]), by_end);
	joins_init(&model->joins, HORIZON, take);
	join_start(&model->joins);
	for (size_t i = 0; i < model->count; i++) {
		const struct call *call = &model->calls[i];

		join_message(&model->joins, &(struct join_message){
			.channel = 1, .object = 2 + call->receives, .begin_ns = call->begin, .end_ns = call->end, .token = i,
			.bytes = call->bytes, .kind = MESSAGE_KIND_pipe, .receives = call->receives });
	}
	join_finish(&model->joins);
	joins_done(&model->joins);
	assert_int_equal(model->wrong, 0);
	assert_true(model->certain > 0);
	assert_int_equal(model->ambiguous > 0, is_ambiguous);
	test_free(model);
}

static void test_several_readers(void **unused)
{
	(void)unused;
	play(1, 3, 40, true);
	play(1, 3, 800, true);
}

static void test_several_of_both(void **unused)
{
	(void)unused;
	play(3, 3, 200, true);
	play(2, 3, 1000, true);
}

static void test_one_of_each(void **unused)
{
	(void)unused;
	play(1, 1, 20, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several_readers),
		cmocka_unit_test(test_several_of_both),
		cmocka_unit_test(test_one_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
