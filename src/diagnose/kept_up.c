/* See kept_up.h. */
#include "diagnose/kept_up.h"

#define LOOKED_BACK 64 /* waits of a thread before the one that is judged */

/* Who writes let times pass, or waited for work, and its pipe took what it wrote at once, or soon: `longest_ns` so long at most. */
static bool writes_at_its_pace(const struct finder *f, const struct wait *w, uint64_t longest_ns)
{
	const struct scene *scene = f->scene;
	uint32_t first = scene->threads[w->thread].wait, paced = 0, others = 0;

	for (const struct wait *before = w - 1; before >= scene->waits + first && w - before <= LOOKED_BACK; before--) {
		if (before->kind == WAIT_KIND_write && before->object == w->object) {
			if (before->end_ns - before->start_ns > longest_ns)
				return false;
		} else if ((before->kind == WAIT_KIND_sleep && before->end == WAIT_END_TIMEOUT) || hangs_listens(before->kind)) {
			paced++;
		} else {
			others++;
		}
	}
	return paced >= limit_of(scene, LIMIT_kept_up_times) && paced > others;
}

bool kept_up_before(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint64_t longest = (w->end_ns - w->start_ns) / limit_of(scene, LIMIT_kept_up_late), back = 0;
	uint32_t first = scene->threads[w->waker].wait, took = 0, looked = 0;

	if (!rule_holds(scene, RULE_kept_up) || !scene_is_pipe(w->object) || w->end != WAIT_END_THREAD || !writes_at_its_pace(f, w, longest))
		return false;
	for (uint32_t i = scene_waits_from(scene, w->waker, w->start_ns); i-- > first && looked++ < LOOKED_BACK; ) {
		const struct wait *its = &scene->waits[i];

		if (!hangs_listens(its->kind) || hangs_listened_to(its) != w->object || its->end != WAIT_END_THREAD ||
		    !scene_same_process(scene, its->waker, w->thread))
			continue;
		/* the pipe had to fill first, from when it last came back to it */
		if (back && back - its->end_ns > longest)
			return false;
		back = its->start_ns;
		took++;
	}
	return took >= limit_of(scene, LIMIT_kept_up_times);
}
