/* The heaviest path through a thread's calls, see busy.h. */
#include "diagnose/busy.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "infer/hot.h"

#define MAX_DEPTH 64

/* With so many samples the shares of the time on the processor are the samples' own. */
#define ENOUGH_SAMPLES 20
/* A window with more events than this is long. */
#define MAX_EVENTS 2000000

struct known {
	uint32_t thread;
	uint64_t from_ns, to_ns;
	struct busy busy;
};

struct busies {
	const struct scene *scene;
	struct names *names;
	struct arena arena;
	struct vec(struct known) known;
};

struct busies *busies_new(const struct scene *scene, struct names *names)
{
	struct busies *busies = mem_zalloc(sizeof(*busies));

	busies->scene = scene;
	busies->names = names;
	arena_init(&busies->arena);
	return busies;
}

void busies_free(struct busies *busies)
{
	if (!busies)
		return;
	vec_done(&busies->known);
	arena_done(&busies->arena);
	free(busies);
}

/* ---- by samples ---- */

/* Stacks are merged by function, not by address, so that a loop's many call
 * sites are one. */
struct context {
	uint64_t function;      /* module and start */
	uint32_t node;          /* a frame that stands for it */
	uint32_t count;
	uint32_t child, next;
};

struct contexts {
	struct vec(struct context) list;
};

static uint64_t function_of(const struct busies *busies, uint32_t node)
{
	const struct frame *f = &busies->scene->tables->frames[node];

	return hash_u64((uint64_t)f->module << 48 ^ names_function_start(busies->names, node));
}

static uint32_t context_child(struct contexts *contexts, uint32_t parent, uint64_t function, uint32_t node)
{
	const struct context *items = contexts->list.items;
	struct context added = { function, node, 0, 0, items[parent].child };

	for (uint32_t i = items[parent].child; i; i = items[i].next)
		if (items[i].function == function)
			return i;
	vec_push(&contexts->list, added);
	return contexts->list.items[parent].child = (uint32_t)contexts->list.length - 1;
}

static void add_sample(const struct busies *busies, struct contexts *contexts, const struct sample *sample)
{
	const struct tables *tables = busies->scene->tables;
	uint32_t nodes[256], depth = 0, at = 0;

	for (uint32_t node = sample->ustack ? sample->ustack : sample->kstack;
	     node && node < tables->frame_count && depth < 256; node = tables->frames[node].parent)
		nodes[depth++] = node;
	while (depth-- > 0) {
		uint64_t function = function_of(busies, nodes[depth]);

		if (contexts->list.items[at].function == function && at)
			continue; /* it calls itself */
		at = context_child(contexts, at, function, nodes[depth]);
		contexts->list.items[at].count++;
	}
}

static struct busy_frame named_frame(struct arena *arena, struct names *names, uint32_t node)
{
	const struct name *name = names_frame(names, node);
	/* Without a name it is called by its start, as inference does. */
	const char *text = name->function[0] || !name->module[0] ? arena_strdup(arena, name->text)
			   : arena_printf(arena, "%s+0x%" PRIx64, name->module, name->function_start);

	return (struct busy_frame){ arena_strdup(arena, name->function), text, arena_strdup(arena, name->module) };
}

static void find_by_samples(struct arena *arena, const struct busies *busies, uint32_t first, uint32_t end,
			    uint32_t thread, struct busy *busy)
{
	const struct scene *scene = busies->scene;
	const uint32_t *samples = scene->threads[thread].samples.items;
	struct contexts contexts = { 0 };
	const struct context none = { 0 };
	struct busy_frame *path = arena_array(arena, struct busy_frame, MAX_DEPTH);

	vec_push(&contexts.list, none);
	for (uint32_t i = first; i < end; i++)
		add_sample(busies, &contexts, &scene->samples[samples[i]]);
	for (uint32_t at = 0; busy->depth < MAX_DEPTH; busy->depth++) {
		const struct context *items = contexts.list.items;
		uint32_t best = 0;

		for (uint32_t i = items[at].child; i; i = items[i].next)
			if (!best || items[i].count > items[best].count)
				best = i;
		if (!best)
			break;
		at = best;
		path[busy->depth] = named_frame(arena, busies->names, items[at].node);
		if (items[at].count * 2 >= end - first)
			busy->hot = busy->look_at = busy->depth;
	}
	busy->path = path;
	vec_done(&contexts.list);
}

/* ---- by inference ---- */

static struct busy_frame inferred_frame(struct arena *arena, const struct hot_frame *f)
{
	struct busy_frame frame = { f->function, f->function, f->module };

	if (f->function[0] == '+') {
		frame.function = "";
		frame.text = arena_printf(arena, "%s%s", f->module[0] ? f->module : "?", f->function);
	} else if (f->guessed) {
		frame.text = arena_printf(arena, "%s~", f->function);
	}
	return frame;
}

/* The path's outer part is left out where it is deeper than told. */
static void take_path(struct arena *arena, const struct hot_context *c, struct busy *busy)
{
	struct busy_frame *path = arena_array(arena, struct busy_frame, c->frame_count ? c->frame_count : 1);
	uint32_t last = 0;

	for (uint32_t i = 0; i < c->frame_count; i++) {
		if (c->frames[i].missing)
			continue;
		if (!busy->depth || c->frames[i].number != last)
			path[busy->depth++] = inferred_frame(arena, &c->frames[i]);
		last = c->frames[i].number;
		if (i <= c->hot)
			busy->hot = busy->depth - 1;
		if (i <= c->look_at)
			busy->look_at = busy->depth - 1;
	}
	busy->path = path;
}

