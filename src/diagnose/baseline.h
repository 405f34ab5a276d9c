/* Algorithm 3 of the paper, AssistedGraphDiff: who did not do its part this time.
 *
 * From the similar wait that went well (similar.h) a slice leads back, over the
 * wake-ups, messages and other edges of the graph, through the threads whose
 * doings ended it. Each of them has its counterpart this time (side.h); what that
 * one did between the begin of the victim's request and the end of the hang tells
 * how far the same way went, and with whom it stopped. */
#ifndef DIAGNOSE_BASELINE_H
#define DIAGNOSE_BASELINE_H

#include "diagnose/similar.h"

enum baseline_doing {
	DOING_ABSENT,     /* nobody plays this part: it was not created, or not recorded */
	DOING_GONE,       /* it had ended */
	DOING_RESTED,     /* it waited where it waits between two pieces of work */
	DOING_AWAITED,    /* so, too, for the one behind it set it to work only when most of the time was over */
	DOING_BLOCKED,    /* it waited elsewhere */
	DOING_BUSY,
	DOING_STARVED,    /* it had no processor */
	DOING_STOPPED
};

/* A thread on the way, nearest to the victim first. */
struct baseline_step {
	uint32_t then_thread;     /* of the base's tables */
	uint32_t now_thread;      /* 0: nobody */
	uint64_t then_ns, then_event; /* when, and by which event of the base, it did its part; event 0: not seen */
	uint32_t then_stack;      /* user stack of that, in the base; 0 none */
	const char *flag;         /* that it wrote, which ended a loop; "": it has no name; NULL none */
	uint8_t mechanism;        /* MECHANISM_ of the edge; 0: it ran when a loop's condition became true */
	bool set_to_work;         /* this time, too, the one before it handed on to it */
	bool did;                 /* this time, too, it handed on */
	uint64_t work_event;      /* that set it to work this time, 0 none */
	uint64_t did_event;
	enum baseline_doing doing;
	uint32_t wait;            /* in which it was this time; 0 none */
};

#define BASELINE_MAX_STEPS 16

struct baseline {
	struct side *base;
	bool other_trace;
	struct similar similar;
	struct baseline_step steps[BASELINE_MAX_STEPS];
	unsigned step_count;
	unsigned culprit;         /* step that did not do its part; step_count: not known */
	bool from_victim;         /* the way began with the victim: it had asked for it */
	uint8_t confidence;       /* per cent, that the culprit is one */
};

/* False when nothing similar went well, or nothing tells what ended it. */
bool baseline_diff(struct side *now, const struct episode *episode, uint64_t from_ns, uint64_t to_ns, struct side *base,
		   struct baseline *ret_baseline);
/* The same for one similar wait that is given. */
bool baseline_diff_with(struct side *now, const struct episode *episode, uint64_t from_ns, uint64_t to_ns, struct side *base,
			const struct similar *similar, struct baseline *ret_baseline);

const char *baseline_doing_words(enum baseline_doing doing);

#endif
