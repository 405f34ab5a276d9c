/* The processor's watchpoints that a recording has armed: perf events, one for each thread and aligned
 * piece of a place. */
#ifndef RECORD_WATCH_ARMS_H
#define RECORD_WATCH_ARMS_H

#include "base/vec.h"
#include "probe/watch_find.h"

struct watch_armed {
	int fd;
	uint32_t number;         /* of its place */
};

struct watch_arms {
	int program;             /* that runs at each hit */
	struct vec(struct watch_armed) armed;
};

/* -ENODEV where armed ones never fire, as on virtual machines that hide the processor's debug registers and
 * do not say so. */
int watch_arms_check(struct err *err);
/* In all threads of the place's process, those that it makes too; or in the one whose own it is. Lists of
 * threads go to the arena. */
int watch_arms_add(struct watch_arms *arms, struct arena *arena, const struct watch_place *place, uint32_t number, struct err *err);
void watch_arms_remove(struct watch_arms *arms, uint32_t number);
/* Until it is removed. */
void watch_arms_disable(struct watch_arms *arms, uint64_t number);
void watch_arms_done(struct watch_arms *arms);

#endif
