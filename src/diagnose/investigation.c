/* The walk of one diagnosis and its questions, see investigation.h. */
#include "diagnose/investigation.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/awaited_process.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/meeting.h"
#include "diagnose/spin_asked.h"
#include "diagnose/suspects.h"
#include "diagnose/tries.h"


#define MOST_ABOVE 32u         /* half of a walk's stack */

/* Threads that meet for a moment are no circle: the longest that fills a part of
 * the window counts. */
static void on_circle(struct walk *walk, unsigned from, uint64_t ns)
{
	struct investigation *v = walk->data;

	if (ns <= v->circle_ns || ns < part_of(v->scene, LIMIT_circle_least, v->request->to_ns - v->request->from_ns))
		return;
	v->circle_ns = ns;
	v->circle_count = 0;
	for (unsigned i = from; i < walk->depth; i++)
		v->circle[v->circle_count++] = walk->stack[i];
}

/* How much of the window the longest row of retries fills that begins or goes on in it. */
static uint64_t retried(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	uint64_t most = 0, seen = 0;

	for (uint32_t i = scene_waits_from(scene, thread, from); i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to; i++) {
		struct retries r;
		uint64_t begin, end;

		if (scene->waits[i].start_ns < seen || loop_is(scene, &scene->episodes[scene->waits[i].episode]) ||
		    !loop_retries(scene, i, &r))
			continue;
		seen = r.end_ns;
		begin = r.start_ns > from ? r.start_ns : from;
		end = r.end_ns < to ? r.end_ns : to;
		if (end > begin && end - begin > most)
			most = end - begin;
	}
	return most;
}

static unsigned follow(struct walk *walk, const struct fork *fork, uint64_t ns, struct hop hops[WALK_MAX_HOPS])
{
	const struct suspect *s = &fork->suspects[fork->chosen];

	if (fork->alone)
		on_circle(walk, walk->depth - 1, ns);
	if (!fork->count)
		return 0;
	memcpy(hops, s->hops, s->hop_count * sizeof(*hops));
	return s->hop_count;
}

static struct fork *new_fork(struct investigation *v, uint32_t episode, bool alone)
{
	struct fork *fork = arena_new(v->arena, struct fork);

	*fork = (struct fork){ .episode = episode, .alone = alone };
	for (size_t i = 0; i < v->suspects.length && i < 8; i++) {
		bool there = false;

		for (unsigned j = 0; j < fork->count; j++)
			there |= suspects_thread(&fork->suspects[j]) == suspects_thread(&v->suspects.items[i]);
		if (!there && fork->count < FORK_WIDTH)
			fork->suspects[fork->count++] = v->suspects.items[i];
		if (i)
			vec_push(&v->alternatives, v->suspects.items[i]);
	}
	vec_push(&v->forks, fork);
	map_put(&v->asked, episode, v->forks.length);
	return fork;
}

/* Asked only about waits that matter for the window; the answer is the same each
 * time the walk comes by. */
static unsigned on_missing(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to,
			   struct hop hops[WALK_MAX_HOPS])
{
	struct investigation *v = walk->data;
	const struct wait *w = &v->scene->waits[episode->last];
	uint64_t window = v->request->to_ns - v->request->from_ns;
	uint32_t number = (uint32_t)(episode - v->scene->episodes);
	const struct fork *known;
	struct tries tries;
	bool one_of_many = most_of(v->scene, v->retried_ns, window) && w->kind == WAIT_KIND_sleep && walk->depth == 1, alone;

	if (w->idle || (to - from < part_of(v->scene, LIMIT_asked_least, window) && to - from < limit_of(v->scene, LIMIT_asked_least_ns) && !one_of_many))
		return 0;
	if (w->kind == WAIT_KIND_sleep && !scene_sleeps_until_told(v->scene, w) && !loop_is(v->scene, episode) && !one_of_many &&
	    !tries_find(v->scene, episode, &tries) && !(walk->depth == 1 && (loop_is_short(v->scene, episode) || suspects_tries_for_lock(v->scene, episode))))
		return 0;
	known = investigation_fork_of(v, number);
	if (known)
		return follow(walk, known, to - from, hops);
	suspects_find(&v->inquiry, episode, from, to, walk->stack, walk->depth, &v->suspects, &alone);
	/* What is far from the victim must be surer, or the chain wanders off. */
	if (v->suspects.length && walk->depth > 2 && v->suspects.items[0].confidence < limit_of(v->scene, LIMIT_far_least))
		v->suspects.length = 0;
	return follow(walk, new_fork(v, number, alone), to - from, hops);
}

struct fork *investigation_fork_of(const struct investigation *v, uint32_t episode)
{
	const uint64_t *at = map_find(&v->asked, episode);

	return at ? v->forks.items[*at - 1] : NULL;
}

struct fork *investigation_fork(const struct investigation *v, uint32_t step)
{
	return v->steps.items[step].episode ? investigation_fork_of(v, v->steps.items[step].episode - 1) : NULL;
}

