/* A program (script.h) run again under other conditions: work that takes longer or less
 * long, locks that several may have, more processors. */
#ifndef PATH_REPLAY_H
#define PATH_REPLAY_H

#include "path/script.h"

struct replay_conditions {
	const double *factors;       /* by place: what its work is multiplied by; NULL: as it was */
	const double *thread_factors; /* by thread; NULL: as it was */
	unsigned processors;
	unsigned processors_before;  /* as many as there were */
	uint32_t shared_lock;        /* text of a lock that two may have at once; 0 none */
	bool queued_as_it_was;       /* who stood for a processor stands less as the work of who had it shrinks; else
				      * processors are handed out anew */
	bool without_others;         /* nobody stands for a processor that a program not of the run had */
	bool locks_in_turn;          /* locks go from hand to hand as they did; else to who asks first */
	bool asked_first;            /* who is asked over a socket answers only when he has been */
	bool free_waits;             /* to wait and to be woken takes no time: it takes less where nobody sleeps long */
};

/* How long the root takes to its end; false when threads wait for each other for ever, or
 * it takes more than 100 times as long as it did. */
bool replay(const struct script *script, const struct replay_conditions *conditions, uint64_t *ret_ns);

#endif
