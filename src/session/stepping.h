/* Which places are stepped: what `argus step` and `record --step` share. */
#ifndef SESSION_STEPPING_H
#define SESSION_STEPPING_H

#include "probe/process.h"
#include "record/steps.h"
#include "session/command.h"

#define STEPPING_MOST 1000000u /* places passed, unless another number is asked for */
#define STEPPING_DEPTH 1u      /* calls deep */

/* The places of the functions that the text names, in the wishes: as `process` has mapped their file, or
 * without one (NULL) as it is in the file system. `results`: also behind the calls of what is
 * not stepped through, where their results are. Tells in `notes` what is stepped. */
int stepping_find(struct arena *arena, const char *text, const struct process *process, unsigned depth, bool results,
		  struct sink *notes, struct step_wishes *wishes, struct err *err);
/* --step of `record`, in the arena; NULL when there is none. */
int stepping_wishes(struct arena *arena, const struct options *given, struct sink *notes, const struct step_wishes **ret_wishes,
		    struct err *err);

#endif
