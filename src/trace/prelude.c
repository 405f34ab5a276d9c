/* See prelude.h. */
#include "trace/prelude.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "trace/reader.h"

struct prelude {
	const struct trace *part;
	struct trace_cursor *cursor;
	uint64_t fields[EVENT_MAX]; /* that the cursor is to decode */
	struct map left;           /* of what is told again and again: key -> how often it is still to come */
};

/* What only a reader from the file's beginning on has. */
static const uint16_t types[] = {
	EVENT_module, EVENT_frame, EVENT_symbol, EVENT_probe_point, EVENT_mapping, EVENT_descriptor, EVENT_poll_item, EVENT_watch,
	EVENT_snapshot, EVENT_machine, EVENT_clock, EVENT_group_limit, EVENT_signal_pending, EVENT_descriptor_limit, EVENT_call_held, EVENT_watch_point,
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

/* Of a process that is there no more nothing is told. */
static const struct event *next_told(const struct trace *part, struct trace_cursor *cursor)
{
	const struct event *e;

	while ((e = trace_cursor_next(cursor)) && ((!e->data && event_infos[e->type].bytes) || (e->tid && !map_find(&part->processes_there, e->tid))))
		;
	return e;
}

#define BIT(event, field) (1ull << offsetof(struct event_##event, field))

static void count_repeated(struct prelude *prelude, const struct trace_filter *told)
{
	/* what is in their keys */
	static const uint64_t fields[EVENT_MAX] = {
		[EVENT_descriptor] = BIT(descriptor, object) | BIT(descriptor, fd) | BIT(descriptor, channel_in),
		[EVENT_poll_item] = BIT(poll_item, object) | BIT(poll_item, fd) | BIT(poll_item, set),
	};
	struct trace_filter repeated = *told;
	struct trace_cursor *cursor;

	memset(repeated.types, 0, sizeof(repeated.types));
	trace_filter_add(&repeated, EVENT_descriptor);
	trace_filter_add(&repeated, EVENT_poll_item);
	for (size_t i = 0; i < sizeof(repeated.types) / sizeof(*repeated.types); i++)
		repeated.types[i] &= told->types[i];
	if (!repeated.types[EVENT_descriptor / 64] && !repeated.types[EVENT_poll_item / 64])
		return;
	repeated.fields = fields;
	cursor = trace_cursor_new(prelude->part->whole, &repeated);
	for (const struct event *e; (e = next_told(prelude->part, cursor)); )
		++*map_at(&prelude->left, key_of(e), NULL);
	trace_cursor_free(cursor);
}

struct prelude *prelude_open(const struct trace *part, const struct trace_filter *filter, uint64_t from_ns)
{
	struct trace_filter told = { .from_ns = part->prelude_ns > from_ns ? part->prelude_ns : from_ns, .to_ns = part->floor_ns - 1,
				     .unnumbered = true, .cpus = filter->cpus };
	struct prelude *prelude;
	bool any = false;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (filter_wants_told(filter, types[i])) {
			trace_filter_add(&told, types[i]);
			any = true;
		}
	if (!any || told.from_ns > told.to_ns)
		return NULL;
	prelude = mem_zalloc(sizeof(*prelude));
	prelude->part = part;
	map_init(&prelude->left);
	if (filter->fields) {
		memcpy(prelude->fields, filter->fields, sizeof(prelude->fields));
		prelude->fields[EVENT_descriptor] = prelude->fields[EVENT_poll_item] = UINT64_MAX;
		told.fields = prelude->fields;
	}
	count_repeated(prelude, &told);
	prelude->cursor = trace_cursor_new(part->whole, &told);
	return prelude;
}

void prelude_free(struct prelude *prelude)
{
	if (!prelude)
		return;
	trace_cursor_free(prelude->cursor);
	map_done(&prelude->left);
	free(prelude);
}

const struct event *prelude_next(struct prelude *prelude)
{
	const struct event *e;
	uint64_t key, *left;

	while ((e = next_told(prelude->part, prelude->cursor))) {
		key = key_of(e);
		left = key ? map_at(&prelude->left, key, NULL) : NULL;
		if (!left || --*left == 0)
			return e;
	}
	return NULL;
}
