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
#include "diagnose/walk_person.h"
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

/* It has not ended. */
static bool lives(const struct investigation *v, uint32_t pid)
{
	uint32_t process = tables_process(v->scene->tables, pid, v->request->to_ns - 1);

	return process && v->scene->tables->threads[process].end_ns >= v->request->to_ns;
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

/* What a wait is for, where that is one thing. */
static uint64_t only_awaited(const struct wait *w)
{
	return w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_write ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;
}

/* Who has that end, beside who waits, is the thread's process, or one that only awaits the end of a program that it started, which has that from it. */
static bool has_it_alone(const struct investigation *v, uint32_t pid, uint32_t thread)
{
	const struct scene *scene = v->scene;
	uint32_t its = scene_pid(scene, thread), process = tables_process(scene->tables, pid, v->request->to_ns - 1);
	const struct wait *w = process ? scene_stands_until(scene, process, v->request->to_ns) : NULL;
	const struct wait *own = scene_stands_until(scene, thread, v->request->to_ns);

	if (pid == its)
		return true;
	if (w && w->kind == WAIT_KIND_child && scene_descends_from(scene, thread, pid))
		return true;
	return own && own->kind == WAIT_KIND_child && process && scene_descends_from(scene, process, its);
}

/* Nobody but the thread's process can end the wait: it alone has the other end of the one pipe, or connection, that is waited on. */
static bool faces_alone(const struct investigation *v, const struct wait *w, uint32_t thread)
{
	const struct ends *ends = &v->diagnoser->ends;
	uint64_t object = only_awaited(w);
	uint32_t pid = scene_pid(v->scene, w->thread), own = 0, others = 0;
	struct row row = object ? ends_of_object(ends, object) : (struct row){ 0 };
	bool pipe = scene_is_pipe(object);
	uint8_t needed = w->kind == WAIT_KIND_write ? 1 : 2;

	for (uint32_t i = 0; pipe && i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (!(d->at.access & needed) || !lives(v, d->pid))
			continue;
		if (d->pid == pid || !has_it_alone(v, d->pid, thread))
			return false;
		others++;
	}
	for (uint32_t i = row.count; !pipe && i-- > 0 && !own; )
		own = ends_at(ends, row, i)->pid == pid ? i + 1 : 0;
	if (own) {
		const struct descriptor *d = ends_at(ends, row, own - 1);
		struct row far = d->at.kind == OBJECT_KIND_tcp || d->at.kind == OBJECT_KIND_unix_stream || d->at.kind == OBJECT_KIND_unix_seqpacket
			? ends_far(ends, d) : (struct row){ 0 };

		for (uint32_t i = 0; i < far.count; i++) {
			if (!lives(v, ends_at(ends, far, i)->pid))
				continue;
			if (!has_it_alone(v, ends_at(ends, far, i)->pid, thread))
				return false;
			others++;
		}
	}
	return others > 0;
}

/* Nothing of it is inferred: it stood in one wait nearly all of the time, which nobody but that thread can end. */
static bool is_exact(const struct investigation *v, uint32_t waiting, uint32_t thread, bool by_socket)
{
	const struct episode *e = scene_episode(v->scene, waiting, v->request->to_ns - 1);
	uint64_t from = v->request->from_ns, to = v->request->to_ns;
	const struct wait *w;

	if (!e || e->end_ns < to || !nearly_all(v->scene, to - (e->start_ns > from ? e->start_ns : from), to - from) ||
	    !is_only_thread(v->scene, thread, to))
		return false;
	w = &v->scene->waits[e->last];
	return w->end == WAIT_END_OPEN && (is_for_child(v, w, thread) || ((by_socket || scene_is_pipe(only_awaited(w))) && faces_alone(v, w, thread)));
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

/* How much of a hop must be told by what stood: what is exact beside that counts, too; by sockets or not. */
enum exact { EXACT_NOT, EXACT_NO_SOCKET, EXACT };

static uint8_t hop_surety(const struct investigation *v, const struct episode *e, uint32_t waiting, uint32_t thread, enum walk_link link, enum exact exact)
{
	uint8_t sure = e && e->thread == waiting ? surety(v, e, thread, link) : 0;

	return sure || exact == EXACT_NOT || !is_exact(v, waiting, thread, exact == EXACT) ? sure : (uint8_t)rule_infos[RULE_exact_way].weight;
}

/* Of the steps from the victim to the culprit, and of what closes the circle; 0 when one
 * of them rests on something else. */
static uint8_t way_surety(const struct investigation *v, enum exact exact)
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
		/* whom a server serves as it runs is not known */
		enum exact own = exact == EXACT && at == step && p->state != SPAN_WAITING ? EXACT_NO_SOCKET : exact;

		least = weaker(least, hop_surety(v, s->episode ? &v->scene->episodes[s->episode - 1] : NULL, v->steps.items[s->parent].thread, s->thread,
						 s->link, own));
	}
	/* each reads from the other's connection, as a client and a server at rest do: that closes none */
	if (p->charge == CHARGE_CIRCLE) {
		const struct wait *w = &v->scene->waits[p->wait];
		const struct fork *fork = investigation_fork_of(v, w->episode);
		const struct suspect *s = fork && fork->count ? &fork->suspects[fork->chosen] : NULL;

		least = s ? weaker(least, hop_surety(v, &v->scene->episodes[w->episode], w->thread, suspects_thread(s), s->hops[s->hop_count - 1].link,
						     exact == EXACT ? EXACT_NO_SOCKET : exact)) : 0;
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

/* What its terminal is to take, whose output seems to be stopped. */
static bool waits_for_output(const struct investigation *v)
{
	const struct piece *p = &v->pieces.items[v->culprit->biggest];

	return v->culprit->state == SPAN_WAITING && v->culprit->charge == CHARGE_THREAD && p->wait &&
	       walk_waits_for_output(v->scene, v->describer.ends, &v->scene->waits[p->wait], p->start_ns, p->end_ns);
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

/* True: where each hop is exact the answer may be surer. */
static bool judge(struct investigation *v)
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
		return false;
	/* The way there may stand as it will: that one of many had the processor for a part of the time is no more than that. */
	if (d->queued_ns && !most_of(v->scene, d->hog_ns, d->queued_ns))
		return false;
	judge_share(v);
	if (looks_in_vain(v)) {
		d->confidence = weaker(d->confidence, (uint8_t)limit_of(v->scene, LIMIT_loop_unknown));
		return false;
	}
	if (ends_at_waiting(v)) {
		d->confidence = weaker(d->confidence, (uint8_t)rule_infos[RULE_waits_itself].weight);
		return false;
	}
	if (waits_for_output(v)) {
		d->confidence = weaker(d->confidence, (uint8_t)rule_infos[RULE_waits_for_output].weight);
		d->awaits_output = true;
		return false;
	}
	sure = way_surety(v, EXACT_NOT);
	if (!sure && waits_for_unknown(v)) {
		d->confidence = weaker(d->confidence, (uint8_t)limit_of(v->scene, LIMIT_word_unknown));
		return false;
	}
	if (!d->covers_ns && sure && sure >= d->confidence) {
		d->confidence = sure;
		/* of the rest of it nothing is said */
		if (d->began_ns || d->ended_ns)
			return false;
		d->rests_on = d->circle_count ? "each wait of the circle, and who holds what it is for, stood like this for the whole time"
					      : "each wait on the way, and who holds what it is for, stood like this for the whole time";
	}
	return !sure && !d->covers_ns;
}

/* What the last one on the way does explains itself. */
static bool ends_plainly(const struct investigation *v)
{
	const struct piece *p = &v->pieces.items[v->culprit->biggest];

	return p->charge == CHARGE_CIRCLE || p->state != SPAN_WAITING || !p->wait || !needs_another(&v->scene->waits[p->wait]);
}

void certainty_judge(struct investigation *v)
{
	bool may_be_exact = judge(v);
	uint8_t sure;

	v->d->by_links = v->d->confidence;
	if (!may_be_exact || !v->request->now || !rule_holds(v->scene, RULE_exact_way) || !ends_plainly(v))
		return;
	sure = way_surety(v, EXACT);
	if (sure > v->d->confidence)
		v->d->confidence = sure;
}
