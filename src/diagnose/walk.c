/* The clipped backward walk, see walk.h.
 *
 * It recurses from wait to waker, always inside the wait's own bounds, so each level's window lies in the one above. The threads on the way
 * are a stack; one that comes up again is a circle, where the walk stops. */
#include "diagnose/walk.h"

#include <string.h>

#include "diagnose/broken_off.h"
#include "diagnose/ends.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/request.h"
#include "diagnose/walk_late.h"
#include "diagnose/walk_person.h"
#include "diagnose/word_sleep.h"

#define MAX_DEPTH (sizeof(((struct walk *)0)->stack) / sizeof(uint32_t))

static void walk_thread(struct walk *walk, uint32_t thread, uint64_t from, uint64_t to, uint64_t answered, uint32_t step);

bool walk_on_stack(const struct walk *walk, uint32_t thread)
{
	for (unsigned i = 0; i < walk->depth; i++)
		if (walk->stack[i] == thread)
			return true;
	return false;
}

static uint8_t weaker(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* A step that was taken before, from the same place in the same way, is the same step. */
static uint32_t take_step(struct walk *walk, uint32_t parent, uint32_t thread, uint32_t episode, enum walk_link link,
			  uint8_t confidence, uint64_t evidence, uint64_t from)
{
	struct walk_steps *steps = walk->steps;

	for (size_t i = steps->length; i-- > 1 && i + 64 > steps->length; ) {
		const struct walk_step *s = &steps->items[i];

		if (s->parent == parent && s->thread == thread && s->episode == episode && s->link == link)
			return (uint32_t)i;
	}
	vec_push(steps, ((struct walk_step){ .thread = thread, .parent = parent, .episode = episode, .link = (uint8_t)link,
		.confidence = weaker(steps->items[parent].confidence, confidence), .own = confidence, .evidence = evidence, .from_ns = from }));
	return (uint32_t)steps->length - 1;
}

static void emit(struct walk *walk, struct piece piece)
{
	struct piece *last = walk->pieces->length ? &walk->pieces->items[walk->pieces->length - 1] : NULL;

	if (piece.start_ns >= piece.end_ns)
		return;
	if (last && last->end_ns == piece.start_ns && last->thread == piece.thread && last->state == piece.state &&
	    last->charge == piece.charge && last->wait == piece.wait && last->throttled == piece.throttled &&
	    last->deep == piece.deep && last->person == piece.person && last->sender == piece.sender)
		last->end_ns = piece.end_ns;
	else
		vec_push(walk->pieces, piece);
	if (walk->many && walk->pieces->length > WALK_PIECES_MANY)
		walk->many(walk, walk->many_data);
}

static void emit_wait(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to,
		      enum piece_charge charge, uint32_t step)
{
	bool stopped = walk->scene->waits[episode->last].kind == WAIT_KIND_stop;

	emit(walk, (struct piece){ .start_ns = from, .end_ns = to, .thread = episode->thread, .wait = episode->last,
		.state = stopped ? SPAN_STOPPED : SPAN_WAITING, .charge = (uint8_t)charge, .step = step });
}

/* The window's part before the thread was born goes to its creator. */
static uint64_t walk_before_birth(struct walk *walk, uint32_t thread, uint64_t from, uint64_t to, uint32_t step)
{
	const struct thread *t = &walk->scene->tables->threads[thread];
	uint64_t birth = t->start_ns < to ? t->start_ns : to;

	if (birth <= from || !t->creator || walk->depth == MAX_DEPTH || walk_on_stack(walk, t->creator))
		return from;
	step = take_step(walk, step, t->creator, 0, LINK_CREATOR, 100, walk->scene->threads[thread].fork_event, from);
	from = walk_before_birth(walk, t->creator, from, birth, step);
	walk_thread(walk, t->creator, from, birth, birth, step);
	return birth;
}

/* It waited at that place for most of the time, however often it was woken there. */
static bool stayed_at(const struct scene *scene, uint32_t thread, uint32_t site, uint64_t from, uint64_t to)
{
	uint64_t ns = 0;

	for (uint32_t i = scene_waits_from(scene, thread, from); i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to; i++)
		if (scene->waits[i].site == site)
			ns += (scene->waits[i].end_ns < to ? scene->waits[i].end_ns : to) - scene->waits[i].start_ns;
	return most_of(scene, ns, to - from);
}

/* By one that waits for it, and listens to several things, as a loop that is told what to do next: no answer came by that. */
static bool woken_by_waiting(const struct walk *walk, const struct wait *w)
{
	return w->end == WAIT_END_THREAD && wait_is_loop_rest(w) && walk_on_stack(walk, w->waker);
}

/* When what the thread waits for at the window's end came: one that waits for somebody who gives
 * up there goes on just behind it. */
static uint64_t answered_at(const struct walk *walk, const struct episode *episode, uint32_t thread, uint64_t from, uint64_t to, bool woke)
{
	const struct scene *scene = walk->scene;
	const struct episode *its;

	if (!walk->ends)
		return to; /* nobody asks */
	if (woke)
		return episode->end_ns > to ? episode->end_ns : to;
	its = scene_episode(scene, thread, to);
	if (its && its->start_ns < to && its->end_ns > to && its->end_ns - to <= limit_of(scene, LIMIT_give_up_ns) &&
	    scene->waits[its->last].end == WAIT_END_THREAD && !woken_by_waiting(walk, &scene->waits[its->last]) &&
	    stayed_at(scene, thread, scene->waits[its->last].site, from, to))
		return its->end_ns;
	return to;
}

/* Where its row begins, of one that begins within the time: with the scene, of a part of a trace. */
static uint64_t known_from(const struct scene_thread *t, uint64_t from, uint64_t to)
{
	return t->span_count && t->spans[0].start_ns > from && t->spans[0].start_ns < to ? t->spans[0].start_ns : to;
}

/* The thread's own spans, its waits unresolved. */
static void walk_own(struct walk *walk, uint32_t thread, uint64_t from, uint64_t to, uint32_t step)
{
	const struct scene_thread *t = &walk->scene->threads[thread];

	if (!scene_span(walk->scene, thread, from)) {
		emit(walk, (struct piece){ .start_ns = from, .end_ns = known_from(t, from, to), .thread = thread, .state = SPAN_UNKNOWN,
			.charge = CHARGE_THREAD, .step = step });
		from = known_from(t, from, to);
	}
	for (uint32_t i = scene_span_index(walk->scene, thread, from); i < t->span_count && from < to; i++) {
		const struct span *s = &t->spans[i];
		uint64_t end = span_end(s) < to ? span_end(s) : to;

		emit(walk, (struct piece){ .start_ns = from, .end_ns = end, .thread = thread, .wait = span_wait(s),
			.state = s->state, .throttled = s->throttled, .charge = CHARGE_THREAD, .step = step });
		if (end > from)
			from = end;
	}
	emit(walk, (struct piece){ .start_ns = from, .end_ns = to, .thread = thread, .state = SPAN_UNKNOWN,
		.charge = CHARGE_THREAD, .step = step });
}

/* It had work, or was held itself, for most of the window: who set it to work late in it tells
 * nothing about that. */
static bool is_at_it(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	struct state_times times;

	scene_state_times(scene, thread, from, to, &times);
	return most_of(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] + times.ns[SPAN_STOPPED], to - from);
}

