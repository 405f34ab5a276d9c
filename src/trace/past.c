/* See past.h. */
#include "trace/past.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "trace/blocks_pack.h"
#include "trace/trace.h"

#define LITTLE_EVENTS 8192u    /* of a block: of those who did the least */

/* ---- who did little ---- */

static struct past_doer *doer_of(struct past *past, uint32_t tid)
{
	uint32_t *recent = &past->recent[tid % PAST_RECENT];
	uint64_t *place;
	bool fresh;

	if (*recent < past->doers.length && past->doers.items[*recent].tid == tid)
		return &past->doers.items[*recent];
	place = map_at(&past->places, tid, &fresh);
	if (fresh) {
		const uint64_t *since = past->counting ? NULL : map_find(&past->threads, tid);

		*place = past->doers.length;
		vec_push(&past->doers, ((struct past_doer){ .tid = tid, .since_ns = since ? *since : UINT64_MAX }));
	}
	*recent = (uint32_t)*place;
	return &past->doers.items[*recent];
}

/* How often each was met. */
static void count_event(struct past *past, const struct event *e)
{
	uint32_t other = e->type == EVENT_switch ? event_as(e, switch)->next : e->type == EVENT_wake ? event_as(e, wake)->target : 0;

	if (e->tid)
		doer_of(past, e->tid)->count++;
	if (other)
		doer_of(past, other)->count++;
}

static int by_count(const void *a, const void *b)
{
	const struct past_doer *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Those that did the least are told from the beginning on. */
static void find_busy(const struct past *met, struct map *ret_threads, struct past_block *block)
{
	size_t count = met->doers.length, sum = 0;
	struct past_doer *doers = mem_alloc((count + 1) * sizeof(*doers));
	struct vec(uint32_t) busy = { 0 };

	if (count) {
		memcpy(doers, met->doers.items, count * sizeof(*doers));
		qsort(doers, count, sizeof(*doers), by_count);
	}
	for (size_t i = 0; i < count; i++) {
		sum += doers[i].count;
		if (sum <= LITTLE_EVENTS)
			map_put(ret_threads, doers[i].tid, 0);
		else
			vec_push(&busy, doers[i].tid);
	}
	free(doers);
	block->busy = busy.items;
	block->busy_count = busy.length;
}

static bool is_one(struct past *past, uint32_t tid, uint64_t time_ns)
{
	const struct past_doer *doer;

	if (!tid)
		return false;
	doer = doer_of(past, tid);
	return past->counting ? doer->count <= LITTLE_EVENTS : time_ns >= doer->since_ns && doer->since_ns != UINT64_MAX;
}

/* Whether it tells what one of them did, or met. */
static bool is_of(struct past *past, const struct event *e)
{
	uint32_t other = 0;

	switch (e->type) {
	case EVENT_gap: return true;
	case EVENT_snapshot: return false;
	case EVENT_switch: other = event_as(e, switch)->next; break;
	case EVENT_wake:
		if (event_as(e, wake)->context != CONTEXT_thread)
			return is_one(past, event_as(e, wake)->target, e->time);
		other = event_as(e, wake)->target;
		break;
	case EVENT_signal: other = event_as(e, signal)->target; break;
	default: break;
	}
	return is_one(past, e->tid, e->time) || is_one(past, other, e->time);
}

static void push(struct arena *arena, struct past_events *events, const struct event *e)
{
	struct event copy = *e;
	char *tail = arena_alloc(arena, (size_t)e->tail_length + 1, 1);

	copy.data = e->data ? arena_memdup(arena, e->data, event_infos[e->type].bytes) : NULL;
	memcpy(tail, e->tail, e->tail_length);
	tail[e->tail_length] = 0;
	copy.tail = tail;
	vec_push(events, copy);
}

/* ---- what they did ---- */

/* Others are in it as far as those threads woke them: that they waited until then, and that they went on. */
static void keep_out(struct past *past, const struct event *e)
{
	struct past_doer *doer = doer_of(past, e->tid);
	struct event_switch *copy;

	if (!doer->out) {
		doer->out = (uint32_t)past->outs.length + 1;
		vec_push(&past->outs, ((struct event){ .data = arena_new(past->arena, struct event_switch) }));
	}
	copy = (struct event_switch *)(uintptr_t)past->outs.items[doer->out - 1].data;
	*copy = *event_as(e, switch);
	copy->next = 0;
	past->outs.items[doer->out - 1] = *e;
	past->outs.items[doer->out - 1].data = copy;
}

static void push_half(struct past *past, const struct event *e, bool out, bool in)
{
	struct event_switch s = *event_as(e, switch);
	struct event half = *e;

	if (!in)
		s.next = 0;
	if (!out) {
		s = (struct event_switch){ .next = s.next, .next_prio = s.next_prio, .state = TASK_STATE_running, .syscall = (u16)SYSCALL_NONE };
		half.tid = 0;
	}
	half.data = &s;
	push(past->arena, &past->events, &half);
}

static void see_switch(struct past *past, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);
	bool out = is_one(past, e->tid, e->time), in = is_one(past, s->next, e->time);

	if (!in && s->next) {
		struct past_doer *next = doer_of(past, s->next);

		in = next->woken;
		next->woken = false;
	}
	if (out || in)
		push_half(past, e, out, in);
	if (e->tid && !out && s->state != TASK_STATE_running)
		keep_out(past, e);
}

