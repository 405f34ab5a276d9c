/* The search for the best way where several may be right.
 *
 * At each wait that nobody is seen to have ended there may be several suspects. The
 * first walk takes the surest everywhere. The forks on its way to the culprit are then
 * taken otherwise, one after the other, and those of the best ways so found again: a
 * beam. A way costs the less the surer its links, strong edges least; and its end
 * costs too: a thread that computes, or is stopped, explains the window, one of which
 * nobody knows why it waits does not, however short the way to it. Another way is
 * taken only when it is clearly cheaper; the others are the alternatives. */
#include "diagnose/investigation.h"
#include "diagnose/judgement.h"

#include <math.h>
#include <stdlib.h>

#define BEAM_WIDTH 3
#define BEAM_DEPTH 2
#define MAX_WALKS 12
#define MAX_PIECES 50000       /* of a walk that is repeated */
#define HOPELESS 1e9

struct choice {
	uint32_t episode;
	unsigned number;
};

struct way {
	struct choice choices[BEAM_DEPTH];
	unsigned count;
	double cost;
	uint32_t culprit;
	const char *words;
};

struct beam {
	struct investigation *v;
	struct vec(struct way) ways;
	unsigned walks;
};

static double hundredths(const struct scene *scene, enum limit_id limit)
{
	return (double)limit_of(scene, limit) / 100;
}

/* Links that were seen cost nothing but their doubt, guesses more. */
static double class_cost(const struct scene *scene, enum walk_link link)
{
	if (!rule_holds(scene, RULE_links_cost))
		return 0;
	switch (link) {
	case LINK_SELF:
	case LINK_WAKE:
	case LINK_CREATOR:
		return 0;
	case LINK_MESSAGE:
	case LINK_SENT:
	case LINK_ACTIVITY:
	case LINK_CHILD:
	case LINK_STARTED:
	case LINK_CLOSED:
	case LINK_SERVER:
	case LINK_SUPERVISOR:
	case LINK_FILE_LOCK:
	case LINK_AWAITED:
	case LINK_PARENT:
	case LINK_TRACER:
	case LINK_SIGNALLED:
	case LINK_TOLD:
	case LINK_WROTE:
	case LINK_TO_COME:
	case LINK_CAME_LAST:
	case LINK_ASKED:
		return hundredths(scene, LIMIT_link_recorded);
	case LINK_OWNER:
	case LINK_JOINED:
	case LINK_ONE_TIME:
	case LINK_LEASE:
	case LINK_ENDED:
	case LINK_INHERITED:
	case LINK_LISTENER:
	case LINK_SERVED:
		return hundredths(scene, LIMIT_link_read);
	case LINK_PEER:
	case LINK_SIMILAR:
	case LINK_SHARES_ALONE:
	case LINK_WRITES:
	case LINK_HAS_IT: case LINK_FILLS_GROUP:
		return hundredths(scene, LIMIT_link_compared);
	case LINK_KILLED:
	case LINK_ENDED_KIN:
	case LINK_BACKING:
	case LINK_ENDED_TAKER:
	case LINK_GONE:
	case LINK_CLOSED_BUT:
	case LINK_BEGAN_LAST:
	case LINK_LOCKSTEP:
	case LINK_HAD_IT:
	case LINK_FLAG:
	case LINK_KEEPS_OPEN:
	case LINK_AT_WORK:
	case LINK_SESSION:
	case LINK_SHARES:
	case LINK_PROCESS:
		return hundredths(scene, LIMIT_link_guessed);
	}
	return 0;
}

/* One of those in the circle listens to many: that another woke it then does not mean that it
 * could not have gone on without. */
static bool circle_listens(const struct investigation *v)
{
	for (unsigned i = 0; i < v->circle_count; i++) {
		const struct episode *e = scene_episode(v->scene, v->circle[i], v->request->from_ns);
		const struct scene_thread *t = &v->scene->threads[v->circle[i]];

		for (; e && e < v->scene->episodes + t->episode + t->episode_count && e->start_ns < v->request->to_ns; e++)
			if (v->scene->waits[e->last].kind == WAIT_KIND_epoll &&
			    e->end_ns - e->start_ns > part_of(v->scene, LIMIT_a_good_part, v->request->to_ns - v->request->from_ns))
				return true;
	}
	return false;
}