uint32_t investigation_culprit_step(const struct investigation *v)
{
	return v->culprit ? v->pieces.items[v->culprit->biggest].step : 0;
}

void investigation_add_up(struct investigation *v)
{
	account_threads(v->scene, &v->pieces, &v->accounts);
	v->culprit = account_culprit(v->scene, &v->accounts, v->request->to_ns - v->request->from_ns);
}

struct walk investigation_walk_of(struct investigation *v)
{
	return (struct walk){ .scene = v->scene, .missing = on_missing, .circle = on_circle, .data = v,
			      .doubted = v->doubted, .beat = v->beat,
			      .pieces = &v->pieces, .steps = &v->steps, .ends = &v->diagnoser->ends, .names = v->diagnoser->names };
}

void investigation_walk(struct investigation *v)
{
	struct walk walk = investigation_walk_of(v);

	v->pieces.length = 0;
	v->circle_count = 0;
	v->circle_ns = 0;
	walk_window(&walk, v->request->thread, v->request->from_ns, v->request->to_ns);
	investigation_add_up(v);
}

/* For whose part a thread that spins waits: who wrote the flag as it stopped, who did so in the
 * other trace, whom it set to work, or who seems able to. What of the time that explains: *ret_from_ns, *ret_to_ns. */
static void find_spin_partner(struct investigation *v, uint32_t thread, uint32_t before, struct walk_step *ret_step, uint64_t *ret_from_ns,
			      uint64_t *ret_to_ns)
{
	uint64_t from = v->request->from_ns, to = v->request->to_ns;
	struct side *now = &v->diagnoser->side, *base = v->request->base;
	const struct flag_write *write = NULL;
	struct awaited_process awaited;
	struct meeting_wait meeting;
	struct spin_asked asked;
	uint64_t event;
	uint32_t then;
	bool came;

	*ret_from_ns = 0;
	*ret_to_ns = UINT64_MAX;
	if (to < v->scene->end_ns)
		write = flag_writes_last(side_flags(now), v->scene, thread, to - part_of(v->scene, LIMIT_next_to_nothing, to - from),
					 to + limit_of(v->scene, LIMIT_change_late_ns));
	if (write && write->thread != v->request->thread) {
		*ret_step = (struct walk_step){ .thread = write->thread, .link = LINK_WROTE, .own = (uint8_t)rule_infos[RULE_flag_writer].weight,
						.evidence = write->number };
		return;
	}
	then = meeting_spun(v->scene, thread, from, to, &meeting) ? meeting_late(v->scene, thread, &meeting, &came, &event) : 0;
	if (then) {
		*ret_step = (struct walk_step){ .thread = then, .link = came ? LINK_CAME_LAST : LINK_TO_COME, .evidence = event,
						.own = (uint8_t)rule_infos[RULE_to_come].weight };
		return;
	}
	then = base ? side_counterpart(now, thread, base, 0, 0) : 0;
	write = then ? flag_writes_last(side_flags(base), base->scene, then, 0, UINT64_MAX) : NULL;
	if (write) {
		*ret_step = (struct walk_step){ .link = LINK_SIMILAR, .own = (uint8_t)limit_of(v->scene, LIMIT_wrote_then),
						.thread = side_counterpart(base, write->thread, now, from, to) };
		if (ret_step->thread && ret_step->thread != thread)
			return;
	}
	if (awaited_process_find(v->scene, v->diagnoser->names, thread, from, to, &awaited)) {
		*ret_step = (struct walk_step){ .thread = awaited.thread, .link = (uint8_t)awaited.link, .own = awaited.confidence,
						.evidence = awaited.evidence };
		return;
	}
	if (rule_holds(v->scene, RULE_asked_spin) && spin_asked_find(v->scene, thread, from, to, &asked) && asked.thread != before) {
		*ret_step = (struct walk_step){ .thread = asked.thread, .link = LINK_ASKED, .own = (uint8_t)rule_infos[RULE_asked_spin].weight,
						.evidence = asked.event };
		*ret_from_ns = asked.start_ns;
		*ret_to_ns = asked.end_ns;
		return;
	}
	*ret_step = (struct walk_step){ .link = LINK_FLAG };
	ret_step->thread = loop_partner(v->scene, thread, &before, 1, from, to, &ret_step->own);
}

/* A step of the partner's own walk, with those that it hangs below, below the partner's step here.
 * `adopted`: by own step, which it is here; 0 not yet. */
static uint32_t adopt_step(struct investigation *v, const struct walk_steps *own, uint32_t index, uint32_t *adopted)
{
	struct walk_step below;

	if (!adopted[index]) {
		below = own->items[index];
		below.parent = adopt_step(v, own, below.parent, adopted);
		vec_push(&v->steps, below);
		adopted[index] = (uint32_t)v->steps.length - 1;
	}
	return adopted[index];
}

static bool is_looking(const struct piece *p, uint32_t thread)
{
	return p->thread == thread && (p->state == SPAN_RUNNING || p->state == SPAN_RUNNABLE);
}

