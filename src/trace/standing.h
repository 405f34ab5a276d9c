/* Which earlier events still stand at a moment: a thread's last switch while it waits,
 * its creation and name while it lives, a file lock until it is given back, a request
 * until it is answered.
 *
 * Fed with a trace's events in order, it knows at each moment the events that a reader
 * must be given before those that follow, so that it finds every thread, wait and lock
 * as a reader of the whole trace does. So a trace can be read from the middle (view.h).
 * What the state stream of a file tells again anyway (frames, modules, mappings,
 * descriptors) is not kept here. Memory is bounded by what lives at one time. */
#ifndef TRACE_STANDING_H
#define TRACE_STANDING_H

#include <stdbool.h>

#include "trace/event.h"
#include "base/arena.h"

struct standing;
struct trace;

/* Of events from that moment on; before it they only stand. `trace` tells where events were lost (NULL: nowhere). */
struct standing *standing_new(const struct trace *trace, uint64_t start_ns);
void standing_free(struct standing *standing);
/* The next event; all fields, numbered. Types that never stand need not be handed over: frequent ones, and what the state
 * stream tells again. */
void standing_see(struct standing *standing, const struct event *e);
static inline bool standing_ever(unsigned type)
{
	switch (type) {
	case EVENT_syscall: case EVENT_sample:
	case EVENT_module: case EVENT_frame: case EVENT_symbol: case EVENT_mapping: case EVENT_descriptor: case EVENT_poll_item: case EVENT_watch:
		return false;
	default:
		return true;
	}
}

/* Events in the order of their times. */
struct standing_events {
	struct event *events;
	uint32_t count;
};

/* Copies of those that stand at the moment, which is not before the last one seen. A switch tells only what stands of it: the thread
 * that left, or the one that came, or both; 0 in place of the other. */
void standing_take(struct arena *arena, const struct standing *standing, uint64_t now_ns, struct standing_events *ret_events);

/* Puts what may stand in order, each once; returns how many are left. */
size_t standing_sort(struct event *events, size_t count);

/* As bytes, for a file: at most standing_bytes(); returns how many. */
size_t standing_bytes(const struct standing_events *events);
size_t standing_put(const struct standing_events *events, unsigned char *to);
/* -EBADMSG when the bytes are malformed. */
int standing_get(struct arena *arena, const unsigned char *bytes, size_t size, struct standing_events *ret_events);

#endif
