/* Who waits through whom, see hangs_outer.h.
 *
 * A server, a helper or one in the middle of a queue often hangs a little longer than
 * the one at the end of it, that a person sees. So the ways of the worst hangs to
 * their culprits are compared: whose way leads through the worst one's, through what
 * that waits for, or to the same place behind it, is what the person means. */
#include "diagnose/hangs_outer.h"

#include <string.h>

#include "diagnose/diagnoser.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_rank.h"
#include "diagnose/hangs_rest.h"
#include "diagnose/loops.h"

#define COMPARED 8
#define MAX_WAY 24

struct way {
	uint32_t threads[MAX_WAY]; /* the victim first */
	unsigned count;
};

static void find_way(struct diagnoser *diagnoser, const struct hang *hang, struct way *way)
{
	struct diagnose_request request = { .thread = hang->thread, .from_ns = hang->start_ns, .to_ns = hang->end_ns };

	way->count = diagnoser_way(diagnoser, &request, way->threads, MAX_WAY);
}

/* Or through another thread of that one's process, where `threads` may stand for each other. */
static bool leads_through(const struct scene *scene, const struct way *outer, const struct way *inner, bool any_thread)
{
	/* Where the inner one is to blame itself the way ends there. */
	for (unsigned i = 1; i + (inner->count > 1) < outer->count; i++)
		if (outer->threads[i] == inner->threads[0] || (any_thread && scene_same_process(scene, outer->threads[i], inner->threads[0])))
			return true;
	/* The one that the other waits for comes later on this way. */
	for (unsigned i = 2; i < outer->count && inner->count > 1; i++)
		if (outer->threads[i] == inner->threads[1])
			return true;
	return false;
}

/* And not the other way round. */
static bool is_further(const struct scene *scene, const struct way *outer, const struct way *inner)
{
	bool there = leads_through(scene, outer, inner, false), back = leads_through(scene, inner, outer, false);

	if (there || back)
		return there && !back;
	return leads_through(scene, outer, inner, true) && !leads_through(scene, inner, outer, true);
}

/* Both wait for the same, and the one came and was served behind the other: it stood
 * in the queue behind that as well. */
static bool queues_behind(const struct scene *scene, const struct hang *later, const struct way *its, const struct hang *first, const struct way *way)
{
	uint64_t length = first->end_ns - first->start_ns;

	if (its->count != way->count || way->count < 2 || memcmp(its->threads + 1, way->threads + 1, (way->count - 1) * sizeof(uint32_t)))
		return false;
	return later->start_ns >= first->start_ns + part_of(scene, LIMIT_queue_later, length) && later->end_ns >= first->end_ns;
}

static bool together(const struct scene *scene, const struct hang *a, const struct hang *b)
{
	uint64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	uint64_t to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	return to > from && to - from >= part_of(scene, LIMIT_outer_overlap, a->end_ns - a->start_ns);
}

/* ---- who is none by itself: it set the one that hangs to work, and waits for it ---- */

#define MOST_ASKED 8  /* one through the other */
#define MOST_WAITS 16 /* of one, back from when it was asked */

struct asking {
	struct finder f;
	const struct hang *hang;
	uint64_t slack_ns;    /* between what belongs together */
	uint64_t soon_ns;     /* so soon goes on who is let go on */
	struct hang outer;    /* the last on the way so far */
};

/* Of another process any thread may give the answer. */
static bool is_of(const struct scene *scene, uint32_t waker, uint32_t asked, uint32_t asks)
{
	return waker == asked || (!scene_same_process(scene, asked, asks) && scene_same_process(scene, waker, asked));
}

/* The last of its waits that the other one ended, as the hang ended; NULL none. */
static const struct wait *let_go_on(const struct asking *a, uint32_t thread, uint32_t asked)
{
	const struct scene *scene = a->f.scene;
	const struct hang *h = a->hang;
	const struct wait *last = NULL;

	for (uint32_t i = scene_waits_from(scene, thread, h->start_ns > a->slack_ns ? h->start_ns - a->slack_ns : 0); i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->start_ns > h->end_ns + (last ? 0 : a->slack_ns))
			break;
		if (w->end == WAIT_END_OPEN ? h->end_ns + a->slack_ns >= scene->end_ns
					    : w->end_ns + limit_of(scene, LIMIT_change_ns) >= h->end_ns && w->end == WAIT_END_THREAD &&
						      is_of(scene, w->waker, asked, thread))
			last = w;
	}
	return last;
}

