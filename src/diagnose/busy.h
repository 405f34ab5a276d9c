/* Where a thread spent its processor time: the heaviest path through the stacks
 * that were sampled in a window. */
#ifndef DIAGNOSE_BUSY_H
#define DIAGNOSE_BUSY_H

#include "diagnose/scene.h"
#include "symbols/names.h"

struct busy {
	uint32_t samples;          /* in the window */
	uint32_t path[64];         /* frame nodes of the heaviest path, outermost first */
	uint32_t path_samples[64]; /* samples below each */
	unsigned depth;
	unsigned culprit;          /* index into path: the innermost that holds half of the samples */
	uint32_t first_event, last_event_index; /* of the samples, as indices into scene->samples */
};

void busy_find(struct arena *arena, const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns,
	       uint64_t to_ns, struct busy *ret_busy);
/* Share of samples (per cent) whose innermost frames are in a function of this
 * name; for what only the program's own calls tell (giving up the processor).
 * -1 when there are too few to say. */
int busy_share_in(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       const char *function);

/* True when the sample's innermost frames are in such a function. */
bool busy_sample_in(const struct scene *scene, struct names *names, const struct sample *sample, const char *function);

#endif
