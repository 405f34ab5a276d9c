/* Work that may never come back: opening and reading other people's files, which
 * may lie on a file system that no longer answers. A thread of its own does it;
 * when that neither computes nor runs for a second, it is left behind with all
 * that it holds, and another takes its place.
 *
 * Of one thread at a time. */
#ifndef RECORD_ASIDE_H
#define RECORD_ASIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct aside;

struct aside_job {
	void (*run)(struct aside_job *job);
	void (*drop)(struct aside_job *job); /* frees it, when it was left behind and nobody needs it any more */
	atomic_bool left;          /* it was left behind: what is not yet done need not be */
	_Atomic int holders;       /* then: its thread and the caller */
};

struct aside *aside_open(void);
/* Threads that are left behind stay until they come back or the process ends. Accepts NULL. */
void aside_close(struct aside *aside);
/* True when it is done. False when it was left behind: then the caller releases it.
 * Without `aside` (NULL) it is done here and now. */
bool aside_run(struct aside *aside, struct aside_job *job);
void aside_release(struct aside_job *job);
/* What the one who waits for jobs does meanwhile, now and then. It may not begin jobs of the same. */
void aside_meanwhile(struct aside *aside, void (*meanwhile)(void *data), void *data);
/* How many threads are left behind just now. */
uint32_t aside_left(const struct aside *aside);

#endif
