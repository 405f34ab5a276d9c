/* Finding hangs, see hangs.h.
 *
 * Each finder looks at one thread for one kind of hang and offers stretches with
 * a weight. Of stretches of one thread that overlap the most severe stays; pieces of
 * work that adjoin become one.
 * The order is by weight times length. */
#include "diagnose/hangs.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/hangs_asks.h"
#include "diagnose/asked_in_vain.h"
#include "diagnose/ending.h"
#include "diagnose/hangs_asked.h"
#include "diagnose/hangs_away.h"
#include "diagnose/hangs_busy.h"
#include "diagnose/hangs_loop.h"
#include "diagnose/hangs_meant.h"
#include "diagnose/hangs_outer.h"
#include "diagnose/hangs_pending.h"
#include "diagnose/hangs_rank.h"
#include "diagnose/hangs_rest.h"
#include "diagnose/hangs_trips.h"
#include "diagnose/hangs_unusual.h"
#include "diagnose/killed_before.h"
#include "diagnose/leads.h"
#include "diagnose/loops.h"

static void offer(struct finder *f, enum rule_id rule, uint64_t from, uint64_t to)
{
	hangs_offer_piece(f, rule, from, to, 0);
}

/* ---- event loops ---- */

/* Other threads of the process listened to the same meanwhile: they take turns at one loop. */
static bool others_listen(const struct finder *f, const struct episode *loop, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	const struct wait *at = &scene->waits[loop->last];
	uint64_t listened = 0;

	if (at->kind != WAIT_KIND_epoll || !at->object)
		return false;
	SCENE_EACH_MATE(scene, f->thread, i) {
		if (i == f->thread)
			continue;
		for (uint32_t j = scene_waits_from(scene, i, from); j < scene_waits_end(scene, i) && scene->waits[j].start_ns < to; j++)
			if (scene->waits[j].kind == at->kind && scene->waits[j].object == at->object)
				listened += (scene->waits[j].end_ns < to ? scene->waits[j].end_ns : to) - scene->waits[j].start_ns;
	}
	return listened > part_of(scene, LIMIT_a_good_part, to - from);
}

/* Nobody but what it started ever ended a wait of the loop: it looks after that, and nobody else waits for it. */
static bool is_for_own(const struct finder *f, const struct episode *loop)
{
	const struct scene *scene = f->scene;
	const struct wait *at = &scene->waits[loop->last];
	bool found = false;

	if (at->kind != WAIT_KIND_poll || hangs_has_windows(f))
		return false;
	for (uint32_t i = scene_waits_from(scene, f->thread, 0); i < scene_waits_end(scene, f->thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->kind != at->kind || w->site != at->site || w->end == WAIT_END_TIMEOUT || w->end == WAIT_END_OPEN)
			continue;
		if (w->end != WAIT_END_THREAD || !scene_descends_from(scene, w->waker, scene_pid(scene, f->thread)) ||
		    scene_same_process(scene, w->waker, f->thread))
			return false;
		found = true;
	}
	return found;
}

/* A long turn, and how much of it was spent in what counts. */
static void offer_turn(struct finder *f, const struct episode *loop, uint64_t from, uint64_t to, bool ended)
{
	struct state_times times;
	uint64_t length = to - from;

	if (length < hangs_long_ns(f, LIMIT_turn_ns) || (rule_holds(f->scene, RULE_shared_loop) && others_listen(f, loop, from, to)) ||
	    (rule_holds(f->scene, RULE_own_loop) && is_for_own(f, loop)))
		return;
	scene_state_times(f->scene, f->thread, from, to, &times);
	if (most_of(f->scene, times.ns[SPAN_STOPPED], length) || most_of(f->scene, times.ns[SPAN_UNKNOWN], length))
		return;
	/* A loop that never has to wait makes many turns in one stretch: what counts is
	 * how long it gave no sign of life. */
	if (!most_of(f->scene, times.ns[SPAN_WAITING], length))
		hangs_silences(f, RULE_silent_turn, from, to);
	else
		offer(f, ended ? RULE_turn : RULE_open_turn, from, to);
}

/* It came back there often enough to be one loop. */
static bool is_loop_at(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	const struct place *p = hangs_place_of(f, w);

	return w->kind == WAIT_KIND_epoll || (p && p->visits >= limit_of(f->scene, LIMIT_rest_visits));
}