/* It waits from when it set that one to work until that one let it go on, whatever else it does at times. */
static bool waits_for(const struct asking *a, uint32_t thread, uint32_t asked, uint64_t asked_ns, struct hang *ret_its)
{
	const struct scene *scene = a->f.scene;
	const struct hang *h = a->hang;
	const struct wait *last = let_go_on(a, thread, asked);
	uint64_t waited = 0;

	if (!last || last->end_ns > h->end_ns + a->slack_ns)
		return false;
	*ret_its = (struct hang){ .thread = thread, .start_ns = last->start_ns, .end_ns = last->end_ns, .weight = h->weight, .rule = RULE_not_answered };
	for (const struct wait *w = last; w >= &scene->waits[scene->threads[thread].wait] && w->start_ns >= asked_ns; w--) {
		if (w->site != last->site)
			continue;
		waited += w->end_ns - w->start_ns;
		ret_its->start_ns = w->start_ns;
	}
	return waited >= part_of(scene, LIMIT_outer_overlap, h->end_ns - h->start_ns);
}

/* It does nothing but run one program after the other, as scripts do: of those one hangs. Not who was started for that. */
static bool is_launcher(const struct asking *a, const struct wait *w)
{
	const struct scene *scene = a->f.scene;
	const struct thread *t = &scene->tables->threads[w->thread];
	uint64_t born = t->start_ns > scene->start_ns ? t->start_ns : scene->start_ns;
	uint64_t died = t->end_ns < scene->end_ns ? t->end_ns : scene->end_ns;
	uint64_t ns = 0;

	for (size_t i = 0; i < a->f.places.length; i++)
		if (a->f.places.items[i].kind == WAIT_KIND_child)
			ns += a->f.places.items[i].total_ns;
	return w->kind == WAIT_KIND_child && died > born && t->start_ns + a->slack_ns < a->hang->start_ns && nearly_all(scene, ns, died - born);
}

/* It serves there: to wake the other was to answer. */
static bool serves(const struct finder *f, const struct wait *w)
{
	if (f->scene->messages_seen && (w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument <= 1)))
		return !(scene_is_pipe(w->kind == WAIT_KIND_poll ? w->detail : w->object) ? hangs_awaits_answer(f, w) : hangs_asked_there(f, w));
	return hangs_role_in(f, w) == END_SERVER || hangs_has_answered(f, w);
}

/* For whoever comes next: what it does for one it has another do, and goes on to listen. */
static bool waits_for_next(const struct finder *f, const struct wait *w)
{
	return rule_holds(f->scene, RULE_waits_for_next) && (w->kind == WAIT_KIND_accept || hangs_role_in(f, w) == END_LISTENER);
}

/* It serves, or listens to many, and asked for one of them, or waits as is marked harmless; or it is a launcher, or not its process's first thread: how
 * late such a one is shows in those that wait for it. */
static bool passes_on(struct asking *a, const struct hang *its, const struct wait *asked)
{
	const struct wait *w = &a->f.scene->waits[scene_waits_from(a->f.scene, its->thread, its->end_ns) - 1];

	if (scene_tid(a->f.scene, its->thread) != scene_pid(a->f.scene, its->thread) || (w->idle && rule_holds(a->f.scene, RULE_marked_idle)))
		return true;
	a->f.thread = its->thread;
	hangs_learn_places(&a->f);
	return serves(&a->f, w) || waits_for_next(&a->f, w) || is_launcher(a, w) || (asked && hangs_reads_output(&a->f, asked, w)) ||
	       (hangs_got_events(&a->f, w) && hangs_rests_at(&a->f, w)) ||
	       ((w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument > 2)) && hangs_rests_at(&a->f, w));
}

