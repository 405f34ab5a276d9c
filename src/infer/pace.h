/* How long functions take, as far as stacks tell: the key by which the time between
 * two stacks is shared, and what tells where a loop was.
 *
 * A sample finds functions in proportion to the time that they take. A function's
 * pace is how often it was found running by samples for each time that a call of it
 * was seen to begin, end or go on. One that was never found has next to none; who
 * makes a system call is a wrapper as long as samples do not say otherwise. Without
 * samples only that is known, and all else is alike. */
#ifndef INFER_PACE_H
#define INFER_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

struct pace_function {
	uint32_t found;       /* running, by samples */
	uint32_t crossed;     /* begun, ended or gone on between two stacks */
	uint32_t below;       /* samples that found it or what it called running */
	uint32_t kept;        /* times that it went on between two stacks that differ */
	uint64_t charged_ns;  /* time that it was taken to have gone round its own loop */
};

struct pace {
	struct vec(struct pace_function) functions;
	uint64_t period_ns;   /* between samples of a running thread; 0 no sample yet */
};

/* What a function weighs that has not been found yet. */
#define PACE_UNKNOWN 0.02
#define PACE_WRAPPER 0.0005

static inline struct pace_function *pace_of(struct pace *pace, uint32_t function)
{
	while (function >= pace->functions.length) {
		const struct pace_function none = { 0 };

		vec_push(&pace->functions, none);
	}
	return &pace->functions.items[function];
}

/* Weighs it, and counts that it was crossed. */
static inline double pace_cross(struct pace *pace, uint32_t function, bool wrapper)
{
	struct pace_function *f;

	if (!pace)
		return wrapper ? PACE_WRAPPER : PACE_UNKNOWN;
	f = pace_of(pace, function);
	f->crossed++;
	return (f->found + (wrapper ? PACE_WRAPPER : PACE_UNKNOWN)) / f->crossed;
}

/* The frame that goes on stands for the calls that nobody saw as well, when what was
 * seen does not explain the time. */
static inline double pace_keep(struct pace *pace, uint32_t function, bool wrapper, double seen)
{
	double own = pace_cross(pace, function, wrapper), all;
	struct pace_function *f;

	if (!pace)
		return own;
	f = pace_of(pace, function);
	f->kept++;
	all = (double)f->below / f->kept;
	return seen < all / 16 ? all : own;
}

/* Would so much more time in the function's own loop, with all that it calls, be more
 * than samples have found there? */
static inline bool pace_contradicts(struct pace *pace, uint32_t function, uint64_t ns)
{
	struct pace_function *f;

	if (!pace || !pace->period_ns)
		return false;
	f = pace_of(pace, function);
	return f->charged_ns + ns > (f->below * 3 + 4) * pace->period_ns;
}

#endif
