/* Hangs as a list: what `argus hangs` shows, the interactive session, and `argus
 * why` beside its answer. */
#ifndef SESSION_HANG_LIST_H
#define SESSION_HANG_LIST_H

#include "base/buf.h"
#include "session/session.h"

/* The hang's line, under its number from 1. */
void hang_list_line(struct arena *arena, const struct session *session, const struct hang *hangs, size_t index, struct buf *out);
void hang_list(struct arena *arena, const struct session *session, const struct hang *hangs, size_t count, struct buf *out);

/* Orders hangs by what a person means who marks a moment: the longest that had just
 * ended, or lasts, seen from then. */
void hang_list_for_mark(struct hang *hangs, size_t count, uint64_t mark_ns);

#endif
