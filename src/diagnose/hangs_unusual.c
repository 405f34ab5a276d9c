/* Long waits that are only unlike what was before, see hangs_unusual.h. */
#include "diagnose/hangs_unusual.h"

#include "diagnose/broken_off.h"
#include "diagnose/diagnoser.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_pending.h"
#include "diagnose/one_time.h"

#define LOOKED_BACK 64 /* waits of a thread before the one that is judged */

/* What stood as the recording began, and still stands as it ends, always did. */
static bool stands_always(const struct finder *f, const struct episode *e)
{
	return (hangs_stood_before(f, e) || hangs_began_before(f, e)) && f->scene->waits[e->last].end == WAIT_END_OPEN;
}

/* Nobody asks about it, nor about any command, and nothing but another ends it: its process is not told to end. */
static bool is_of_interest(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	if (!hangs_is_left_alone(f) || stands_always(f, e) || e->end_ns - e->start_ns < limit_of(f->scene, LIMIT_unusual_ns))
		return false;
	return !w->timeout_ns && (w->end == WAIT_END_OPEN || w->end == WAIT_END_THREAD) && w->cause != WAKE_CAUSE_signal &&
	       !scene_ended_by_signal(f->scene, w) && !broken_off_by_end(f->scene, w);
}

static bool is_by_clock(const struct wait *w)
{
	return w->end == WAIT_END_TIMEOUT && (w->kind == WAIT_KIND_sleep || w->timeout_ns);
}

/* So that it comes behind whatever else of the thread hung meanwhile. */
static bool is_weak(const struct finder *f)
{
	f->hang->meant = rule_holds(f->scene, RULE_may_rest) ? RULE_may_rest : RULE_NONE;
	return true;
}

bool hangs_left_its_clock(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint32_t first = scene->threads[e->thread].wait, by_clock = 0, others = 0;
	uint64_t longest = 0;

	if (!is_of_interest(f, e) || (w->kind != WAIT_KIND_futex && w->kind != WAIT_KIND_semaphore))
		return false;
	for (uint32_t i = e->first; i-- > first && e->first - i <= LOOKED_BACK; ) {
		const struct wait *before = &scene->waits[i];

		if (before->end_ns - before->start_ns > longest)
			longest = before->end_ns - before->start_ns;
		if (is_by_clock(before))
			by_clock++;
		else if (before->site == w->site)
			return false;
		else
			others++;
	}
	return by_clock >= limit_of(scene, LIMIT_clock_times) && by_clock > others &&
	       e->end_ns - e->start_ns > longest * limit_of(scene, LIMIT_unusual_times) && is_weak(f);
}

bool hangs_began_to_wait(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	if (!f->leads || !is_of_interest(f, e) || hangs_rests_at(f, w))
		return false;
	switch (w->kind) {
	case WAIT_KIND_futex:
		return one_time_awaits(f->diagnoser->names, f->scene->tables, w) || is_weak(f);
	case WAIT_KIND_semaphore:
		return is_weak(f);
	case WAIT_KIND_read:
		return hangs_role_in(f, w) == END_CLIENT && is_weak(f);
	case WAIT_KIND_poll:
		return w->argument <= 1 && hangs_role_in(f, w) == END_CLIENT && is_weak(f);
	default:
		return false;
	}
}