/* At this moment it listens to others, or waits for a word of which no owner is known. */
static bool stands_for_others(const struct investigation *v, const struct wait *w)
{
	bool word = w->kind == WAIT_KIND_futex && !w->hint;

	/* of a process's only thread nobody else changes it */
	word = word && (scene_mate(v->scene, w->thread, 0) != w->thread || scene_mate(v->scene, w->thread, w->thread));
	return v->request->now && w->end == WAIT_END_OPEN && w->thread != v->request->thread && rule_holds(v->scene, RULE_listeners_cost) &&
	       (wait_is_loop_rest(w) || word);
}

/* Nobody is missing where one sleeps; one that stands inside the kernel is kept there, whoever ends that; and one that only listens to others, at this
 * moment, was not the last to be asked. */
static enum limit_id cost_of_missing(const struct investigation *v, const struct wait *w)
{
	if (w->kind == WAIT_KIND_sleep)
		return LIMIT_end_asleep;
	if (!v->request->now || w->end != WAIT_END_OPEN || !rule_holds(v->scene, RULE_listeners_cost))
		return LIMIT_end_missing;
	if (wait_is_in_kernel(w) && w->kind != WAIT_KIND_vfork)
		return LIMIT_end_inside;
	return stands_for_others(v, w) ? LIMIT_end_at_rest : LIMIT_end_missing;
}

/* How little the state in which the culprit spent the time explains the window; that
 * the victim itself waited says next to nothing. */
static double end_cost(const struct investigation *v)
{
	const struct account *c = v->culprit;
	const struct wait *w;
	double own = c->thread == v->request->thread ? hundredths(v->scene, LIMIT_end_victim) : 0;

	if (!rule_holds(v->scene, RULE_ends_cost))
		return 0;
	if (c->state == SPAN_UNKNOWN)
		return hundredths(v->scene, LIMIT_end_unknown);
	if (c->state != SPAN_WAITING)
		return 0;
	switch ((enum piece_charge)c->charge) {
	case CHARGE_MISSING:
		w = &v->scene->waits[v->pieces.items[c->biggest].wait];
		return own + hundredths(v->scene, cost_of_missing(v, w));
	case CHARGE_THREAD:
		w = scene_stands_until(v->scene, c->thread, v->request->to_ns);
		return own + hundredths(v->scene, w && stands_for_others(v, w) ? LIMIT_end_at_rest : LIMIT_end_waits);
	case CHARGE_SOURCE:
		return own + hundredths(v->scene, LIMIT_end_asleep);
	case CHARGE_CIRCLE:
		return hundredths(v->scene, circle_listens(v) ? LIMIT_end_listens : LIMIT_end_circle);
	}
	return 0;
}

static double share_of(const struct investigation *v)
{
	uint64_t window = v->request->to_ns - v->request->from_ns;
	double share = window ? (double)v->culprit->ns / (double)window : 1;

	return share < 0.01 ? 0.01 : share > 1 ? 1 : share;
}

static double cost_of(const struct investigation *v)
{
	double cost;

	if (!v->culprit)
		return HOPELESS;
	cost = end_cost(v) - log(share_of(v));
	for (uint32_t step = investigation_culprit_step(v); step; step = v->steps.items[step].parent) {
		const struct walk_step *s = &v->steps.items[step];

		cost += class_cost(v->scene, (enum walk_link)s->link) - log(s->own > 1 ? s->own / 100.0 : 0.01);
	}
	return cost;
}

static void choose(const struct investigation *v, const struct way *way, bool chosen)
{
	for (unsigned i = 0; i < way->count; i++) {
		struct fork *fork = investigation_fork_of(v, way->choices[i].episode);

		if (fork)
			fork->chosen = chosen ? way->choices[i].number : 0;
	}
}

static const char *end_words(const struct account *c)
{
	switch (c->state) {
	case SPAN_RUNNING: return "was busy";
	case SPAN_RUNNABLE: return "did not get a processor";
	case SPAN_STOPPED: return "was stopped";
	case SPAN_WAITING: return "waited";
	default: return "was not seen";
	}
}

/* True when the walk to the culprit went as the way chose: a suspect that is not sure
 * enough to be followed leaves the time where it was, and that is no other way. */
static bool went(const struct investigation *v, const struct way *way)
{
	unsigned taken = 0;

	for (uint32_t step = investigation_culprit_step(v); step; step = v->steps.items[step].parent)
		for (unsigned i = 0; i < way->count; i++)
			taken += v->steps.items[step].episode == way->choices[i].episode + 1;
	return taken >= way->count;
}

