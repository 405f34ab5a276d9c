/* Others that hand over rings beside the agent. While a round lasts whatever ran on
 * the agent's processor stands still, and on a busy machine those that work with it
 * do, too; the same work on several processors at once lets them stand still for
 * a part of that time. So where no processor rests, or the rings fill faster than one
 * thread empties them, a round is shared.
 *
 * The rings are shared out by number. Who has not begun by the time that the agent is
 * done with its own part (something of a higher priority holds its processor) has
 * its part taken away, so a round waits only for those that run. */
#ifndef RECORD_SHARE_H
#define RECORD_SHARE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "record/rings.h"
#include "trace/writer.h"

#define SHARE_MOST 4u /* threads, the agent among them */

struct share;

struct sharer {
	struct share *share;
	pthread_t thread;
	sem_t offered, done;
	atomic_int state;
	uint32_t number;
	uint32_t cpu;             /* where it is to run */
	int r;
	struct err err;
};

struct share {
	struct rings *rings;
	struct writer *writer;    /* of this round */
	struct sharer sharers[SHARE_MOST]; /* the first is the agent itself */
	uint32_t threads;         /* as many as the writer has packers */
	uint32_t started;         /* of them, beside the agent */
	atomic_bool stop;
};

/* How many threads there are to be for so many processors. */
static inline uint32_t share_threads(uint32_t cpus)
{
	return cpus < SHARE_MOST ? cpus : SHARE_MOST;
}

int share_start(struct share *share, struct rings *rings, uint32_t threads, struct err *err);
void share_stop(struct share *share);
/* Hands over what rings_look() saw; `parallel`: with the others, else alone. */
int share_hand_over(struct share *share, struct writer *writer, bool parallel, struct err *err);

#endif
