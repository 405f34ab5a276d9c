/* Building a scene: the graph, whose pass makes the tables and lets what the graph
 * does not hold be gathered too (scene_gather.c); then it is laid out. */
#include "diagnose/scene_build.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "trace/part.h"

#define MANY_MESSAGES 20000    /* below, a thread of their own costs more than it brings */

/* What the building goes through. */
struct making {
	const struct trace *trace;
	struct scene *scene;
	struct gatherer *gatherer;
	pthread_t thread;
	bool beside;              /* the thread runs */
	const struct scene_watch *watch; /* NULL: nobody */
	struct graph_room *room;
	bool lazily;
	uint64_t fields[EVENT_MAX];
};

static void *take_frequent(void *data)
{
	struct making *m = data;

	scene_take_frequent(m->scene, gatherer_frequent(m->gatherer));
	return NULL;
}

static void end_rows(struct making *m)
{
	if (m->beside)
		pthread_join(m->thread, NULL);
	m->beside = false;
}

/* Everything is seen and told apart: what is frequent is put in rows while the graph is
 * brought to its end. */
static void begin_rows(void *data, const struct tables *tables)
{
	struct making *m = data;
	struct scene *scene = m->scene;

	if (!tables) {
		end_rows(m);
		return;
	}
	scene->tables = tables;
	scene->end_ns = gatherer_end_ns(m->gatherer);
	scene->thread_count = tables->thread_count;
	scene->threads = arena_array(&scene->arena, struct scene_thread, tables->thread_count);
	for (uint32_t i = 0; i < tables->thread_count; i++)
		scene->threads[i].since_ns = trace_told_since(m->trace, tables->threads[i].tid);
	scene->other_argus = arena_array(&scene->arena, uint8_t, tables->thread_count);
	scene_link_mates(scene);
	scene->gathered = mem_zalloc(arena_array_bytes(sizeof(*scene->gathered), tables->thread_count));
	m->beside = gatherer_frequent(m->gatherer)->messages.length > MANY_MESSAGES && !pthread_create(&m->thread, NULL, take_frequent, m);
	if (!m->beside)
		take_frequent(m);
}

static void see(void *data, const struct event *e)
{
	struct making *m = data;

	if (m->watch && m->watch->see)
		m->watch->see(m->watch->data, e);
	gatherer_see(m->gatherer, e);
}

/* Who watches may look at all but mappings. */
static const uint64_t *fields_of(struct making *m)
{
	if (!m->watch || !m->watch->see)
		return gatherer_fields(m->gatherer);
	for (unsigned i = 0; i < EVENT_MAX; i++)
		m->fields[i] = i == EVENT_mapping ? 0 : UINT64_MAX;
	return m->fields;
}

static int make(struct making *m, const struct tables *tables, struct err *err)
{
	struct graph_options options = { .watch = see, .watch_end = begin_rows, .watch_data = m, .room = m->room,
					 .watch_fields = fields_of(m) };
	struct scene *scene = m->scene;
	int r = graph_build(m->trace, tables, &options, &scene->graph, err);

	if (!r && m->watch)
		m->watch->passed(m->watch->data);
	if (!r) {
		scene->owned_tables = graph_take_tables(scene->graph); /* a graph that takes this one's place uses them too */
		gatherer_give(m->gatherer, scene);
		if (m->lazily)
			scene_lay_lazily(scene);
		else
			scene_lay(scene, m->watch != NULL);
	}
	end_rows(m);
	if (!r && !m->lazily)
		scene_join_waits(scene);
	return r;
}

static int build(struct making m, const struct tables *tables, struct scene **ret_scene, struct err *err)
{
	const struct trace *trace = m.trace;
	const struct trace_summary *summary = trace_summary(trace);
	int r;

	if (summary->end_ns <= summary->start_ns)
		return err_set(err, -ENODATA, "the trace holds no stretch of time to diagnose");
	m.scene = mem_zalloc(sizeof(*m.scene));
	arena_init(&m.scene->arena);
	arena_init(&m.scene->rows_arena);
	arena_init(&m.scene->laid);
	m.scene->trace = trace;
	m.scene->start_ns = summary->start_ns;
	m.scene->reach_ns = trace_summary(trace_whole(trace))->start_ns;
	m.scene->messages_seen = summary->counts[EVENT_message] > 0;
	m.gatherer = gatherer_new(trace);
	r = make(&m, tables, err);
	gatherer_free(m.gatherer);
	if (r) {
		scene_free(m.scene);
		return r;
	}
	*ret_scene = m.scene;
	return 0;
}

int scene_build(const struct trace *trace, const struct tables *tables, struct scene **ret_scene, struct err *err)
{
	return build((struct making){ .trace = trace }, tables, ret_scene, err);
}

int scene_build_watched(const struct trace *trace, const struct scene_watch *watch, struct graph_room *room, struct scene **ret_scene,
			struct err *err)
{
	return build((struct making){ .trace = trace, .watch = watch, .room = room }, NULL, ret_scene, err);
}

int scene_build_lazily(const struct trace *trace, struct graph_room *room, struct scene **ret_scene, struct err *err)
{
	return build((struct making){ .trace = trace, .room = room, .lazily = true }, NULL, ret_scene, err);
}

static void free_all_but_graph(struct scene *scene)
{
	for (uint32_t i = 0; scene->gathered && i < scene->thread_count; i++) {
		vec_done(&scene->gathered[i].found);
		vec_done(&scene->gathered[i].throttlings);
	}
	free(scene->gathered);
	wait_details_free(scene->wait_details);
	for (unsigned i = 0; i < SCENE_LAID; i++)
		if (scene->lazy)
			mem_free_pages(scene->laid_columns[i]);
		else
			free(scene->laid_columns[i]);
	scene_lazy_free(scene->lazy);
	free(scene->pending);
	free(scene->messages);
	free(scene->message_ends);
	map_done(&scene->long_messages);
	free(scene->samples);
	free(scene->yields);
	for (unsigned i = 0; i < scene->kept_count; i++)
		free(scene->kept[i]);
	for (uint32_t i = 0; i < scene->cpu_count; i++) {
		free(scene->cpus[i].runs);
		free(scene->cpus[i].blocks);
		free(scene->cpus[i].shares);
	}
	arena_done(&scene->laid);
	arena_done(&scene->rows_arena);
	arena_done(&scene->arena);
}

void scene_free(struct scene *scene)
{
	if (!scene)
		return;
	free_all_but_graph(scene);
	if (scene->graph)
		graph_free(scene->graph);
	tables_free(scene->owned_tables);
	free(scene);
}
