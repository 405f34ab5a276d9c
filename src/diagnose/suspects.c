/* Who should have ended a wait, see suspects.h. */
#include "diagnose/suspects.h"

#include <stdlib.h>

#include "diagnose/asked_in_vain.h"
#include "diagnose/leads.h"
#include "diagnose/lock_keeper.h"
#include "diagnose/own_ends.h"
#include "diagnose/own_limit.h"
#include "diagnose/question.h"
#include "diagnose/request.h"
#include "diagnose/serving.h"
#include "diagnose/shared_word.h"
#include "diagnose/told.h"
#include "diagnose/tries.h"
#include "diagnose/word_sleep.h"

void inquiry_done(struct inquiry *inquiry)
{
	vec_done(&inquiry->trails);
}

/* One that several open files of the same process give rise to is one all the same. */
static bool is_same_suspicion(const struct suspect *s, uint32_t thread, enum walk_link link, uint64_t evidence)
{
	return s->hop_count == 1 && s->hops[0].thread == thread && s->hops[0].link == link && s->hops[0].evidence == evidence;
}

bool suspect_thread(struct question *q, uint32_t thread, enum walk_link link, uint8_t confidence, uint64_t evidence)
{
	struct suspect s = { .hop_count = 1, .confidence = confidence };

	if (!thread || thread == q->episode->thread || !alive(q, thread))
		return false;
	for (size_t i = 0; i < q->suspects->length; i++)
		if (is_same_suspicion(&q->suspects->items[i], thread, link, evidence)) {
			if (confidence > q->suspects->items[i].confidence)
				q->suspects->items[i].confidence = q->suspects->items[i].hops[0].confidence = confidence;
			return true;
		}
	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = thread, .link = (uint8_t)link,
				  .confidence = confidence, .evidence = evidence };
	vec_push(q->suspects, s);
	return true;
}

uint32_t suspects_told_to_end(const struct scene *scene, const struct episode *episode, uint64_t *ret_evidence)
{
	uint64_t turn = (episode->end_ns - episode->start_ns) / (episode->slices ? episode->slices : 1) + 50000000;

	for (uint32_t i = 0; i < scene->signal_count && scene->signals[i].time < episode->end_ns; i++) {
		const struct sent_signal *s = &scene->signals[i];
		uint64_t gone = scene->tables->threads[s->target].end_ns;

		if (!scene_same_process(scene, s->sender, episode->thread) || scene_same_process(scene, s->target, episode->thread))
			continue;
		/* who kills it at last goes on before it is gone */
		if (gone > episode->end_ns + turn ? episode->end_ns < scene->end_ns
						  : gone + turn < episode->end_ns || gone < episode->start_ns)
			continue;
		*ret_evidence = s->number;
		return s->target;
	}
	return 0;
}

/* It may have ended since: what it was told was meant for both. */
static void ask_told_instead(struct question *q)
{
	const struct wait *other = only_looks(q) ? NULL : told_instead(q->scene, q->episode);
	struct suspect s = { .hop_count = 1, .confidence = weight_of(q) };

	if (!other || is_waiting(q, other->thread))
		return;
	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = other->thread, .link = LINK_TOLD, .confidence = s.confidence,
				  .evidence = other->end_event, .final = true };
	vec_push(q->suspects, s);
}

static void ask_signalled(struct question *q)
{
	uint64_t evidence;
	uint32_t target = loop_is(q->scene, q->episode)
		? suspects_told_to_end(q->scene, q->episode, &evidence) : 0;

	if (target)
		suspect_thread(q, target, LINK_SIGNALLED, weight_of(q), evidence);
}

/* ---- file systems in user space, children ---- */

/* Of a process that may not be looked into: not even the call is known. */
static bool is_hidden_wait(const struct wait *w)
{
	return w->kind == WAIT_KIND_other && w->syscall == SYSCALL_NONE && !w->object && !w->ustack && !w->kstack;
}

