/* See certainty.h.
 *
 * A lock's owner is a hint because memory may change under whoever reads it. Read of
 * a wait that began before the window and lasts beyond it, it is what it says: the
 * owner cannot have given the lock back meanwhile, or the wait would have ended. */
#include "diagnose/certainty.h"

#include "diagnose/hangs_way.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/own_ends.h"
#include "diagnose/serving.h"
#include "diagnose/word_sleep.h"

static bool stands(const struct investigation *v, const struct episode *e)
{
	uint64_t slack = part_of(v->scene, LIMIT_standing_slack, v->request->to_ns - v->request->from_ns);

	if (slack > limit_of(v->scene, LIMIT_standing_slack_ns))
		slack = limit_of(v->scene, LIMIT_standing_slack_ns);
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

static uint8_t owner_stands(const struct investigation *v)
{
	return rule_holds(v->scene, RULE_standing) ? (uint8_t)rule_infos[RULE_standing].weight : 0;
}

/* By its number, or because there is no other. */
static bool is_for_child(const struct investigation *v, const struct wait *w, uint32_t child)
{
	const struct tables *tables = v->scene->tables;

	if (w->kind != WAIT_KIND_child && w->kind != WAIT_KIND_vfork)
		return false;
	for (uint32_t i = 1; i < tables->thread_count && !(w->argument > 0 && tables->threads[child].tid == (uint32_t)w->argument); i++)
		if (i != child && tables->threads[i].tid == tables->threads[i].pid && tables->threads[i].parent_pid == scene_pid(v->scene, w->thread) &&
		    tables->threads[i].end_ns >= v->request->to_ns)
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
		return w->hint == thread ? owner_stands(v) : 0;
	case HINT_KIND_file_lock_owner: /* it may have gone from hand to hand */
		return w->hint == thread && nearly_all(v->scene, w->end_ns - w->start_ns, e->end_ns - e->start_ns) ? owner_stands(v) : 0;
	case HINT_KIND_socket_peer:
		return link == LINK_PEER && is_only_thread(v->scene, thread, v->request->to_ns) ? (uint8_t)limit_of(v->scene, LIMIT_standing_only_thread) : 0;
	}
	return link == LINK_CHILD && is_for_child(v, w, thread) ? (uint8_t)limit_of(v->scene, LIMIT_standing_only_thread) : 0;
}