static bool sleeps_most(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	uint64_t sleeping = 0;

	/* A person waits for its loop, also while that waits for a child. */
	if (hangs_has_windows(f))
		return false;
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];
		const struct wait *w = &f->scene->waits[e->last];
		bool idle = w->kind == WAIT_KIND_accept && is_loop_at(f, e); /* that it comes back to for the next client */
		bool output = w->kind == WAIT_KIND_write && scene_is_pipe(w->object) && hangs_is_unattended(f); /* taken at its reader's pace */
		bool input = w->kind == WAIT_KIND_read && (scene_is_pipe(w->object) || object_kind(w->object) == OBJECT_KIND_tty);

		if (e->start_ns >= from && e->end_ns <= to &&
		    (w->kind == WAIT_KIND_sleep || w->kind == WAIT_KIND_child || input || output || idle))
			sleeping += e->end_ns - e->start_ns;
	}
	return most_of(f->scene, sleeping, to - from);
}

static bool listens_in_loop(const struct finder *f, const struct episode *e)
{
	uint8_t kind = f->scene->waits[e->last].kind;

	return kind == WAIT_KIND_poll || kind == WAIT_KIND_epoll;
}

/* Of the loop's waits between the two, the last where it rests; NULL none. */
static const struct episode *last_rest(const struct finder *f, const struct episode *behind, const struct episode *before)
{
	while (--before > behind)
		if (listens_in_loop(f, before) && hangs_rests_at(f, &f->scene->waits[before->last]))
			return before;
	return NULL;
}

/* Whether it was ever so long between two rests of its loop as a part of a turn must be. A loop
 * rests again and again, so few of its waits are looked at. */
static bool may_turn_long(const struct finder *f, uint64_t over)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	uint64_t turn = hangs_long_ns(f, LIMIT_turn_ns), part = limit_of(f->scene, LIMIT_turn_part_ns), least = turn < part ? turn : part;
	const struct episode *e = &f->scene->episodes[t->episode], *end = e + t->episode_count, *rested;

	while (e < end && !listens_in_loop(f, e))
		e++;
	for (rested = e++; rested < end && rested->end_ns + least <= over; e = rested + 1) {
		while (e < end && e->start_ns < rested->end_ns + least)
			e++;
		rested = last_rest(f, rested, e);
		if (!rested)
			return true;
	}
	return false;
}

static void find_turns(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	const struct thread *about = &f->scene->tables->threads[f->thread];
	const struct episode *last = NULL;
	uint64_t begin = 0, end = 0, over; /* of adjoining long turns */
	uint64_t inner = 0;                /* since when the loop has been called again */

	/* The loop that people and clients wait for is a process's first thread; how
	 * late others are shows in those that wait for them. Between two loops, one after
	 * the other, there is no turn; a loop inside a turn that listens to the same, as a
	 * dialog's does, ends it. */
	over = about->end_ns < f->scene->end_ns ? about->end_ns : f->scene->end_ns;
	if (!f->leads || !may_turn_long(f, over))
		return;

	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];
		bool rests;

		if (!listens_in_loop(f, e))
			continue;
		rests = hangs_rests_at(f, &f->scene->waits[e->last]);
		if (!rests && !(last && hangs_same_loop(f, last, e)))
			continue;
		/* Not a dialog that a person closed, but a wait for somebody who was away. */
		if (rests && inner && hangs_ended_by_return(f, last, inner))
			offer_turn(f, last, inner, last->end_ns, true);
		if (rests)
			inner = 0;
		else if (!inner)
			inner = last->end_ns;
		if (last && hangs_same_loop(f, last, e) &&
		    e->start_ns - last->end_ns >= limit_of(f->scene, LIMIT_turn_part_ns) && !sleeps_most(f, last->end_ns, e->start_ns)) {
			/* Turns with only a glance at the loop between them are one hang. */
			if (begin && nearly_none(f->scene, last->end_ns - last->start_ns, e->start_ns - last->end_ns) && last->start_ns == end) {
				end = e->start_ns;
			} else {
				if (begin)
					offer_turn(f, last, begin, end, true);
				begin = last->end_ns;
				end = e->start_ns;
			}
		}
		last = e;
	}
	if (begin)
		offer_turn(f, last, begin, end, true);
	/* It never came back to its rest. */
	if (last && is_loop_at(f, last) && last->end_ns < over && !sleeps_most(f, last->end_ns, over))
		offer_turn(f, last, last->end_ns, over, false);
}