/* `woke`: it ended the wait, and so was not waiting itself, if it serves others too. */
static void walk_to(struct walk *walk, const struct episode *episode, uint32_t thread, uint64_t from, uint64_t to,
		    uint32_t came, uint32_t step, bool woke)
{
	unsigned at = 0, times = 0;

	while (at < walk->depth && walk->stack[at] != thread)
		at++;
	for (unsigned i = at; i < walk->depth; i++)
		times += walk->stack[i] == thread;
	if (at < walk->depth && walk->served >> at & 1 && is_at_it(walk->scene, thread, from, to)) {
		/* It waits for this one later, and had work to do meanwhile: that is no circle. */
		walk_own(walk, thread, from, to, step);
	} else if (at < walk->depth && !(woke && times == 1 && walk->served >> at & 1)) {
		if (walk->circle)
			walk->circle(walk, at, to - from);
		emit_wait(walk, episode, from, to, CHARGE_CIRCLE, came);
	} else if (walk->depth == MAX_DEPTH) {
		emit_wait(walk, episode, from, to, CHARGE_MISSING, came);
		if (walk->pieces->length && walk->pieces->items[walk->pieces->length - 1].end_ns == to)
			walk->pieces->items[walk->pieces->length - 1].deep = woke;
	} else {
		uint64_t birth = walk->scene->tables->threads[thread].start_ns;

		from = walk_before_birth(walk, thread, from, to, step);
		/* Until it was made, by one that waits for it now, that one waited for something else. */
		if (from < birth && walk->scene->tables->threads[thread].creator) {
			emit_wait(walk, episode, from, birth < to ? birth : to, CHARGE_MISSING, came);
			from = birth < to ? birth : to;
		}
		walk_thread(walk, thread, from, to, answered_at(walk, episode, thread, from, to, woke), step);
	}
}