/* The threads from the victim down to the spinning one, above the step that leads on from it. */
static unsigned put_above(const struct investigation *v, uint32_t step, uint32_t *stack)
{
	uint32_t threads[MOST_ABOVE];
	unsigned count = 0;

	for (uint32_t at = step; at && count < MOST_ABOVE; ) {
		at = v->steps.items[at].parent;
		threads[count++] = v->steps.items[at].thread;
	}
	for (unsigned i = 0; i < count; i++)
		stack[i] = threads[count - 1 - i];
	return count;
}

/* What of the pieces lies in that part of the time stays as it is. */
static void keep_pieces(struct investigation *v, const struct piece *first, const struct piece *end, uint64_t from_ns, uint64_t to_ns)
{
	for (const struct piece *p = first; p < end; p++) {
		struct piece kept = *p;

		kept.start_ns = kept.start_ns > from_ns ? kept.start_ns : from_ns;
		kept.end_ns = kept.end_ns < to_ns ? kept.end_ns : to_ns;
		if (kept.start_ns < kept.end_ns)
			vec_push(&v->pieces, kept);
	}
}

bool investigation_charge_spinning(struct investigation *v, uint32_t thread, uint32_t before)
{
	struct pieces old = v->pieces;
	struct walk_step to_partner;
	uint32_t partner, step;
	uint64_t least, most;

	find_spin_partner(v, thread, before, &to_partner, &least, &most);
	partner = to_partner.thread;
	if (!partner || partner == before)
		return false;
	v->pieces = (struct pieces){ 0 };
	step = (uint32_t)v->steps.length;
	for (size_t i = 0, next; i < old.length; i = next) {
		struct piece *p = &old.items[i];
		struct pieces part = { 0 };
		struct walk_steps steps = { 0 };
		struct walk walk = { .scene = v->scene, .missing = on_missing, .circle = on_circle, .data = v,
				     .pieces = &part, .steps = &steps, .ends = &v->diagnoser->ends, .names = v->diagnoser->names };
		uint32_t *adopted;
		uint64_t from, to;

		next = i + 1;
		if (!is_looking(p, thread)) {
			vec_push(&v->pieces, *p);
			continue;
		}
		/* However often it was taken off meanwhile: what is asked about a short part would be left out. */
		while (next < old.length && is_looking(&old.items[next], thread) && old.items[next].start_ns == old.items[next - 1].end_ns &&
		       old.items[next].step == p->step)
			next++;
		from = p->start_ns > least ? p->start_ns : least;
		to = old.items[next - 1].end_ns < most ? old.items[next - 1].end_ns : most;
		keep_pieces(v, p, &old.items[next], 0, from < to ? from : UINT64_MAX);
		if (from >= to)
			continue;
		if (v->steps.length == step) {
			to_partner.parent = p->step;
			to_partner.confidence = to_partner.own;
			to_partner.from_ns = from;
			vec_push(&v->steps, to_partner);
		}
		walk.above = to_partner.link == LINK_ASKED ? put_above(v, step, walk.stack) : 0;
		walk_window(&walk, partner, from, to);
		adopted = mem_zalloc((steps.length + 1) * sizeof(*adopted));
		adopted[0] = step;
		for (size_t j = 0; j < part.length; j++) {
			struct piece charged = part.items[j];
			struct piece *last = v->pieces.length ? &v->pieces.items[v->pieces.length - 1] : NULL;

			charged.step = adopt_step(v, &steps, charged.step, adopted);
			if (last && last->thread == charged.thread && last->state == charged.state &&
			    last->charge == charged.charge && last->wait == charged.wait && last->step == charged.step)
				last->end_ns = charged.end_ns;
			else
				vec_push(&v->pieces, charged);
		}
		keep_pieces(v, p, &old.items[next], to, UINT64_MAX);
		free(adopted);
		vec_done(&part);
		vec_done(&steps);
	}
	vec_done(&old);
	investigation_add_up(v);
	return v->culprit && v->culprit->thread != thread;
}

void investigation_init(struct investigation *v, struct arena *arena, struct diagnoser *diagnoser,
			const struct diagnose_request *request)
{
	const struct scene *scene = diagnoser->scene;

	*v = (struct investigation){
		.arena = arena, .diagnoser = diagnoser, .scene = scene, .request = request,
		.describer = { arena, scene, &diagnoser->ends, diagnoser->names, request->thread, diagnoser->busies,
			       diagnoser->addresses },
		.d = arena_new(arena, struct diagnosis),
		.inquiry = { .scene = scene, .ends = &diagnoser->ends, .arena = arena, .now = &diagnoser->side, .base = request->base },
	};
	v->retried_ns = retried(scene, request->thread, request->from_ns, request->to_ns);
	map_init(&v->asked);
}

void investigation_done(struct investigation *v)
{
	inquiry_done(&v->inquiry);
	map_done(&v->asked);
	vec_done(&v->pieces);
	vec_done(&v->steps);
	vec_done(&v->accounts);
	vec_done(&v->suspects);
	vec_done(&v->alternatives);
	vec_done(&v->forks);
	vec_done(&v->rivals);
}
