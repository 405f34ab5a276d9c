/* What each thread did in a scene, as a program that can be run again under other
 * conditions: so long on a processor, so long asleep or at a device, until that wake-up, in
 * possession of that lock. What the trace does not show is not in it: a lock that was taken
 * without anybody waiting, data handed on to one who did not wait for it. */
#ifndef PATH_SCRIPT_H
#define PATH_SCRIPT_H

#include "path/critical.h"

enum op_kind {
	OP_COMPUTE,    /* ns on a processor */
	OP_COST,       /* ... that it costs to wait: not where the wait was over before it began */
	OP_DELAY,      /* ns off it: asleep, at a device, throttled */
	OP_QUEUED,     /* ns in which no processor was free, as it was */
	OP_LATENCY,    /* ns from a wake-up until a free processor came to run it */
	OP_AWAIT,      /* the wake-up of this number */
	OP_WAKE,
	OP_LOCK,       /* number of the lock */
	OP_UNLOCK,
	OP_BEGIN,      /* another thread, by number */
	OP_JOIN        /* waits for the end of another thread */
};

struct op {
	uint64_t value;
	uint32_t kind : 8, place : 24; /* place: of work, index into places */
};

/* Where work was done: a row of the fold, before it is divided by samples. */
struct op_place {
	uint32_t lock, function;
	struct role_name who;
	bool runs;
	uint32_t thread;          /* of work to be divided by samples: whose; else 0 */
};

struct op_thread {
	uint32_t first, count;    /* ops */
	struct role_name who;
	uint64_t start_ns;        /* when it begins; UINT64_MAX: another thread begins it */
	uint8_t prio;             /* kernel priority: below 100 real-time; 0 not known */
};

struct script {
	struct vec(struct op) ops;
	struct vec(struct op_thread) threads;  /* as in the scene; those without ops are left out of nothing */
	struct vec(struct op_place) places;
	struct map place_numbers;
	uint32_t root;
	struct vec(uint32_t) locks; /* by number: text */
	uint64_t wakes;           /* numbers of wake-ups are below */
	uint64_t from_ns, to_ns;
};

struct script_question {
	uint32_t root;
	uint64_t from_ns, to_ns;
	const uint8_t *prios;     /* by thread; NULL: not known */
};

void script_make(struct naming *naming, const struct holds *holds, const struct script_question *question, struct script *ret_script);
void script_done(struct script *script);

#endif