static void walk_hops(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came,
		      const struct hop *hops, unsigned count)
{
	uint32_t number = (uint32_t)(episode - walk->scene->episodes) + 1, step = came;

	for (unsigned i = 0; i < count; i++) {
		uint64_t begin = i && hops[i].from_ns > from ? hops[i].from_ns : from;
		uint64_t end = i + 1 < count && hops[i + 1].from_ns < to ? hops[i + 1].from_ns : to;
		step = take_step(walk, step, hops[i].thread, i ? 0 : number, hops[i].link, hops[i].confidence, hops[i].evidence, begin);
		if (begin < end && (hops[i].final || walk_answered_others(walk, episode, &hops[i], begin, end)))
			walk_own(walk, hops[i].thread, begin, end, step);
		else if (begin < end)
			walk_to(walk, episode, hops[i].thread, begin, end, came, step, false);
		if (end > from)
			from = end;
	}
}

/* Goes on to who should have ended the wait; false when nobody is known, or not so
 * surely. */
static bool walk_missing(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came,
			 uint8_t surely)
{
	struct hop hops[WALK_MAX_HOPS];
	unsigned count = walk->missing ? walk->missing(walk, episode, from, to, hops) : 0;

	if (!count || hops[count - 1].confidence < surely || walk_is_guessed_circle(walk, episode, &hops[count - 1], from, to) ||
	    walk_starter_came(walk, episode, hops[count - 1].thread, from, to))
		return false;
	walk_hops(walk, episode, from, to, came, hops, count);
	return true;
}

/* To who sent the packet that an interrupt delivered, where one of this machine surely did. One that waited for this thread by then had sent it
 * before: it was on its way. */
static bool walk_packet(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came)
{
	struct hop hops[WALK_MAX_HOPS];
	unsigned count = walk->missing && rule_holds(walk->scene, RULE_from_here) ? walk->missing(walk, episode, from, to, hops) : 0;

	if (!count || hops[count - 1].confidence < rule_infos[RULE_from_here].weight || walk_is_guessed_circle(walk, episode, &hops[count - 1], from, to))
		return false;
	if (walk_on_stack(walk, hops[count - 1].thread) && rule_holds(walk->scene, RULE_in_flight))
		emit(walk, (struct piece){ .start_ns = from, .end_ns = to, .thread = episode->thread, .wait = episode->last,
			.state = SPAN_WAITING, .charge = CHARGE_SOURCE, .step = came, .sender = hops[count - 1].thread });
	else
		walk_hops(walk, episode, from, to, came, hops, count);
	return true;
}

/* The same of one that did not wait for those that wait for it. */
static bool walk_missing_elsewhere(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came,
				   uint64_t surely)
{
	struct hop hops[WALK_MAX_HOPS];
	unsigned count = walk->missing ? walk->missing(walk, episode, from, to, hops) : 0;

	if (!count || hops[count - 1].confidence < surely || walk_on_stack(walk, hops[count - 1].thread))
		return false;
	walk_hops(walk, episode, from, to, came, hops, count);
	return true;
}

/* A debugger or tracer that held the thread: one that was itself kept from going on,
 * as by a pipe that nobody reads, leads further. */
