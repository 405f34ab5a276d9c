/* What is frequent, gathered by tid, as rows of threads and channels. It needs no more
 * than the tables, so it is done beside the end of the graph's building; it writes to no
 * other part of the scene, and into an arena of its own. */
#include <stdlib.h>

#include "base/map.h"
#include "diagnose/scene_build.h"

static int by_channel(const void *a, const void *b)
{
	const struct channel *x = a, *y = b;

	return x->channel < y->channel ? -1 : x->channel > y->channel;
}

/* Room for each thread's indices, as many as were counted; counts begin anew. */
#define ROWS_BEGIN(scene, rows, total) \
	do { \
		uint32_t *rows_items = arena_array(&(scene)->rows_arena, uint32_t, (total)); \
		for (uint32_t rows_i = 0; rows_i < (scene)->thread_count; rows_i++) { \
			struct row *rows_row = &(scene)->threads[rows_i].rows; \
			rows_row->items = rows_items; \
			rows_items += rows_row->count; \
			rows_row->count = 0; \
		} \
	} while (0)

/* Turns tids to threads in place, leaves out what belongs to none, and gives each
 * thread the row of its items. */
#define TAKE(scene, vector, rows) \
	do { \
		struct thread_tracker take_tracker; \
		size_t take_kept = 0; \
		thread_tracker_init(&take_tracker, (scene)->tables); \
		for (size_t take_i = 0; take_i < (vector)->length; take_i++) { \
			uint32_t take_thread = thread_tracker_find(&take_tracker, (vector)->items[take_i].thread, (vector)->items[take_i].time); \
			if (!take_thread) \
				continue; \
			if (take_kept != take_i) \
				(vector)->items[take_kept] = (vector)->items[take_i]; \
			(vector)->items[take_kept++].thread = take_thread; \
			(scene)->threads[take_thread].rows.count++; \
		} \
		thread_tracker_done(&take_tracker); \
		(vector)->length = take_kept; \
		ROWS_BEGIN((scene), rows, take_kept); \
		for (size_t take_i = 0; take_i < take_kept; take_i++) \
			row_push(&(scene)->threads[(vector)->items[take_i].thread].rows, take_i); \
	} while (0)

static void row_push(struct row *row, size_t item)
{
	((uint32_t *)row->items)[row->count++] = (uint32_t)item;
}

/* What is found out about an end of messages. */
struct end_known {
	uint32_t tid;
	uint32_t latest;      /* end that stands for it now: the tid is another thread's since */
	uint32_t channel;     /* place in `channels` + 1, 0 none */
	bool used;
};

struct ends_known {
	struct vec(struct end_known) list;
	struct map places;            /* channel -> place in `channels` + 1 */
	struct vec(struct channel) channels; /* in the order in which they appeared */
	struct vec(uint32_t) connections;
};

/* The end as this thread's: where the tid was another thread's before, it gets one anew. */
static uint32_t end_of_thread(struct scene_frequent *frequent, struct ends_known *known, uint32_t end, uint32_t thread)
{
	uint32_t latest = known->list.items[end].latest;
	struct end_known *k = &known->list.items[latest];
	bool fresh;

	if (!k->used) {
		uint64_t channel = frequent->ends.items[latest].channel;
		uint64_t *place = channel ? map_at(&known->places, channel, &fresh) : NULL;

		if (place && fresh) {
			vec_push(&known->channels, ((struct channel){ .channel = channel }));
			*place = known->channels.length;
		}
		k->channel = place ? (uint32_t)*place : 0;
		k->used = true;
		frequent->ends.items[latest].thread = thread;
	} else if (frequent->ends.items[latest].thread != thread) {
		struct message_end other = frequent->ends.items[latest];
		struct end_known same = *k;

		other.thread = thread;
		latest = (uint32_t)frequent->ends.length;
		same.latest = latest;
		vec_push(&frequent->ends, other);
		vec_push(&known->list, same);
		known->list.items[end].latest = latest;
	}
	return latest;
}

