/* Stepping in a recording: the places of probe/code.h as uprobes of one process. */
#ifndef RECORD_STEPS_H
#define RECORD_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/programs.h"
#include "record/step_maps.h"

struct step_file {
	const char *path;        /* by which it can be opened */
	const uint64_t *offsets; /* of the places in it */
	const uint64_t *cookies; /* ... and what is known of each (record/step_maps.h) */
	size_t count;
};

struct step_wishes {
	struct step_wish wish;
	const struct step_file *files;
	size_t file_count;
};

struct steps;

int steps_attach(const struct programs *programs, const struct step_wishes *wishes, struct steps **ret_steps, struct err *err);
void steps_detach(struct steps *steps);
/* Whether all is recorded that was asked for. */
bool steps_are_over(const struct steps *steps);

#endif
