/* The hangs of a trace in blocks, see session_hangs. */
#ifndef SESSION_SWEEP_H
#define SESSION_SWEEP_H

#include "session/session.h"

int session_sweep(struct session *session, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
		  size_t *ret_count, struct err *err);

#endif
