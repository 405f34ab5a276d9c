/* Events of all types with random but reproducible values, for round trips. */
#ifndef RANDOM_EVENTS_H
#define RANDOM_EVENTS_H

#include <string.h>

#include "base/arena.h"
#include "trace/text.h"

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Small, large, repeated and extreme values. */
static inline uint64_t random_value(void)
{
	switch (random_u64() % 6) {
	case 0:
		return 0;
	case 1:
		return random_u64() % 10;
	case 2:
		return UINT64_MAX;
	case 3:
		return 1ull << (random_u64() % 64);
	default:
		return random_u64() >> (random_u64() % 64);
	}
}

static inline void random_tail(struct event *e, struct arena *arena, enum field_kind kind)
{
	uint32_t length = kind == FIELD_KINDS ? 0 : (uint32_t)(random_u64() % 4 ? random_u64() % 30 : random_u64() % 3000);
	char *tail = arena_alloc(arena, length + 1, 1);

	for (uint32_t i = 0; i < length; i++)
		tail[i] = (char)(random_u64() % 3 ? 'a' + random_u64() % 26 : random_u64() & 0xff);
	if (kind == FIELD_TEXTS && length && random_u64() % 4)
		tail[length - 1] = 0;
	e->tail = tail;
	e->tail_length = length;
}

static inline struct event random_event(struct arena *arena, unsigned type, uint64_t time_ns, unsigned cpus)
{
	const struct event_info *info = &event_infos[type];
	struct event e = { .time = time_ns, .type = (uint16_t)type, .cpu = (uint16_t)(random_u64() % cpus) };
	void *data = arena_alloc(arena, info->bytes, 8);

	e.tid = (uint32_t)(random_u64() % 4 ? random_u64() % 5 : random_u64());
	for (unsigned i = 0; i < info->field_count; i++)
		field_set(&info->fields[i], data, random_value());
	e.data = info->bytes ? data : NULL;
	random_tail(&e, arena, info->tail);
	return e;
}

static inline unsigned random_type(void)
{
	unsigned type;

	do
		type = (unsigned)(random_u64() % EVENT_MAX);
	while (!event_infos[type].name);
	return type;
}

static inline int same_event(const struct event *a, const struct event *b)
{
	return a->time == b->time && a->tid == b->tid && a->cpu == b->cpu && a->type == b->type &&
	       a->tail_length == b->tail_length && !memcmp(a->tail, b->tail, a->tail_length) && !a->tail[a->tail_length] &&
	       (a->data == NULL) == (b->data == NULL) &&
	       (!a->data || !memcmp(a->data, b->data, event_infos[a->type].bytes));
}

#endif