static bool stood_stopped(const struct question *q, uint32_t thread)
{
	struct state_times times;

	scene_state_times(q->scene, thread, q->from, q->to, &times);
	return times.ns[SPAN_STOPPED] * 100 >= (q->to - q->from) * limit_of(q->scene, LIMIT_nearly_all);
}

static void ask_children(struct question *q)
{
	const struct tables *tables = q->scene->tables;
	uint32_t pid = scene_pid(q->scene, q->episode->thread), found = 0;
	bool hidden = is_hidden_wait(q->wait);
	/* what it started last, before it waited, may be younger than the question */
	uint64_t by = q->wait->start_ns > q->from ? q->wait->start_ns : q->from, last = 0;

	if (q->wait->kind == WAIT_KIND_signal || scene_sleeps_until_told(q->scene, q->wait)) {
		suspect_thread(q, scene_only_child(q->scene, q->episode->thread, q->from, q->to), LINK_CHILD, limit(q, LIMIT_only_child), 0);
		return;
	}
	if (only_looks(q) || (q->wait->kind != WAIT_KIND_child && q->wait->kind != WAIT_KIND_vfork && !hidden))
		return;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (t->parent_pid != pid || t->tid != t->pid || t->start_ns > by || t->end_ns < q->to)
			continue;
		if (hidden && (found || !stood_stopped(q, i)))
			continue;
		if (q->wait->argument > 0 && t->tid == (uint32_t)q->wait->argument) {
			found = i;
			break;
		}
		/* of several one that is waited for already is the last to be meant: it would be a circle, of which nothing is known */
		if (!found || is_waiting(q, found) > is_waiting(q, i) || (is_waiting(q, found) == is_waiting(q, i) && serving_born(q->scene, i) > last)) {
			found = i;
			last = serving_born(q->scene, i);
		}
	}
	suspect_thread(q, found, LINK_CHILD, hidden ? limit(q, LIMIT_child_guess) : weight_of(q), q->wait->begin_event);
}

/* ---- what became of the request ---- */

/* It was asked for what it, or another that does the same, answered there each time, and so was nobody behind it. */
static bool left_unanswered(const struct question *q, const struct trail *trail)
{
	const struct trails *trails = &q->inquiry->trails;

	if (!asked_in_vain(q->scene, q->wait) || !asked_in_vain_of(q->scene, q->wait, trail->thread))
		return false;
	for (uint32_t i = (uint32_t)(trail - trails->items) + 1; i < trails->length; i++) {
		const struct trail *t = &trails->items[i];

		if (&trails->items[t->parent] == trail && t->thread != q->episode->thread && t->end == TRAIL_AT_REST &&
		    asked_in_vain_of(q->scene, q->wait, t->thread))
			return false;
	}
	return true;
}

/* A wait that fills most of the window counts; a thread that was only busy for a
 * part of it, or has nothing to do, hardly. */
static uint8_t trail_confidence(const struct question *q, const struct trail *t)
{
	struct state_times times;
	uint64_t window = q->to - q->from;

	scene_state_times(q->scene, t->thread, q->from, q->to, &times);
	switch ((enum trail_end)t->end) {
	case TRAIL_STOPPED:
		return limit(q, LIMIT_trail_stopped);
	case TRAIL_KILLED:
		return rule_infos[RULE_killed_at_work].weight;
	case TRAIL_UNREAD:
		return limit(q, times.ns[SPAN_STOPPED] ? LIMIT_trail_stopped : LIMIT_trail_unread);
	case TRAIL_BLOCKED:
		return limit(q, times.ns[SPAN_WAITING] * 2 > window ? LIMIT_trail_blocked : LIMIT_trail_partly);
	case TRAIL_STARVED:
		return limit(q, times.ns[SPAN_RUNNABLE] * 2 > window ? LIMIT_trail_starved : LIMIT_trail_seldom);
	case TRAIL_BUSY:
		return limit(q, times.ns[SPAN_RUNNING] * 2 > window ? LIMIT_trail_busy : LIMIT_trail_seldom);
	case TRAIL_BACK:
		return limit(q, LIMIT_trail_back);
	case TRAIL_AT_REST:
		return limit(q, left_unanswered(q, t) ? LIMIT_trail_in_vain : LIMIT_trail_at_rest);
	case TRAIL_RELAY:
		return 0;
	}
	return 0;
}

