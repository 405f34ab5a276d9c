/* See certainty.h.
 *
 * A lock's owner is a hint because memory may change under whoever reads it. Read of
 * a wait that began before the window and lasts beyond it, it is what it says: the
 * owner cannot have given the lock back meanwhile, or the wait would have ended. */
#include "diagnose/certainty.h"

#define OWNER_STANDS 96      /* per cent */
#define ONLY_THREAD_STANDS 90
#define SLACK_NS 50000000u   /* a recording's first moment and its first snapshot are not one */

static bool stands(const struct investigation *v, const struct episode *e)
{
	uint64_t slack = (v->request->to_ns - v->request->from_ns) / 10;

	if (slack > SLACK_NS)
		slack = SLACK_NS;
	return e->start_ns <= v->request->from_ns + slack && e->end_ns + slack >= v->request->to_ns;
}

static bool is_only_thread(const struct scene *scene, uint32_t thread, uint64_t time_ns)
{
	const struct tables *tables = scene->tables;

	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (i != thread && scene_same_process(scene, i, thread) && tables->threads[i].end_ns > time_ns)
			return false;
	return true;
}

/* How sure it is that the wait is for that thread, by what stood; 0: by nothing of this kind. */
static uint8_t surety(const struct investigation *v, const struct episode *e, uint32_t thread, enum walk_link link)
{
	const struct wait *w = &v->scene->waits[e->last];

	if (!stands(v, e))
		return 0;
	switch (w->hint_kind) {
	case HINT_KIND_mutex_owner:
	case HINT_KIND_pi_owner:
	case HINT_KIND_rwlock_writer:
	case HINT_KIND_lock_owner:
	case HINT_KIND_thread_exit:
	case HINT_KIND_child:
	case HINT_KIND_tracer:
	case HINT_KIND_file_lock_owner:
		return w->hint == thread ? OWNER_STANDS : 0;
	case HINT_KIND_socket_peer:
		return link == LINK_PEER && is_only_thread(v->scene, thread, v->request->to_ns) ? ONLY_THREAD_STANDS : 0;
	}
	return link == LINK_CHILD ? ONLY_THREAD_STANDS : 0;
}

static uint8_t weaker(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* Of the steps from the victim to the culprit, and of what closes the circle; 0 when one
 * of them rests on something else. */
static uint8_t way_surety(const struct investigation *v)
{
	const struct piece *p = &v->pieces.items[v->culprit->biggest];
	uint32_t step = investigation_culprit_step(v);
	uint8_t least = step ? OWNER_STANDS : 0;

	for (uint32_t at = step; at; at = v->steps.items[at].parent) {
		const struct walk_step *s = &v->steps.items[at];

		least = weaker(least, s->episode ? surety(v, &v->scene->episodes[s->episode - 1], s->thread, s->link) : 0);
	}
	if (p->charge == CHARGE_CIRCLE) {
		const struct wait *w = &v->scene->waits[p->wait];
		const struct fork *fork = investigation_fork_of(v, w->episode);
		const struct suspect *s = fork && fork->count ? &fork->suspects[fork->chosen] : NULL;

		least = s ? weaker(least, surety(v, &v->scene->episodes[w->episode], suspects_thread(s), s->hops[s->hop_count - 1].link)) : 0;
	}
	return least;
}

/* When the victim's wait began, where that was before the window. */
static uint64_t since(const struct investigation *v)
{
	const struct episode *e = scene_episode(v->scene, v->request->thread, v->request->from_ns);

	if (!e || !stands(v, e) || v->scene->waits[e->first].start_ns >= v->scene->start_ns)
		return 0;
	/* one that looked up meanwhile did so before, too */
	return e->slices == 1 ? v->scene->waits[e->first].start_ns : 0;
}

void certainty_judge(struct investigation *v)
{
	struct diagnosis *d = v->d;
	uint8_t sure;

	d->since_ns = since(v);
	if (v->culprit) {
		const struct piece *p = &v->pieces.items[v->culprit->biggest];

		if (p->wait && v->scene->waits[p->wait].end == WAIT_END_OPEN)
			d->last_wait = p->wait;
	}
	if (!v->culprit || d->culprit.kind != ACTOR_THREAD)
		return;
	sure = way_surety(v);
	if (sure && sure >= d->confidence) {
		d->confidence = sure;
		d->rests_on = d->circle_count ? "each wait of the circle, and who holds what it is for, stood like this for the whole time"
					      : "each wait on the way, and who holds what it is for, stood like this for the whole time";
	}
}
