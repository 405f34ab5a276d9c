/* What this host allows a recording, and for each thing that is missing the
 * command that mends it. */
#ifndef RECORD_DOCTOR_H
#define RECORD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_LIMITED,   /* recording works, with less in it */
	DOCTOR_MISSING    /* no recording without it */
};

struct doctor_check {
	const char *name;      /* short and stable: "btf" */
	const char *what;      /* "kernel type information" */
	enum doctor_state state;
	const char *found;     /* what there is */
	const char *means;     /* what is lacking without it; "" when all is well */
	const char *mend;      /* command or setting; "" none, or all is well */
};

/* Runs all checks, the needful ones first. The list lives in the arena. */
void doctor_run(struct arena *arena, const struct doctor_check **ret_checks, size_t *ret_count);

/* The first check that forbids recording, as a message; returns `code`, and
 * leaves err as it is when none does. */
int doctor_explain(int code, struct err *err);

/* Whether the processes here have the numbers that the kernel's events tell. */
bool doctor_shares_pids(void);

#endif