/* Walks the way; with `keep` the forks stay as it chose. */
static void walk_way(struct beam *beam, struct way *way, bool keep)
{
	struct investigation *v = beam->v;

	choose(v, way, true);
	investigation_walk(v);
	beam->walks++;
	way->cost = went(v, way) ? cost_of(v) : HOPELESS;
	way->culprit = v->culprit ? v->culprit->thread : 0;
	way->words = v->culprit ? end_words(v->culprit) : "";
	if (!keep)
		choose(v, way, false);
}

static bool tried(const struct beam *beam, const struct way *way)
{
	const struct choice *last = &way->choices[way->count - 1];

	for (size_t i = 0; i < beam->ways.length; i++) {
		const struct way *w = &beam->ways.items[i];
		bool first = false, second = false;

		if (w->count != way->count)
			continue;
		for (unsigned j = 0; j < w->count; j++) {
			first |= w->choices[j].episode == way->choices[0].episode && w->choices[j].number == way->choices[0].number;
			second |= w->choices[j].episode == last->episode && w->choices[j].number == last->number;
		}
		if (first && second)
			return true;
	}
	return false;
}

/* The forks on the way just walked, and what else they offer, as longer ways. */
static void offer_forks(struct beam *beam, const struct way *from, struct way *offers, unsigned *count, unsigned most)
{
	const struct investigation *v = beam->v;

	for (uint32_t step = investigation_culprit_step(v); step; step = v->steps.items[step].parent) {
		const struct fork *fork = investigation_fork(v, step);

		for (unsigned i = 0; fork && from->count < BEAM_DEPTH && i < fork->count && *count < most; i++) {
			struct way way = *from;

			if (i == fork->chosen || fork->suspects[i].confidence < limit_of(v->scene, LIMIT_tried_least))
				continue;
			way.choices[way.count++] = (struct choice){ fork->episode, i };
			if (!tried(beam, &way))
				offers[(*count)++] = way;
		}
	}
}

static int cheaper(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	return x->cost < y->cost ? -1 : x->cost > y->cost;
}

static void note_rivals(struct beam *beam, const struct way *best)
{
	struct investigation *v = beam->v;

	for (size_t i = 0; i < beam->ways.length; i++) {
		const struct way *w = &beam->ways.items[i];
		double confidence = w->cost < 0 ? 100 : 100 * exp(-w->cost);
		/* The way first taken left the best one's at the first fork that this takes otherwise. */
		const struct choice *left = w->count ? &w->choices[0] : best->count ? &best->choices[0] : NULL;
		const struct fork *fork = left ? investigation_fork_of(v, left->episode) : NULL;
		const struct suspect *over = fork ? &fork->suspects[w->count ? left->number : 0] : NULL;
		bool there = w->culprit == best->culprit || !w->culprit || !over || suspects_thread(over) == w->culprit;

		for (size_t j = 0; j < v->rivals.length; j++)
			there |= v->rivals.items[j].thread == w->culprit;
		if (!there && confidence >= (double)limit_of(v->scene, LIMIT_tried_least))
			vec_push(&v->rivals, ((struct rival){ w->culprit, over, w->words, (uint8_t)confidence }));
	}
}

