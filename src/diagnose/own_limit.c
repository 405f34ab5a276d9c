/* See own_limit.h. */
#include "diagnose/own_limit.h"

#include "diagnose/judgement.h"

/* In one wait, which nobody else ended. */
static bool has_come(const struct question *q)
{
	return wait_is_loop_rest(q->wait) && q->wait->kind != WAIT_KIND_accept && q->wait->end == WAIT_END_TIMEOUT && q->episode->slices == 1 &&
	       q->waiting_count > 1 && !scene_same_process(q->scene, q->waiting[0], q->wait->thread);
}

bool own_limit_came(const struct question *q, const struct trail *t)
{
	const struct scene *scene = q->scene;
	uint32_t first = scene->threads[t->thread].wait;
	const struct wait *w = first < scene_waits_end(scene, t->thread) ? &scene->waits[first] : NULL;

	return w && t->link == LINK_STARTED && rule_holds(scene, RULE_own_limit_came) && has_come(q) &&
	       scene_same_process(scene, t->thread, q->wait->thread) && w->kind == WAIT_KIND_futex && !w->hint && !w->timeout_ns && w->end_ns >= q->to;
}