/* A thread at rest, or one that sleeps or listens elsewhere and so does not read
 * the message, is late by itself: who wakes it later has nothing to do with it. */
static bool is_final(const struct question *q, const struct trail *t)
{
	const struct episode *e;
	uint8_t kind;

	if (t->end == TRAIL_STOPPED)
		return !stands_traced(q, t->thread);
	if (t->end == TRAIL_AT_REST || t->end == TRAIL_KILLED)
		return true;
	if (t->end != TRAIL_UNREAD)
		return false;
	e = scene_episode(q->scene, t->thread, t->from_ns);
	if (!e || e->start_ns > t->from_ns)
		return false;
	kind = q->scene->waits[e->last].kind;
	/* It waits for the one that asks it, by others: each is as late as the other. */
	if (kind == WAIT_KIND_poll && ((is_waiting(q, t->thread) && rule_holds(q->scene, RULE_asked_back)) || suspects_stands_for_another(q, t->thread)))
		return false;
	return kind == WAIT_KIND_sleep || kind == WAIT_KIND_epoll || kind == WAIT_KIND_poll || kind == WAIT_KIND_accept;
}

/* A process that stands still while one that it started does most likely waits for that. */
static bool has_standing_child(const struct question *q, uint32_t index)
{
	const struct trails *trails = &q->inquiry->trails;

	for (uint32_t i = index + 1; i < trails->length; i++)
		if (trails->items[i].parent == index && trails->items[i].link == LINK_CHILD && alive(q, trails->items[i].thread) &&
		    !scene_same_process(q->scene, trails->items[i].thread, trails->items[index].thread) &&
		    trail_confidence(q, &trails->items[i]) >= limit(q, LIMIT_sure_enough))
			return true;
	return false;
}

/* A thread of the same process that listens to several things: it carries messages for others. */
static bool is_own_loop(const struct question *q, const struct trail *t)
{
	const struct episode *e = scene_episode(q->scene, t->thread, t->rest_ns < q->to ? t->rest_ns : q->to - 1);
	const struct wait *w = e ? &q->scene->waits[e->last] : NULL;

	return w && scene_same_process(q->scene, t->thread, q->episode->thread) &&
	       (w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument > 1));
}

/* It has the end of the awaited pipe open by which the wait could be ended. */
static bool has_other_end(const struct question *q, uint32_t thread)
{
	struct row row = ends_of_object(q->inquiry->ends, q->wait->object);
	uint32_t pid = scene_pid(q->scene, thread);

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, row, i);

		if (d->pid == pid && pid != scene_pid(q->scene, q->episode->thread) && d->at.access & (q->wait->kind == WAIT_KIND_write ? 1 : 2))
			return true;
	}
	return false;
}

/* Of those that the request reached some have the other end of the pipe that is waited on: whoever it
 * reached in another way has nothing to say there. */
static bool comes_by_pipe(const struct question *q, const struct trail *t)
{
	const struct trails *trails = &q->inquiry->trails;
	bool known = false;

	if ((q->wait->kind != WAIT_KIND_read && q->wait->kind != WAIT_KIND_write) || !scene_is_pipe(q->wait->object))
		return true;
	for (uint32_t i = 1; i < trails->length && !known; i++)
		known = has_other_end(q, trails->items[i].thread);
	for (; known && t->level; t = &trails->items[t->parent])
		if (has_other_end(q, t->thread))
			return true;
	return !known;
}

