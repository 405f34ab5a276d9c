/* How the files of the doctor add what they find. */
#ifndef RECORD_DOCTOR_CHECKS_H
#define RECORD_DOCTOR_CHECKS_H

#include "base/vec.h"
#include "record/doctor.h"

/* How to come by a capability; README says what setcap's file is to look like. */
#define DOCTOR_MEND(capability) "run as root (sudo argus ...), or give the program " capability " with setcap"

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
