/* See kept_up.h. */
#include "diagnose/kept_up.h"

#define LOOKED_BACK 64 /* waits of a thread before the one that is judged, or behind it */

/* What two did that share a pipe, before the one waited to write, or since. */
struct habit {
	const struct wait *wait;   /* the long one */
	uint32_t paced, others;    /* of who writes: let a time pass, or waited for work; all else */
	uint32_t took;             /* of who reads: went on by what was written */
	uint64_t longest_ns;       /* so long may take what is soon */
	bool late;                 /* something was not */
};

static bool is_paced(const struct wait *w)
{
	return (w->kind == WAIT_KIND_sleep && w->end == WAIT_END_TIMEOUT) || hangs_listens(w->kind);
}

/* Who writes let times pass, or waited for work, and its pipe took what it wrote at once, or soon. */
static void see_writer(struct habit *h, const struct wait *its)
{
	if (its->kind == WAIT_KIND_write && its->object == h->wait->object)
		h->late |= its->end_ns - its->start_ns > h->longest_ns;
	else if (is_paced(its))
		h->paced++;
	else
		h->others++;
}

static bool takes(const struct scene *scene, const struct habit *h, const struct wait *its)
{
	return hangs_listens(its->kind) && hangs_listened_to(its) == h->wait->object && its->end == WAIT_END_THREAD &&
	       scene_same_process(scene, its->waker, h->wait->thread);
}

static void look_back(const struct scene *scene, struct habit *h)
{
	const struct wait *w = h->wait;
	uint32_t first = scene->threads[w->waker].wait, looked = 0;
	uint64_t back = 0;

	for (const struct wait *its = w - 1; its >= scene->waits + scene->threads[w->thread].wait && w - its <= LOOKED_BACK; its--)
		see_writer(h, its);
	for (uint32_t i = scene_waits_from(scene, w->waker, w->start_ns); i-- > first && looked++ < LOOKED_BACK; ) {
		const struct wait *its = &scene->waits[i];

		if (!takes(scene, h, its))
			continue;
		/* the pipe had to fill first, from when it last came back to it */
		h->late |= back && back - its->end_ns > h->longest_ns;
		back = its->start_ns;
		h->took++;
	}
}

/* Since it had taken what the pipe was full of. */
static void look_on(const struct scene *scene, struct habit *h)
{
	const struct wait *w = h->wait, *end = scene->waits + scene_waits_end(scene, w->thread);
	uint32_t last = scene_waits_end(scene, w->waker), looked = 0;
	uint64_t back = 0;

	for (const struct wait *its = w + 1; its < end && its - w <= LOOKED_BACK; its++)
		see_writer(h, its);
	for (uint32_t i = scene_waits_from(scene, w->waker, w->end_ns); i < last && looked++ < LOOKED_BACK; i++) {
		const struct wait *its = &scene->waits[i];

		if (!takes(scene, h, its))
			continue;
		h->late |= back && its->start_ns - back > h->longest_ns;
		back = its->end_ns;
		h->took++;
	}
}

/* A part of a trace is looked at, and not even of the thread all is told that it did before. */
static bool is_told_in_part(const struct scene *scene, uint32_t thread)
{
	return scene->threads[thread].since_ns > scene->reach_ns;
}

bool kept_up_before(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	struct habit h = { .wait = w, .longest_ns = (w->end_ns - w->start_ns) / limit_of(scene, LIMIT_kept_up_late) };
	uint32_t least = (uint32_t)limit_of(scene, LIMIT_kept_up_times);

	if (!rule_holds(scene, RULE_kept_up) || !scene_is_pipe(w->object) || w->end != WAIT_END_THREAD)
		return false;
	look_back(scene, &h);
	/* a part of a long trace may not tell what was before */
	if (!h.late && (is_told_in_part(scene, w->thread) || is_told_in_part(scene, w->waker)) && (h.took < least || h.paced < least))
		look_on(scene, &h);
	return !h.late && h.took >= least && h.paced >= least && h.paced > h.others;
}