static void see_wake(struct past *past, const struct event *e)
{
	uint32_t target = event_as(e, wake)->target;

	if (!is_of(past, e))
		return;
	if (!is_one(past, target, e->time)) {
		struct past_doer *doer = target ? doer_of(past, target) : NULL;

		if (!doer || !doer->out)
			return;
		push(past->arena, &past->events, &past->outs.items[doer->out - 1]);
		doer->woken = true;
	}
	push(past->arena, &past->events, e);
}

static void add_child(struct past *past, uint32_t tid, uint64_t time_ns)
{
	const uint64_t *busy = map_find(&past->busy, tid);
	uint64_t since_ns = busy && *busy > time_ns ? *busy : time_ns;

	if (since_ns < past->floor_ns && !past->counting) {
		map_put(&past->threads, tid, since_ns);
		doer_of(past, tid)->since_ns = since_ns;
	}
}

uint64_t past_program(const struct event *e)
{
	const char *file = e->tail;
	size_t length;

	if (e->type == EVENT_task)
		file += strnlen(file, e->tail_length) + 1; /* the name comes first */
	else if (e->type != EVENT_exec)
		return 0;
	length = file < e->tail + e->tail_length ? strnlen(file, (size_t)(e->tail + e->tail_length - file)) : 0;
	return length ? hash_bytes(file, length) | 1 : 0;
}

static void see(struct past *past, const struct event *e)
{
	uint64_t program = past->programs.length ? past_program(e) : 0;

	if (program && map_find(&past->programs, program) && !is_one(past, e->tid, e->time))
		add_child(past, e->tid, e->time);
	if (e->type == EVENT_switch) {
		see_switch(past, e);
	} else if (e->type == EVENT_wake) {
		see_wake(past, e);
	} else if (is_of(past, e)) {
		if (e->type == EVENT_fork && is_one(past, e->tid, e->time))
			add_child(past, event_as(e, fork)->child, e->time);
		push(past->arena, &past->events, e);
	}
}

static void past_done(struct past *past)
{
	vec_done(&past->events);
	vec_done(&past->outs);
	map_done(&past->busy);
	vec_done(&past->doers);
	map_done(&past->places);
}

void past_meet(struct past *past, const struct past_block *block, uint64_t to_ns)
{
	for (size_t i = 0; i < block->busy_count; i++)
		map_put(&past->busy, block->busy[i], to_ns);
}

/* ---- a block ---- */

/* Who does little is known at the block's end: until then what all do is kept who have not done too much. */
struct past_gather {
	struct past past;
	struct arena arena;
	uint64_t to_ns;
};

struct past_gather *past_gather_new(uint64_t to_ns)
{
	struct past_gather *g = mem_zalloc(sizeof(*g));

	arena_init(&g->arena);
	g->to_ns = to_ns;
	g->past.floor_ns = to_ns + 1;
	g->past.arena = &g->arena;
	g->past.counting = true;
	return g;
}

void past_gather_see(struct past_gather *g, const struct event *e)
{
	if (!e->data || !standing_ever(e->type))
		return;
	count_event(&g->past, e);
	see(&g->past, e);
}

static void pack(struct arena *arena, const struct past_events *events, struct past_block *ret_block)
{
	const struct standing_events all = { events->items, (uint32_t)events->length };
	unsigned char *raw = arena_alloc(arena, standing_bytes(&all), 1);
	struct blob packed;

	ret_block->raw_size = standing_put(&all, raw);
	packed = blocks_pack(arena, (struct blob){ raw, ret_block->raw_size }, (struct blob){ 0 });
	ret_block->size = packed.size;
	ret_block->bytes = mem_alloc(packed.size + 1);
	memcpy(ret_block->bytes, packed.at, packed.size);
}

