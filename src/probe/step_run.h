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
	uint32_t ustack;                 /* node of the trace's stacks, at calls and where a function was entered; 0 none */
	bool taken;                      /* of a conditional branch */
};

struct step_run {
	const char *path;                /* the trace */
	uint32_t pid, tid;
	const char *comm;
	struct code code;                /* of the files that were stepped through */
	uint64_t biases[CODE_FILES];     /* of each: from an address in `code` to where it lay */
	struct vec(struct step_pass) passes;
};

/* `tid` 0: the thread that passed most, of those that are their process's main thread, or not, and are
 * called as the one of `like`; NULL: any. */
int step_run_read(struct arena *arena, const char *path, uint32_t tid, const struct step_run *like, struct step_run *ret_run,
		  struct err *err);
void step_run_done(struct step_run *run);

/* Where the address of `code` lay. */
static inline uint64_t step_run_real(const struct step_run *run, uint64_t address)
{
	return address + run->biases[code_file_number(address)];
}

#define STEP_NO_PASS UINT32_MAX

/* Instructions in the order in which they were gone through. */
struct step_executed {
	uint64_t address;
	uint32_t pass;                   /* the place itself; STEP_NO_PASS: it is none */
	bool opaque;                     /* a call of what was not stepped through */
	bool gap;                        /* what came before it is not known */
	bool entered;                    /* ... for a function begins here that was called from outside */
};

struct step_way {
	struct step_executed *items;     /* a vec */
	size_t length, capacity;
};

/* From pass `first` up to pass `last`. `entries`: a function that was called from outside begins with the way from its
 * beginning to its first place, when that is straight; its first instruction is behind a gap. */
void step_way_find(struct step_run *run, size_t first, size_t last, bool entries, struct step_way *ret_way);
void step_way_done(struct step_way *way);

/* Whether a branch with this condition code is taken with these flags. */
bool step_condition_holds(unsigned condition, uint64_t flags);

#endif
