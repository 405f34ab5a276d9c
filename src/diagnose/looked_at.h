/* What a thread looks at between its sleeps, again and again, and does not find: by the calls of its process, and of what
 * that has started meanwhile, that failed. Known only where each call was recorded, with what it names (EVENT_call_name). */
#ifndef DIAGNOSE_LOOKED_AT_H
#define DIAGNOSE_LOOKED_AT_H

#include "diagnose/scene.h"

enum looked_what {
	LOOKED_NOTHING,
	LOOKED_ANSWERED,  /* one whom it asks over an object, and who answers each time */
	LOOKED_THERE,     /* a file that is there, whose end it may await */
	LOOKED_ABSENT,    /* a file that is not there */
	LOOKED_DENIED,    /* one that it may not have, or that is in use */
	LOOKED_PRESENT,   /* one that it is to make, and that is there */
	LOOKED_DATA,      /* what is to come over an object */
	LOOKED_CHILD,     /* its child, which has not ended */
	LOOKED_PROCESS,   /* a process, which lives */
	LOOKED_ADDRESS,   /* a server that cannot be reached */
};

struct looked_at {
	enum looked_what what;
	uint32_t times;
	uint64_t time, number;           /* of the last of them */
	const struct named_call *call;   /* of files and addresses */
	uint32_t target;                 /* of processes: the first thread, 0 unknown */
	uint64_t object;                 /* of what is to come, or comes */
	bool several;                    /* who answers is not one alone */
	uint64_t channel;                /* to a server that it connects to anew each time; 0 else */
};

/* Calls were recorded so, with what they name. */
bool looked_at_known(const struct scene *scene);
/* In that time, more than once, or once between long sleeps; false: nothing is known. */
bool looked_at_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct looked_at *ret_looked);
/* A file by its path: "" it is none. */
const char *looked_at_path(const struct looked_at *looked);
/* It slept, waited for children, or for moments, nearly all of the time, and did next to nothing besides. */
bool looked_at_may(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* Between two long sleeps it looked once, for one thing that keeps it, which is known by that. */
bool looked_at_once(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

#endif
