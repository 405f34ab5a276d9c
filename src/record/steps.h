/* Stepping in a recording: the places of probe/code.h as uprobes of one process. */
#ifndef RECORD_STEPS_H
#define RECORD_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/programs.h"

struct step_file {
	const char *path;        /* by which it can be opened */
	const uint64_t *offsets; /* of the places in it */
	size_t count;
};

struct step_wishes {
	pid_t pid, tid;          /* pid 0: whom the recording is about; tid 0: all threads */
	const struct step_file *files;
	size_t file_count;
	uint64_t most;           /* places passed that are recorded */
};

struct steps;

int steps_attach(const struct programs *programs, const struct step_wishes *wishes, struct steps **ret_steps, struct err *err);
void steps_detach(struct steps *steps);
/* How many places were passed; `wishes->most` when it is over. */
uint64_t steps_taken(const struct steps *steps);

#endif
