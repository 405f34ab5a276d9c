/* The hangs of a trace in blocks, see session_hangs; and having them found beforehand. */
#ifndef SESSION_SWEEP_H
#define SESSION_SWEEP_H

#include "session/session.h"

int session_sweep(struct session *session, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
		  size_t *ret_count, struct err *err);

struct sweep_progress {
	size_t hangs;             /* found or noted so far */
	size_t groups_left;       /* of blocks, that are not judged yet */
	uint64_t until_ns;        /* up to there all are */
};

struct sweep_pace {
	bool grows;               /* the trace does: what may still change is left out, and what is judged better with what follows */
	/* Before each stretch that is judged together, and at the end; it may take its time. Not 0 ends it, as an error. */
	int (*before)(void *data, const struct sweep_progress *progress);
	void *data;
};

/* Finds and notes the hangs of a trace in blocks, giving memory back in between. */
int session_index(struct session *session, const struct sweep_pace *pace, size_t *ret_count, struct err *err);

#endif