/* A twentieth more or less at either end is no other question. */
static bool is_near(const struct known *known, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begin = known->from_ns > from_ns ? known->from_ns : from_ns, end = known->to_ns < to_ns ? known->to_ns : to_ns;
	uint64_t longer = known->to_ns - known->from_ns > to_ns - from_ns ? known->to_ns - known->from_ns : to_ns - from_ns;

	return begin <= end && (end - begin) * 20 >= longer * 19;
}

static const struct busy *find_known(const struct busies *busies, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < busies->known.length; i++) {
		const struct known *k = &busies->known.items[i];

		if (k->thread == thread && is_near(k, from_ns, to_ns))
			return &k->busy;
	}
	return NULL;
}

static const struct busy *infer(struct busies *busies, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct scene *scene = busies->scene;
	struct known added = { thread, from_ns, to_ns, { 0 } };
	struct hot hot;

	/* A thread without stacks is no error: nothing is known of its calls. */
	if (!hot_contexts(&busies->arena, scene->trace, scene->tables, busies->names, scene_tid(scene, thread), from_ns, to_ns,
			  true, 0, &hot, NULL))
		take_path(&busies->arena, &hot.heaviest, &added.busy);
	vec_push(&busies->known, added);
	return &busies->known.items[busies->known.length - 1].busy;
}

static bool is_long(const struct scene *scene, uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_summary *summary = trace_summary(scene->trace);
	double length = summary->end_ns > summary->start_ns ? (double)(summary->end_ns - summary->start_ns) : 1;

	return (double)summary->events * ((double)(to_ns - from_ns) / length) > MAX_EVENTS;
}

void busy_find(struct arena *arena, struct busies *busies, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	       enum busy_effort effort, struct busy *ret_busy)
{
	const struct scene *scene = busies->scene;
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t first = scene_samples_from(scene, thread, from_ns), end = scene_samples_from(scene, thread, to_ns + 1);
	bool few = end - first < ENOUGH_SAMPLES, lengthy;
	const struct busy *known;
	struct busy busy = { 0 };

	*ret_busy = busy;
	if (!busies->names)
		return;
	lengthy = scene->trace && is_long(scene, from_ns, to_ns);
	known = find_known(busies, thread, from_ns, to_ns);
	if (!known && scene->trace && (effort == BUSY_VERDICT ? few || !lengthy : effort == BUSY_LINK && few && !lengthy))
		known = infer(busies, thread, from_ns, to_ns);
	if (known)
		busy = *known;
	if (!busy.depth) {
		busy = (struct busy){ 0 };
		find_by_samples(arena, busies, first, end, thread, &busy);
	}
	if (end > first) {
		busy.first_event = scene->samples[t->samples.items[first]].number;
		busy.last_event = scene->samples[t->samples.items[end - 1]].number;
	}
	*ret_busy = busy;
}

static bool innermost_in(const struct scene *scene, struct names *names, uint32_t node, const char *function)
{
	for (unsigned i = 0; i < 8 && node && node < scene->tables->frame_count; i++) {
		if (names_may_hold(names, node, function) && strstr(names_frame(names, node)->function, function))
			return true;
		node = scene->tables->frames[node].parent;
	}
	return false;
}

bool busy_sample_in(const struct scene *scene, struct names *names, const struct sample *sample, const char *function)
{
	return innermost_in(scene, names, sample->kstack, function) || innermost_in(scene, names, sample->ustack, function);
}

#define SAMPLES_LOOKED_AT 200
#define SAMPLES_LEAST 10

/* The frame of the function in the sample's stack, innermost; 0 none. */
static uint32_t frame_in(const struct scene *scene, struct names *names, uint32_t node, const struct busy_frame *function)
{
	for (unsigned i = 0; i < 256 && node && node < scene->tables->frame_count; i++) {
		const struct name *name = names_frame(names, node);

		if (name->function[0] && !strcmp(name->function, function->function) && !strcmp(name->module, function->module))
			return node;
		node = scene->tables->frames[node].parent;
	}
	return 0;
}

unsigned busy_share_of(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       const struct busy_frame *function, uint32_t *ret_node)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t from = scene_samples_from(scene, thread, from_ns), to = scene_samples_from(scene, thread, to_ns);
	uint32_t stride = to - from > SAMPLES_LOOKED_AT ? (to - from) / SAMPLES_LOOKED_AT : 1;
	unsigned samples = 0, inside = 0;
	uint64_t most = 0;
	struct map counts;

	*ret_node = 0;
	if (!names || !function->function[0])
		return 0;
	map_init(&counts);
	for (uint32_t i = from; i < to; i += stride) {
		const struct sample *s = &scene->samples[t->samples.items[i]];
		uint32_t node = frame_in(scene, names, s->ustack ? s->ustack : s->kstack, function);
		uint64_t *count;

		samples++;
		if (!node)
			continue;
		inside++;
		count = map_at(&counts, scene->tables->frames[node].address, NULL);
		++*count;
		if (*count > most) {
			most = *count;
			*ret_node = node;
		}
	}
	map_done(&counts);
	return samples >= SAMPLES_LEAST ? inside * 100 / samples : 0;
}

int busy_share_in(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       const char *function)
{
	const struct scene_thread *t = &scene->threads[thread];
	unsigned samples = 0, inside = 0;

	uint32_t from = scene_samples_from(scene, thread, from_ns), to = scene_samples_from(scene, thread, to_ns);
	uint32_t stride = to - from > 200 ? (to - from) / 200 : 1;

	if (!names || to < from + 10)
		return -1;
	for (uint32_t i = from; i < to; i += stride) {
		const struct sample *s = &scene->samples[t->samples.items[i]];

		samples++;
		inside += busy_sample_in(scene, names, s, function);
	}
	return samples >= 10 ? (int)(inside * 100 / samples) : -1;
}
