/* The circle of an answer: who waits for each other at the same time, and what broke it.
 * See answer.h. */
#include "diagnose/answer.h"

static bool is_member(const uint32_t *threads, unsigned count, uint32_t thread)
{
	for (unsigned i = 0; i < count; i++)
		if (threads[i] == thread)
			return true;
	return false;
}

/* The longest piece of the window in which a member waited and nobody outside of the
 * circle is known who could have ended it: when it was closed. NULL: never. */
static const struct piece *closed(const struct pieces *pieces, const uint32_t *threads, unsigned count)
{
	const struct piece *longest = NULL;

	for (size_t i = 0; i < pieces->length; i++) {
		const struct piece *p = &pieces->items[i];

		if (p->charge != (count > 1 ? CHARGE_CIRCLE : CHARGE_MISSING) || !is_member(threads, count, p->thread))
			continue;
		if (!longest || p->end_ns - p->start_ns > longest->end_ns - longest->start_ns)
			longest = p;
	}
	return longest;
}

/* Of the members' waits at that time the one that ended first broke the circle: where
 * its time limit ran out, that. 0: something else broke it, or nothing did. */
static uint64_t broken_by_limit(const struct scene *scene, const struct piece *closed, const uint32_t *threads, unsigned count)
{
	const struct episode *first = NULL;
	const struct wait *last;

	for (unsigned i = 0; i < count; i++) {
		const struct episode *e = scene_episode(scene, threads[i], closed->start_ns);

		if (e && e->start_ns < closed->end_ns && (!first || e->end_ns < first->end_ns))
			first = e;
	}
	if (!first)
		return 0;
	last = &scene->waits[first->last];
	return last->end == WAIT_END_TIMEOUT && last->kind != WAIT_KIND_sleep ? first->end_ns - first->start_ns : 0;
}

void answer_circle(const struct describer *d, const struct pieces *pieces, const uint32_t *threads, unsigned count,
		   struct diagnosis *diagnosis)
{
	struct actor *actors = arena_array(d->arena, struct actor, count);
	const struct piece *when = closed(pieces, threads, count);

	for (unsigned i = 0; i < count; i++)
		describe_thread(d, threads[i], when ? when->end_ns : diagnosis->end_ns, &actors[i]);
	diagnosis->circle = actors;
	diagnosis->circle_count = count;
	if (when)
		diagnosis->circle_timeout_ns = broken_by_limit(d->scene, when, threads, count);
}
