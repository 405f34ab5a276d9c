/* Long waits that are only unlike what was before, see hangs_unusual.h. */
#include "diagnose/hangs_unusual.h"

#include "base/map.h"
#include "diagnose/broken_off.h"
#include "diagnose/diagnoser.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_pending.h"
#include "diagnose/one_time.h"

#define LOOKED_BACK 64 /* waits of a thread before the one that is judged */

/* What stood as the recording began, and still stands as it ends, always did. */
static bool stands_always(const struct finder *f, const struct episode *e)
{
	return (hangs_stood_before(f, e) || hangs_began_before(f, e)) && f->scene->waits[e->last].end == WAIT_END_OPEN;
}

/* Nobody asks about it, nor about any command, and nothing but another ends it: its process is not told to end. */
static bool is_of_interest(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	if (!hangs_is_left_alone(f) || stands_always(f, e) || e->end_ns - e->start_ns < limit_of(f->scene, LIMIT_unusual_ns))
		return false;
	return !w->timeout_ns && (w->end == WAIT_END_OPEN || w->end == WAIT_END_THREAD) && w->cause != WAKE_CAUSE_signal &&
	       !scene_ended_by_signal(f->scene, w) && !broken_off_by_end(f->scene, w);
}

static bool is_by_clock(const struct wait *w)
{
	return w->end == WAIT_END_TIMEOUT && (w->kind == WAIT_KIND_sleep || w->timeout_ns);
}

/* So that it comes behind whatever else of the thread hung meanwhile. */
static bool is_weak(const struct finder *f)
{
	f->hang->meant = rule_holds(f->scene, RULE_may_rest) ? RULE_may_rest : RULE_NONE;
	return true;
}

bool hangs_left_its_clock(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint32_t first = scene->threads[e->thread].wait, by_clock = 0, others = 0;
	uint64_t longest = 0;

	if (!is_of_interest(f, e) || (w->kind != WAIT_KIND_futex && w->kind != WAIT_KIND_semaphore))
		return false;
	for (uint32_t i = e->first; i-- > first && e->first - i <= LOOKED_BACK; ) {
		const struct wait *before = &scene->waits[i];

		if (before->end_ns - before->start_ns > longest)
			longest = before->end_ns - before->start_ns;
		if (is_by_clock(before))
			by_clock++;
		else if (before->site == w->site)
			return false;
		else
			others++;
	}
	return by_clock >= limit_of(scene, LIMIT_clock_times) && by_clock > others &&
	       e->end_ns - e->start_ns > longest * limit_of(scene, LIMIT_unusual_times) && is_weak(f);
}

bool hangs_began_to_wait(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	if (!f->leads || !is_of_interest(f, e) || hangs_rests_at(f, w))
		return false;
	switch (w->kind) {
	case WAIT_KIND_futex:
		return one_time_awaits(f->diagnoser->names, f->scene->tables, w) || is_weak(f);
	case WAIT_KIND_semaphore:
		return is_weak(f);
	case WAIT_KIND_read:
		return hangs_role_in(f, w) == END_CLIENT && is_weak(f);
	case WAIT_KIND_poll:
		return w->argument <= 1 && hangs_role_in(f, w) == END_CLIENT && is_weak(f);
	default:
		return false;
	}
}

/* The thread of its own process that it woke just before it began to wait; 0 none. */
static uint32_t told_before(const struct scene *scene, const struct episode *e)
{
	uint32_t i = scene_wakes_from(scene, e->thread, e->start_ns);

	if (i-- == scene->threads[e->thread].wake || scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) < e->start_ns)
		return 0;
	return scene_same_process(scene, scene->wakes[i].target, e->thread) ? scene->wakes[i].target : 0;
}

bool hangs_own_answer_late(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	const struct place *p = hangs_place_of(f, w);
	uint32_t told;

	if (hangs_is_unattended(f) || w->end != WAIT_END_THREAD || (w->kind != WAIT_KIND_read && (w->kind != WAIT_KIND_poll || w->argument > 1)) ||
	    !scene_same_process(scene, w->waker, e->thread) || !p || p->visits <= limit_of(scene, LIMIT_trips_unasked) ||
	    e->end_ns - e->start_ns <= p->next_ns * limit_of(scene, LIMIT_trips_late))
		return false;
	told = told_before(scene, e);
	if (!told || told == w->waker)
		return told;
	/* it handed that on to the one that answered */
	for (uint32_t i = scene_wakes_from(scene, told, e->start_ns); i < scene_wakes_end(scene, told) && scene->wakes[i].time < e->end_ns; i++)
		if (scene->wakes[i].target == w->waker)
			return true;
	return false;
}