/* Who set the thread to work, that it does since `time_ns`, and waits for it; through servers that rest meanwhile, too. */
static void ask_back(struct asking *a, uint32_t thread, uint64_t time_ns, unsigned depth)
{
	const struct scene *scene = a->f.scene;
	const struct thread *t = &scene->tables->threads[thread];
	uint32_t first = scene->threads[thread].wait, at = scene_waits_from(scene, thread, time_ns);

	for (unsigned i = 0; i <= MOST_WAITS && depth < MOST_ASKED; i++) {
		const struct wait *w = at > first ? &scene->waits[--at] : NULL;
		bool born = !w || w->end_ns < t->start_ns;
		uint32_t by = born ? t->creator : w->end == WAIT_END_THREAD ? w->waker : 0;
		uint64_t asked_ns = born ? t->start_ns : w->end_ns;
		struct hang its;

		if (asked_ns + a->slack_ns < a->hang->start_ns)
			return;
		if (by && by != thread && by != a->hang->thread && by != a->outer.thread && asked_ns <= time_ns &&
		    hangs_asks_about(scene, a->f.options, by) && waits_for(a, by, thread, asked_ns, &its)) {
			if (!passes_on(a, &its, born ? NULL : w))
				a->outer = its;
			ask_back(a, by, asked_ns, depth + 1);
			return;
		}
		if (born)
			return;
	}
}

/* ---- who went on because it ended: what nobody set to work, as who holds a lock or is stopped, keeps others waiting, too ---- */

#define MOST_FREED 64 /* wake-ups looked at in all */

struct freed {
	struct asking *a;
	struct hang found[MAX_WAY]; /* the nearest first */
	size_t count;
	unsigned looked_at;
};

/* When it woke the other about when the hang began, as who asks does; 0 it did not. */
static uint64_t asked_at(const struct asking *a, uint32_t thread, uint32_t other)
{
	const struct scene *scene = a->f.scene;

	for (uint32_t i = scene_wakes_from(scene, thread, a->hang->start_ns + a->slack_ns); i-- > scene->threads[thread].wake; ) {
		if (scene->wakes[i].time + a->slack_ns < a->hang->start_ns)
			return 0;
		if (is_of(scene, scene->wakes[i].target, other, thread))
			return scene->wakes[i].time;
	}
	return 0;
}

static void let_go(struct freed *f, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned depth);

/* Through those whose loop of looks, as long as the hang, ended then: nothing wakes them. */
static void let_look(struct freed *f, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned depth)
{
	const struct scene *scene = f->a->f.scene;

	for (uint32_t i = 1; i < scene->thread_count && depth < MOST_ASKED; i++) {
		const struct episode *e = i != thread ? scene_episode(scene, i, from_ns) : NULL;
		struct hang its;

		if (!e || e->end_ns < from_ns || e->end_ns > to_ns || !hangs_asks_about(scene, f->a->f.options, i) || !loop_is(scene, e))
			continue;
		its = (struct hang){ .start_ns = e->start_ns, .end_ns = e->end_ns };
		if (together(scene, f->a->hang, &its) && f->looked_at++ < MOST_FREED)
			let_go(f, i, e->end_ns, e->end_ns + f->a->soon_ns, depth + 1);
	}
}

/* Whom the thread let go on then, and whom those did: of servers, which rest meanwhile, only those that waited as long as the hang. */
static void let_go(struct freed *f, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned depth)
{
	struct asking *a = f->a;
	const struct scene *scene = a->f.scene;

	for (uint32_t i = scene_wakes_from(scene, thread, from_ns); i < scene_wakes_end(scene, thread) && scene->wakes[i].time <= to_ns; i++) {
		const struct wake *k = &scene->wakes[i];
		const struct wait *w = scene_waits_at(scene, k->target, k->time - 1);
		struct hang its;
		uint64_t asked_ns;

		if (!w || w->end_event != k->number || k->target == a->hang->thread || !hangs_asks_about(scene, a->f.options, k->target) ||
		    depth == MOST_ASKED || f->looked_at++ >= MOST_FREED)
			continue;
		asked_ns = asked_at(a, k->target, thread);
		its = (struct hang){ .start_ns = w->start_ns, .end_ns = w->end_ns };
		if (asked_ns && f->count < MAX_WAY && waits_for(a, k->target, thread, asked_ns, &its) && !passes_on(a, &its, NULL))
			f->found[f->count++] = its;
		else if (!together(scene, a->hang, &its) && !wait_is_loop_rest(w))
			continue;
		let_go(f, k->target, w->end_ns, w->end_ns + a->soon_ns, depth + 1);
	}
	let_look(f, thread, from_ns, to_ns, depth);
}

