/* The heaviest path through sampled stacks, see busy.h.
 *
 * Stacks are merged by function, not by address, so that a loop's many call
 * sites are one. */
#include "diagnose/busy.h"

#include <string.h>

#include "base/map.h"

struct context {
	uint64_t function;      /* module and start */
	uint32_t node;          /* a frame that stands for it */
	uint32_t count;
	uint32_t child, next;
};

static uint64_t function_of(const struct scene *scene, struct names *names, uint32_t node)
{
	const struct frame *f = &scene->tables->frames[node];
	uint64_t start = names ? names_function_start(names, node) : f->address;

	return hash_u64((uint64_t)f->module << 48 ^ start);
}

struct contexts {
	struct context *items;
	uint32_t length, capacity;
	struct arena *arena;
};

static uint32_t context_child(struct contexts *contexts, uint32_t parent, uint64_t function, uint32_t node)
{
	struct context *items = contexts->items;

	for (uint32_t i = items[parent].child; i; i = items[i].next)
		if (items[i].function == function)
			return i;
	if (contexts->length == contexts->capacity) {
		contexts->items = arena_array(contexts->arena, struct context, contexts->capacity * 2);
		memcpy(contexts->items, items, contexts->capacity * sizeof(*items));
		contexts->capacity *= 2;
		items = contexts->items;
	}
	items[contexts->length] = (struct context){ function, node, 0, 0, items[parent].child };
	return items[parent].child = contexts->length++;
}

void busy_find(struct arena *arena, const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns,
	       uint64_t to_ns, struct busy *ret_busy)
{
	const struct scene_thread *t = &scene->threads[thread];
	struct contexts contexts = { .capacity = 256, .length = 1, .arena = arena };
	uint32_t nodes[256];

	memset(ret_busy, 0, sizeof(*ret_busy));
	contexts.items = arena_array(arena, struct context, contexts.capacity);
	for (uint32_t i = scene_samples_from(scene, thread, from_ns); i < t->samples.count; i++) {
		const struct sample *s = &scene->samples[t->samples.items[i]];
		uint32_t node = s->ustack ? s->ustack : s->kstack, depth = 0, at = 0;

		if (s->time > to_ns)
			break;
		if (!ret_busy->samples++)
			ret_busy->first_event = t->samples.items[i];
		ret_busy->last_event_index = t->samples.items[i];
		while (node && node < scene->tables->frame_count && depth < 256) {
			nodes[depth++] = node;
			node = scene->tables->frames[node].parent;
		}
		while (depth-- > 0) {
			uint64_t function = function_of(scene, names, nodes[depth]);

			if (contexts.items[at].function == function && at)
				continue; /* it calls itself */
			at = context_child(&contexts, at, function, nodes[depth]);
			contexts.items[at].count++;
		}
	}
	for (uint32_t at = 0; ret_busy->depth < 64; ret_busy->depth++) {
		uint32_t best = 0;

		for (uint32_t i = contexts.items[at].child; i; i = contexts.items[i].next)
			if (!best || contexts.items[i].count > contexts.items[best].count)
				best = i;
		if (!best)
			break;
		at = best;
		ret_busy->path[ret_busy->depth] = contexts.items[at].node;
		ret_busy->path_samples[ret_busy->depth] = contexts.items[at].count;
		if (contexts.items[at].count * 2 >= ret_busy->samples)
			ret_busy->culprit = ret_busy->depth;
	}
}

static bool innermost_in(const struct scene *scene, struct names *names, uint32_t node, const char *function)
{
	for (unsigned i = 0; i < 8 && node && node < scene->tables->frame_count; i++) {
		const char *at = strstr(names_frame(names, node)->function, function);

		if (at)
			return true;
		node = scene->tables->frames[node].parent;
	}
	return false;
}

bool busy_sample_in(const struct scene *scene, struct names *names, const struct sample *sample, const char *function)
{
	return innermost_in(scene, names, sample->kstack, function) || innermost_in(scene, names, sample->ustack, function);
}

int busy_share_in(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       const char *function)
{
	const struct scene_thread *t = &scene->threads[thread];
	unsigned samples = 0, inside = 0;

	uint32_t from = scene_samples_from(scene, thread, from_ns), to = scene_samples_from(scene, thread, to_ns);
	uint32_t stride = to - from > 200 ? (to - from) / 200 : 1;

	if (!names)
		return -1;
	for (uint32_t i = from; i < to; i += stride) {
		const struct sample *s = &scene->samples[t->samples.items[i]];

		samples++;
		inside += busy_sample_in(scene, names, s, function);
	}
	return samples >= 10 ? (int)(inside * 100 / samples) : -1;
}