/* ---- waits ---- */

/* Who sends to it does next to nothing but sleep. */
static bool sender_sleeps(const struct finder *f, const struct wait *w, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	uint64_t slept = 0;

	if (w->end != WAIT_END_THREAD || scene_same_process(scene, w->waker, f->thread) || hangs_has_windows(f))
		return false;
	for (uint32_t i = scene_waits_from(scene, w->waker, from); i < scene_waits_end(scene, w->waker); i++) {
		const struct wait *its = &scene->waits[i];

		if (its->start_ns >= to)
			break;
		if (its->kind == WAIT_KIND_sleep)
			slept += (its->end_ns < to ? its->end_ns : to) - its->start_ns;
	}
	return slept * 100 > limit_of(f->scene, LIMIT_sender_sleeps) * (to - from);
}

/* What nobody asks about may be a stream of news, which has no end. */
static bool came_to_end(const struct finder *f, const struct episode *last)
{
	const struct wait *w = &f->scene->waits[last->last];

	return !hangs_is_unattended(f) || (w->end == WAIT_END_THREAD && w->cause != WAKE_CAUSE_signal && !scene_ended_by_signal(f->scene, w));
}

/* It asked again between the two waits: each has an answer of its own. */
static bool asks_between(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	const struct row *messages = &scene->threads[f->thread].messages;

	for (uint32_t i = scene_wakes_from(scene, f->thread, from); i < scene_wakes_end(scene, f->thread) && scene->wakes[i].time <= to; i++)
		if (hangs_is_sign(scene, &scene->wakes[i]))
			return true;
	for (uint32_t i = scene_messages_from(scene, f->thread, from); i < messages->count; i++) {
		const struct message m = scene_message(scene, messages->items[i]);

		if (m.start_ns > to)
			return false;
		if (message_sent(&m))
			return true;
	}
	return false;
}

/* Something may have come; who only looks up by the clock, again and again, got nothing. */
static bool brings(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	return e->slices < limit_of(f->scene, LIMIT_loop_looks) || (w->end == WAIT_END_THREAD && !scene_ended_by_signal(f->scene, w)) ||
	       w->end == WAIT_END_SOURCE;
}

/* An answer that comes in drops: short waits in a row on one connection, with next to
 * nothing between them. A long download looks the same, and so do the events of a window,
 * and what comes through a pipe may be work: a person must ask, or the one that sends be
 * seen to sleep between the drops. */
static void find_drips(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	const struct wait *first = NULL;
	uint64_t begin = 0, end = 0;
	bool piped, came = false;

	if (!f->leads || (f->options->pid && hangs_has_windows(f)))
		return;
	for (uint32_t i = 0; i <= t->episode_count; i++) {
		const struct episode *e = i < t->episode_count ? &f->scene->episodes[t->episode + i] : NULL;
		const struct wait *w = e ? &f->scene->waits[e->last] : NULL;

		if (first && e && w->kind == first->kind && w->object == first->object && w->detail == first->detail &&
		    (scene_is_pipe(w->kind == WAIT_KIND_poll ? w->detail : w->object) || !asks_between(f, end, e->start_ns)) &&
		    (e->start_ns - end <= limit_of(f->scene, LIMIT_drop_ns) || nearly_none(f->scene, e->start_ns - end, end - begin))) {
			end = e->end_ns;
			came |= brings(f, e);
			continue;
		}
		piped = first && f->options->pid && scene_is_pipe(first->kind == WAIT_KIND_poll ? first->detail : first->object) &&
			!(first->kind == WAIT_KIND_poll && hangs_polls_own_pair(f, first)); /* by which its loop is woken */
		if (first && came && end - begin >= hangs_long_ns(f, LIMIT_busy_ns) &&
		    (piped || (hangs_role_in(f, first) == END_CLIENT && !hangs_polls_own_pair(f, first))) &&
		    (f->options->pid || (sender_sleeps(f, first, begin, end) && came_to_end(f, &f->scene->episodes[t->episode + i - 1]) &&
					 !hangs_ended_by_clock(f, &f->scene->waits[f->scene->episodes[t->episode + i - 1].last]))))
			offer(f, RULE_drops, begin, end);
		first = w && (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll) ? w : NULL;
		begin = e ? e->start_ns : 0;
		end = e ? e->end_ns : 0;
		came = e && brings(f, e);
	}
}

