/* What each thread did in a scene, as a program that can be run again under other
 * conditions: so long on a processor, so long asleep or at a device, until that wake-up, in
 * possession of that lock. What the trace does not show is not in it: a lock that was taken
 * without anybody waiting, data handed on to one who did not wait for it, unless they are messages. */
#ifndef PATH_SCRIPT_H
#define PATH_SCRIPT_H

#include "path/critical.h"

enum op_kind {
	OP_COMPUTE,    /* ns on a processor */
	OP_COST,       /* ... that it costs to wait: not where the wait was over before it began */
	OP_DELAY,      /* ns off it: asleep, at a device, throttled */
	OP_QUEUED,     /* ns in which no processor was free, as it was; place: of the work that had it meanwhile */
	OP_LATENCY,    /* ns from a wake-up until a free processor came to run it; place: class of the sleep before */
	OP_CLOCK,      /* the delay that follows ends at this time of the thread's clock, and not as long after its beginning */
	OP_SET_CLOCK,  /* the thread's clock is set to this time */
	OP_LIMIT,      /* the delay that follows is a wait's time limit: it is over when the wake-up of this number comes */
	OP_MEET,       /* until somebody awaits the wake-up of this number: all must come to a barrier */
	OP_ASKED,      /* what follows is done to answer by the wake-up of this number: until somebody awaits that, where who answers is asked first */
	OP_SLACK,      /* ns that a sleep takes longer than asked for: half of it takes as much longer */
	OP_LOOK,       /* whether the wake-up of this number has come: then what follows until that is awaited takes no time */
	OP_LATE,       /* ns more where what was awaited before it had not come yet */
	OP_AWAIT,      /* the wake-up of this number */
	OP_WAKE,
	OP_LOCK,       /* number of the lock; place: whose turn it was, as the trace has it */
	OP_UNLOCK,
	OP_BEGIN,      /* another thread, by number */
	OP_JOIN        /* waits for the end of another thread */
};

struct op {
	uint64_t value;
	uint32_t kind : 8, place : 24; /* place: of work, index into places */
};

#define PLACE_OTHERS 1u
#define SCRIPT_NOT_REAL_TIME 100u /* kernel priorities from here on */

#define LATENCY_CLASSES 40u   /* by the length of the sleep before, each twice as long as the one before */

/* Where work was done: a row of the fold, before it is divided by samples. The first is nowhere, the second with programs that are not of the run. */
struct op_place {
	uint32_t lock, function;
	struct role_name who;
	bool runs;
	bool polls;               /* sleeps of a loop that looks again and again */
	uint32_t thread;          /* of work on a processor: whose; else 0 */
	uint32_t ustack;          /* of a wait: where; else 0 */
};

struct op_thread {
	uint32_t first, count;    /* ops */
	struct role_name who;
	uint64_t start_ns;        /* when it begins; UINT64_MAX: another thread begins it */
	uint8_t prio;             /* kernel priority: below 100 real-time; 0 not known */
	bool of_run;              /* of the root's process, or made by it */
};

/* When a lock was had that an op takes. */
struct lock_turn {
	uint64_t ns;
	uint32_t lock, op;
};

struct script {
	struct vec(struct op) ops;
	struct vec(struct op_thread) threads;  /* as in the scene; those without ops are left out of nothing */
	struct vec(struct op_place) places;
	struct map place_numbers;
	uint32_t root;
	struct vec(uint32_t) locks; /* by number: text */
	struct vec(struct lock_turn) turns;
	uint64_t wakes;           /* numbers of wake-ups are below */
	uint64_t from_ns, to_ns;
	uint64_t latencies[LATENCY_CLASSES]; /* medians; 0 too few were seen */
	unsigned run_processors;  /* on so many the run's threads were allowed; 0 on all */
};

/* A sleep that was over before the thread had left its processor for it. */
struct sleep_over {
	uint64_t ns;
	uint32_t thread;
	uint16_t syscall;
};

struct script_question {
	uint32_t root;
	uint64_t from_ns, to_ns;
	const uint8_t *prios;     /* by thread; NULL: not known */
	const struct sleep_over *over; /* by thread, call and time */
	size_t over_count;
};

void script_make(struct naming *naming, const struct holds *holds, const struct script_question *question, struct script *ret_script);
void script_done(struct script *script);
/* The number of the key, which gets the next one when it has none. */
uint32_t script_number_of(struct map *map, uint64_t key);
/* The class of a sleep, for latencies: a processor that rests for long wakes up later. */
unsigned script_latency_class(uint64_t slept_ns);

#endif
