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

#include "trace/event.h"
#include "base/arena.h"

struct standing;

struct standing *standing_new(void);
void standing_free(struct standing *standing);
/* The next event; all fields, numbered. */
void standing_see(struct standing *standing, const struct event *e);

/* Events in the order of their numbers. */
struct standing_events {
	struct event *events;
	uint32_t count;
};

/* Copies of those that stand now. A switch tells only what stands of it: the thread
 * that left, or the one that came, or both; 0 in place of the other. */
void standing_take(struct arena *arena, const struct standing *standing, struct standing_events *ret_events);

/* As bytes, for a file: at most standing_bytes(); returns how many. */
size_t standing_bytes(const struct standing_events *events);
size_t standing_put(const struct standing_events *events, unsigned char *to);
/* -EBADMSG when the bytes are malformed. */
int standing_get(struct arena *arena, const unsigned char *bytes, size_t size, struct standing_events *ret_events);

#endif
