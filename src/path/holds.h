/* Who had which lock when, in a part of a trace, as the waits for it and their ends tell;
 * and how many stood there. A lock that nobody waited for leaves no trace. */
#ifndef PATH_HOLDS_H
#define PATH_HOLDS_H

#include "path/naming.h"

struct hold {
	uint64_t start_ns, end_ns;
	uint64_t earliest_ns;     /* since the one before gave it back: it cannot have had it before */
	uint64_t object;
	uint32_t thread;
	uint32_t woken;           /* thread whose wait ended as it gave the lock back */
	uint32_t lock;            /* text */
	bool exact;               /* it got it as the one before gave it back; else it may have had it for longer */
	bool shared;              /* a read-write lock: others may have had it, too */
	uint32_t function;        /* where the lock is taken, as a waiter's stack tells; text, 0 not known */
};

struct holds {
	struct vec(struct hold) list;   /* by thread, then time */
	struct vec(uint32_t) turns;     /* of locks that one has at a time: by lock, then time; places in the list */
};

void holds_find(struct naming *naming, struct holds *ret_holds);
void holds_done(struct holds *holds);
/* The lock that the thread had at the moment, of several the one it took last; NULL none.
 * *ret_until: how long that stays so, at least. */
const struct hold *holds_at(const struct holds *holds, uint32_t thread, uint64_t time_ns, uint64_t *ret_until);

/* Whose turn it was with the lock at the moment, and until when: who had it; where nobody is known to have had it, who was
 * woken to take it. False when it is not known, or several may have it at once. */
bool holds_turn(const struct holds *holds, uint64_t object, uint64_t time_ns, uint32_t *ret_thread, uint64_t *ret_until);

/* How long a lock is had from one who gave it to the next, where that is known. */
struct typical_hold {
	uint32_t lock, function;
	uint64_t ns;
};

struct typical_holds vec(struct typical_hold);

void holds_find_typical(const struct holds *holds, struct typical_holds *typical);

/* Adds who stood for each lock in the window to the fold's queues. */
void holds_count_queues(struct naming *naming, struct fold *fold, uint64_t from_ns, uint64_t to_ns);

#endif