/* The first thread of the program with windows that the tries seem to be for; 0 none: what one without does
 * may be nobody's concern but of who tries. */
static uint32_t tried_window(const struct finder *f, const struct retries *r)
{
	const struct scene *scene = f->scene;
	bool lockstep;
	uint32_t partner = loop_retry_partner(scene, r, &lockstep), pid = scene_pid(scene, partner);

	if (!partner || pid == scene_pid(scene, f->thread) || !ends_has_windows(f->ends, pid))
		return 0;
	return tables_process(scene->tables, pid, r->start_ns + (r->end_ns - r->start_ns) / 2);
}

/* It sleeps as much at that place at other times. */
static bool tries_always(const struct finder *f, const struct retries *r)
{
	const struct scene *scene = f->scene;
	uint64_t slept = 0;

	for (uint32_t i = scene_waits_from(scene, f->thread, 0); i < scene_waits_end(scene, f->thread); i++)
		if (scene->waits[i].site == scene->waits[r->last].site && (scene->waits[i].end_ns <= r->start_ns || scene->waits[i].start_ns >= r->end_ns))
			slept += scene->waits[i].end_ns - scene->waits[i].start_ns;
	return slept > part_of(scene, LIMIT_a_good_part, r->end_ns - r->start_ns);
}

/* Where nobody asks: a killed one, too, had asked whom it asks. */
static bool looks_for_left(const struct finder *f, uint32_t sleep, struct retries *ret_retries)
{
	struct killed_before killed;

	return f->leads && hangs_is_unattended(f) && loop_retries(f->scene, sleep, ret_retries) &&
	       ret_retries->end_ns - ret_retries->start_ns >= limit_of(f->scene, LIMIT_stranger_ns) &&
	       killed_before_find(f->scene, f->thread, ret_retries->start_ns, ret_retries->end_ns, &killed);
}

static void find_retries(struct finder *f)
{
	const struct scene *scene = f->scene;
	uint64_t seen = 0;

	for (uint32_t i = scene_waits_from(scene, f->thread, 0); i < scene_waits_end(scene, f->thread); i++) {
		struct retries r = { .end_ns = 0 };

		if (scene->waits[i].kind != WAIT_KIND_sleep || scene->waits[i].start_ns < seen || scene->waits[i].idle ||
		    loop_is(scene, &scene->episodes[scene->waits[i].episode]))
			continue;
		if (hangs_retries(f, i, &r) && rule_holds(scene, RULE_tries_in_vain)) {
			offer(f, RULE_tries_in_vain, r.start_ns, r.end_ns);
			if (tries_always(f, &r))
				f->hangs.items[f->hangs.length - 1].weight = (uint32_t)limit_of(scene, LIMIT_tries_always_weight);
			f->hangs.items[f->hangs.length - 1].awaits = tried_window(f, &r);
			f->hangs.items[f->hangs.length - 1].slices = r.count;
		} else if (looks_for_left(f, i, &r)) {
			offer(f, RULE_killed_before, r.start_ns, r.end_ns);
			f->hangs.items[f->hangs.length - 1].weight = (uint32_t)limit_of(scene, LIMIT_killed_asked_weight);
			f->hangs.items[f->hangs.length - 1].slices = r.count;
		}
		seen = r.end_ns;
	}
}

static void find_vain(struct finder *f)
{
	uint64_t from, to;

	if (rule_holds(f->scene, RULE_woken_in_vain) && hangs_woken_in_vain(f, &from, &to))
		offer(f, RULE_woken_in_vain, from, to);
}

/* Beside a process's first thread one may wait for new work on a word, and what a window server sends has no question. */
static bool may_give_up(const struct finder *f, const struct wait *w)
{
	enum end_role role;

	if (w->end != WAIT_END_TIMEOUT || w->idle)
		return false;
	role = hangs_role_in(f, w);
	if (role == END_SERVER || role == END_LISTENER || hangs_is_window_server(f, hangs_listened_to(w)))
		return false;
	return f->leads || (w->kind != WAIT_KIND_futex && w->kind != WAIT_KIND_semaphore);
}

