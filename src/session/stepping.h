/* Which places are stepped: what `argus step` and `record --step` share. */
#ifndef SESSION_STEPPING_H
#define SESSION_STEPPING_H

#include "probe/process.h"
#include "record/steps.h"
#include "session/command.h"

#define STEPPING_MOST 1000000u /* places passed, unless another number is asked for */
#define STEPPING_DEPTH 1u      /* calls deep */

/* Which code is stepped through. */
#define STEPPING_OPTIONS \
	{ "depth", 0, OPTION_NUMBER, "N", "through functions that stepped ones call, so many calls deep (1)", .most = 16 }, \
	{ "into", 0, OPTION_TEXT, "LIBRARY", "step also through functions of this file that stepped ones call (again for more)" }

struct stepping {
	const char *text;             /* names the functions */
	bool first;                   /* the first one alone is one to come to; the others are stepped on the way */
	const struct process *process; /* who has mapped their file; NULL: as it is in the file system */
	const struct options *into;   /* --into: files whose functions are stepped through as well; NULL none */
	unsigned depth;
	bool results;                 /* also behind the calls of what is not stepped through, where their results are */
};

/* The places in the wishes. Tells in `notes` what is stepped. */
int stepping_find(struct arena *arena, const struct stepping *stepping, struct sink *notes, struct step_wishes *wishes, struct err *err);
/* Whom and how far: --thread, --until and --event, which also says from where. */
int stepping_bounds(struct arena *arena, const struct options *given, const struct process *process, struct stepping *stepping,
		    struct step_wish *wish, struct err *err);
/* "step --depth=2 --into=FILE", for the trace's head: what the next steps go on from. */
const char *stepping_options(struct arena *arena, const struct options *given);
/* --step of `record`, in the arena; NULL when there is none. */
int stepping_wishes(struct arena *arena, const struct options *given, struct sink *notes, const struct step_wishes **ret_wishes,
		    struct err *err);

#endif
