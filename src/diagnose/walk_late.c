/* See walk_late.h. */
#include "diagnose/walk_late.h"

#include "diagnose/asked_in_vain.h"
#include "diagnose/judgement.h"
#include "diagnose/kernel_place.h"
#include "diagnose/own_ends.h"
#include "diagnose/serving.h"

static bool is_newcomer(const struct scene *scene, const struct wait *w, uint64_t since_ns)
{
	uint32_t process = tables_process(scene->tables, scene_pid(scene, w->waker), w->end_ns);

	return process && scene->tables->threads[process].start_ns > since_ns;
}

/* Who waits for a file system to be thawed, or for a daemon to mount it, does so where no signal ends the wait. */
bool walk_other_end_came(const struct scene *scene, const struct wait *w)
{
	bool reads = w->kind == WAIT_KIND_read && object_kind(w->object) == OBJECT_KIND_fifo;

	if ((w->kind != WAIT_KIND_open && !reads) || w->state != TASK_STATE_sleeping || w->end != WAIT_END_THREAD || !w->waker ||
	    !rule_holds(scene, RULE_fifo_newcomer))
		return false;
	/* what is read may be the work of all its life */
	return is_newcomer(scene, w, reads ? w->start_ns + part_of(scene, LIMIT_most, w->end_ns - w->start_ns) : w->start_ns);
}

bool walk_lacks_memory(const struct walk *walk, const struct wait *w)
{
	return w->kind == WAIT_KIND_fault && rule_holds(walk->scene, RULE_given_memory) &&
	       kernel_place_of_wait(walk->names, walk->scene->tables, w) == KERNEL_PLACE_MEMORY;
}

/* A frozen file system keeps those that write to it: who is called to thaw it at last froze nothing. Nor did who gives a control group memory
 * again use that up. */
bool walk_was_thawed(const struct walk *walk, const struct wait *w)
{
	if (walk_lacks_memory(walk, w))
		return true;
	return rule_holds(walk->scene, RULE_thawed) && w->waker && is_newcomer(walk->scene, w, w->start_ns) &&
	       kernel_place_of_wait(walk->names, walk->scene->tables, w) == KERNEL_PLACE_FROZEN;
}

/* How a thread rested in the time, at the set at which its process listens, and how often another ended that. */
struct rests {
	uint64_t ns, longest_ns;
	uint32_t ended;
};

static void count_rests(const struct scene *scene, uint32_t thread, uint64_t set, uint64_t from, uint64_t to, struct rests *rests)
{
	uint32_t i = scene_waits_from(scene, thread, from);

	for (; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to; i++) {
		const struct wait *w = &scene->waits[i];
		uint64_t ns = (w->end_ns < to ? w->end_ns : to) - w->start_ns;

		if (!wait_is_loop_rest(w) || (set && w->object != set))
			continue;
		rests->longest_ns = ns > rests->longest_ns ? ns : rests->longest_ns;
		rests->ended += w->end == WAIT_END_THREAD;
		rests->ns += ns;
	}
}

/* The set at which the thread listens, as a runtime's threads do in turn; 0: it is not known. */
static uint64_t set_of(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	uint32_t i = scene_waits_from(scene, thread, from);

	for (; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to; i++)
		if (scene->waits[i].kind == WAIT_KIND_epoll)
			return scene->waits[i].object;
	return 0;
}

/* No answer ever came, and who is thought to owe it rested, and answered others: what those set it to work for is no reason that
 * this one waits. At a set any of its threads may rest. */
bool walk_answered_others(const struct walk *walk, const struct episode *episode, const struct hop *hop, uint64_t from, uint64_t to)
{
	const struct scene *scene = walk->scene;
	const struct wait *last = &scene->waits[episode->last];
	struct rests rests = { 0 };
	uint64_t set;

	if ((last->end != WAIT_END_OPEN && !asked_in_vain(scene, last)) || hop->link != LINK_PEER || !rule_holds(scene, RULE_never_answered))
		return false;
	count_rests(scene, hop->thread, 0, from, to, &rests);
	set = nearly_all(scene, rests.ns, to - from) ? 0 : set_of(scene, hop->thread, from, to);
	if (set)
		SCENE_EACH_MATE(scene, hop->thread, mate)
			if (mate != hop->thread)
				count_rests(scene, mate, set, from, to, &rests);
	/* who rests for so long is not at it for others: something else may keep it */
	return !most_of(scene, rests.longest_ns, to - from) && rests.ended >= limit_of(scene, LIMIT_rest_visits) && nearly_all(scene, rests.ns, to - from);
}

/* Its threads end one after the other: how they stood just before that counts. */
uint32_t walk_ended_server(const struct walk *walk, const struct wait *w)
{
	const struct scene *scene = walk->scene;
	uint64_t death = limit_of(scene, LIMIT_death_ns);
	struct request_asked asked = { .thread = w->thread, .from_ns = w->start_ns, .to_ns = w->end_ns - death };

	if (w->kind != WAIT_KIND_fuse || w->cause != WAKE_CAUSE_exit || !walk->ends || w->end_ns - w->start_ns <= 2 * death)
		return 0;
	asked.since_ns = serving_asked_since(scene, &scene->episodes[w->episode]);
	return serving_thread(scene, walk->ends, w->waker, &asked);
}