/* A thread that was started, and not asked for anything since, has its own round by now. */
static bool has_own_round(const struct question *q, const struct trail *t)
{
	const struct scene *scene = q->scene;
	uint32_t visits = 0, end = scene_waits_end(scene, t->thread), i = scene_waits_from(scene, t->thread, t->rest_ns);
	uint32_t site = i < end ? scene->waits[i].site : 0;

	for (i = scene_waits_from(scene, t->thread, t->from_ns); i < end && scene->waits[i].start_ns < q->to; i++)
		visits += scene->waits[i].site == site;
	return t->link == LINK_STARTED && visits >= limit_of(scene, LIMIT_rest_visits);
}

/* A thread of its own process that waits, and is not known to wait for a lock. */
static const struct wait *own_thread_waits(const struct question *q, const struct trail *t)
{
	const struct scene *scene = q->scene;
	uint32_t i = t->end == TRAIL_BLOCKED && scene_same_process(scene, t->thread, q->episode->thread) ? scene_waits_from(scene, t->thread, t->rest_ns) : 0;

	return i && i < scene_waits_end(scene, t->thread) && scene->waits[i].kind == WAIT_KIND_futex && !scene->waits[i].hint ? &scene->waits[i] : NULL;
}

/* What the thread waits on another process can end, as this one of its own, which waits for who tells it, cannot. */
static bool others_have_end(const struct question *q, const struct trail *t)
{
	struct row row = own_thread_waits(q, t) && scene_is_pipe(q->wait->object) ? ends_of_object(q->inquiry->ends, q->wait->object) : (struct row){ 0 };

	for (uint32_t i = 0; i < row.count; i++) {
		uint32_t other = tables_process(q->scene->tables, ends_at(q->inquiry->ends, row, i)->pid, q->from);

		if (other && alive(q, other) && has_other_end(q, other))
			return true;
	}
	return false;
}

/* It had come to where it waits before the thread began to wait, and another that was set to work as well had not: it
 * may rest there, as those do that a program starts for later. */
static bool rested_before(const struct question *q, const struct trail *t)
{
	const struct trails *trails = &q->inquiry->trails;
	const struct wait *w = own_thread_waits(q, t);

	for (uint32_t i = 1; w && w->start_ns < q->episode->start_ns && i < trails->length; i++) {
		const struct wait *other = own_thread_waits(q, &trails->items[i]);

		if (other && other->start_ns > q->episode->start_ns && trail_confidence(q, &trails->items[i]) >= limit(q, LIMIT_sure_enough))
			return true;
	}
	return false;
}

/* Another process was set to work after this thread, which was only started, had gone to wait, and is at it still, where a loop asks, or rests
 * again, where the asking thread waits for a word: the thread may rest there, as a pool's do that a runtime makes as it begins. */
static bool rested_when_asked(const struct question *q, const struct trail *t)
{
	const struct trails *trails = &q->inquiry->trails;
	bool loop = wait_is_loop_rest(q->wait);
	const struct wait *w = t->link == LINK_STARTED && rule_holds(q->scene, RULE_rested_when_asked) ? own_thread_waits(q, t) : NULL;

	for (uint32_t i = 1; w && !w->timeout_ns && i < trails->length; i++) {
		const struct trail *other = &trails->items[i];

		if (other->from_ns <= w->start_ns || scene_same_process(q->scene, other->thread, t->thread) || !alive(q, other->thread))
			continue;
		if (loop ? other->level == 1 && trail_confidence(q, other) >= limit(q, LIMIT_sure_enough) : other->end == TRAIL_AT_REST)
			return true;
	}
	return false;
}

/* Another was asked for what that one answers each time, and rests again: this one is on no way to the answer, and stands for something else. */
static bool beside_answer(const struct question *q, const struct trail *t)
{
	const struct trails *trails = &q->inquiry->trails;

	if (t->end != TRAIL_BLOCKED || !asked_in_vain(q->scene, q->wait))
		return false;
	for (const struct trail *up = t; up->level; up = &trails->items[up->parent])
		if (asked_in_vain_of(q->scene, q->wait, up->thread))
			return false;
	for (uint32_t i = 1; i < trails->length; i++)
		if (trails->items[i].end == TRAIL_AT_REST && left_unanswered(q, &trails->items[i]))
			return true;
	return false;
}

