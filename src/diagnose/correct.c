/* A person's corrections, laid over a scene, see correct.h. */
#include "diagnose/correct.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"

static void restore(struct scene *scene)
{
	size_t size = scene->wait_count * sizeof(*scene->waits);

	if (!scene->built_waits)
		scene->built_waits = arena_memdup(&scene->arena, scene->waits, size);
	else
		memcpy(scene->waits, scene->built_waits, size);
	scene->cuts.count = scene->boundaries.count = 0;
	scene->name_count = 0;
}

/* Thread and time of an event; false when the trace has no such event. */
static bool event_at(const struct scene *scene, uint64_t number, uint32_t *ret_thread, uint64_t *ret_time)
{
	struct arena arena;
	const struct event *e;

	arena_init(&arena);
	e = trace_event(scene->trace, &arena, number);
	if (e) {
		*ret_time = e->time;
		*ret_thread = tables_thread(scene->tables, e->tid, e->time);
	}
	arena_done(&arena);
	return e != NULL;
}

static int cut(struct scene *scene, const struct correction *c, struct err *err)
{
	bool found = false;

	for (uint32_t i = 1; i < scene->wait_count; i++) {
		struct wait *w = &scene->waits[i];

		if (w->end_event != c->from_event)
			continue;
		w->end = WAIT_END_UNKNOWN;
		w->waker = 0;
		found = true;
	}
	for (uint32_t i = 0; i < scene->message_count && !found; i++)
		found = scene->messages[i].number == c->from_event;
	if (!found)
		return err_set(err, -ENOENT, "event %" PRIu64 " neither wakes a thread nor sends a message", c->from_event);
	scene->cuts.items[scene->cuts.count++] = c->from_event;
	return 0;
}

static int join(struct scene *scene, const struct correction *c, struct err *err)
{
	uint32_t from = 0, to = 0;
	uint64_t from_ns, to_ns;
	struct wait *last = NULL;

	if (!event_at(scene, c->from_event, &from, &from_ns) || !event_at(scene, c->to_event, &to, &to_ns) || !from || !to)
		return err_set(err, -ENOENT, "event %" PRIu64 " or %" PRIu64 " is not in the trace, or of no thread",
			       c->from_event, c->to_event);
	for (uint32_t i = 0; i < scene->threads[to].waits.count; i++) {
		struct wait *w = &scene->waits[scene->threads[to].waits.items[i]];

		if (w->start_ns <= to_ns && (w->begin_event == c->to_event || w->end_ns <= to_ns || w->end_event == c->to_event))
			last = w;
	}
	if (!last)
		return err_set(err, -ENOENT, "the thread of event %" PRIu64 " did not wait before it", c->to_event);
	last->end = WAIT_END_THREAD;
	last->waker = from;
	last->end_event = c->from_event;
	return 0;
}

static int mark_idle(struct scene *scene, const struct correction *c, struct err *err)
{
	const struct wait *marked = NULL;

	for (uint32_t i = 1; i < scene->wait_count && !marked; i++)
		if (scene->waits[i].begin_event == c->from_event || scene->waits[i].end_event == c->from_event)
			marked = &scene->waits[i];
	if (!marked)
		return err_set(err, -ENOENT, "event %" PRIu64 " neither begins nor ends a wait", c->from_event);
	for (uint32_t i = 0; i < scene->threads[marked->thread].waits.count; i++) {
		struct wait *w = &scene->waits[scene->threads[marked->thread].waits.items[i]];

		w->idle |= w->site == marked->site;
	}
	return 0;
}

static int apply(struct scene *scene, const struct correction *c, struct err *err)
{
	uint32_t thread;
	uint64_t time;

	switch (c->kind) {
	case CORRECT_CUT:
		return cut(scene, c, err);
	case CORRECT_JOIN:
		return join(scene, c, err);
	case CORRECT_IDLE:
		return mark_idle(scene, c, err);
	case CORRECT_BOUNDARY:
		if (!event_at(scene, c->from_event, &thread, &time))
			return err_set(err, -ENOENT, "the trace has no event %" PRIu64, c->from_event);
		scene->boundaries.items[scene->boundaries.count++] = time;
		scene->boundaries.items[scene->boundaries.count++] = thread;
		return 0;
	case CORRECT_NAME:
		scene->object_names[scene->name_count++] =
			(struct object_name){ c->object, arena_strdup(&scene->arena, c->name) };
		return 0;
	}
	return 0;
}

int scene_correct(struct scene *scene, const struct corrections *corrections, struct err *err)
{
	restore(scene);
	scene->cuts.items = arena_array(&scene->arena, uint64_t, corrections->length);
	scene->boundaries.items = arena_array(&scene->arena, uint64_t, corrections->length * 2);
	scene->object_names = arena_array(&scene->arena, struct object_name, corrections->length);
	for (size_t i = 0; i < corrections->length; i++) {
		int r = apply(scene, &corrections->items[i], err);

		if (r) {
			restore(scene);
			scene_join_waits(scene);
			return r;
		}
	}
	scene_join_waits(scene);
	return 0;
}