static void find_asked_in_vain(struct finder *f)
{
	for (uint32_t i = f->scene->threads[f->thread].wait, last; i < scene_waits_end(f->scene, f->thread); i = last + 1) {
		const struct wait *w = &f->scene->waits[last = asked_in_vain_last(f->scene, i)];
		uint64_t from, to;

		if (may_give_up(f, w) && asked_in_vain_find(f->scene, w, &from, &to) && from < to)
			offer(f, RULE_asked_in_vain, from, to);
	}
}

static void find_waits(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];

	for (uint32_t i = 0; i < t->episode_count; i++) {
		struct hang hang;

		if (hangs_judge_wait(f, &f->scene->episodes[t->episode + i], &hang))
			vec_push(&f->hangs, hang);
	}
	find_drips(f);
	find_retries(f);
	find_vain(f);
	find_asked_in_vain(f);
}

static void find_late_trips(struct finder *f)
{
	if (rule_holds(f->scene, RULE_late_trip))
		hangs_late_trips(f, offer, f);
}

/* ---- together ---- */

bool hangs_asks_about(const struct scene *scene, const struct hangs_options *options, uint32_t thread)
{
	if (scene_is_system(scene, thread))
		return false;
	if (options->pid)
		return scene_pid(scene, thread) == options->pid;
	return options->root_pid ? scene_descends_from(scene, thread, options->root_pid) : !scene_is_other_argus(scene, thread);
}

/* Rule `made_to_end`: once its process is told to end, that is the thread that was made for it. */
static bool is_made_to_end(const struct scene *scene, uint32_t thread)
{
	const struct sent_signal *told;

	return ending_thread(scene, scene_pid(scene, thread), &told) == thread;
}

/* It stands for its process, for most of the hang. */
static bool stands_for_process(const struct scene *scene, const struct hang *hang)
{
	const struct sent_signal *told = NULL;
	uint32_t ending = ending_thread(scene, hang->pid, &told);
	uint64_t from = ending && told->time > hang->start_ns ? told->time : hang->start_ns;

	return ending && hang->end_ns > from && most_of(scene, hang->end_ns - from, hang->end_ns - hang->start_ns) ? hang->thread == ending
														   : leads_process(scene, hang->thread);
}

static bool is_found(const struct hangs_found *found, const struct hangs_found *asked)
{
	return found->known && found->pid == asked->pid && found->root_pid == asked->root_pid && found->threshold_ns == asked->threshold_ns &&
	       found->version == asked->version && found->looked_from_ns == asked->looked_from_ns && found->looked_to_ns == asked->looked_to_ns;
}

/* It may be the one that is looked up. */
static bool fills_half(const struct hang *hang, const struct hangs_options *options)
{
	uint64_t from = hang->start_ns > options->from_ns ? hang->start_ns : options->from_ns;
	uint64_t to = hang->end_ns < options->to_ns ? hang->end_ns : options->to_ns;

	return to > from && (to - from) * 2 > options->to_ns - options->from_ns;
}

