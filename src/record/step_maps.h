/* What the stepping program and the recorder share. */
#ifndef RECORD_STEP_MAPS_H
#define RECORD_STEP_MAPS_H

#include "trace/event.h"

#define STEP_FRAMES_MOST 32u /* of a stack that is compared */

enum step_until {
	STEP_UNTIL_limits,       /* places, time */
	STEP_UNTIL_wait,         /* the thread's next wait */
	STEP_UNTIL_return,       /* return of the function that it came to */
	STEP_UNTIL_count,        /* so many instructions */
};

struct step_wish {
	u32 pid, tid;            /* pid 0: whom the recording is about; tid 0: all threads */
	u64 most;                /* places passed that are recorded */
	u64 taken;
	u64 count;               /* instructions; of STEP_UNTIL_count */
	char comm[16];           /* what the thread is called; "" whatever */
	u32 until;               /* enum step_until */
	u32 one;                 /* the first thread that comes is the one that is stepped */
	u32 frame_count;         /* of the stack that it is to come with; 0 whatever */
	u32 over;                /* also until all places are there */
	/* the one thread */
	u32 claimed;             /* somebody came */
	u32 owner;               /* who, once what follows is told */
	u64 waits;               /* how often it had waited when it came */
	u64 sp;                  /* where its stack ended then */
	u64 instructions;        /* so far */
	u64 frames[STEP_FRAMES_MOST]; /* where it goes on, innermost first; the first one, where it is, is not compared */
};

/* What is known of a place, as its uprobe's cookie: STEP_PLACE_ bits, and of a branch its condition and how many
 * instructions it is from there to the next place on either way. */
#define STEP_PLACE_starts 1u  /* in a function that one is to come to */
#define STEP_PLACE_enters 2u  /* that function's beginning */
#define STEP_PLACE_returns 4u
#define STEP_PLACE_stack 8u   /* worth one */
#define STEP_PLACE_CONDITION 8 /* shifts */
#define STEP_PLACE_STRAIGHT 16
#define STEP_PLACE_TAKEN 32
#define STEP_CONDITIONS 16u   /* condition codes; what is no branch by flags has this one */

#endif
