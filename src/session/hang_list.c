/* See hang_list.h. */
#include "session/hang_list.h"

#include <math.h>
#include <stdlib.h>

#include "diagnose/answer.h"
#include "trace/when.h"

/* What ended so long before a mark counts half, of two that are alike. */
#define MARK_PATIENCE_NS 1e9

void hang_list_line(struct arena *arena, const struct session *session, const struct hang *hangs, size_t index, struct buf *out)
{
	uint64_t start = trace_summary(session->trace)->start_ns;
	const struct hang *h = &hangs[index];
	uint64_t wall_ns = trace_wall_ns(session->trace, h->start_ns);
	struct actor actor = { .pid = h->pid, .tid = h->tid, .comm = h->comm, .program = h->program };

	buf_printf(out, "%2zu  at %9.3f s", index + 1, ((double)h->start_ns - (double)start) / 1e9);
	if (wall_ns) {
		buf_text(out, " (");
		trace_clock_format(out, wall_ns);
		buf_text(out, ")");
	}
	buf_printf(out, "  for %8.3f s  %s: %s%s\n", (double)(h->end_ns - h->start_ns) / 1e9, answer_who(arena, &actor), hang_reason(h),
		   h->meant ? " (may be meant)" : "");
}

void hang_list(struct arena *arena, const struct session *session, const struct hang *hangs, size_t count, struct buf *out)
{
	if (!count)
		buf_text(out, "no hang found\n");
	for (size_t i = 0; i < count; i++)
		hang_list_line(arena, session, hangs, i, out);
}

/* At the mark a hang has lasted from its begin until then; interest fades with the
 * time since its end. */
static double worth_at(const struct hang *hang, uint64_t mark_ns)
{
	uint64_t end = hang->end_ns < mark_ns ? hang->end_ns : mark_ns;

	if (hang->start_ns >= mark_ns)
		return 0;
	return (double)(end - hang->start_ns) * hang->weight * exp2(-(double)(mark_ns - end) / MARK_PATIENCE_NS);
}

void hang_list_for_mark(struct hang *hangs, size_t count, uint64_t mark_ns)
{
	for (size_t i = 1; i < count; i++) {
		struct hang moved = hangs[i];
		size_t at = i;

		for (; at && worth_at(&hangs[at - 1], mark_ns) < worth_at(&moved, mark_ns); at--)
			hangs[at] = hangs[at - 1];
		hangs[at] = moved;
	}
}
