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

/* Channels in the order in which they appeared. */
struct channels {
	struct map places;
	struct vec(struct channel) list;
	struct vec(uint32_t) connections;
	uint32_t *of;             /* by message; 0 none, else its channel's place + 1 */
};

/* Threads as TAKE does it, and each message's channel in the same going. */
static void take_threads(struct scene *scene, struct scene_frequent *frequent, struct channels *channels)
{
	struct message *items = frequent->messages.items;
	struct thread_tracker tracker;
	size_t kept = 0;

	thread_tracker_init(&tracker, scene->tables);
	for (size_t i = 0; i < frequent->messages.length; i++) {
		uint32_t thread = thread_tracker_find(&tracker, items[i].thread, items[i].time);
		uint64_t *place = NULL;
		bool fresh = false;

		if (!thread)
			continue;
		if (kept != i)
			items[kept] = items[i];
		items[kept].thread = thread;
		scene->threads[thread].messages.count++;
		if (items[kept].channel)
			place = map_at(&channels->places, items[kept].channel, &fresh);
		if (fresh) {
			vec_push(&channels->list, ((struct channel){ .channel = items[kept].channel }));
			*place = channels->list.length;
		}
		if (place)
			channels->list.items[*place - 1].messages.count++;
		if (items[kept].kind == MESSAGE_KIND_connect || items[kept].kind == MESSAGE_KIND_accept)
			vec_push(&channels->connections, (uint32_t)kept);
		channels->of[kept++] = place ? (uint32_t)*place : 0;
	}
	thread_tracker_done(&tracker);
	frequent->messages.length = kept;
}

/* Messages are in the order of time already: each goes behind the last one of its
 * thread and its channel. */
static void take_messages(struct scene *scene, struct scene_frequent *frequent)
{
	const struct message *items = frequent->messages.items;
	struct channels channels = { 0 };
	uint32_t *order;

	channels.of = mem_alloc(arena_array_bytes(sizeof(*channels.of), frequent->messages.length));
	map_init(&channels.places);
	take_threads(scene, frequent, &channels);
	ROWS_BEGIN(scene, messages, frequent->messages.length);
	order = arena_array(&scene->rows_arena, uint32_t, frequent->messages.length);
	for (size_t i = 0; i < channels.list.length; i++) {
		struct row *row = &channels.list.items[i].messages;

		row->items = order;
		order += row->count;
		row->count = 0;
	}
	for (size_t i = 0; i < frequent->messages.length; i++) {
		row_push(&scene->threads[items[i].thread].messages, i);
		if (channels.of[i])
			row_push(&channels.list.items[channels.of[i] - 1].messages, i);
	}
	scene->channel_count = (uint32_t)channels.list.length;
	scene->channels = arena_memdup(&scene->rows_arena, channels.list.items, arena_array_bytes(sizeof(struct channel), channels.list.length));
	if (scene->channel_count)
		qsort(scene->channels, scene->channel_count, sizeof(*scene->channels), by_channel);
	scene->connections.items = arena_memdup(&scene->rows_arena, channels.connections.items, channels.connections.length * sizeof(uint32_t));
	scene->connections.count = (uint32_t)channels.connections.length;
	vec_done(&channels.connections);
	map_done(&channels.places);
	vec_done(&channels.list);
	free(channels.of);
}

void scene_take_frequent(struct scene *scene, struct scene_frequent *frequent)
{
	take_messages(scene, frequent);
	TAKE(scene, &frequent->samples, samples);
	TAKE(scene, &frequent->yields, yields);
	scene->messages = frequent->messages.items;
	scene->message_count = (uint32_t)frequent->messages.length;
	scene->samples = frequent->samples.items;
	scene->sample_count = (uint32_t)frequent->samples.length;
	scene->yields = frequent->yields.items;
	scene->yield_count = (uint32_t)frequent->yields.length;
	*frequent = (struct scene_frequent){ 0 };
}
