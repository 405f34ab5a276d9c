/* How the files of the doctor add what they find. */
#ifndef RECORD_DOCTOR_CHECKS_H
#define RECORD_DOCTOR_CHECKS_H

#include "base/vec.h"
#include "record/doctor.h"

struct doctor {
	struct arena *arena;
	struct vec(struct doctor_check) checks;
};

/* Texts are literals or in the doctor's arena; `means` and `mend` are dropped
 * when all is well. */
void doctor_add(struct doctor *doctor, const char *name, const char *what, enum doctor_state state, const char *found,
		const char *means, const char *mend);

/* Type information, program types, trace points, per-CPU variables. */
void doctor_check_bpf(struct doctor *doctor);

#endif
