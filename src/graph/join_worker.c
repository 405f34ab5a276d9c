/* See join_worker.h. */
#include "graph/join_worker.h"
#include "base/quiet_thread.h"

#include <pthread.h>
#include <stdlib.h>

#define BATCHES 8u
#define BATCH_ORDERS 2048u

struct order {
	struct join_message message;
	enum join_order_kind kind;
};

struct batch {
	struct order orders[BATCH_ORDERS];
	uint32_t count;
};

struct join_worker {
	struct joins *joins;
	bool beside;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned filled, emptied;   /* batches so far */
	bool ended;
	struct batch *batches;      /* a ring; the one at `filled` is the putter's */
};

static void carry_out(struct joins *joins, enum join_order_kind kind, const struct join_message *message)
{
	switch (kind) {
	case ORDER_message:
		join_message(joins, message);
		break;
	case ORDER_queue:
		join_queue(joins, message);
		break;
	case ORDER_start:
		join_start(joins);
		break;
	case ORDER_gap:
		join_gap(joins, message->end_ns);
		break;
	}
}

static void *work(void *data)
{
	struct join_worker *worker = data;

	pthread_mutex_lock(&worker->lock);
	for (;;) {
		struct batch *batch;

		while (worker->filled == worker->emptied && !worker->ended)
			pthread_cond_wait(&worker->changed, &worker->lock);
		if (worker->filled == worker->emptied)
			break;
		batch = &worker->batches[worker->emptied % BATCHES];
		pthread_mutex_unlock(&worker->lock);
		for (uint32_t i = 0; i < batch->count; i++)
			carry_out(worker->joins, batch->orders[i].kind, &batch->orders[i].message);
		batch->count = 0;
		pthread_mutex_lock(&worker->lock);
		worker->emptied++;
		pthread_cond_signal(&worker->changed);
	}
	pthread_mutex_unlock(&worker->lock);
	join_finish(worker->joins);
	return NULL;
}

static bool start_thread(struct join_worker *worker)
{
	int failed;

	failed = quiet_thread(&worker->thread, work, worker);
	return !failed;
}

struct join_worker *join_worker_new(struct joins *joins, bool beside)
{
	struct join_worker *worker = mem_zalloc(sizeof(*worker));

	worker->joins = joins;
	if (!beside)
		return worker;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->changed, NULL);
	worker->batches = mem_zalloc(BATCHES * sizeof(*worker->batches));
	worker->beside = start_thread(worker);
	return worker;
}

/* Hands the putter's batch over and waits until there is another. */
static void hand_over(struct join_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->filled++;
	pthread_cond_signal(&worker->changed);
	while (worker->filled - worker->emptied == BATCHES)
		pthread_cond_wait(&worker->changed, &worker->lock);
	pthread_mutex_unlock(&worker->lock);
}

void join_worker_put(struct join_worker *worker, enum join_order_kind kind, const struct join_message *message)
{
	struct batch *batch;

	if (!worker->beside) {
		carry_out(worker->joins, kind, message);
		return;
	}
	batch = &worker->batches[worker->filled % BATCHES];
	batch->orders[batch->count++] = (struct order){ *message, kind };
	if (batch->count == BATCH_ORDERS)
		hand_over(worker);
}

void join_worker_finish(struct join_worker *worker)
{
	if (!worker)
		return;
	if (worker->beside) {
		hand_over(worker);
		pthread_mutex_lock(&worker->lock);
		worker->ended = true;
		pthread_cond_signal(&worker->changed);
		pthread_mutex_unlock(&worker->lock);
		pthread_join(worker->thread, NULL);
	} else {
		join_finish(worker->joins);
	}
	if (worker->batches) {
		pthread_cond_destroy(&worker->changed);
		pthread_mutex_destroy(&worker->lock);
		free(worker->batches);
	}
	free(worker);
}
