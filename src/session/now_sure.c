/* See now_sure.h. */
#include "session/now_sure.h"

#include "diagnose/judgement.h"
#include "diagnose/word_lock.h"

/* For any of its children, of which there are several. */
static bool waits_for_any(const struct scene *scene, const struct wait *w)
{
	uint32_t count = 0;

	for (uint32_t i = 1; w->kind == WAIT_KIND_child && w->argument <= 0 && i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];

		count += t->tid == t->pid && t->parent_pid == scene_pid(scene, w->thread) && t->end_ns >= scene->end_ns;
	}
	return count > 1;
}

/* Each of the circle was in one wait all through the look, and for one thing: who comes and goes, or listens to several, is not known to be
 * kept by the others. */
static bool circle_stands(const struct scene *scene, const struct diagnosis *d, uint64_t from_ns)
{
	uint64_t from = from_ns > scene->start_ns ? from_ns : scene->start_ns;

	for (size_t i = 0; i < d->circle_count; i++) {
		const struct episode *e = d->circle[i].thread ? scene_episode(scene, d->circle[i].thread, scene->end_ns - 1) : NULL;

		if (!e || e->end_ns < scene->end_ns || e->start_ns > from + limit_of(scene, LIMIT_standing_slack_ns) ||
		    wait_is_loop_rest(&scene->waits[e->last]) || waits_for_any(scene, &scene->waits[e->last]))
			return false;
	}
	return true;
}

/* Who is to answer takes from a queue, and so waits for what others bring, as the one that asked does. */
static bool waits_for_news(const struct scene *scene, struct names *names, const struct diagnosis *d)
{
	uint32_t server = d->path_count > 1 ? d->path[1].actor.thread : 0;
	const struct episode *e = server && rule_holds(scene, RULE_takes_news) ? scene_episode(scene, server, scene->end_ns - 1) : NULL;

	return e && e->end_ns >= scene->end_ns && !scene_same_process(scene, server, d->victim.thread) &&
	       word_takes(names, scene->tables, &scene->waits[e->last]);
}

/* Who is to blame waits for a word of its own process, and nobody knows whose that is: as one does that takes the next piece of work. */
static bool ends_unknown(const struct scene *scene, const struct diagnosis *d)
{
	uint32_t thread = d->culprit.thread;
	const struct wait *w = thread && rule_holds(scene, RULE_ends_at_word) ? scene_stands_until(scene, thread, scene->end_ns) : NULL;

	return w && d->circle_count < 2 && d->path_count <= 2 && !scene_same_process(scene, thread, d->victim.thread) && w->kind == WAIT_KIND_futex &&
	       w->argument & WAIT_FUTEX_PRIVATE && !wait_has_owner(scene_slice_with_owner(scene, &scene->episodes[w->episode], scene->end_ns));
}

bool now_ends_known(const struct scene *scene, const struct diagnosis *d)
{
	uint32_t thread = d->culprit.kind == ACTOR_THREAD ? d->culprit.thread : 0;
	const struct wait *w = thread ? scene_stands_until(scene, thread, scene->end_ns) : NULL;

	/* a longer look would tell no more of a quota that is used up */
	if (d->culprit.kind == ACTOR_CGROUP)
		return d->path_count > 1 && d->by_links >= limit_of(scene, LIMIT_told_owed);
	if (!thread || d->path_count < 2 || scene_same_process(scene, thread, d->victim.thread) || d->by_links < limit_of(scene, LIMIT_told_owed))
		return false;
	if (d->circle_count > 1 || !w)
		return true;
	return !w->idle && (w->kind == WAIT_KIND_stop || w->kind == WAIT_KIND_throttled || wait_has_owner(w) || wait_is_in_kernel(w) ||
			    (w->kind == WAIT_KIND_sleep && scene->episodes[w->episode].slices == 1));
}

bool now_doubted(const struct scene *scene, struct names *names, const struct standing *s, const struct diagnosis *d)
{
	return s->owed && !s->dead && d && d->by_links >= limit_of(scene, LIMIT_told_doubted) && !d->person && d->culprit.thread &&
	       !scene_same_process(scene, d->culprit.thread, s->thread) && !waits_for_news(scene, names, d);
}

bool now_sure(const struct scene *scene, struct names *names, const struct standing *s, const struct diagnosis *d, uint64_t from_ns)
{
	uint64_t sure = limit_of(scene, LIMIT_told_sure), end = limit_of(scene, LIMIT_told_owed);

	if (!rule_holds(scene, RULE_told_unasked))
		return true;
	if (s->dead || (s->blocked && rule_holds(scene, RULE_blocked_unasked)))
		return true;
	if (s->maybe)
		return d->circle_count > 1 && circle_stands(scene, d, from_ns) && d->by_links >= sure && !d->person;
	if (!s->owed)
		return d->by_links >= sure || (d->by_links >= end && d->path_count > 1 && d->path[1].confidence >= sure);
	return d->by_links >= end && !d->person && !waits_for_news(scene, names, d) && !ends_unknown(scene, d) &&
	       (d->far || d->awaits_output || d->circle_count > 1 || (d->culprit.thread && d->culprit.thread != s->thread));
}
