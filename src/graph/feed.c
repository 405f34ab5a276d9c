/* The events to the builder, in the order of time. One thread decodes and merges
 * the trace into batches, the other builds: on two processors the graph takes as
 * long as the slower of both. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "graph/build.h"

#define BATCHES 8
#define BATCH_EVENTS 2048
#define BATCH_WORDS (BATCH_EVENTS * 8)    /* payloads are at most 64 bytes */
#define SMALL_TRACE 20000                 /* events; below, a thread costs more than it brings */

struct batch {
	struct event events[BATCH_EVENTS];
	uint64_t data[BATCH_WORDS];
	struct vec(char) texts;
	uint32_t count;
};

struct feed {
	const struct trace *trace;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned filled, emptied;         /* batches so far */
	bool ended;
	struct batch batches[BATCHES];
};

_Static_assert(sizeof(struct event_switch) <= 64 && sizeof(struct event_message) <= 64, "a payload fits its place in a batch");

/* Copies an event behind the others; false when the batch has no room. */
static bool batch_add(struct batch *batch, uint32_t *words, const struct event *e)
{
	unsigned bytes = e->data && e->type < EVENT_MAX ? event_infos[e->type].bytes : 0;
	struct event *to = &batch->events[batch->count];

	if (*words + bytes / 8 > BATCH_WORDS)
		return false;
	*to = *e;
	to->data = bytes ? batch->data + *words : NULL;
	memcpy(batch->data + *words, bytes ? e->data : batch->data, bytes);
	*words += bytes / 8;
	if (e->tail_length) {
		/* The texts may move while the batch fills: keep the place. */
		to->tail = (const char *)(uintptr_t)batch->texts.length;
		vec_reserve(&batch->texts, batch->texts.length + e->tail_length + 1);
		memcpy(batch->texts.items + batch->texts.length, e->tail, (size_t)e->tail_length + 1);
		batch->texts.length += (size_t)e->tail_length + 1;
	}
	batch->count++;
	return true;
}

static void batch_finish(struct batch *batch)
{
	for (uint32_t i = 0; batch->texts.length && i < batch->count; i++)
		if (batch->events[i].tail_length)
			batch->events[i].tail = batch->texts.items + (uintptr_t)batch->events[i].tail;
}

static void *decode(void *data)
{
	struct feed *feed = data;
	struct trace_cursor *cursor = trace_cursor_new(feed->trace, NULL);
	const struct event *e = trace_cursor_next(cursor);

	while (e) {
		struct batch *batch;
		uint32_t words = 0;

		pthread_mutex_lock(&feed->lock);
		while (feed->filled - feed->emptied == BATCHES)
			pthread_cond_wait(&feed->changed, &feed->lock);
		batch = &feed->batches[feed->filled % BATCHES];
		pthread_mutex_unlock(&feed->lock);
		batch->count = 0;
		vec_clear(&batch->texts);
		while (e && batch->count < BATCH_EVENTS && batch_add(batch, &words, e))
			e = trace_cursor_next(cursor);
		batch_finish(batch);
		pthread_mutex_lock(&feed->lock);
		feed->filled++;
		pthread_cond_signal(&feed->changed);
		pthread_mutex_unlock(&feed->lock);
	}
	trace_cursor_free(cursor);
	pthread_mutex_lock(&feed->lock);
	feed->ended = true;
	pthread_cond_signal(&feed->changed);
	pthread_mutex_unlock(&feed->lock);
	return NULL;
}

static struct batch *next_batch(struct feed *feed)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&feed->lock);
	while (feed->filled == feed->emptied && !feed->ended)
		pthread_cond_wait(&feed->changed, &feed->lock);
	if (feed->filled != feed->emptied)
		batch = &feed->batches[feed->emptied % BATCHES];
	pthread_mutex_unlock(&feed->lock);
	return batch;
}

static void feed_alone(struct builder *b)
{
	struct trace_cursor *cursor = trace_cursor_new(b->graph->trace, NULL);
	const struct event *e;

	while ((e = trace_cursor_next(cursor)))
		builder_event(b, e);
	trace_cursor_free(cursor);
}

void feed_all(struct builder *b)
{
	const struct trace_summary *summary = trace_summary(b->graph->trace);
	struct feed *feed;
	struct batch *batch;
	pthread_t thread;

	if (summary->events + summary->state_events < SMALL_TRACE) {
		feed_alone(b);
		return;
	}
	feed = mem_zalloc(sizeof(*feed));
	feed->trace = b->graph->trace;
	pthread_mutex_init(&feed->lock, NULL);
	pthread_cond_init(&feed->changed, NULL);
	if (pthread_create(&thread, NULL, decode, feed)) {
		feed_alone(b);
	} else {
		while ((batch = next_batch(feed))) {
			for (uint32_t i = 0; i < batch->count; i++)
				builder_event(b, &batch->events[i]);
			pthread_mutex_lock(&feed->lock);
			feed->emptied++;
			pthread_cond_signal(&feed->changed);
			pthread_mutex_unlock(&feed->lock);
		}
		pthread_join(thread, NULL);
	}
	for (unsigned i = 0; i < BATCHES; i++)
		vec_done(&feed->batches[i].texts);
	pthread_cond_destroy(&feed->changed);
	pthread_mutex_destroy(&feed->lock);
	free(feed);
}