static bool walk_tracer(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came)
{
	const struct wait *stop = &walk->scene->waits[episode->last];
	const struct episode *its;
	uint32_t step;

	if (!rule_holds(walk->scene, RULE_tracer) || stop->kind != WAIT_KIND_stop ||
	    stop->hint_kind != HINT_KIND_tracer || !stop->hint || walk->depth == MAX_DEPTH ||
	    walk_on_stack(walk, stop->hint))
		return false;
	its = scene_episode(walk->scene, stop->hint, from);
	step = take_step(walk, came, stop->hint, (uint32_t)(episode - walk->scene->episodes) + 1, LINK_TRACER,
			 (uint8_t)rule_infos[RULE_tracer].weight, stop->begin_event, from);
	if (its && most_of(walk->scene, its->end_ns - its->start_ns, to - from) && walk->scene->waits[its->last].kind == WAIT_KIND_write)
		walk_thread(walk, stop->hint, from, to, to, step);
	else
		walk_own(walk, stop->hint, from, to, step);
	return true;
}

uint32_t walk_set_to_work_by(const struct walk *walk, uint32_t worker, uint64_t time, const struct wait **ret_wait)
{
	const struct scene *scene = walk->scene;

	if (!rule_holds(scene, RULE_set_to_work) || !(scene->tables->threads[worker].flags & TASK_FLAGS_kernel_thread))
		return 0;
	for (uint32_t i = scene_waits_from_near(scene, worker, time, walk->near); i-- > scene->threads[worker].wait; ) {
		const struct wait *w = &scene->waits[i];

		if (w->kind != WAIT_KIND_worker)
			continue;
		*ret_wait = w;
		return w->end == WAIT_END_THREAD && !scene_is_system(scene, w->waker) && !walk_on_stack(walk, w->waker) ? w->waker : 0;
	}
	return 0;
}

static void emit_person(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came)
{
	emit(walk, (struct piece){ .start_ns = from, .end_ns = to, .thread = episode->thread, .wait = episode->last,
		.state = SPAN_WAITING, .charge = CHARGE_THREAD, .step = came, .person = true });
}

/* A wait that ended in vain: charged to its user, or to who should have ended it; where nobody is known, it stays
 * with who waited. */
static void walk_vain(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came)
{
	if (walk_awaits_person(walk, &walk->scene->waits[episode->last], came))
		emit_person(walk, episode, from, to, came);
	else if (!walk_missing(walk, episode, from, to, came, 0))
		emit_wait(walk, episode, from, to, CHARGE_MISSING, came);
}

/* Whose end it was that ended the wait. A process's last thread to end wakes who waits for the process; it
 * ended because another one called for that, or with the first thread. */
static uint32_t ender(const struct walk *walk, const struct wait *w)
{
	const struct scene *scene = walk->scene;
	const struct thread *last = &scene->tables->threads[w->waker];
	const struct wait *its = &scene->waits[scene_waits_end(scene, w->waker) - 1];
	uint32_t first = walk_ended_server(walk, w);

	if (first)
		return first;
	if (w->cause != WAKE_CAUSE_exit || last->tid == last->pid || scene_same_process(scene, w->waker, w->thread))
		return w->waker;
	if (scene->threads[w->waker].wait < scene_waits_end(scene, w->waker) && broken_off_by_death(scene, its) && its->end == WAIT_END_THREAD &&
	    scene_same_process(scene, its->waker, w->waker))
		return its->waker;
	first = tables_process(scene->tables, last->pid, w->end_ns);
	return first && scene->tables->threads[first].end_ns + limit_of(scene, LIMIT_death_ns) > w->end_ns ? first : w->waker;
}

static void walk_ender(struct walk *walk, const struct episode *episode, uint32_t thread, uint64_t from, uint64_t to, uint32_t came, uint32_t step)
{
	if (walk_listens_at_terminal(walk->scene, walk->ends, &walk->scene->waits[episode->last], thread, from, to))
		walk_own(walk, thread, from, to, step);
	else
		walk_to(walk, episode, thread, from, to, came, step, true);
}