static void ask_request(struct question *q)
{
	struct trails *trails = &q->inquiry->trails;
	const struct episode *begin = scene_limit_begin(q->scene, q->episode, limit_of(q->scene, LIMIT_same_limit_ns));
	uint64_t start = request_start(q->scene, begin);
	uint64_t until = q->to, asked = own_ends_asked_in_loop(q->scene, q->inquiry->ends, q->wait);
	bool hears;

	if (only_looks(q))
		return;
	hears = !own_ends_hears_nobody(q->scene, q->inquiry->ends, q->wait, q->to - 1);
	follow_request(q->scene, q->inquiry->ends, q->episode->thread, start, begin->start_ns, until, trails);
	for (uint32_t i = 1; i < trails->length; i++) {
		const struct trail *t = &trails->items[i];
		struct suspect s = { .followed = true, .end = t->end, .confidence = trail_confidence(q, t) };
		const struct trail *up = t;

		if (!s.confidence || (t->thread == q->episode->thread && t->end != TRAIL_BACK) ||
		    (!hears && !scene_same_process(q->scene, t->thread, q->episode->thread)))
			continue;
		if (asked && asked < start && scene_same_process(q->scene, t->thread, q->episode->thread))
			continue; /* what it set off since then is something else */
		if ((t->end == TRAIL_AT_REST && is_waiting(q, t->thread)) || (!alive(q, t->thread) && t->end != TRAIL_KILLED))
			continue;
		if ((!comes_by_pipe(q, t) || suspects_turned_from(q, t)) && s.confidence > limit(q, LIMIT_doubt))
			s.confidence = limit(q, LIMIT_doubt);
		if (t->end == TRAIL_BLOCKED && s.confidence > limit(q, LIMIT_doubt) && (has_standing_child(q, i) || is_own_loop(q, t) || rested_before(q, t)))
			s.confidence = (uint8_t)(s.confidence - limit(q, LIMIT_doubt));
		if (t->end == TRAIL_BLOCKED && s.confidence > limit(q, LIMIT_trail_own_round) &&
		    (has_own_round(q, t) || others_have_end(q, t) || rested_when_asked(q, t) ||
		     suspects_word_of_loop(q, t->thread, trails->items[t->parent].thread)))
			s.confidence = limit(q, LIMIT_trail_own_round);
		if (s.confidence > limit(q, LIMIT_trail_at_rest) && (own_limit_came(q, t) || suspects_stands_in_pool(q, t->thread)))
			s.confidence = limit(q, LIMIT_trail_at_rest);
		if (s.confidence > limit(q, LIMIT_trail_partly) && beside_answer(q, t))
			s.confidence = limit(q, LIMIT_trail_partly);
		for (unsigned level = t->level; level; level--) {
			if (up->confidence < s.confidence && up->end == TRAIL_RELAY)
				s.confidence = (uint8_t)(s.confidence - 2);
			if (level == 1 && up->object && up->object == q->wait->object && s.confidence <= 95)
				s.confidence = (uint8_t)(s.confidence + 3);
			up = &trails->items[up->parent];
		}
		s.hop_count = follow_hops(trails, i, s.hops);
		if (!s.hop_count)
			continue;
		s.hops[s.hop_count - 1].final = is_final(q, t);
		s.hops[s.hop_count - 1].confidence = s.confidence;
		vec_push(q->suspects, s);
	}
}

/* ---- similar waits ---- */

static bool surely_known(const struct question *q)
{
	for (size_t i = 0; i < q->suspects->length; i++)
		if (q->suspects->items[i].confidence >= limit(q, LIMIT_sure_enough))
			return true;
	return false;
}