/* Its way leads through the other's. */
static bool is_outer(struct asking *a, const struct hang *its, const struct way *inner)
{
	struct way way;

	find_way(a->f.diagnoser, its, &way);
	return is_further(a->f.scene, &way, inner);
}

static bool find_outer(struct diagnoser *diagnoser, const struct hangs_options *options, const struct hang *hang, const struct way *way,
		       struct hang *ret_outer)
{
	const struct scene *scene = diagnoser_scene(diagnoser);
	uint64_t length = hang->end_ns - hang->start_ns;
	struct asking a = { .f = { .diagnoser = diagnoser, .scene = scene, .ends = diagnoser_ends(diagnoser), .options = options },
			    .hang = hang, .slack_ns = part_of(scene, LIMIT_a_good_part, length),
			    .soon_ns = limit_of(scene, LIMIT_change_ns) + part_of(scene, LIMIT_next_to_nothing, length) };
	struct freed freed = { .a = &a };
	bool found;

	ask_back(&a, hang->thread, hang->start_ns, 0);
	*ret_outer = a.outer;
	found = a.outer.thread && is_outer(&a, &a.outer, way);
	if (!found)
		let_go(&freed, hang->thread, hang->end_ns - a.soon_ns, hang->end_ns + a.soon_ns, 0);
	while (!found && freed.count--) {
		*ret_outer = freed.found[freed.count];
		found = is_outer(&a, ret_outer, way);
	}
	vec_done(&a.f.places);
	return found;
}

/* What keeps one that hangs for certain is not meant; who waits for what may be meant may do so, too. */
static void to_front(struct hang *hangs, size_t at, struct hang moved)
{
	if (!moved.meant || !hangs[0].meant)
		moved.meant = hangs[0].meant;
	memmove(hangs + 1, hangs, at * sizeof(*hangs));
	hangs[0] = moved;
}

size_t hangs_prefer_outer(struct diagnoser *diagnoser, const struct hangs_options *options, struct hang *hangs, size_t count)
{
	const struct scene *scene = diagnoser_scene(diagnoser);
	struct way best, other;
	struct hang asker;
	size_t outer = 0, at = 0;

	if (!count || !rule_holds(scene, RULE_outer_first))
		return count;
	find_way(diagnoser, &hangs[0], &best);
	for (size_t i = 1; i < count && i < COMPARED; i++) {
		struct hang moved = hangs[i];

		if (moved.meant == RULE_as_before || moved.thread == hangs[outer].thread || moved.weight < limit_of(scene, LIMIT_outer_weight) ||
		    !together(scene, &hangs[outer], &moved))
			continue;
		find_way(diagnoser, &moved, &other);
		if (is_further(scene, &other, &best) || queues_behind(scene, &moved, &other, &hangs[outer], &best)) {
			best = other;
			outer = i;
		}
	}
	if (outer)
		to_front(hangs, outer, hangs[outer]);
	if (options->pid || !find_outer(diagnoser, options, &hangs[0], &best, &asker))
		return count;
	while (at < count && !(hangs[at].thread == asker.thread && together(scene, &hangs[at], &asker)))
		at++;
	if (at < count && hangs[at].meant == RULE_as_before)
		return count;
	hangs_name(scene, &asker);
	to_front(hangs, at, at < count && hangs[at].meant != RULE_may_rest ? hangs[at] : asker);
	return at < count ? count : count + 1;
}

bool hangs_outer_of(struct diagnoser *diagnoser, const struct hangs_options *options, const struct hang *hangs, size_t count, uint32_t pid,
		    struct hang *ret_hang)
{
	const struct scene *scene = diagnoser_scene(diagnoser);
	struct way way;

	for (size_t i = 0; i < count && i < COMPARED && rule_holds(scene, RULE_outer_first); i++) {
		find_way(diagnoser, &hangs[i], &way);
		if (!find_outer(diagnoser, options, &hangs[i], &way, ret_hang) || scene_pid(scene, ret_hang->thread) != pid)
			continue;
		hangs_name(scene, ret_hang);
		return true;
	}
	return false;
}