static void walk_waker(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came)
{
	const struct wait *last = &walk->scene->waits[episode->last], *idle = NULL;
	uint32_t waker = ender(walk, last), by = walk_set_to_work_by(walk, waker, last->end_ns, &idle);
	bool serves = last->kind == WAIT_KIND_fuse && last->begin_event && !scene_ended_by_signal(walk->scene, last);
	uint32_t step = take_step(walk, came, waker, (uint32_t)(episode - walk->scene->episodes) + 1, serves ? LINK_SERVER : LINK_WAKE,
				  last->confidence, serves ? last->begin_event : last->end_event, from);

	if (by && idle->end_ns > from) {
		uint64_t begin = idle->end_ns < to ? idle->end_ns : to;

		walk_ender(walk, episode, by, from, begin, came,
			   take_step(walk, step, by, idle->episode + 1, LINK_WAKE, idle->confidence, idle->end_event, from));
		from = begin;
	} else if (!by && idle && idle->end == WAIT_END_SOURCE && idle->cause == WAKE_CAUSE_block_io && idle->end_ns > from) {
		uint64_t begin = idle->end_ns < to ? idle->end_ns : to;

		/* A device gave it this piece of work: what it did before was for others. */
		emit(walk, (struct piece){ .start_ns = from, .end_ns = begin, .thread = waker, .wait = (uint32_t)(idle - walk->scene->waits),
			.state = SPAN_WAITING, .charge = CHARGE_SOURCE, .step = step });
		from = begin;
	}
	if (from < to)
		walk_ender(walk, episode, waker, from, to, came, step);
}

/* A lock goes from hand to hand while one waits for it: each that had it answers for that time. */
static bool walk_holders(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came)
{
	const struct wait *last = &walk->scene->waits[episode->last];
	uint32_t number = (uint32_t)(episode - walk->scene->episodes) + 1, thread;
	uint64_t until;

	if (!walk->holder || !walk->holder(walk, last, from, &thread, &until))
		return false;
	for (uint64_t at = from; at < to; at = until) {
		bool known = walk->holder(walk, last, at, &thread, &until), woke = !known || thread == last->waker;

		until = known && until < to ? until : to;
		thread = known ? thread : last->waker;
		walk_to(walk, episode, thread, at, until, came,
			take_step(walk, came, thread, number, woke ? LINK_WAKE : LINK_OWNER, last->confidence, last->end_event, at), woke);
	}
	return true;
}

