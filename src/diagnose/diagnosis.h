/* The answer to "why was it stuck?".
 *
 * A diagnosis is plain data in the arena it was asked for: the verdict, the
 * window, the victim, the culprit, what set it off, the chain that leads from
 * one to the other and accounts for every nanosecond of the window, how much of
 * it is explained, other possible culprits, what to record to know more, and
 * the same in words. Texts from the recorded programs stand in it unescaped. */
#ifndef DIAGNOSE_DIAGNOSIS_H
#define DIAGNOSE_DIAGNOSIS_H

#include "diagnose/suspects.h"
#include "symbols/names.h"

enum verdict {
	VERDICT_NONE,
	VERDICT_BUSY,
	VERDICT_WAITING,
	VERDICT_YIELD,
	VERDICT_STARVED,
	VERDICT_IO
};

enum actor_kind {
	ACTOR_THREAD,
	ACTOR_KERNEL,
	ACTOR_CGROUP,
	ACTOR_DEVICE,
	ACTOR_UNKNOWN
};

const char *verdict_name(enum verdict verdict);
const char *actor_kind_name(enum actor_kind kind);

/* Somebody, or something, that has a part in a hang. */
struct actor {
	enum actor_kind kind;
	uint32_t thread;          /* entry in the tables, 0 none */
	uint32_t pid, tid, ppid;  /* initial namespace; 0 unknown */
	const char *comm;
	const char *program;      /* its process's name, where the thread has another; else NULL */
	const char *function;     /* NULL unknown */
	const char *module;       /* NULL unknown */
	const char *inner;        /* the place itself, where it has no name and `function` is a caller; else NULL */
	const char *file;         /* source of where most of that function's time went; NULL unknown */
	uint32_t line;
	uint8_t share;            /* of its time on the processor, per cent, that the function took; 0 unknown */
	const char *object;       /* what it works or waits on, in words; NULL unknown */
	bool internal;            /* of the victim's process */
};

struct deed {
	struct actor actor;
	uint64_t time;            /* 0 unknown */
	uint64_t event;           /* 0 none */
	const char *words;
	uint8_t confidence;       /* per cent */
};

#define DIAGNOSIS_MAX_FRAMES 40

struct chain_link {
	struct actor actor;
	const char *state;        /* running, runnable, waiting, stopped, unknown, ... */
	uint64_t start_ns, end_ns;
	const char *const *frames; /* innermost first, NULL-terminated */
	unsigned script;          /* which of them is the first of the program's own script, from 1; 0 none */
	const uint64_t *evidence; /* event numbers, 0 ends */
	const char *why;          /* how it came to be its turn, "" at the victim */
	bool explained;
};

/* A callback of a queue or loop, or a piece of work that was handed on, in which a thread was. */
struct callback {
	const char *what;         /* as its pack calls it, with its function where that is known */
	uint64_t begin_ns, begin_event;
	struct actor submitter;   /* who had asked for it; tid 0: not known */
	const char *deed;         /* how: "attached its source" */
	uint64_t submit_ns, submit_event;
	const char *within;       /* the callback in which the submitter did that; NULL none known */
};

/* From the victim to the culprit, one step for each thread that waits. */
struct path_step {
	struct actor actor;
	const char *words;        /* what it did or waited on */
	const char *link;         /* how the one before leads to it */
	uint64_t ns;              /* how much of the window was charged to it or through it */
	uint64_t event;
	uint8_t confidence;
	const struct callback *callbacks; /* in which it was while most of that went by, innermost first */
	unsigned callback_count;
};

/* What the culprit did for so long of the window, as charged to it. */
struct doing {
	const char *words;
	uint64_t ns;
};

/* How a similar wait was ended when all went well, and what became of that way
 * this time; nearest to the waiting thread first. */
struct contrast_step {
	struct actor then;        /* of the trace compared with; its function: where it did its part */
	uint64_t then_ns, then_event; /* event 0: its doing left no trace but that it ran */
	const char *flag;         /* the flag that it wrote then, which ended a loop; "" without a name; NULL: it did something else */
	struct actor now;         /* tid 0: nobody plays its part */
	bool set_to_work;         /* this time too */
	bool did;                 /* its part, this time too */
	bool culprit;
	bool late;                /* for it was set to work late */
	uint64_t work_event, did_event, wait_event; /* of this trace; 0 none */
	const char *doing;        /* this time, in words */
};

struct contrast {
	const char *trace;        /* path of another trace; NULL: this one */
	struct actor waiter;
	uint64_t start_ns, end_ns, offset_ns; /* of the similar wait, and of its begin from its trace's */
	uint64_t begin_event, end_event;
	uint8_t alike;            /* per cent of the events before it */
	uint8_t preceding;        /* waits before it that agree as well */
	bool same_place;
	bool asked_for;           /* the waiting thread had set the first of them to work */
	uint8_t confidence;       /* 0: no culprit found by it */
	const struct contrast_step *steps;
	size_t step_count;
};

