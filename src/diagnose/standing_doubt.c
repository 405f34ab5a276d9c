/* See standing_doubt.h. */
#include "diagnose/standing_doubt.h"

#include "diagnose/closed.h"
#include "diagnose/diagnoser.h"
#include "diagnose/group_limit.h"
#include "diagnose/looked_at.h"
#include "diagnose/one_time.h"
#include "diagnose/suspects.h"
#include "diagnose/watched.h"
#include "diagnose/word_lock.h"

/* Its process asked somebody who does not take the request: who is stopped, has not accepted the connection, or leaves unread
 * what was sent. */
static bool is_left_alone(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns)
{
	const struct scene *scene = diagnoser->scene;
	const struct ends *ends = &diagnoser->ends;
	struct row row = ends_of_process(ends, scene_pid(scene, thread));
	struct state_times times;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = ends_role(ends, d->at.object) == END_CLIENT ? suspects_neighbour(scene, ends, d, from_ns, scene->end_ns) : 0;

		if (!other || scene_pid(scene, other) == d->pid)
			continue;
		if (ends_not_accepted(ends, d) || suspects_leave_unread(ends, d, from_ns, scene->end_ns))
			return true;
		scene_state_times(scene, other, from_ns, scene->end_ns, &times);
		if (times.ns[SPAN_STOPPED] * 2 > scene->end_ns - from_ns)
			return true;
	}
	return false;
}

/* Of those that could change the files that it watches one alone is stopped, or kept. */
static bool is_left_by_writer(const struct scene *scene, const struct wait *w, uint64_t from_ns)
{
	struct watched watched;

	if (!rule_holds(scene, RULE_watched_writer))
		return false;
	watched_find(scene, w, from_ns, scene->end_ns, &watched);
	return watched.standing_out == 1;
}

/* Who says that a program is stuck is right where its loop waits, among others, for somebody who does not come. */
static void doubt_rest(struct diagnoser *diagnoser, struct standing *s, uint64_t from_ns)
{
	const struct scene *scene = diagnoser->scene;
	const struct wait *w = scene_last_wait(scene, s->thread);
	uint64_t begin_ns = from_ns > scene->start_ns ? from_ns : scene->start_ns;

	if (s->kind != STANDING_RESTS || !w || w->idle || (w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll && w->kind != WAIT_KIND_read) ||
	    (!is_left_alone(diagnoser, s->thread, begin_ns) &&
	     !is_left_by_writer(scene, w, begin_ns) &&
	     (w->kind == WAIT_KIND_read || !suspects_kept_child(scene, &diagnoser->ends, s->thread, begin_ns, scene->end_ns))))
		return;
	s->kind = STANDING_WAITS;
	s->reason = standing_reasons[STANDING_WAITS];
}

/* Nor where it waits until something has been done once, which pools do not rest by. */
void standing_doubt_once(struct diagnoser *diagnoser, struct standing *s)
{
	const struct scene *scene = diagnoser->scene;
	const struct wait *w = scene_last_wait(scene, s->thread);

	if (s->kind != STANDING_RESTS || !w || w->idle || w->kind != WAIT_KIND_futex || !rule_holds(scene, RULE_once_part) ||
	    !one_time_awaits(diagnoser->names, scene->tables, w))
		return;
	s->kind = STANDING_LOCKED;
	s->reason = standing_reasons[STANDING_LOCKED];
}

/* Nor for a lock. */
static void doubt_pool(struct diagnoser *diagnoser, struct standing *s)
{
	const struct scene *scene = diagnoser->scene;
	const struct wait *w = scene_last_wait(scene, s->thread);

	if (s->kind != STANDING_RESTS || !w || w->idle || !rule_holds(scene, RULE_locked_part) || !word_lock_named(diagnoser->names, scene->tables, w))
		return;
	s->kind = STANDING_LOCKED;
	s->reason = standing_reasons[STANDING_LOCKED];
}

/* Nor where it is the one for whose end the first thread of its process waits: what that one waits for is no work. */
static void doubt_lead(const struct scene *scene, struct standing *s)
{
	const struct wait *w = scene_last_wait(scene, s->thread);

	if (s->kind != STANDING_RESTS || !w || w->idle || w->end != WAIT_END_OPEN || !rule_holds(scene, RULE_lead_asked) ||
	    !closed_behind_lead(scene, w, scene->end_ns - 1))
		return;
	s->kind = STANDING_WAITS;
	s->reason = standing_reasons[STANDING_WAITS];
}

/* Nor is it at rest, or at this and that, where its calls tell that it looks for one thing again and again, in vain. */
static void doubt_looks(const struct scene *scene, struct standing *s, uint64_t from_ns)
{
	uint64_t from = from_ns > scene->start_ns ? from_ns : scene->start_ns;
	struct looked_at looked;

	if ((s->kind != STANDING_RESTS && s->kind != STANDING_MOVES) || !looked_at_known(scene) || !rule_holds(scene, RULE_looked_at) ||
	    !looked_at_may(scene, s->thread, from, scene->end_ns) || !looked_at_find(scene, s->thread, from, scene->end_ns, &looked) ||
	    (looked.what == LOOKED_ANSWERED && (looked.several || !rule_holds(scene, RULE_asks_again))))
		return;
	s->kind = STANDING_LOOKS;
	s->answered = looked.what == LOOKED_ANSWERED;
	s->reason = s->answered ? "it asks again and again, is answered, and may look for what does not come" : standing_reasons[STANDING_LOOKS];
}

/* Nor is it where its control group lets it start no process, and it sleeps before it tries again. */
static void doubt_sleep(const struct scene *scene, struct standing *s, uint64_t from_ns)
{
	if ((s->kind != STANDING_RESTS && s->kind != STANDING_MOVES) || !group_limit_of_processes(scene, s->thread, from_ns))
		return;
	s->kind = STANDING_LOOKS;
	s->reason = standing_reasons[STANDING_LOOKS];
}

void standing_doubt(struct diagnoser *diagnoser, struct standing *s, uint64_t from_ns)
{
	doubt_rest(diagnoser, s, from_ns);
	standing_doubt_once(diagnoser, s);
	doubt_pool(diagnoser, s);
	doubt_lead(diagnoser->scene, s);
	doubt_looks(diagnoser->scene, s, from_ns);
	doubt_sleep(diagnoser->scene, s, from_ns);
}