static void search(struct investigation *v)
{
	struct beam beam = { .v = v, .walks = 0 };
	struct way offers[MAX_WALKS], first;
	size_t alternatives = v->alternatives.length;
	unsigned count = 0;

	if (!v->culprit || v->pieces.length > MAX_PIECES || !rule_holds(v->scene, RULE_surest_way))
		return;
	first = (struct way){ .cost = cost_of(v), .culprit = v->culprit->thread, .words = end_words(v->culprit) };
	offer_forks(&beam, &first, offers, &count, MAX_WALKS / 2);
	if (!count)
		return;
	vec_push(&beam.ways, first);
	for (unsigned depth = 0; depth < BEAM_DEPTH && count; depth++) {
		size_t begin = beam.ways.length, end;

		for (unsigned i = 0; i < count && beam.walks < MAX_WALKS; i++) {
			walk_way(&beam, &offers[i], false);
			vec_push(&beam.ways, offers[i]);
		}
		end = beam.ways.length;
		qsort(beam.ways.items + begin, end - begin, sizeof(*beam.ways.items), cheaper);
		count = 0;
		for (size_t i = begin; i < end && i < begin + BEAM_WIDTH && depth + 1 < BEAM_DEPTH && beam.walks < MAX_WALKS; i++) {
			struct way again = beam.ways.items[i];

			walk_way(&beam, &again, true);
			offer_forks(&beam, &again, offers, &count, MAX_WALKS / 2);
			choose(v, &again, false);
		}
	}
	qsort(beam.ways.items, beam.ways.length, sizeof(*beam.ways.items), cheaper);
	if (beam.ways.items[0].cost + hundredths(v->scene, LIMIT_clearly_cheaper) < first.cost)
		first = beam.ways.items[0];
	else
		v->alternatives.length = alternatives; /* whom only ways that were not taken asked about */
	walk_way(&beam, &first, true);
	for (size_t i = 0; i < v->forks.length; i++)
		if (v->forks.items[i]->chosen)
			vec_push(&v->alternatives, v->forks.items[i]->suspects[0]);
	note_rivals(&beam, &first);
	vec_done(&beam.ways);
}

/* The victim's wait that fills most of the window; 0 none. */
static uint32_t main_wait(const struct investigation *v)
{
	uint64_t from = v->request->from_ns, to = v->request->to_ns;
	const struct episode *e = scene_episode(v->scene, v->request->thread, from + (to - from) / 2);
	uint64_t begin = e && e->start_ns > from ? e->start_ns : from, end = e && e->end_ns < to ? e->end_ns : to;

	return e && end > begin && most_of(v->scene, end - begin, to - from) ? (uint32_t)(e - v->scene->episodes) + 1 : 0;
}

/* Who ended the victim's wait may have served others at last: where the way over it ends at one
 * that explains next to nothing of the window, those that were asked may explain more. */
static void doubt_waker(struct investigation *v)
{
	double cost;

	if (!rule_holds(v->scene, RULE_doubted_waker) || !v->culprit || v->pieces.length > MAX_PIECES ||
	    share_of(v) * 100 >= (double)limit_of(v->scene, LIMIT_explains_least))
		return;
	cost = cost_of(v) - hundredths(v->scene, LIMIT_clearly_cheaper);
	v->doubted = main_wait(v);
	if (!v->doubted)
		return;
	investigation_walk(v);
	if (cost_of(v) < cost)
		return;
	v->doubted = 0;
	investigation_walk(v);
}

/* It goes on by a clock of its own, again and again, and wakes the victim by that. */
static bool keeps_beat(const struct investigation *v, uint32_t thread)
{
	const struct scene *scene = v->scene;
	uint64_t from = v->request->from_ns, to = v->request->to_ns, by_clock = 0, woke = 0;

	for (uint32_t i = scene_waits_from(scene, thread, from); i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to; i++) {
		const struct wait *w = &scene->waits[i];

		if (w->end == WAIT_END_TIMEOUT || (w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_timer) || w->end == WAIT_END_OPEN)
			by_clock += (w->end_ns < to ? w->end_ns : to) - (w->start_ns > from ? w->start_ns : from);
	}
	for (uint32_t i = scene_waits_from(scene, v->request->thread, from);
	     i < scene_waits_end(scene, v->request->thread) && scene->waits[i].start_ns < to; i++)
		woke += scene->waits[i].end == WAIT_END_THREAD && scene->waits[i].waker == thread;
	return woke >= limit_of(scene, LIMIT_beats) && most_of(scene, by_clock, to - from);
}

/* Who wakes the victim at a beat of its own keeps it from nothing: where another is known for whom it waits meanwhile, it is that one. */
static void doubt_beat(struct investigation *v)
{
	uint32_t beat = v->culprit ? v->culprit->thread : 0;

	if (!beat || beat == v->request->thread || v->pieces.length > MAX_PIECES || !rule_holds(v->scene, RULE_beat) || !keeps_beat(v, beat))
		return;
	v->beat = beat;
	investigation_walk(v);
	if (v->culprit && v->culprit->thread != beat && v->culprit->thread != v->request->thread && most_of(v->scene, (uint64_t)(share_of(v) * 100), 100))
		return;
	v->beat = 0;
	investigation_walk(v);
}

void beam_search(struct investigation *v)
{
	search(v);
	doubt_waker(v);
	doubt_beat(v);
}
