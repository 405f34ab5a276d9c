/* See prelude.h. */
#include "trace/prelude.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "trace/reader.h"

struct prelude {
	struct arena arena;
	struct vec(struct event) events;
	struct map last;           /* of what is told again and again: key -> place in events + 1 */
	size_t at;
};

/* What only a reader from the file's beginning on has. */
static const uint16_t types[] = {
	EVENT_module, EVENT_frame, EVENT_symbol, EVENT_probe_point, EVENT_mapping, EVENT_descriptor, EVENT_poll_item, EVENT_watch,
	EVENT_snapshot,
};

/* 0: it is told once. */
static uint64_t key_of(const struct event *e)
{
	const struct event_descriptor *d = event_as(e, descriptor);
	const struct event_poll_item *p = event_as(e, poll_item);

	switch (e->type) {
	case EVENT_descriptor: return hash_u64(hash_u64(d->object ^ hash_u64((uint64_t)e->tid << 32 | d->fd)) ^ d->channel_in) | 1;
	case EVENT_poll_item: return hash_u64(hash_u64(p->object ^ hash_u64((uint64_t)e->tid << 32 | p->fd)) ^ p->set) | 1;
	default: /* the rest does not come again */ return 0;
	}
}

static void keep(struct prelude *prelude, const struct event *e)
{
	struct event copy = *e;
	uint64_t key = key_of(e);
	char *tail;

	if (key) {
		uint64_t *last = map_at(&prelude->last, key, NULL);

		if (*last)
			prelude->events.items[*last - 1].data = NULL;
		*last = prelude->events.length + 1;
	}
	copy.data = arena_memdup(&prelude->arena, e->data, event_infos[e->type].bytes);
	/* Of several texts each is ended by a NUL. */
	copy.tail = tail = arena_alloc(&prelude->arena, e->tail_length + 1, 1);
	memcpy(tail, e->tail, e->tail_length);
	tail[e->tail_length] = 0;
	vec_push(&prelude->events, copy);
}

/* Of a process that is there no more nothing is told. */
static void read_all(struct prelude *prelude, const struct trace *part, const struct trace_filter *filter)
{
	struct trace_cursor *cursor = trace_cursor_new(part->whole, filter);

	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		if (e->data && (!e->tid || map_find(&part->processes_there, e->tid)))
			keep(prelude, e);
	trace_cursor_free(cursor);
}

struct prelude *prelude_read(const struct trace *part, const struct trace_filter *filter, uint64_t from_ns)
{
	uint64_t fields[EVENT_MAX];
	struct trace_filter told = { .from_ns = part->prelude_ns > from_ns ? part->prelude_ns : from_ns, .to_ns = part->floor_ns - 1,
				     .unnumbered = true, .cpus = filter->cpus };
	struct prelude *prelude;
	bool any = false;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (filter->types[types[i] / 64] >> (types[i] % 64) & 1) {
			trace_filter_add(&told, types[i]);
			any = true;
		}
	if (!any || told.from_ns > told.to_ns)
		return NULL;
	if (filter->fields) {
		memcpy(fields, filter->fields, sizeof(fields));
		fields[EVENT_descriptor] = fields[EVENT_poll_item] = UINT64_MAX;
		told.fields = fields;
	}
	prelude = mem_zalloc(sizeof(*prelude));
	arena_init(&prelude->arena);
	map_init(&prelude->last);
	read_all(prelude, part, &told);
	map_done(&prelude->last);
	return prelude;
}

void prelude_free(struct prelude *prelude)
{
	if (!prelude)
		return;
	vec_done(&prelude->events);
	arena_done(&prelude->arena);
	free(prelude);
}

const struct event *prelude_next(struct prelude *prelude)
{
	while (prelude->at < prelude->events.length) {
		const struct event *e = &prelude->events.items[prelude->at++];

		if (e->data)
			return e;
	}
	return NULL;
}