/* It rests where it listens, for its process, to what another process has the other end of, and to little else: what comes from there it passes
 * on, so that one is late, and not it. */
static bool listens_for_process(const struct question *q, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = scene_same_process(q->scene, thread, q->episode->thread) && rule_holds(q->scene, RULE_listens_for_process)
		? stands_in(q, thread) : NULL;
	uint32_t pid = scene_pid(q->scene, thread);
	struct row row, far;

	if (!w || w->kind != WAIT_KIND_poll || !w->detail || w->timeout_ns || w->argument > (int32_t)limit_of(q->scene, LIMIT_small_set))
		return false;
	row = ends_of_object(ends, w->detail);
	for (uint32_t i = 0; i < row.count; i++) {
		far = ends_at(ends, row, i)->pid == pid ? ends_far(ends, ends_at(ends, row, i)) : (struct row){ 0 };
		for (uint32_t k = 0; k < far.count; k++)
			if (ends_at(ends, far, k)->pid != pid)
				return true;
	}
	return false;
}

/* It is of a server that goes on, behind which another is suspected: what that one did for it at another time it passed on. */
static bool only_passes_on(const struct question *q, uint32_t thread)
{
	for (size_t i = 0; thread && i < q->suspects->length; i++) {
		const struct suspect *s = &q->suspects->items[i];

		if (s->hop_count > 1 && s->hops[0].link == LINK_PEER && !s->followed && scene_same_process(q->scene, s->hops[0].thread, thread) &&
		    !scene_same_process(q->scene, suspects_thread(s), thread))
			return true;
	}
	return false;
}

/* What ended the same wait when it went well: in the trace that the person gives,
 * else in this one. */
static void ask_similar(struct question *q)
{
	struct inquiry *inquiry = q->inquiry;
	bool elsewhere = inquiry->base && rule_holds(q->scene, RULE_went_well_elsewhere);
	struct baseline *found;
	const struct baseline_step *step;
	struct suspect s = { .hop_count = 1 };

	if (!inquiry->now || (!elsewhere && surely_known(q)) || (only_looks(q) && q->wait->kind == WAIT_KIND_child))
		return;
	found = arena_new(inquiry->arena, struct baseline);
	if (!(elsewhere && baseline_diff(inquiry->now, q->episode, q->from, q->to, inquiry->base, found) &&
	      found->culprit < found->step_count) &&
	    !(baseline_diff(inquiry->now, q->episode, q->from, q->to, inquiry->now, found) && found->culprit < found->step_count))
		return;
	/* A loop is woken by whoever has work for it: that one came with some at another time says nothing of
	 * this, unless the loop had asked for it. */
	if (wait_is_loop_rest(q->wait) && !found->from_victim)
		return;
	step = &found->steps[found->culprit];
	/* In one trace, who was gone before it began, or was born behind it, was not to act. */
	if (!found->other_trace && step->now_thread && (q->scene->tables->threads[step->now_thread].end_ns <= q->from ||
							q->scene->tables->threads[step->now_thread].start_ns >= q->to))
		return;
	if (!found->other_trace && only_passes_on(q, step->now_thread))
		return;
	if (is_waiting(q, step->now_thread) || scene_is_system(q->scene, step->now_thread) || suspects_of_another(q, found))
		return;
	s.confidence = found->confidence;
	/* Where something else leads to the same thread, both together are surer than that alone. */
	for (size_t i = 0; i < q->suspects->length; i++) {
		const struct suspect *same = &q->suspects->items[i];

		if (same->hop_count == 1 && same->hops[0].thread == step->now_thread &&
		    same->confidence >= s.confidence && same->confidence < 95)
			s.confidence = (uint8_t)(same->confidence + 1);
	}
	s.baseline = found;
	/* One that only went back to rest, or ended, is late by itself. */
	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = step->now_thread, .link = LINK_SIMILAR,
				  .confidence = s.confidence, .evidence = step->work_event,
				  .final = (step->doing == DOING_RESTED && !listens_for_process(q, step->now_thread) &&
					    !suspects_stands_for_another(q, step->now_thread) &&
					    !suspects_has_asked(q, step->now_thread)) || step->doing == DOING_GONE || step->doing == DOING_STOPPED };
	vec_push(q->suspects, s);
}