#define TURNS_LOOKED_AT 256u /* waits of a thread */

/* The set at which the thread listens now and then, and waits for a word of its own at other times; 0: it does not do both. */
static uint64_t listens_in_turn(const struct scene *scene, uint32_t thread)
{
	uint32_t first = scene->threads[thread].wait, end = scene_waits_end(scene, thread);
	uint64_t set = 0;
	bool parks = false;

	for (uint32_t i = first; i < end && i - first < TURNS_LOOKED_AT && !(set && parks); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->kind == WAIT_KIND_epoll)
			set = w->object;
		parks |= w->kind == WAIT_KIND_futex && !wait_has_owner(w) && !wait_is_shared(w);
	}
	return parks ? set : 0;
}

bool hangs_threads_take_turns(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	uint64_t set = 0;

	if (!rule_holds(scene, RULE_take_turns) || w->kind != WAIT_KIND_futex || wait_has_owner(w) || wait_is_shared(w))
		return false;
	SCENE_EACH_MATE(scene, f->thread, i) {
		uint64_t its = i != f->thread ? listens_in_turn(scene, i) : 0;

		if (its && its == set)
			return true;
		set = set ? set : its;
	}
	return false;
}

/* How long a thread is away from a place to which it comes again and again. */
struct rounds {
	uint64_t total_ns, longest_ns, next_ns;
	uint64_t from_ns;         /* when the longest began */
	uint32_t count;
};

static void tell_round(struct rounds *rounds, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t away = to_ns > from_ns ? to_ns - from_ns : 0;

	rounds->count++;
	rounds->total_ns += away;
	if (away > rounds->longest_ns) {
		rounds->next_ns = rounds->longest_ns;
		rounds->longest_ns = away;
		rounds->from_ns = from_ns;
	} else if (away > rounds->next_ns) {
		rounds->next_ns = away;
	}
}

/* The last one is longer than what is known of it, where a person asks while it lasts. */
static void tell_rounds(const struct finder *f, const struct place *place, struct rounds *ret_rounds)
{
	const struct scene *scene = f->scene;
	uint64_t before = 0;

	*ret_rounds = (struct rounds){ .count = 0 };
	for (uint32_t i = scene->threads[f->thread].wait; i < scene_waits_end(scene, f->thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->site != place->site)
			continue;
		if (before)
			tell_round(ret_rounds, before, w->start_ns);
		before = w->end_ns;
	}
	if (before && before < scene->end_ns && f->options->pid && rule_holds(scene, RULE_stays_away) &&
	    scene->tables->threads[f->thread].end_ns >= scene->end_ns)
		tell_round(ret_rounds, before, scene->end_ns);
}

static bool is_late_round(const struct finder *f, const struct rounds *r)
{
	const struct scene *scene = f->scene;

	return r->count > limit_of(scene, LIMIT_round_times) && r->longest_ns >= limit_of(scene, LIMIT_wait_ns) &&
	       r->longest_ns >= r->next_ns * limit_of(scene, LIMIT_round_longest) &&
	       r->longest_ns * (r->count - 1) >= (r->total_ns - r->longest_ns) * limit_of(scene, LIMIT_round_late);
}

/* Most of what it waited for in the time it had waited for before, in its rounds, and not where it rests, unless it asked there, or by its own clock. */
static bool does_the_usual(const struct finder *f, uint64_t from_ns, uint64_t to_ns)
{
	const struct scene *scene = f->scene;
	uint32_t begin = scene_waits_from(scene, f->thread, from_ns);
	uint64_t waited = 0;
	bool asked = false;
	struct map sites; /* where it had waited before */

	map_init(&sites);
	for (uint32_t i = scene->threads[f->thread].wait; i < begin; i++)
		map_put(&sites, scene->waits[i].site, 1);
	for (uint32_t i = begin; i < scene_waits_end(scene, f->thread) && scene->waits[i].start_ns < to_ns; i++) {
		const struct wait *w = &scene->waits[i];

		/* what lets it look meanwhile are messages as well */
		asked |= hangs_asked_there(f, w);
		if (w->kind == WAIT_KIND_sleep || w->kind == WAIT_KIND_child || w->kind == WAIT_KIND_stop || w->kind == WAIT_KIND_accept ||
		    hangs_awaits_person(f, w) || (!f->options->pid && hangs_rests_at(f, w) && !asked))
			continue;
		if (map_find(&sites, w->site))
			waited += w->end_ns - w->start_ns;
	}
	map_done(&sites);
	return most_of(scene, waited, to_ns - from_ns);
}