static void walk_wait(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, uint32_t came)
{
	const struct wait *last = &walk->scene->waits[episode->last];

	if (walk_tracer(walk, episode, from, to, came))
		return;
	/* The child by which a script slept has nothing to do with what it looks for. */
	if (last->kind == WAIT_KIND_child && loop_is(walk->scene, episode)) {
		walk_vain(walk, episode, from, to, came);
		return;
	}

	switch ((enum wait_end)last->end) {
	case WAIT_END_THREAD:
		/* A stopped thread is its own matter, and so is one that sleeps: who continued
		 * it, or cut its sleep short, did not delay it. */
		if (rule_holds(walk->scene, RULE_own_matter) &&
		    (last->kind == WAIT_KIND_stop || (last->kind == WAIT_KIND_sleep && !scene_sleeps_until_told(walk->scene, last)))) {
			emit_wait(walk, episode, from, to, CHARGE_THREAD, came);
			return;
		}
		if (walk_other_end_came(walk->scene, last)) {
			if (last->kind != WAIT_KIND_read || !walk_missing(walk, episode, from, to, came, 0))
				emit_wait(walk, episode, from, to, CHARGE_THREAD, came);
			return;
		}
		if (walk_was_thawed(walk, last) || walk_waits_for_output(walk->scene, walk->ends, last, from, to)) {
			emit_wait(walk, episode, from, to, CHARGE_THREAD, came);
			return;
		}
		if (broken_off_is(walk->scene, last)) {
			walk_vain(walk, episode, from, to, came);
			return;
		}
		if (walk_ended_by_person(walk, last, came)) {
			emit_person(walk, episode, from, to, came);
			return;
		}
		if (walk_woken_for_others(walk, last, came)) {
			emit_wait(walk, episode, from, to, CHARGE_THREAD, came);
			return;
		}
		if (walk->doubted == (uint32_t)(episode - walk->scene->episodes) + 1 && walk_missing(walk, episode, from, to, came, 0))
			return;
		/* Who ended the wait had itself gone on from where it waits for this one: that is no reason that it lasted until then. */
		if (last->end_ns > to && woken_by_waiting(walk, last) && walk_missing_elsewhere(walk, episode, from, to, came, 0))
			return;
		if (!walk_holders(walk, episode, from, to, came))
			walk_waker(walk, episode, from, to, came);
		return;
	case WAIT_END_SOURCE:
		/* A packet that was sent again by a timer, or taken by a kernel thread, may
		 * have come from this machine. */
		if (broken_off_is(walk->scene, last))
			walk_vain(walk, episode, from, to, came);
		else if (last->cause != WAKE_CAUSE_network || !walk_packet(walk, episode, from, to, came))
			emit_wait(walk, episode, from, to, CHARGE_SOURCE, came);
		return;
	case WAIT_END_OPEN:
	case WAIT_END_TIMEOUT:
	case WAIT_END_UNKNOWN:
		if (last->kind == WAIT_KIND_stop || walk_lacks_memory(walk, last) || walk_waits_for_output(walk->scene, walk->ends, last, from, to) ||
		    (rule_holds(walk->scene, RULE_word_sleep) && word_sleep_is(walk->names, walk->scene->tables, last)))
			emit_wait(walk, episode, from, to, CHARGE_THREAD, came);
		else if (!walk_acts_by_clock(walk, last, came))
			walk_vain(walk, episode, from, to, came);
		else if (!walk_missing_elsewhere(walk, episode, from, to, came, limit_of(walk->scene, LIMIT_timer_sure)))
			emit_wait(walk, episode, from, to, CHARGE_THREAD, came);
		return;
	}
}

/* A wait that a beat cuts into pieces: who was asked before its first one is to end it, or who did in the end. */
static void walk_through_beat(struct walk *walk, const struct episode *first, const struct episode *last, uint64_t from, uint64_t to, uint32_t step)
{
	const struct wait *w = &walk->scene->waits[last->last];
	bool ended = w->end == WAIT_END_THREAD && w->waker != walk->beat;

	if (ended || !walk_missing_elsewhere(walk, first, from, to, step, limit_of(walk->scene, LIMIT_far_least)))
		walk_wait(walk, last, from, to, step);
}

/* The thread's time as it stands in its row. */
static void walk_row(struct walk *walk, uint32_t thread, uint64_t from, uint64_t to, uint32_t step)
{
	const struct scene *scene = walk->scene;
	const struct scene_thread *t = &scene->threads[thread];

	while (from < to) {
		const struct episode *episode = scene_episode_near(scene, thread, from, walk->near);
		const struct span *span;
		uint64_t end;

		if (episode && episode->start_ns <= from && episode->end_ns > from) {
			const struct episode *last = walk->beat && walk->depth == walk->above + 1 ? walk_behind_beat(walk, episode, to) : episode;

			end = last->end_ns < to ? last->end_ns : to;
			if (last != episode)
				walk_through_beat(walk, episode, last, from, end, step);
			else
				walk_wait(walk, episode, from, end, step);
			from = end;
			continue;
		}
		span = scene_span_near(scene, thread, from, walk->near);
		end = to;
		if (episode && episode->start_ns < end)
			end = episode->start_ns;
		if (span && span_end(span) < end && span_end(span) > from)
			end = span_end(span);
		else if (!span)
			end = known_from(t, from, end);
		emit(walk, (struct piece){ .start_ns = from, .end_ns = end, .thread = thread,
			.state = span ? span->state : (uint8_t)SPAN_UNKNOWN, .throttled = span && span->throttled,
			.charge = CHARGE_THREAD, .step = step });
		from = end;
	}
}

/* To one set of things, from wherever in the program: a scheduler that has nothing to do looks there from several places. */
static bool listens_alike(const struct scene *scene, const struct wait *a, const struct wait *b)
{
	return a->kind == WAIT_KIND_epoll && b->kind == WAIT_KIND_epoll && a->object && a->object == b->object && rule_holds(scene, RULE_armed_timer);
}

