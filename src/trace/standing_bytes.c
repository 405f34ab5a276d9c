/* What stands, as a list in order and as bytes for an index file, see standing.h: read back with the distrust
 * that any file deserves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/standing.h"
#include "trace/varint.h"

/* Numbers of different countings (a trace that has grown since, by what lies before) are about right alone: time
 * decides. Of a switch that let one thread go and another in, both halves may stand: that the one leaves comes first. */
static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->type == EVENT_switch && y->type == EVENT_switch ? (x->tid == 0) - (y->tid == 0) : 0;
}

size_t standing_sort(struct event *events, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(events, count, sizeof(*events), by_time);
	/* One may stand for several reasons: a connection that was also its thread's last message. */
	for (size_t i = 0; i < count; i++)
		if (!kept || events[i].time != events[kept - 1].time || events[i].number != events[kept - 1].number || events[i].tid != events[kept - 1].tid ||
		    events[i].type != events[kept - 1].type)
			events[kept++] = events[i];
	return kept;
}

size_t standing_bytes(const struct standing_events *events)
{
	size_t bytes = VARINT_MAX;

	for (uint32_t i = 0; i < events->count; i++)
		bytes += 6 * VARINT_MAX + event_infos[events->events[i].type].bytes + events->events[i].tail_length;
	return bytes;
}

size_t standing_put(const struct standing_events *events, unsigned char *to)
{
	unsigned char *at = varint_put(to, events->count);
	uint64_t number = 0, time = 0;

	for (uint32_t i = 0; i < events->count; i++) {
		const struct event *e = &events->events[i];
		unsigned bytes = e->data ? event_infos[e->type].bytes : 0;

		at = varint_put(at, e->type);
		at = varint_put(at, e->number - number);
		at = varint_put(at, zigzag(e->time - time));
		at = varint_put(at, e->tid);
		at = varint_put(at, e->cpu);
		at = varint_put(at, e->tail_length);
		if (bytes)
			memcpy(at, e->data, bytes);
		at += bytes;
		if (e->tail_length)
			memcpy(at, e->tail, e->tail_length);
		at += e->tail_length;
		number = e->number;
		time = e->time;
	}
	return (size_t)(at - to);
}

static const unsigned char *get_event(struct arena *arena, const unsigned char *at, const unsigned char *end, struct event *e)
{
	uint64_t values[6];
	unsigned bytes;
	char *room;

	for (unsigned i = 0; i < 6; i++) {
		at = varint_get(at, end, &values[i]);
		if (!at)
			return NULL;
	}
	if (values[0] >= EVENT_MAX || !event_infos[values[0]].name || values[3] > UINT32_MAX || values[4] > UINT16_MAX)
		return NULL;
	bytes = event_infos[values[0]].bytes;
	if (bytes > (size_t)(end - at) || values[5] > (size_t)(end - at) - bytes)
		return NULL;
	room = arena_alloc(arena, bytes + (size_t)values[5] + 1, 8);
	memcpy(room, at, bytes + (size_t)values[5]);
	*e = (struct event){ .time = e->time + unzigzag(values[2]), .number = e->number + values[1], .tid = (uint32_t)values[3],
			     .cpu = (uint16_t)values[4], .type = (uint16_t)values[0], .data = bytes ? room : NULL,
			     .tail = room + bytes, .tail_length = (uint32_t)values[5] };
	return at + bytes + values[5];
}

int standing_get(struct arena *arena, const unsigned char *bytes, size_t size, struct standing_events *ret_events)
{
	const unsigned char *end = bytes + size, *at;
	struct event last = { 0 };
	uint64_t count;

	at = varint_get(bytes, end, &count);
	if (!at || count > (size_t)(end - at) / 6)
		return -EBADMSG;
	ret_events->events = arena_array(arena, struct event, count);
	ret_events->count = (uint32_t)count;
	for (uint64_t i = 0; i < count; i++) {
		at = get_event(arena, at, end, &last);
		if (!at)
			return -EBADMSG;
		ret_events->events[i] = last;
	}
	return at == end ? 0 : -EBADMSG;
}
