/* Where a thread spent its processor time: the heaviest path through its calls.
 *
 * The latencies that src/infer tells from the stacks of all kinds of events say
 * it; CPU samples alone where they cannot, and where the window is a small part
 * of the answer. What was inferred is kept for the next question. */
#ifndef DIAGNOSE_BUSY_H
#define DIAGNOSE_BUSY_H

#include "diagnose/scene.h"
#include "symbols/names.h"

struct busy_frame {
	const char *function;      /* "" without a name */
	const char *text;          /* what to show: function, function~ when guessed, or module+0xoffset */
	const char *module;        /* file name; "" none */
};

struct busy {
	const struct busy_frame *path; /* of the heaviest calls, outermost first; of recursion one frame */
	unsigned depth;            /* 0: nothing is known */
	unsigned hot;              /* the innermost whose function holds half of the time */
	unsigned look_at;          /* the one to look at: that, or its caller that is no code of the
				    * kernel or the C library */
	uint64_t first_event, last_event; /* samples in the window, as event numbers; 0 none */
};

/* What was read from the trace so far. */
struct busies;

/* `names` may be NULL: nothing is known then. Both must stay. */
struct busies *busies_new(const struct scene *scene, struct names *names);
void busies_free(struct busies *busies);

/* How much an answer is worth. */
enum busy_effort {
	BUSY_SAMPLES,  /* a look at the samples, or at what is known already */
	BUSY_LINK,     /* reading a short window again, where samples are few */
	BUSY_VERDICT   /* reading the window again, unless it is long and samples tell as well */
};

/* The path lives as long as `busies` and the arena both do. */
void busy_find(struct arena *arena, struct busies *busies, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	       enum busy_effort effort, struct busy *ret_busy);

/* Share (per cent) of the thread's samples that are in the function of this text, or
 * below it; 0 when there are too few. *ret_node: its frame that most of them have. */
unsigned busy_share_of(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       const struct busy_frame *function, uint32_t *ret_node);

/* Share of samples (per cent) whose innermost frames are in a function of this
 * name; for what only the program's own calls tell (giving up the processor).
 * -1 when there are too few to say. */
int busy_share_in(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       const char *function);

/* True when the sample's innermost frames are in such a function. */
bool busy_sample_in(const struct scene *scene, struct names *names, const struct sample *sample, const char *function);

#endif