static const struct hangs_found *find_all(struct diagnoser *diagnoser, const struct hangs_options *options)
{
	struct hangs_found *found = diagnoser_hangs_found(diagnoser);
	struct trails trails = { 0 };
	struct finder f = {
		.trails = &trails, .diagnoser = diagnoser, .scene = diagnoser_scene(diagnoser), .ends = diagnoser_ends(diagnoser), .options = options,
	};

	struct hangs_found asked = { .pid = options->pid, .root_pid = options->root_pid, .version = f.scene->version,
				     .threshold_ns = options->threshold_ns, .looked_from_ns = options->looked_up ? options->from_ns : 0,
				     .looked_to_ns = options->looked_up ? options->to_ns : 0, .known = true };

	if (is_found(found, &asked))
		return found;
	for (f.thread = 1; f.thread < f.scene->thread_count; f.thread++) {
		size_t before = f.hangs.length;

		scene_spare(f.scene);
		if (!hangs_asks_about(f.scene, options, f.thread))
			continue;
		f.leads = leads_process(f.scene, f.thread) || is_made_to_end(f.scene, f.thread);
		hangs_learn_places(&f);
		find_turns(&f);
		find_waits(&f);
		find_late_trips(&f);
		hangs_stretches(&f);
		if (f.hangs.length == before && !options->looked_up)
			hangs_left_round(&f, offer);
		if (f.hangs.length == before && !options->looked_up)
			hangs_at_one_place(&f, offer);
		if (f.hangs.length == before && !options->looked_up)
			hangs_as_if_asked(&f, offer);
		if (f.hangs.length > before)
			f.hangs.length = before + hangs_join(f.scene, f.hangs.items + before, f.hangs.length - before);
	}
	vec_done(&f.places);
	vec_done(&trails);
	f.hangs.length = hangs_drop_parents(f.scene, f.hangs.items, f.hangs.length);
	for (size_t i = 0; i < f.hangs.length; i++) {
		struct hang *hang = &f.hangs.items[i];

		scene_spare(f.scene);
		if (!options->pid)
			hangs_hand_down(f.scene, hang);
		hangs_name(f.scene, hang);
		if (!options->pid && !options->threshold_ns && (!options->looked_up || fills_half(hang, options)))
			hangs_mean(&f, hang);
	}
	hangs_as_others(f.scene->judgement, f.hangs.items, f.hangs.length);
	free(found->hangs);
	asked.hangs = f.hangs.items;
	asked.count = f.hangs.length;
	*found = asked;
	return found;
}

size_t hangs_find_all(struct diagnoser *diagnoser, const struct hangs_options *options, const struct hang **ret_hangs)
{
	const struct hangs_found *found = find_all(diagnoser, options);

	*ret_hangs = found->hangs;
	return found->count;
}

/* Nothing in the process tells that it hung, but what it waits for hung, and it is the victim of that. */
static size_t find_outer_of(struct arena *arena, struct diagnoser *diagnoser, const struct hangs_options *options, struct hang *ret_hang)
{
	struct hangs_options all = *options;
	const struct hang *found;
	size_t count;

	all.pid = 0;
	count = hangs_find(arena, diagnoser, &all, &found);
	return hangs_outer_of(diagnoser, &all, found, count, options->pid, ret_hang);
}

/* What is looked up in a window was found by more than that shows: another that seems worse there may only rest. */
static void put_first(const struct hangs_options *options, struct hang *hangs, size_t count)
{
	size_t at = count;
	uint64_t most = 0;

	for (size_t i = 0; i < count && options->first_tid; i++) {
		uint64_t from = hangs[i].start_ns > options->from_ns ? hangs[i].start_ns : options->from_ns;
		uint64_t to = hangs[i].end_ns < options->to_ns ? hangs[i].end_ns : options->to_ns;

		if (hangs[i].tid == options->first_tid && to > from && to - from > most) {
			most = to - from;
			at = i;
		}
	}
	if (at < count) {
		const struct hang first = hangs[at];

		memmove(hangs + 1, hangs, at * sizeof(*hangs));
		hangs[0] = first;
	}
}

size_t hangs_find(struct arena *arena, struct diagnoser *diagnoser, const struct hangs_options *options,
		  const struct hang **ret_hangs)
{
	const struct hangs_found *found = find_all(diagnoser, options);
	const struct scene *scene = diagnoser_scene(diagnoser);
	struct hang *hangs = arena_array(arena, struct hang, found->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		struct hang h = found->hangs[i];

		/* Of a process that is asked about, the thread that stands for it is meant. */
		if (options->pid && rule_holds(scene, RULE_meant) && stands_for_process(scene, &h))
			h.weight = h.weight * (uint32_t)limit_of(scene, LIMIT_meant_weight) / 100;
		if (options->to_ns && (h.start_ns > options->to_ns || h.end_ns < options->from_ns))
			continue;
		hangs[count++] = h;
	}
	hangs_rank(scene->judgement, hangs, count);
	put_first(options, hangs, count);
	count = hangs_prefer_outer(diagnoser, options, hangs, count);
	if (!count && options->pid)
		count = find_outer_of(arena, diagnoser, options, hangs);
	*ret_hangs = hangs;
	return count;
}