/* The process that it looks at with kill, or who had what it could not make. */
static void ask_had_it(struct question *q)
{
	const struct call_made *away;
	struct tries tries;

	if (!tries_find(q->scene, q->episode, &tries))
		return;
	if (tries.refused->what == CALL_ALIVE) {
		uint32_t target = tries.refused->target;

		/* what has ended is there until its parent takes note of that */
		if (target && !alive(q, target))
			suspect_thread(q, tables_process(q->scene->tables, q->scene->tables->threads[target].parent_pid, q->from), LINK_PARENT,
				       limit(q, LIMIT_alive_process), tries.refused->number);
		else
			suspect_thread(q, target, LINK_AWAITED, limit(q, LIMIT_alive_process), tries.refused->number);
		return;
	}
	away = tries_taken_away(q->scene, q->episode, &tries);
	if (away && !is_waiting(q, away->thread))
		suspect_thread(q, away->thread, LINK_HAD_IT, weight_of(q), away->number);
}

/* A watchpoint saw who ended the loop. */
static void ask_flag_writer(struct question *q)
{
	const struct flag_write *write;

	if (!loop_is(q->scene, q->episode) || !q->inquiry->now)
		return;
	write = flag_writes_ended(side_flags(q->inquiry->now), q->scene, q->episode);
	if (write && !is_waiting(q, write->thread))
		suspect_thread(q, write->thread, LINK_WROTE, weight_of(q), write->number);
}

/* A loop looks at memory of its process, or at what a child left. */
static void ask_loop(struct question *q)
{
	uint8_t confidence;
	uint32_t partner;

	if (!loop_is(q->scene, q->episode) && !loop_is_short(q->scene, q->episode))
		return;
	partner = loop_partner(q->scene, q->episode->thread, q->waiting, q->waiting_count, q->from, q->to, &confidence);
	if (partner && confidence >= limit(q, LIMIT_flag_least) && !is_waiting(q, partner))
		suspect_thread(q, partner, LINK_FLAG, confidence < weight_of(q) ? confidence : weight_of(q), 0);
}

static void ask_asked_loop(struct question *q)
{
	uint64_t event, begin_ns;
	uint32_t asked = loop_is(q->scene, q->episode) ? loop_asked(q->scene, q->episode, &event, &begin_ns) : 0;

	if (asked && !is_waiting(q, asked))
		suspect_thread(q, asked, LINK_ACTIVITY, weight_of(q), event);
}

/* A sleep among many, with other short waits between them. */
static void ask_retries(struct question *q)
{
	struct inquiry *inquiry = q->inquiry;
	const struct wait *w = q->wait;
	bool known = inquiry->retrying == w->thread && w->start_ns >= inquiry->retries.start_ns && w->end_ns <= inquiry->retries.end_ns;

	if (w->kind != WAIT_KIND_sleep || loop_is(q->scene, q->episode))
		return;
	if (!known) {
		inquiry->retrying = 0;
		if (!loop_retries(q->scene, q->episode->last, &inquiry->retries))
			return;
		inquiry->retrying = w->thread;
		inquiry->retry_partner = loop_retry_partner(q->scene, &inquiry->retries, &inquiry->lockstep);
	}
	if (inquiry->retry_partner && !is_waiting(q, inquiry->retry_partner))
		suspect_thread(q, inquiry->retry_partner, inquiry->lockstep ? LINK_LOCKSTEP : LINK_FLAG, weight_of(q), 0);
}

