/* Following a request forward: what became of what a thread set off.
 *
 * From a moment on, the threads that a thread woke or sent to are followed, and
 * those that they woke or sent to on its behalf, through relays that look idle
 * again at once. Each end of the trail is judged: a message nobody reads, a
 * thread that stopped, starved, kept busy or blocked in a wait that is not the
 * one it came from, or that went back to its rest without an answer. */
#ifndef DIAGNOSE_FOLLOW_H
#define DIAGNOSE_FOLLOW_H

#include "diagnose/ends.h"
#include "diagnose/walk.h"

enum trail_end {
	TRAIL_RELAY,       /* handed on, and at rest again */
	TRAIL_AT_REST,     /* at rest again, and handed nothing on */
	TRAIL_BLOCKED,     /* waits for something else now */
	TRAIL_BUSY,
	TRAIL_STARVED,
	TRAIL_STOPPED,
	TRAIL_KILLED,      /* by a signal, at work */
	TRAIL_UNREAD,      /* has not read the message */
	TRAIL_BACK         /* leads back to the thread that asked */
};

const char *trail_end_words(enum trail_end end);

struct trail {
	uint32_t thread;
	uint32_t parent;         /* index of the trail it continues; itself at the first */
	uint64_t from_ns;        /* when it was reached */
	uint64_t rest_ns;        /* when its part was over, UINT64_MAX never */
	uint64_t evidence;       /* wake-up or message that reached it */
	uint64_t object;         /* of the message, 0 else */
	uint8_t end;             /* enum trail_end */
	uint8_t link;            /* enum walk_link */
	uint8_t confidence;
	uint8_t level;
};

struct trails vec(struct trail);

/* What `thread` set off between from_ns and until_ns, as it stood at until_ns.
 * Trail 0 is the thread itself. `set_off_ns`: its own wake-ups and messages
 * count up to then. */
void follow_request(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from_ns,
		    uint64_t set_off_ns, uint64_t until_ns, struct trails *trails);
/* The hops from trail 0 (left out) to trails->items[index]; returns their number. */
unsigned follow_hops(const struct trails *trails, uint32_t index, struct hop hops[WALK_MAX_HOPS]);

/* One thread on the way back from how a wait was ended. */
struct path_node {
	uint32_t thread;
	uint64_t time;            /* when it did its part */
	uint64_t evidence;        /* the wake-up that handed on */
};

#define FOLLOW_MAX_BACK 16

/* Back from the end of an episode over the wake-ups that led to it, nearest first;
 * returns the number of threads. */
unsigned follow_back(const struct scene *scene, const struct episode *episode, struct path_node path[FOLLOW_MAX_BACK]);

#endif
