/* Who waits through whom, see hangs_outer.h.
 *
 * A server, a helper or one in the middle of a queue often hangs a little longer than
 * the one at the end of it, that a person sees. So the ways of the worst hangs to
 * their culprits are compared: whose way leads through the worst one's, through what
 * that waits for, or to the same place behind it, is what the person means. */
#include "diagnose/hangs_outer.h"

#include <string.h>

#include "diagnose/diagnoser.h"
#include "diagnose/hangs_rest.h"

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

static bool leads_through(const struct scene *scene, const struct way *outer, const struct way *inner)
{
	if (inner->count < 2 || outer->count < 3)
		return false;
	for (unsigned i = 1; i + 1 < outer->count; i++)
		if (outer->threads[i] == inner->threads[0] || scene_same_process(scene, outer->threads[i], inner->threads[0]))
			return true;
	/* The one that the other waits for comes later on this way. */
	for (unsigned i = 2; i < outer->count; i++)
		if (outer->threads[i] == inner->threads[1])
			return true;
	return false;
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
	struct hang outer;    /* the last on the way so far */
};

/* The last of its waits about that time that one of the other's process ended, as the hang ended; NULL none. */
static const struct wait *let_go_on(const struct asking *a, uint32_t thread, uint32_t asked)
{
	const struct scene *scene = a->f.scene;
	const struct hang *h = a->hang;

	for (uint32_t i = scene_waits_from(scene, thread, h->start_ns - a->slack_ns); i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->start_ns > h->end_ns + a->slack_ns)
			break;
		if (w->end == WAIT_END_OPEN ? h->end_ns + a->slack_ns >= scene->end_ns
					    : w->end_ns + limit_of(scene, LIMIT_change_ns) >= h->end_ns && w->end == WAIT_END_THREAD &&
						      scene_same_process(scene, w->waker, asked))
			return w;
	}
	return NULL;
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

/* It does nothing but run one program after the other, as scripts do: of those one hangs. */
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
	return w->kind == WAIT_KIND_child && died > born && nearly_all(scene, ns, died - born);
}

/* It listens to many, and asked for one of them, or waits as is marked harmless; or it is a launcher, or not its process's first thread: how
 * late such a one is shows in those that wait for it. */
static bool passes_on(struct asking *a, const struct hang *its)
{
	const struct wait *w = &a->f.scene->waits[scene_waits_from(a->f.scene, its->thread, its->end_ns) - 1];

	if (scene_tid(a->f.scene, its->thread) != scene_pid(a->f.scene, its->thread) || (w->idle && rule_holds(a->f.scene, RULE_marked_idle)))
		return true;
	a->f.thread = its->thread;
	hangs_learn_places(&a->f);
	return ((w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument > 2)) && hangs_rests_at(&a->f, w)) || is_launcher(a, w);
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
			if (!passes_on(a, &its))
				a->outer = its;
			ask_back(a, by, asked_ns, depth + 1);
			return;
		}
		if (born)
			return;
	}
}

static bool find_asker(struct diagnoser *diagnoser, const struct hangs_options *options, const struct hang *hang, struct hang *ret_asker)
{
	const struct scene *scene = diagnoser_scene(diagnoser);
	struct asking a = { .f = { .diagnoser = diagnoser, .scene = scene, .ends = diagnoser_ends(diagnoser), .options = options }, .hang = hang,
			    .slack_ns = part_of(scene, LIMIT_a_good_part, hang->end_ns - hang->start_ns) };

	ask_back(&a, hang->thread, hang->start_ns, 0);
	vec_done(&a.f.places);
	*ret_asker = a.outer;
	return a.outer.thread != 0;
}

static void to_front(struct hang *hangs, size_t at, struct hang moved)
{
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

		if (moved.thread == hangs[outer].thread || moved.weight < limit_of(scene, LIMIT_outer_weight) || !together(scene, &hangs[outer], &moved))
			continue;
		find_way(diagnoser, &moved, &other);
		if ((leads_through(scene, &other, &best) && !leads_through(scene, &best, &other)) ||
		    queues_behind(scene, &moved, &other, &hangs[outer], &best)) {
			best = other;
			outer = i;
		}
	}
	if (outer)
		to_front(hangs, outer, hangs[outer]);
	if (options->pid || !find_asker(diagnoser, options, &hangs[0], &asker))
		return count;
	find_way(diagnoser, &asker, &other);
	if (!leads_through(scene, &other, &best) || leads_through(scene, &best, &other))
		return count;
	while (at < count && !(hangs[at].thread == asker.thread && together(scene, &hangs[at], &asker)))
		at++;
	asker.tid = scene_tid(scene, asker.thread);
	asker.pid = scene_pid(scene, asker.thread);
	asker.comm = tables_comm(scene->tables, asker.thread, asker.start_ns);
	asker.program = tables_program(scene->tables, asker.thread, asker.start_ns);
	to_front(hangs, at, at < count ? hangs[at] : asker);
	return at < count ? count : count + 1;
}
