/* Building a scene: the graph, whose pass makes the tables and lets what the graph
 * does not hold be gathered too (scene_gather.c); then it is laid out. */
#include "diagnose/scene_build.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "graph/graph.h"

#define MANY_MESSAGES 20000    /* below, a thread of their own costs more than it brings */

static int by_channel(const void *a, const void *b)
{
	const struct channel *x = a, *y = b;

	return x->channel < y->channel ? -1 : x->channel > y->channel;
}

/* Messages are in the order of time already: each goes behind the last one of its
 * channel. */
static void *keep_channels(void *data)
{
	struct scene *scene = data;
	uint32_t *order = arena_array(&scene->arena, uint32_t, scene->message_count);
	uint32_t *group_of = mem_alloc(arena_array_bytes(sizeof(*group_of), scene->message_count));
	struct vec(uint32_t) next = { 0 };
	struct map groups;
	const struct map_slot *slot;
	size_t at = 0;
	uint32_t place = 0;

	map_init(&groups);
	for (uint32_t i = 0; i < scene->message_count; i++) {
		bool fresh;
		uint64_t *group = scene->messages[i].channel ? map_at(&groups, scene->messages[i].channel, &fresh) : NULL;

		if (!group)
			continue;
		if (fresh) {
			*group = next.length;
			vec_push(&next, 0);
		}
		next.items[*group]++;
		group_of[i] = (uint32_t)*group;
	}
	scene->channel_count = (uint32_t)next.length;
	scene->channels = arena_array(&scene->arena, struct channel, next.length);
	for (size_t i = 0; i < next.length; i++) {
		uint32_t count = next.items[i];

		scene->channels[i].messages = (struct row){ order + place, count };
		next.items[i] = place;
		place += count;
	}
	while ((slot = map_next(&groups, &at)))
		scene->channels[slot->value].channel = slot->key;
	for (uint32_t i = 0; i < scene->message_count; i++)
		if (scene->messages[i].channel)
			order[next.items[group_of[i]]++] = i;
	if (scene->channel_count)
		qsort(scene->channels, scene->channel_count, sizeof(*scene->channels), by_channel);
	map_done(&groups);
	vec_done(&next);
	free(group_of);
	return NULL;
}

int scene_build(const struct trace *trace, const struct tables *tables, struct scene **ret_scene, struct err *err)
{
	struct graph_options options = { .background_index = true, .watch = gatherer_see };
	const struct trace_summary *summary = trace_summary(trace);
	struct gatherer *gatherer;
	struct scene *scene;
	struct graph *graph;
	pthread_t thread;
	bool beside;
	int r;

	if (summary->end_ns <= summary->start_ns)
		return err_set(err, -ENODATA, "the trace holds no stretch of time to diagnose");
	gatherer = gatherer_new(trace);
	options.watch_data = gatherer;
	options.watch_fields = gatherer_fields(gatherer);
	r = graph_build(trace, tables, &options, &graph, err);
	if (r) {
		gatherer_free(gatherer);
		return r;
	}
	if (graph_stats(graph)->from_index)
		gatherer_read(gatherer);
	scene = mem_zalloc(sizeof(*scene));
	arena_init(&scene->arena);
	arena_init(&scene->laid);
	scene->trace = trace;
	scene->graph = graph;
	scene->tables = tables = graph_tables(graph);
	scene->owned_tables = graph_take_tables(graph); /* a graph that takes this one's place uses them too */
	scene->start_ns = summary->start_ns;
	scene->messages_seen = summary->counts[EVENT_message] > 0;
	scene->thread_count = tables->thread_count;
	scene->threads = arena_array(&scene->arena, struct scene_thread, tables->thread_count);
	scene->gathered = mem_zalloc(arena_array_bytes(sizeof(*scene->gathered), tables->thread_count));
	gatherer_give(gatherer, scene);
	beside = scene->message_count > MANY_MESSAGES && !pthread_create(&thread, NULL, keep_channels, scene);
	scene_lay(scene);
	if (beside)
		pthread_join(thread, NULL);
	else
		keep_channels(scene);
	*ret_scene = scene;
	return 0;
}

void scene_free(struct scene *scene)
{
	if (!scene)
		return;
	for (uint32_t i = 0; scene->gathered && i < scene->thread_count; i++) {
		vec_done(&scene->gathered[i].details);
		vec_done(&scene->gathered[i].found);
		vec_done(&scene->gathered[i].throttlings);
	}
	free(scene->gathered);
	for (unsigned i = 0; i < scene->kept_count; i++)
		free(scene->kept[i]);
	if (scene->graph)
		graph_free(scene->graph);
	tables_free(scene->owned_tables);
	arena_done(&scene->laid);
	arena_done(&scene->arena);
	free(scene);
}