struct plan_step {
	const char *option;       /* of `argus record` */
	const char *value;        /* NULL for flags */
	const char *why;
};

struct diagnosis {
	enum verdict verdict;
	uint64_t start_ns, end_ns;
	uint64_t since_ns;            /* when the wait began, where that was before the window, which begins with the trace; else 0 */
	bool looks;                   /* the victim looks again and again, as its calls tell */
	uint64_t perhaps_since_ns;    /* when it may have begun, before the window, of which nobody saw the beginning; else 0 */
	uint64_t began_ns;            /* when the hang did, where only its end was looked at, which is the window; else 0 */
	uint64_t ended_ns;            /* when the hang did, where only its beginning was looked at, which is the window; else 0 */
	struct actor victim;
	struct actor culprit;
	const struct actor *keepers;  /* where several shared the processor on which the culprit stood in the queue: who, and for how long each */
	const uint64_t *keepers_ns;
	size_t keeper_count;
	unsigned queue_cpu, idle_cpu; /* it stood on that one all the time, ... */
	uint64_t idle_ns;             /* ... while the other was idle for so long; 0: not so */
	uint64_t hog_ns, queued_ns;   /* culprit had the processor, in so much time in which another could have run */
	bool source;                  /* not the culprit's thread, but the interrupt's source on which it waited */
	bool far;                     /* and that is another machine */
	uint8_t confidence;
	uint8_t by_links;             /* the same by the links of the way alone, whatever of it is exact: what nobody asked about is told by that */
	uint32_t last_wait;           /* of the culprit, in which it still was; 0 none */
	uint64_t covers_ns;           /* for which the culprit was at it, where that is a small part of the window; 0: it is not */
	bool person;                  /* the culprit waits for its user */
	bool awaits_output;       /* the culprit waits to write to a terminal whose output is stopped */
	const char *rests_on;         /* why it is that sure; NULL: nothing to be said */
	const struct doing *doings;   /* the culprit's, the longest first */
	size_t doing_count;
	size_t fellow_count;          /* other threads of the culprit's process, charged with the same wait at the same place */
	uint64_t fellows_ns;
	const struct deed *triggers;
	size_t trigger_count;
	const struct actor *circle;
	size_t circle_count;
	uint64_t circle_timeout_ns;   /* that broke it, 0 none */
	const struct chain_link *chain;
	size_t chain_count;
	const struct path_step *path;
	size_t path_count;
	uint64_t explained_ns, unknown_ns, lost_ns;
	const struct deed *alternatives;
	size_t alternative_count;
	const struct contrast *contrast; /* that the answer rests on, or adds to it; NULL none */
	unsigned questions;           /* forks on the path that a person would be asked about */
	const struct plan_step *plan;
	size_t plan_count;
	const char *step;             /* of a loop that polls: the command that steps through it; NULL none */
	const char *text;
};

/* Whom to ask about, and when. */
struct diagnose_request {
	uint32_t thread;
	uint64_t from_ns, to_ns;
	struct side *base;            /* another trace, where all went well, or NULL */
	bool now;                     /* the trace is a short look: what went on before it is to be guessed */
	bool looks;                   /* it is known to look for something again and again (standing.h) */
	uint64_t since_ns;            /* since when it does what it does, as a look before this trace told; 0 not known */
	uint64_t ended_ns;            /* when what is asked about truly ended, where that is behind the window; else 0 */
};

struct diagnoser;

/* What is kept between the questions of a session; `names` may be NULL (frames
 * are then left out). Of the scene those waits become sleeps that only its ends tell to be such. */
struct diagnoser *diagnoser_new(struct scene *scene, struct names *names);
void diagnoser_free(struct diagnoser *diagnoser);
const struct scene *diagnoser_scene(const struct diagnoser *diagnoser);
const struct ends *diagnoser_ends(const struct diagnoser *diagnoser);
/* The trace as others are compared with it; its caches change. */
struct side *diagnoser_side(struct diagnoser *diagnoser);
struct hangs_found *diagnoser_hangs_found(struct diagnoser *diagnoser);

/* True when the thread runs in the window, but gives up the processor again and
 * again, or asks whether a process has ended, or never leaves a few instructions while another of its process is kept off:
 * it waits for a flag or a lock. */
/* The longest part of the window that its samples show to be such spinning; false
 * when there is none. */
bool diagnoser_spin_window(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			   uint64_t *ret_from_ns, uint64_t *ret_to_ns);
bool diagnoser_spins(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

/* For whose part a thread that spins waits, of its process; 0 nobody. */
uint32_t diagnoser_spin_partner(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* How much of its running time, per cent, is not spent on giving up the processor. */
unsigned diagnoser_work_share(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

/* The threads from the victim to the culprit, at most `most`; returns their number. */
unsigned diagnoser_way(struct diagnoser *diagnoser, const struct diagnose_request *request, uint32_t *threads, unsigned most);

struct diagnosis *diagnose(struct arena *arena, struct diagnoser *diagnoser, const struct diagnose_request *request);

#endif