/* It listens for the next request, on a connection that it accepted. */
static bool listens_to_client(const struct walk *walk, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument <= 1 ? w->detail : 0;

	return object && walk->ends && ends_role(walk->ends, object) == END_SERVER;
}

/* Another thread of its process waits for who waits here, and this one for a word of which nothing is known, as it does that handed on what that one
 * is to get. */
static bool stands_behind_mate(const struct walk *walk, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct episode *e = scene_episode(walk->scene, thread, from);
	const struct wait *w = e && e->start_ns <= from && e->end_ns >= to ? &walk->scene->waits[e->last] : NULL;

	if (!w || w->kind != WAIT_KIND_futex || wait_has_owner(w))
		return false;
	for (unsigned i = 0; i < walk->depth; i++)
		if (walk->stack[i] != thread && scene_same_process(walk->scene, walk->stack[i], thread))
			return true;
	return false;
}

bool walk_is_guessed_circle(const struct walk *walk, const struct episode *episode, const struct hop *last, uint64_t from, uint64_t to)
{
	const struct wait *w = &walk->scene->waits[episode->last];
	bool client = rule_holds(walk->scene, RULE_asks_next) && listens_to_client(walk, w);

	if (!client && !wait_is_loop_rest(w))
		return false;
	if (walk_on_stack(walk, last->thread))
		return client || (rule_holds(walk->scene, RULE_own_clock) && last->confidence < limit_of(walk->scene, LIMIT_timer_sure));
	return rule_holds(walk->scene, RULE_asks_next) && walk->depth > 1 && stands_behind_mate(walk, last->thread, from, to);
}

/* At the same place, or on its way back there, as for the lock of its condition. */
static bool is_piece_of(const struct scene *scene, const struct wait *w, uint32_t site)
{
	return w->site == site || (w->kind == WAIT_KIND_futex && w->end_ns - w->start_ns <= limit_of(scene, LIMIT_look_ran_ns));
}

const struct episode *walk_behind_beat(const struct walk *walk, const struct episode *first, uint64_t to)
{
	const struct scene *scene = walk->scene;
	const struct scene_thread *t = &scene->threads[first->thread];
	const struct episode *e = first;

	while (scene->waits[e->last].end == WAIT_END_THREAD && scene->waits[e->last].waker == walk->beat &&
	       e + 1 < scene->episodes + t->episode + t->episode_count && e[1].start_ns < to &&
	       is_piece_of(scene, &scene->waits[e[1].last], scene->waits[first->last].site))
		e++;
	return e;
}

bool walk_acts_by_clock(const struct walk *walk, const struct wait *w, uint32_t came)
{
	const struct walk_step *step = &walk->steps->items[came];
	uint64_t let_go = step->episode ? walk->scene->episodes[step->episode - 1].end_ns : 0;

	return rule_holds(walk->scene, RULE_own_clock) && w->end == WAIT_END_TIMEOUT && wait_is_loop_rest(w) &&
	       (step->link == LINK_WAKE || step->link == LINK_SENT) && let_go >= w->end_ns &&
	       let_go - w->end_ns <= limit_of(walk->scene, LIMIT_give_up_ns);
}

bool walk_starter_came(const struct walk *walk, const struct episode *rest, uint32_t starter, uint64_t from, uint64_t to)
{
	const struct scene *scene = walk->scene;
	const struct scene_thread *t = &scene->threads[rest->thread];
	const struct episode *e = scene_episode(scene, rest->thread, from);

	if (!rule_holds(scene, RULE_starter_came) || !wait_is_loop_rest(&scene->waits[rest->last]))
		return false;
	for (; e && e < scene->episodes + t->episode + t->episode_count && e->end_ns < to; e++) {
		const struct wait *w = &scene->waits[e->last];

		if (w->end == WAIT_END_THREAD && scene->tables->threads[w->waker].start_ns >= from && !scene_same_process(scene, w->waker, starter) &&
		    scene_descends_from(scene, w->waker, scene_pid(scene, starter)))
			return true;
	}
	return false;
}

bool walk_awaited_still(const struct walk *walk, uint32_t thread, uint32_t came)
{
	const struct walk_step *step = &walk->steps->items[came];
	const struct episode *waiting = step->link == LINK_PEER && step->episode ? &walk->scene->episodes[step->episode - 1] : NULL;

	return rule_holds(walk->scene, RULE_goes_on_for_others) && waiting && waiting->end_ns >= walk->scene->end_ns &&
	       walk->scene->waits[waiting->last].end == WAIT_END_OPEN && !scene_same_process(walk->scene, waiting->thread, thread);
}

/* Who waits for it is not heard where it waits, so it has not come back to where it serves that one. */
static bool listens_elsewhere(const struct walk *walk, const struct wait *w, uint32_t came)
{
	const struct walk_step *step = &walk->steps->items[came];

	return step->episode && walk->ends &&
	       own_ends_leaves_out(walk->scene, walk->ends, w, scene_pid(walk->scene, walk->scene->episodes[step->episode - 1].thread));
}

bool walk_woken_for_others(const struct walk *walk, const struct wait *last, uint32_t came)
{
	return wait_is_loop_rest(last) && !walk_on_stack(walk, last->waker) && walk_awaited_still(walk, last->thread, came) &&
	       !listens_elsewhere(walk, last, came);
}