void past_gather_end(struct past_gather *g, struct past_block *ret_block)
{
	struct past past = { .floor_ns = g->past.floor_ns, .arena = &g->arena };

	*ret_block = (struct past_block){ 0 };
	find_busy(&g->past, &past.threads, ret_block);
	past_meet(&past, ret_block, past.floor_ns);
	for (size_t i = 0; i < g->past.events.length; i++)
		see(&past, &g->past.events.items[i]);
	pack(&g->arena, &past.events, ret_block);
	past_done(&past);
	map_done(&past.threads);
	past_gather_drop(g);
}

void past_gather_drop(struct past_gather *g)
{
	if (!g)
		return;
	past_done(&g->past);
	arena_done(&g->arena);
	free(g);
}

void past_block_read(const struct trace *trace, uint64_t from_ns, uint64_t to_ns, struct past_block *ret_block)
{
	struct trace_filter filter = { .from_ns = from_ns, .to_ns = to_ns };
	struct past_gather *gather = past_gather_new(to_ns);
	struct trace_cursor *cursor;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (standing_ever(type))
			trace_filter_add(&filter, type);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		past_gather_see(gather, e);
	trace_cursor_free(cursor);
	past_gather_end(gather, ret_block);
}

void past_block_done(struct past_block *block)
{
	free(block->bytes);
	free(block->busy);
	*block = (struct past_block){ 0 };
}

/* ---- several ---- */

void past_begin(struct past *past, uint64_t since_ns)
{
	const struct map_slot *slot;

	for (size_t at = 0; (slot = map_next(&past->threads, &at)); ) {
		const uint64_t *busy = map_find(&past->busy, slot->key);

		if (busy && *busy >= past->floor_ns)
			map_remove(&past->threads, slot->key);
		else
			*map_find(&past->threads, slot->key) = busy ? *busy : since_ns;
	}
}

bool past_begins_at(const struct past *past, uint64_t from_ns)
{
	const struct map_slot *slot;

	for (size_t at = 0; (slot = map_next(&past->threads, &at)); )
		if (slot->value == from_ns)
			return true;
	return false;
}

void past_take(struct past *past, const struct past_block *block)
{
	struct standing_events events = { 0 };
	unsigned char *raw = mem_alloc(block->raw_size + 1);
	struct arena arena;

	arena_init(&arena);
	if (!blocks_unpack(raw, block->raw_size, (struct blob){ block->bytes, block->size }, (struct blob){ 0 }) &&
	    !standing_get(&arena, raw, block->raw_size, &events))
		for (uint32_t i = 0; i < events.count; i++)
			see(past, &events.events[i]);
	arena_done(&arena);
	free(raw);
}

/* ---- with what stands ---- */

/* Whom it tells of, as what stands; 0 nobody alone. */
static bool stands_for(const struct event *e, uint32_t *ret_tid, uint32_t *ret_other)
{
	*ret_tid = e->type == EVENT_wake ? event_as(e, wake)->target : e->type == EVENT_fork ? event_as(e, fork)->child : e->tid;
	*ret_other = e->type == EVENT_switch ? event_as(e, switch)->next : 0;
	return e->type != EVENT_snapshot && e->type != EVENT_gap;
}

void past_stand(struct past *past, uint64_t from_ns, const struct standing_events *standing)
{
	for (uint32_t i = 0; i < standing->count; i++) {
		const struct event *e = &standing->events[i];
		const uint64_t *since, *other_since;
		uint32_t tid, other;

		if (!stands_for(e, &tid, &other))
			continue;
		since = tid ? map_find(&past->threads, tid) : NULL;
		other_since = other ? map_find(&past->threads, other) : NULL;
		if ((since && *since == from_ns) || (other_since && *other_since == from_ns))
			push(past->arena, &past->events, e);
	}
}

/* Not what is told with all that came before it. */
static bool stands_alone(const struct past *past, const struct event *e)
{
	uint32_t tid, other;

	switch (e->type) {
	case EVENT_switch: case EVENT_wake: case EVENT_waiting: case EVENT_message:
		stands_for(e, &tid, &other);
		return !(tid && map_find(&past->threads, tid)) && !(other && map_find(&past->threads, other));
	default:
		return true;
	}
}

void past_end(struct past *past, const struct standing_events *at, struct standing_events *ret_events)
{
	size_t kept;

	for (uint32_t i = 0; i < at->count; i++)
		if (stands_alone(past, &at->events[i]))
			vec_push(&past->events, at->events[i]);
	/* what stood then may have been told again, or stand still */
	kept = standing_sort(past->events.items, past->events.length);
	ret_events->events = arena_memdup(past->arena, past->events.items, kept * sizeof(*past->events.items));
	ret_events->count = (uint32_t)kept;
	past_done(past);
}
