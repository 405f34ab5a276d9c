/* See sweep_pieces.h. */
#include "session/sweep_pieces.h"

#include <stdlib.h>

#include "diagnose/hangs.h"

#define JOIN_NS 1000000ull     /* between two pieces of one hang */

static int by_thread(const void *a, const void *b)
{
	const struct hang *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static size_t join_pieces(struct hang *hangs, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(hangs, count, sizeof(*hangs), by_thread);
	for (size_t i = 0; i < count; i++) {
		struct hang *h = &hangs[i], *last = kept ? &hangs[kept - 1] : NULL;

		if (!last || last->tid != h->tid || h->start_ns > last->end_ns + JOIN_NS ||
		    !((hang_has_pieces(last) && hang_has_pieces(h)) || h->end_ns <= last->end_ns)) {
			hangs[kept++] = *h;
			continue;
		}
		if (h->weight > last->weight) {
			last->weight = h->weight;
			last->rule = h->rule;
		}
		last->meant = h->meant ? last->meant : RULE_NONE;
		if (h->end_ns > last->end_ns)
			last->end_ns = h->end_ns;
		last->least_ns = last->least_ns && h->least_ns ? last->least_ns : 0;
	}
	return kept;
}

/* Pieces that are too short together are no hang. */
static size_t drop_short(struct hang *hangs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (hangs[i].end_ns - hangs[i].start_ns >= hangs[i].least_ns)
			hangs[kept++] = hangs[i];
	return kept;
}

size_t sweep_join_pieces(struct hang *hangs, size_t count)
{
	return drop_short(hangs, join_pieces(hangs, count));
}
