/* Decoding ahead: a second thread decodes the chunks that a cursor will come to
 * next, while the cursor's user works on the current ones.
 *
 * Chunks are taken in order. Where the helper has not begun the one that is
 * needed, the caller decodes it itself, so that both processors are busy and
 * nobody waits for a helper that gets no processor. */
#ifndef TRACE_AHEAD_H
#define TRACE_AHEAD_H

#include "trace/reader.h"

struct ahead;

/* From `first` on; chunks with none of the filter's types are passed over when it
 * is unnumbered. NULL when no thread can be had. */
struct ahead *ahead_start(const struct trace *trace, const struct trace_filter *filter, size_t first);
/* Decodes chunk i (each taken at most once, in rising order) into *decoded,
 * which is exchanged for another one's memory. As chunk_decode. */
int ahead_take(struct ahead *ahead, size_t i, struct decoded *decoded);
void ahead_stop(struct ahead *ahead);

#endif