/* None of its process's threads had much to do: who works, or stands in the queue for it, is not kept. */
static bool process_waits(const struct finder *f, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t work = 0;

	SCENE_EACH_MATE(f->scene, f->thread, i) {
		struct state_times times;

		scene_state_times(f->scene, i, from_ns, to_ns, &times);
		work += times.ns[SPAN_RUNNING] + (i == f->thread ? times.ns[SPAN_RUNNABLE] + times.ns[SPAN_STOPPED] : 0);
	}
	return work <= part_of(f->scene, LIMIT_round_work, to_ns - from_ns);
}

void hangs_left_round(struct finder *f, void (*offer)(struct finder *f, enum rule_id rule, uint64_t from_ns, uint64_t to_ns))
{
	const struct scene *scene = f->scene;
	unsigned tried = 0;

	if (!f->leads || hangs_is_left_alone(f) || !rule_holds(scene, RULE_left_round))
		return;
	for (size_t i = 0; i < f->places.length && tried < limit_of(scene, LIMIT_places_tried); i++) {
		struct rounds r;

		if (f->places.items[i].visits <= limit_of(scene, LIMIT_round_times))
			continue;
		tried++;
		tell_rounds(f, &f->places.items[i], &r);
		if (!is_late_round(f, &r) || !does_the_usual(f, r.from_ns, r.from_ns + r.longest_ns) || !process_waits(f, r.from_ns, r.from_ns + r.longest_ns))
			continue;
		offer(f, RULE_left_round, r.from_ns, r.from_ns + r.longest_ns);
		return;
	}
}

/* A wait that others cut into pieces: of a client, or for a word, and not where a server listens. */
static bool is_piece(const struct finder *f, const struct wait *w)
{
	enum end_role role;

	if (w->kind == WAIT_KIND_futex)
		return !wait_has_owner(w);
	if (w->kind != WAIT_KIND_poll || w->argument < 1 || w->argument > (int32_t)limit_of(f->scene, LIMIT_small_set))
		return false;
	role = hangs_role_in(f, w);
	return role != END_SERVER && role != END_LISTENER;
}

void hangs_at_one_place(struct finder *f, void (*offer)(struct finder *f, enum rule_id rule, uint64_t from_ns, uint64_t to_ns))
{
	const struct scene *scene = f->scene;
	uint32_t first = scene->threads[f->thread].wait, end = scene_waits_end(scene, f->thread), woken = 0, in_vain = 0;
	uint64_t from, waited = 0;

	/* what it is in as the recording begins is not always known */
	if (first < end && scene->waits[first].kind <= WAIT_KIND_other)
		first++;
	if (!f->leads || !f->options->pid || first == end || !rule_holds(scene, RULE_at_one_place) || !is_piece(f, &scene->waits[first]))
		return;
	from = scene->waits[first].start_ns > scene->start_ns ? scene->waits[first].start_ns : scene->start_ns;
	for (uint32_t i = first; i < end; i++) {
		const struct wait *w = &scene->waits[i];

		/* on its way back, as for the lock of its condition */
		if (w->site != scene->waits[first].site && w->kind == WAIT_KIND_futex && w->end_ns - w->start_ns <= limit_of(scene, LIMIT_look_ran_ns))
			continue;
		if (w->site != scene->waits[first].site)
			return;
		woken += w->end == WAIT_END_THREAD;
		in_vain += w->end == WAIT_END_TIMEOUT && w->kind == WAIT_KIND_poll && scene_is_socket(w->detail);
		waited += w->end_ns > from ? w->end_ns - (w->start_ns > from ? w->start_ns : from) : 0;
	}
	if ((woken >= limit_of(scene, LIMIT_beats) || (!woken && in_vain >= limit_of(scene, LIMIT_rest_visits))) &&
	    scene->end_ns - from >= limit_of(scene, LIMIT_wait_ns) && most_of(scene, waited, scene->end_ns - from) &&
	    from <= scene->start_ns + part_of(scene, LIMIT_most, limit_of(scene, LIMIT_wait_ns)))
		offer(f, RULE_at_one_place, from, scene->end_ns);
}
