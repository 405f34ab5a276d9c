/* A stepped run, read from its file: the places that one thread passed, in order, and the
 * instructions that it went through between them. */
#ifndef PROBE_STEP_RUN_H
#define PROBE_STEP_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "probe/code.h"

struct step_pass {
	uint64_t address;                /* of the instruction, as its file was linked */
	uint64_t registers[REGISTER_count]; /* before it */
	uint64_t flags, time, number;    /* number of the event */
	bool taken;                      /* of a conditional branch */
};

struct step_run {
	const char *path;                /* the trace */
	uint32_t pid, tid;
	const char *comm;
	struct code code;                /* of the one file that was stepped through */
	uint64_t bias;                   /* from an address as linked to where it lay */
	struct vec(struct step_pass) passes;
};

/* `tid` 0: the thread that passed most, of those that are their process's main thread, or not, and are
 * called as the one of `like`; NULL: any. */
int step_run_read(struct arena *arena, const char *path, uint32_t tid, const struct step_run *like, struct step_run *ret_run,
		  struct err *err);
void step_run_done(struct step_run *run);

/* Instructions in the order in which they were gone through. */
struct step_executed {
	uint64_t address;
	size_t pass;                     /* the place itself; SIZE_MAX: it is none */
	bool opaque;                     /* a call of what was not stepped through */
	bool gap;                        /* what came before it is not known */
};

struct step_way {
	struct step_executed *items;     /* a vec */
	size_t length, capacity;
};

/* From behind pass `first` up to pass `last` with it. */
void step_way_find(struct step_run *run, size_t first, size_t last, struct step_way *ret_way);
/* The pass's function from its beginning up to the pass without it, when the way there is straight and ends there. */
bool step_way_enter(struct step_run *run, size_t pass, struct step_way *way);
void step_way_done(struct step_way *way);

/* Whether a branch with this condition code is taken with these flags. */
bool step_condition_holds(unsigned condition, uint64_t flags);

#endif