/* Who should have ended one of a loop's rests, and stands in the wait in which it stood then. */
struct behind_rest {
	struct hop hops[WALK_MAX_HOPS];
	unsigned count;
	const struct episode *standing;
};

/* The same of one rest of several, which end as the loop serves others in between: what it set off before stands as it did. */
static bool walk_behind_rest(struct walk *walk, const struct episode *rest, uint64_t from, uint64_t to, uint32_t came, struct behind_rest *behind)
{
	struct hop hops[WALK_MAX_HOPS];
	unsigned count = walk->missing ? walk->missing(walk, rest, from, to, hops) : 0;

	if (count && hops[count - 1].confidence >= limit_of(walk->scene, LIMIT_timer_sure) && !walk_on_stack(walk, hops[count - 1].thread)) {
		const struct episode *standing = scene_episode(walk->scene, hops[count - 1].thread, to - 1);

		*behind = (struct behind_rest){ .count = count, .standing = standing && standing->end_ns >= to ? standing : NULL };
		memcpy(behind->hops, hops, count * sizeof(*hops));
	} else if (!behind->standing || behind->standing->end_ns < to || walk_on_stack(walk, behind->hops[behind->count - 1].thread) ||
		   !rule_holds(walk->scene, RULE_stands_behind)) {
		return false;
	}
	walk_hops(walk, rest, from, to, came, behind->hops, behind->count);
	return true;
}

/* Its rests at that place are its own matter, unless somebody is known who should have ended one. */
static void walk_rests(struct walk *walk, const struct episode *rest, uint64_t from, uint64_t to, uint32_t step, struct behind_rest *behind)
{
	const struct scene *scene = walk->scene;
	const struct scene_thread *t = &scene->threads[rest->thread];
	const struct wait *at = &scene->waits[rest->last];

	for (const struct episode *e = scene_episode(scene, rest->thread, from);
	     e && e < scene->episodes + t->episode + t->episode_count && e->start_ns < to && from < to; e++) {
		uint64_t begin = e->start_ns > from ? e->start_ns : from, end = e->end_ns < to ? e->end_ns : to;

		if ((scene->waits[e->last].site != at->site && !listens_alike(scene, &scene->waits[e->last], at)) || begin >= end)
			continue;
		walk_row(walk, rest->thread, from, begin, step);
		if (!walk_behind_rest(walk, e, begin, end, step, behind))
			walk_own(walk, rest->thread, begin, end, step);
		from = end;
	}
	walk_row(walk, rest->thread, from, to, step);
}

/* Until its own timer set it to work. The wait whose limit ran out, with other work between its parts, is one: who should have
 * ended it had all of it. */
static void walk_timer(struct walk *walk, const struct episode *rest, uint64_t from, uint64_t to, uint32_t step)
{
	const struct scene *scene = walk->scene;
	const struct episode *first = scene_limit_begin(scene, rest, limit_of(scene, LIMIT_same_limit_ns));
	uint64_t begin = first->start_ns > from ? first->start_ns : from;
	struct behind_rest behind = { .count = 0 };

	if (first != rest && begin < to) {
		walk_rests(walk, rest, from, begin, step, &behind);
		from = walk_missing(walk, rest, begin, to, step, (uint8_t)limit_of(scene, LIMIT_ran_out_sure)) ? to : begin;
	}
	walk_rests(walk, rest, from, to, step, &behind);
}

/* Those that the part's work was handed on to wait for it, and the part's own thread. */
static void push_waiting(struct walk *walk, const struct request_parts *parts, size_t part)
{
	uint32_t thread = parts->items[part].thread;

	for (size_t i = 0; i < part && parts->items[i].thread != thread && walk->depth + 2 < MAX_DEPTH; i++) {
		if (walk_on_stack(walk, parts->items[i].thread))
			continue;
		walk->served |= 1ull << walk->depth;
		walk->stack[walk->depth++] = parts->items[i].thread;
	}
	walk->served &= ~(1ull << walk->depth);
	walk->stack[walk->depth++] = thread;
}