static uint8_t weaker(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static bool has_children(const struct investigation *v, uint32_t thread)
{
	const struct tables *tables = v->scene->tables;

	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (tables->threads[i].tid == tables->threads[i].pid && tables->threads[i].parent_pid == scene_pid(v->scene, thread) &&
		    tables->threads[i].end_ns >= v->request->to_ns)
			return true;
	return false;
}

/* Of the steps from the victim to the culprit, and of what closes the circle; 0 when one
 * of them rests on something else. */
static uint8_t way_surety(const struct investigation *v)
{
	const struct piece *p = &v->pieces.items[v->culprit->biggest];
	uint32_t step = investigation_culprit_step(v);
	uint8_t least = step ? owner_stands(v) : 0;

	/* That a dialog waits for its user is told by nothing that it holds. */
	if (p->charge == CHARGE_THREAD && p->state == SPAN_WAITING && v->scene->waits[p->wait].kind == WAIT_KIND_poll &&
	    v->steps.items[step].link == LINK_CHILD)
		return 0;
	/* Who answers others, and runs, may look again and again for what a child of its own is to do. */
	if (step && v->steps.items[step].link == LINK_PEER && (p->state == SPAN_RUNNING || p->state == SPAN_RUNNABLE) &&
	    has_children(v, v->steps.items[step].thread))
		return 0;
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

/* When the victim's wait began, where that was before the trace. */
static uint64_t since(const struct investigation *v)
{
	const struct episode *e = scene_episode(v->scene, v->request->thread, v->request->from_ns);

	if (!e || !stands(v, e) || v->scene->waits[e->first].start_ns >= v->scene->reach_ns)
		return 0;
	/* one that looked up meanwhile did so before, too */
	return e->slices == 1 ? v->scene->waits[e->first].start_ns : 0;
}

/* When it asked for what it waits for as the window ends, where that was before the trace. */
static uint64_t asked(const struct investigation *v)
{
	const struct episode *e = scene_episode(v->scene, v->request->thread, v->request->to_ns - 1);
	uint64_t then = e && e->end_ns >= v->scene->end_ns ? own_ends_asked_ns(v->scene, &v->diagnoser->ends, &v->scene->waits[e->last]) : 0;

	if (!then && e && e->end_ns >= v->scene->end_ns)
		then = own_ends_asked_in_loop(v->scene, &v->diagnoser->ends, &v->scene->waits[e->last]);
	return then < v->scene->reach_ns && then < v->request->from_ns ? then : 0;
}

/* It waits in slices, of which nobody may have seen the first one's beginning. */
static bool comes_back(const struct investigation *v, const struct episode *e)
{
	uint64_t from = v->request->from_ns, to = v->request->to_ns;

	return e->slices > 1 ? stands(v, e) : v->scene->waits[e->last].timeout_ns && e->end_ns >= to && most_of(v->scene, to - e->start_ns, to - from);
}

/* A young program that waits in slices, or looks again and again, since before it was seen, for one who stands in one wait: since that began, or since
 * the program did. */
static uint64_t kept_since(const struct investigation *v)
{
	const struct scene *scene = v->scene;
	const struct episode *e = scene_episode(scene, v->request->thread, v->request->to_ns - 1), *its;
	uint64_t born = serving_born(scene, v->request->thread), began;
	uint32_t step = v->culprit ? investigation_culprit_step(v) : 0;

	while (step && v->steps.items[step].parent)
		step = v->steps.items[step].parent;
	if (!v->request->now || !rule_holds(scene, RULE_kept_since) || !step || !e || !comes_back(v, e) || !born ||
	    born + limit_of(scene, LIMIT_young_ns) < scene->end_ns)
		return 0;
	its = scene_episode(scene, v->steps.items[step].thread, v->request->to_ns - 1);
	if (!its || its->slices > 1 || !stands(v, its))
		return 0;
	began = scene->waits[its->first].start_ns > born ? scene->waits[its->first].start_ns : born;
	return began < scene->reach_ns && began < v->request->from_ns ? began : 0;
}

/* What is known of its beginning is that of one wait with a time limit, long before which the program may have begun to wait so. */
static bool is_one_of_a_row(const struct investigation *v)
{
	const struct episode *e = scene_episode(v->scene, v->request->thread, v->request->to_ns - 1);
	uint64_t kept = rule_holds(v->scene, RULE_one_of_a_row) && !asked(v) ? kept_since(v) : 0;

	return kept && e && v->d->since_ns == v->scene->waits[e->first].start_ns && v->scene->waits[e->last].timeout_ns &&
	       kept + limit_of(v->scene, LIMIT_wait_ns) < v->d->since_ns;
}

/* The culprit, not the victim itself, looks again and again for what nobody is known to do. */
static bool looks_in_vain(const struct investigation *v)
{
	const struct account *a = v->culprit;
	const struct wait *w = &v->scene->waits[v->pieces.items[a->biggest].wait];

	return rule_holds(v->scene, RULE_nobody_known) && a->state == SPAN_WAITING && a->charge == CHARGE_MISSING && a->thread != v->request->thread &&
	       loop_is(v->scene, &v->scene->episodes[w->episode]);
}

/* The culprit, not the victim itself, waits for a word, of which nobody is known to be the one to change it. */
static bool waits_for_unknown(const struct investigation *v)
{
	const struct account *a = v->culprit;
	const struct wait *w = &v->scene->waits[v->pieces.items[a->biggest].wait];

	return rule_holds(v->scene, RULE_nobody_known) && a->state == SPAN_WAITING && a->charge == CHARGE_MISSING && a->thread != v->request->thread &&
	       w->kind == WAIT_KIND_futex && !wait_has_owner(w);
}

/* A wait for whatever may come, or for another, which nobody's end of it explains; a sleep, or a wait inside the kernel, explains itself. */
static bool needs_another(const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_poll: case WAIT_KIND_epoll: case WAIT_KIND_accept: case WAIT_KIND_queue: case WAIT_KIND_semaphore:
		return true;
	case WAIT_KIND_read:
		return object_kind(w->object) != OBJECT_KIND_tty && object_kind(w->object) != OBJECT_KIND_fifo;
	case WAIT_KIND_futex:
		return !wait_has_owner(w);
	default:
		return false;
	}
}

/* One on the way waits to write to a terminal that it shows: it only listens there, as it is to. */
static bool shows_stopped_terminal(const struct investigation *v, uint32_t step)
{
	for (uint32_t at = step; at; at = v->steps.items[at].parent) {
		uint32_t episode = v->steps.items[at].episode;
		const struct wait *w = episode ? &v->scene->waits[v->scene->episodes[episode - 1].last] : NULL;

		if (w && w->kind == WAIT_KIND_write && object_kind(w->object) == OBJECT_KIND_tty)
			return true;
	}
	return false;
}

/* It was let go on, reached or awaited, and has nothing that another needs: why it waited itself is what would explain the rest, and nobody is
 * known for that. Who went on by a limit of his own explains it. */
static bool ends_at_waiting(const struct investigation *v)
{
	const struct account *a = v->culprit;
	const struct piece *p = &v->pieces.items[a->biggest];
	const struct wait *w = &v->scene->waits[p->wait];
	uint32_t step = investigation_culprit_step(v);

	if (!rule_holds(v->scene, RULE_waits_itself) || a->state != SPAN_WAITING || !p->wait || p->person || !step || v->d->circle_count || v->d->source ||
	    !way_link_is_open(v->steps.items[step].link) || !needs_another(w) ||
	    (w->kind == WAIT_KIND_futex && v->steps.items[step].link != LINK_JOINED) || word_sleep_named(v->describer.names, v->scene->tables, w) ||
	    shows_stopped_terminal(v, step))
		return false;
	return a->charge == CHARGE_MISSING || (a->charge == CHARGE_THREAD && w->end != WAIT_END_TIMEOUT);
}

/* The way leads over one that was born late, behind a relay, to its creator: what that one's
 * other children did is theirs, as the relay serves each of them alike. */
static bool is_born_behind_relay(const struct investigation *v)
{
	for (uint32_t at = investigation_culprit_step(v); at; at = v->steps.items[at].parent)
		if (v->steps.items[at].link == LINK_CREATOR && v->steps.items[v->steps.items[at].parent].parent)
			return true;
	return false;
}

/* The culprit's process was seen at it for a small part of the window only. */
static void judge_share(struct investigation *v)
{
	struct diagnosis *d = v->d;
	uint64_t ns = account_process_ns(v->scene, &v->accounts, scene_pid(v->scene, v->culprit->thread), !is_born_behind_relay(v));

	if (!rule_holds(v->scene, RULE_covers_little) || d->circle_count || d->culprit.thread != v->culprit->thread ||
	    ns >= part_of(v->scene, LIMIT_covers_least, v->request->to_ns - v->request->from_ns))
		return;
	d->confidence = weaker(d->confidence, (uint8_t)rule_infos[RULE_covers_little].weight);
	d->covers_ns = ns;
}

void certainty_judge(struct investigation *v)
{
	struct diagnosis *d = v->d;
	uint8_t sure;

	d->since_ns = since(v);
	if (asked(v) && (!d->since_ns || asked(v) < d->since_ns))
		d->since_ns = asked(v);
	d->since_ns = d->since_ns ? d->since_ns : v->request->since_ns;
	d->perhaps_since_ns = d->since_ns && !is_one_of_a_row(v) ? 0 : kept_since(v);
	if (d->perhaps_since_ns)
		d->since_ns = 0;
	if (v->culprit) {
		const struct piece *p = &v->pieces.items[v->culprit->biggest];

		if (p->wait && v->scene->waits[p->wait].end == WAIT_END_OPEN)
			d->last_wait = p->wait;
	}
	if (!v->culprit || d->culprit.kind != ACTOR_THREAD)
		return;
	/* The way there may stand as it will: that one of many had the processor for a part of the time is no more than that. */
	if (d->queued_ns && !most_of(v->scene, d->hog_ns, d->queued_ns))
		return;
	judge_share(v);
	if (looks_in_vain(v)) {
		d->confidence = weaker(d->confidence, (uint8_t)limit_of(v->scene, LIMIT_loop_unknown));
		return;
	}
	if (ends_at_waiting(v)) {
		d->confidence = weaker(d->confidence, (uint8_t)rule_infos[RULE_waits_itself].weight);
		return;
	}
	sure = way_surety(v);
	if (!sure && waits_for_unknown(v))
		d->confidence = weaker(d->confidence, (uint8_t)limit_of(v->scene, LIMIT_word_unknown));
	if (!d->covers_ns && sure && sure >= d->confidence) {
		d->confidence = sure;
		/* of the rest of it nothing is said */
		if (d->began_ns || d->ended_ns)
			return;
		d->rests_on = d->circle_count ? "each wait of the circle, and who holds what it is for, stood like this for the whole time"
					      : "each wait on the way, and who holds what it is for, stood like this for the whole time";
	}
}