/* Threads as TAKE does it, and each message's channel in the same going. */
static void take_ends(struct scene *scene, struct scene_frequent *frequent, struct ends_known *known)
{
	struct kept_message *items = frequent->messages.items;
	struct thread_tracker tracker;
	size_t kept = 0;

	for (size_t i = 0; i < frequent->ends.length; i++)
		vec_push(&known->list, ((struct end_known){ .tid = frequent->ends.items[i].thread, .latest = (uint32_t)i }));
	thread_tracker_init(&tracker, scene->tables);
	for (size_t i = 0; i < frequent->messages.length; i++) {
		uint32_t thread = thread_tracker_find(&tracker, known->list.items[items[i].end].tid, items[i].time), end;
		uint8_t kind;

		if (!thread)
			continue;
		end = end_of_thread(frequent, known, items[i].end, thread);
		if (kept != i)
			items[kept] = items[i];
		items[kept].end = end;
		scene->threads[thread].messages.count++;
		if (known->list.items[end].channel)
			known->channels.items[known->list.items[end].channel - 1].messages.count++;
		kind = frequent->ends.items[end].kind;
		if (kind == MESSAGE_KIND_connect || kind == MESSAGE_KIND_accept)
			vec_push(&known->connections, (uint32_t)kept);
		kept++;
	}
	thread_tracker_done(&tracker);
	frequent->messages.length = kept;
}

/* Messages are in the order of time already: each goes behind the last one of its
 * thread and its channel. */
static void take_messages(struct scene *scene, struct scene_frequent *frequent)
{
	const struct kept_message *items = frequent->messages.items;
	struct ends_known known = { 0 };
	uint32_t *order;

	map_init(&known.places);
	take_ends(scene, frequent, &known);
	ROWS_BEGIN(scene, messages, frequent->messages.length);
	order = arena_array(&scene->rows_arena, uint32_t, frequent->messages.length);
	for (size_t i = 0; i < known.channels.length; i++) {
		struct row *row = &known.channels.items[i].messages;

		row->items = order;
		order += row->count;
		row->count = 0;
	}
	for (size_t i = 0; i < frequent->messages.length; i++) {
		uint32_t end = items[i].end, channel = known.list.items[end].channel;

		row_push(&scene->threads[frequent->ends.items[end].thread].messages, i);
		if (channel)
			row_push(&known.channels.items[channel - 1].messages, i);
	}
	scene->channel_count = (uint32_t)known.channels.length;
	scene->channels = arena_memdup(&scene->rows_arena, known.channels.items, arena_array_bytes(sizeof(struct channel), known.channels.length));
	if (scene->channel_count)
		qsort(scene->channels, scene->channel_count, sizeof(*scene->channels), by_channel);
	scene->connections.items = arena_memdup(&scene->rows_arena, known.connections.items, arena_array_bytes(sizeof(uint32_t), known.connections.length));
	scene->connections.count = (uint32_t)known.connections.length;
	map_done(&known.places);
	vec_done(&known.list);
	vec_done(&known.channels);
	vec_done(&known.connections);
}

void scene_take_frequent(struct scene *scene, struct scene_frequent *frequent)
{
	take_messages(scene, frequent);
	TAKE(scene, &frequent->samples, samples);
	TAKE(scene, &frequent->yields, yields);
	scene->messages = frequent->messages.items;
	scene->message_ends = frequent->ends.items;
	scene->long_messages = frequent->long_messages;
	scene->message_count = (uint32_t)frequent->messages.length;
	scene->samples = frequent->samples.items;
	scene->sample_count = (uint32_t)frequent->samples.length;
	scene->yields = frequent->yields.items;
	scene->yield_count = (uint32_t)frequent->yields.length;
	*frequent = (struct scene_frequent){ 0 };
}