/* The thread was at other work in the window, too, before it rested until it was set to this. */
static bool rested_before(const struct scene *scene, const struct request_part *part, uint64_t from)
{
	return part->episode && scene->episodes[part->episode - 1].start_ns > from + part_of(scene, LIMIT_rested_before, part->to_ns - from);
}

/* The rest that its timer ended was a small part of the time: before that it went on for others, again and again. */
static bool served_long(const struct scene *scene, const struct request_part *part, uint64_t from)
{
	return part->episode && most_of(scene, scene->episodes[part->episode - 1].start_ns > from ? scene->episodes[part->episode - 1].start_ns - from : 0,
					part->to_ns - from);
}

/* The window lies with whoever had the request that was answered then, in the window or behind
 * it; false where nobody else set the thread to work. */
static bool walk_request(struct walk *walk, uint32_t thread, uint64_t from, uint64_t to, uint64_t answered, uint32_t step)
{
	struct request_parts parts = { 0 };
	struct vec(uint32_t) steps = { 0 };
	unsigned depth = walk->depth;
	unsigned count = depth + 2 < MAX_DEPTH ? request_back(walk->scene, walk->ends, thread, from, answered, &parts) : 0;
	/* Who served others meanwhile, and came by its own timer at last, did not wait for those. */
	bool handed = count > 1 || (count == 1 && parts.items[0].by_timer && served_long(walk->scene, &parts.items[0], from) &&
				    rule_holds(walk->scene, RULE_armed_timer));

	for (size_t i = 0; handed && i < parts.length; i++) {
		const struct request_part *p = &parts.items[i];
		size_t same = 0;

		while (same < i && parts.items[same].thread != p->thread)
			same++;
		vec_push(&steps, same < i ? steps.items[same] : !i ? step :
			 take_step(walk, steps.items[i - 1], p->thread, parts.items[i - 1].episode, (enum walk_link)p->link, p->confidence,
				   p->evidence, p->from_ns));
		if (same == i && i && rested_before(walk->scene, &parts.items[i - 1], from))
			walk->steps->items[steps.items[i]].served = true;
	}
	for (size_t i = handed ? parts.length : 0; i-- > 0; ) {
		const struct request_part *p = &parts.items[i];
		uint64_t begin = p->from_ns, until = p->to_ns < to ? p->to_ns : to;

		if (begin >= until)
			continue;
		push_waiting(walk, &parts, i);
		if (p->by_timer) {
			const struct episode *e = &walk->scene->episodes[p->episode - 1];
			uint64_t end = e->end_ns < until ? e->end_ns : until;

			walk_timer(walk, e, begin, end, steps.items[i]);
			begin = end;
		}
		walk_row(walk, p->thread, begin, until, steps.items[i]);
		walk->depth = depth;
	}
	vec_done(&parts);
	vec_done(&steps);
	return handed;
}

/* `answered`: when what the time is charged for came, which may be behind the window. */
static void walk_thread(struct walk *walk, uint32_t thread, uint64_t from, uint64_t to, uint64_t answered, uint32_t step)
{
	if (walk->ends && rule_holds(walk->scene, RULE_request_way) && !walk_awaited_still(walk, thread, step) && !walk_is_dialog(walk, thread, step) &&
	    walk_request(walk, thread, from, to, answered, step))
		return;
	walk->served &= ~(1ull << walk->depth);
	walk->stack[walk->depth++] = thread;
	walk_row(walk, thread, from, to, step);
	walk->depth--;
}

void walk_window(struct walk *walk, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	walk->depth = walk->above;
	walk->steps->length = 0;
	vec_push(walk->steps, ((struct walk_step){ .thread = thread, .confidence = 100, .own = 100, .from_ns = from_ns }));
	if (walk->doubted || walk->beat || is_at_it(walk->scene, thread, from_ns, to_ns)) {
		walk->stack[walk->depth++] = thread;
		walk_row(walk, thread, from_ns, to_ns, 0);
	} else {
		walk_thread(walk, thread, from_ns, to_ns, to_ns, 0);
	}
}
