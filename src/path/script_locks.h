/* When a thread asks for locks, has them and gives them back, as far as holds (holds.h) and its waits tell. For script.c. */
#ifndef PATH_SCRIPT_LOCKS_H
#define PATH_SCRIPT_LOCKS_H

#include "path/holds.h"
#include "path/script.h"

struct lock_point {
	uint64_t time, had_ns;    /* asked for or given back; had from then on */
	uint32_t lock;
	bool release;
};

struct lock_taken {
	uint64_t ns;
	const struct wait *wait;  /* by which, NULL: it did not wait */
	bool told;
};

/* Of one thread at a time. */
struct script_locks {
	struct naming *naming;
	const struct scene *scene;
	struct script *p;
	struct map numbers;       /* object -> number + 1 */
	struct map likes;         /* object -> a wait for it whose stack tells what it is */
	struct typical_holds typical;
	struct vec(struct lock_point) points; /* in the order of time */
	struct vec(struct lock_taken) taken;  /* its holds */
	struct vec(uint32_t) claimed;         /* its waits by which it got a lock that is known to have been held */
	size_t point;             /* the next one, for who goes through them */
};

void script_locks_begin(struct script_locks *locks, struct naming *naming, const struct holds *holds, struct script *script);
void script_locks_end(struct script_locks *locks);
/* The thread's points, from its holds. */
void script_locks_of(struct script_locks *locks, uint32_t thread, const struct hold *holds, size_t count);
/* The wait itself; of one whose stack is not known one for the same object, of which it is. */
const struct wait *script_like(const struct script_locks *locks, const struct wait *w);
/* Who waits so gets the lock when it is free. */
bool script_is_lock_wait(const struct script_locks *locks, const struct wait *w);

#endif