/* As in a handler of a signal that came while it held the lock. */
static bool holds_it(const struct question *q)
{
	const struct wait *w = q->wait;

	/* a lock on an open file is in the way of another file that the same process has opened, too */
	if (w->hint_kind == HINT_KIND_file_lock_owner && w->hint == w->thread && rule_holds(q->scene, RULE_holds_it))
		return q->scene->tables->threads[w->thread].tid == scene_pid(q->scene, w->thread) && !scene_mate(q->scene, w->thread, w->thread);
	return w->hint == w->thread && rule_holds(q->scene, RULE_holds_it) &&
	       (w->hint_kind == HINT_KIND_mutex_owner || w->hint_kind == HINT_KIND_pi_owner || w->hint_kind == HINT_KIND_rwlock_writer);
}

static const struct {
	enum rule_id rule;
	void (*ask)(struct question *q);
} suspect_rules[] = {
#define RULE_OF_SUSPECT(name, function) { RULE_##name, function },
#include "diagnose/rules.def"
};

static int surer(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	return x->hop_count < y->hop_count ? -1 : x->hop_count > y->hop_count;
}

void suspects_find(struct inquiry *inquiry, const struct episode *episode, uint64_t from_ns, uint64_t to_ns,
		   const uint32_t *waiting, unsigned waiting_count, struct suspects *suspects, bool *ret_alone)
{
	struct question q = {
		.inquiry = inquiry, .scene = inquiry->scene, .episode = episode,
		.wait = &inquiry->scene->waits[episode->last], .from = from_ns, .to = to_ns,
		.waiting = waiting, .waiting_count = waiting_count, .suspects = suspects,
	};
	bool own = holds_it(&q), alone;

	suspects->length = 0;
	*ret_alone = false;
	if (ends_listens_to_lost(inquiry->ends, scene_pid(q.scene, episode->thread), q.wait) ||
	    (rule_holds(q.scene, RULE_word_sleep) && word_sleep_is(inquiry->now ? inquiry->now->names : NULL, q.scene->tables, q.wait)))
		return;
	for (size_t i = 0; i < sizeof(suspect_rules) / sizeof(*suspect_rules); i++) {
		size_t before = suspects->length;

		q.rule = suspect_rules[i].rule;
		if (suspect_rules[i].ask && rule_holds(q.scene, q.rule))
			suspect_rules[i].ask(&q);
		for (; before < suspects->length; before++)
			suspects->items[before].rule = q.rule;
	}
	drop_those_behind(&q);
	drop_resting(&q);
	drop_unheard(&q);
	trust_facing(&q);
	/* When its process has no other thread and nothing speaks for anyone, the
	 * thread waits for what only it could do. */
	q.rule = RULE_own_process;
	alone = q.alone || (!q.hears_child && own_ends_only(q.scene, inquiry->ends, q.wait));
	for (size_t i = 0; i < suspects->length; i++)
		alone &= suspects->items[i].confidence < limit(&q, LIMIT_flag_least) ||
			 (suspects->items[i].rule != RULE_closed_process && is_waiting(&q, suspects_thread(&suspects->items[i])));
	if (own || (alone && !q.wait->hint))
		suspects->length = 0;
	*ret_alone = (own || alone) && !suspects->length;
	if (own)
		rule_spoke(q.scene, &(struct spoken){ .rule = RULE_holds_it, .thread = episode->thread, .about = episode->thread,
						      .weight = (uint8_t)rule_infos[RULE_holds_it].weight, .from_ns = from_ns, .to_ns = to_ns,
						      .event = q.wait->begin_event });
	if (suspects->length)
		qsort(suspects->items, suspects->length, sizeof(*suspects->items), surer);
	for (size_t i = 0; i < suspects->length; i++) {
		const struct suspect *found = &suspects->items[i];

		rule_spoke(q.scene, &(struct spoken){ .rule = found->rule, .thread = episode->thread, .about = suspects_thread(found),
						      .weight = found->confidence, .from_ns = from_ns, .to_ns = to_ns,
						      .event = found->hops[found->hop_count - 1].evidence });
	}
}
