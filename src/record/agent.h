/* The agent: a thread that empties the rings into the trace.
 *
 * It sleeps between rounds: the fuller the rings were the shorter, and longer and
 * longer where there is next to nothing in them. An event wakes it only once, when
 * a storm breaks into a long sleep. It runs at the lowest real-time priority, so that
 * a busy machine cannot starve it, and allocates nothing. On a busy machine others
 * share its rounds (share.h). */
#ifndef RECORD_AGENT_H
#define RECORD_AGENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/place.h"
#include "record/rings.h"
#include "record/share.h"
#include "trace/writer.h"

struct agent {
	struct rings *rings;
	struct writer *writer;
	pthread_mutex_t lock;     /* of the writer: held by whoever writes */
	pthread_t thread;
	int wake_fd;              /* ends the agent's sleep */
	int ended_fd;             /* written when it stopped by itself */
	atomic_bool stop;
	atomic_bool ended;
	bool started, real_time;
	bool crowded;             /* rounds are shared */
	struct place place;
	struct share share;
	struct err err;           /* of the agent's own end; read it when `ended` */
	_Atomic uint64_t events, bytes;
};

int agent_start(struct agent *agent, struct rings *rings, struct writer *writer, struct err *err);
/* Ends the thread; what is left in the rings is written when `last`. */
int agent_stop(struct agent *agent, bool last, struct err *err);
void agent_done(struct agent *agent);

/* Others that write to the trace hold the lock meanwhile. */
void agent_lock(struct agent *agent);
void agent_unlock(struct agent *agent);

#endif
