/* Laying a gathered scene down in its arena, see scene_build.h. */
#include "diagnose/scene_build.h"

#include <stdlib.h>
#include <string.h>

/* Moves a vector's items into the scene's arena. */
#define KEEP(b, vector, array, counter) \
	do { \
		(b)->scene->counter = (uint32_t)(b)->vector.length; \
		(b)->scene->array = arena_memdup(&(b)->scene->arena, (b)->vector.items, \
						 arena_array_bytes(sizeof(*(b)->vector.items), (b)->vector.length)); \
		vec_done(&(b)->vector); \
	} while (0)

static struct row keep_row(struct arena *arena, const uint32_t *items, size_t count)
{
	return (struct row){ arena_memdup(arena, items, arena_array_bytes(sizeof(*items), count)), (uint32_t)count };
}

static void keep_thread(struct builder *b, uint32_t i)
{
	struct thread_state *t = &b->threads[i];
	struct scene *scene = b->scene;
	struct scene_thread *kept = &scene->threads[i];

	if (!t->spans.length || t->spans.items[0].start_ns > scene->start_ns) {
		struct span first = { scene->start_ns, 0, 0, SPAN_UNKNOWN, false };

		vec_push(&t->spans, first);
		memmove(t->spans.items + 1, t->spans.items, (t->spans.length - 1) * sizeof(first));
		t->spans.items[0] = first;
	}
	if (t->state == SPAN_RUNNING && t->spans.items[t->spans.length - 1].start_ns < scene->end_ns)
		t->running_ns += scene->end_ns - t->spans.items[t->spans.length - 1].start_ns;
	kept->span_count = (uint32_t)t->spans.length;
	vec_push(&t->spans, ((struct span){ scene->end_ns, 0, 0, SPAN_ABSENT, false }));
	kept->spans = arena_memdup(&scene->arena, t->spans.items,
				   arena_array_bytes(sizeof(struct span), t->spans.length));
	kept->waits = keep_row(&scene->arena, t->waits.items, t->waits.length);
	kept->wakes = keep_row(&scene->arena, t->wakes.items, t->wakes.length);
	kept->messages = keep_row(&scene->arena, t->messages.items, t->messages.length);
	kept->samples = keep_row(&scene->arena, t->samples.items, t->samples.length);
	kept->running_ns = t->running_ns;
	kept->fork_event = t->fork_event;
	kept->exec_ns = t->exec_ns;
	vec_done(&t->spans);
	vec_done(&t->waits);
	vec_done(&t->wakes);
	vec_done(&t->messages);
	vec_done(&t->samples);
}

static void keep_cpus(struct builder *b)
{
	struct scene *scene = b->scene;

	scene->cpu_count = (uint32_t)b->cpus.length;
	scene->cpus = arena_array(&scene->arena, struct cpu_row, b->cpus.length);
	for (uint32_t i = 0; i < scene->cpu_count; i++) {
		struct cpu_state *c = &b->cpus.items[i];

		scene->cpus[i].count = (uint32_t)c->runs.length;
		vec_push(&c->runs, ((struct cpu_run){ scene->end_ns, 0 }));
		scene->cpus[i].runs = arena_memdup(&scene->arena, c->runs.items,
						   arena_array_bytes(sizeof(struct cpu_run), c->runs.length));
		vec_done(&c->runs);
	}
	vec_done(&b->cpus);
}

static int by_channel(const void *a, const void *b)
{
	const struct channel *x = a, *y = b;

	return x->channel < y->channel ? -1 : x->channel > y->channel;
}

/* Messages are in the order of time already: each goes behind the last one of its
 * channel. */
static void keep_channels(struct scene *scene)
{
	uint32_t *order = arena_array(&scene->arena, uint32_t, scene->message_count);
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
			order[next.items[*map_find(&groups, scene->messages[i].channel)]++] = i;
	if (scene->channel_count)
		qsort(scene->channels, scene->channel_count, sizeof(*scene->channels), by_channel);
	map_done(&groups);
	vec_done(&next);
}

void scene_keep(struct builder *b)
{
	for (uint32_t i = 0; i < b->tables->thread_count; i++)
		keep_thread(b, i);
	keep_cpus(b);
	KEEP(b, waits, waits, wait_count);
	KEEP(b, wakes, wakes, wake_count);
	KEEP(b, messages, messages, message_count);
	KEEP(b, samples, samples, sample_count);
	KEEP(b, locks, locks, lock_count);
	KEEP(b, fuse, fuse, fuse_count);
	KEEP(b, stops, stops, stop_count);
	KEEP(b, quotas, quotas, quota_count);
	KEEP(b, changes, changes, change_count);
	KEEP(b, marks, marks, mark_count);
	KEEP(b, poll_items, poll_items, poll_item_count);
	keep_channels(b->scene);
	scene_join_waits(b->scene);
}
