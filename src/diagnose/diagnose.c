/* From a window of a thread to the answer: Algorithm 1 of the paper, extended.
 *
 * The walk charges the window to threads and sources, asking for suspects where
 * a wake-up is missing. The biggest account is the culprit; where that is a
 * thread without a processor the blame goes on to who had it, where it is one
 * that yields in a loop to who should have ended the loop. */
#include "diagnose/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "diagnose/account.h"
#include "diagnose/answer.h"
#include "diagnose/busy.h"
#include "diagnose/diagnoser.h"
#include "diagnose/loops.h"
#include "diagnose/starved.h"
#include "diagnose/trigger.h"

/* A person is asked where the next best suspect has at least this confidence, and at
 * most so much less than the best, per cent. */
#define ASK_LEAST 40
#define ASK_NEAR 15

struct investigation {
	struct arena *arena;
	struct diagnoser *diagnoser;
	const struct scene *scene;
	const struct diagnose_request *request;
	struct describer describer;
	struct diagnosis *d;
	struct inquiry inquiry;
	struct pieces pieces;
	struct walk_steps steps;
	struct accounts accounts;
	struct suspects suspects;     /* scratch */
	struct vec(struct suspect) alternatives;
	struct vec(struct suspect) answers; /* best suspect per episode asked about */
	struct vec(uint8_t) rivals;   /* confidence of the next best to each of those, per cent */
	struct map asked;             /* episode -> index into answers + 1, 0 nobody */
	uint32_t circle[64];
	unsigned circle_count;
	uint64_t circle_ns;           /* time that it filled */
	uint32_t spins_for;           /* the thread whose spinning was charged to another */
};

const char *verdict_name(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_NONE: return "none";
	case VERDICT_BUSY: return "busy";
	case VERDICT_WAITING: return "waiting";
	case VERDICT_YIELD: return "yield";
	case VERDICT_STARVED: return "starved";
	case VERDICT_IO: return "io";
	}
	return "none";
}

const char *actor_kind_name(enum actor_kind kind)
{
	switch (kind) {
	case ACTOR_THREAD: return "thread";
	case ACTOR_KERNEL: return "kernel";
	case ACTOR_CGROUP: return "cgroup";
	case ACTOR_DEVICE: return "device";
	case ACTOR_UNKNOWN: return "unknown";
	}
	return "unknown";
}

/* ---- the walk's questions ---- */

/* Threads that meet for a moment are no circle: the longest that fills a part of
 * the window counts. */
static void on_circle(struct walk *walk, unsigned from, uint64_t ns)
{
	struct investigation *v = walk->data;

	if (ns <= v->circle_ns || ns * 10 < v->request->to_ns - v->request->from_ns)
		return;
	v->circle_ns = ns;
	v->circle_count = 0;
	for (unsigned i = from; i < walk->depth; i++)
		v->circle[v->circle_count++] = walk->stack[i];
}

static unsigned give(struct walk *walk, const struct suspect *suspect, struct hop hops[WALK_MAX_HOPS])
{
	(void)walk;
	memcpy(hops, suspect->hops, suspect->hop_count * sizeof(*hops));
	return suspect->hop_count;
}

/* Of the best suspect that is another thread than the first. */
static uint8_t rival_confidence(const struct suspects *suspects)
{
	for (size_t i = 1; i < suspects->length; i++)
		if (suspects_thread(&suspects->items[i]) != suspects_thread(&suspects->items[0]))
			return suspects->items[i].confidence;
	return 0;
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
	uint64_t *known;
	bool alone;

	if (w->idle || ((to - from) * 100 < window && to - from < 20000000))
		return 0;
	if (w->kind == WAIT_KIND_sleep && !loop_is(v->scene, episode))
		return 0;
	known = map_find(&v->asked, number);
	if (known)
		return *known ? give(walk, &v->answers.items[*known - 1], hops) : 0;
	suspects_find(&v->inquiry, episode, from, to, walk->stack, walk->depth, &v->suspects, &alone);
	/* What is far from the victim must be surer, or the chain wanders off. */
	if (v->suspects.length && walk->depth > 2 && v->suspects.items[0].confidence < 45)
		v->suspects.length = 0;
	if (alone) {
		on_circle(walk, walk->depth - 1, to - from);
	}
	if (!v->suspects.length) {
		map_put(&v->asked, number, 0);
		return 0;
	}
	vec_push(&v->answers, v->suspects.items[0]);
	vec_push(&v->rivals, rival_confidence(&v->suspects));
	map_put(&v->asked, number, v->answers.length);
	for (size_t i = 1; i < v->suspects.length && i < 8; i++)
		vec_push(&v->alternatives, v->suspects.items[i]);
	return give(walk, &v->suspects.items[0], hops);
}

static void walk_victim(struct investigation *v)
{
	struct walk walk = { .scene = v->scene, .missing = on_missing, .looks_ahead = true, .circle = on_circle, .data = v,
			     .pieces = &v->pieces, .steps = &v->steps };

	walk_window(&walk, v->request->thread, v->request->from_ns, v->request->to_ns);
}

/* ---- yield loops without a wait ---- */

/* Charges the running time of a spinning thread to the one it spins for. */
static void charge_spinning(struct investigation *v, uint32_t thread)
{
	struct pieces old = v->pieces;
	uint8_t confidence;
	uint64_t from = v->request->from_ns, to = v->request->to_ns;
	uint32_t partner = loop_partner(v->scene, thread, from, to, &confidence), step;

	if (!partner)
		return;
	v->spins_for = thread;
	v->pieces = (struct pieces){ 0 };
	step = (uint32_t)v->steps.length;
	for (size_t i = 0; i < old.length; i++) {
		struct piece *p = &old.items[i];
		struct pieces part = { 0 };
		struct walk_steps steps = { 0 };
		struct walk walk = { .scene = v->scene, .missing = on_missing, .looks_ahead = true, .circle = on_circle, .data = v,
				     .pieces = &part, .steps = &steps };

		if (p->thread != thread || (p->state != SPAN_RUNNING && p->state != SPAN_RUNNABLE)) {
			vec_push(&v->pieces, *p);
			continue;
		}
		if (v->steps.length == step)
			vec_push(&v->steps, ((struct walk_step){ .thread = partner, .parent = p->step,
				.link = LINK_FLAG, .confidence = confidence, .from_ns = p->start_ns }));
		walk_window(&walk, partner, p->start_ns, p->end_ns);
		for (size_t j = 0; j < part.length; j++) {
			struct piece charged = part.items[j];
			struct piece *last = v->pieces.length ? &v->pieces.items[v->pieces.length - 1] : NULL;

			/* The partner's own steps hang below its step here. */
			if (charged.step) {
				struct walk_step below = steps.items[charged.step];

				below.parent = step;
				vec_push(&v->steps, below);
				charged.step = (uint32_t)v->steps.length - 1;
			} else {
				charged.step = step;
			}
			if (last && last->thread == charged.thread && last->state == charged.state &&
			    last->charge == charged.charge && last->wait == charged.wait && last->step == charged.step)
				last->end_ns = charged.end_ns;
			else
				vec_push(&v->pieces, charged);
		}
		vec_done(&part);
		vec_done(&steps);
	}
	vec_done(&old);
}

/* ---- verdict ---- */

/* Sharing a busy machine with many others is slow, not starvation: that has a
 * quota or one thread behind it, or leaves next to nothing. */
static bool is_starved(struct investigation *v, const struct state_times *times)
{
	struct starved starved;

	starved_find(v->scene, v->request->thread, v->request->from_ns, v->request->to_ns, &starved);
	return starved_is(&starved, v->scene, times->ns[SPAN_RUNNING]);
}

static enum verdict judge(struct investigation *v)
{
	const struct scene *scene = v->scene;
	const struct scene_thread *t = &scene->threads[v->request->thread];
	uint64_t from = v->request->from_ns, to = v->request->to_ns, sleeping = 0, io = 0, most;
	struct state_times times;

	scene_state_times(scene, v->request->thread, from, to, &times);
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &scene->episodes[t->episode + i];
		uint64_t begin = e->start_ns > from ? e->start_ns : from, end = e->end_ns < to ? e->end_ns : to;
		uint8_t kind = scene->waits[e->last].kind;

		if (begin >= end)
			continue;
		if (loop_is(scene, e) ||
		    (kind == WAIT_KIND_sleep && suspects_refused_lock(scene, e->thread, begin, end)))
			sleeping += end - begin;
		else if (kind == WAIT_KIND_block_io || kind == WAIT_KIND_sync ||
			 (scene->waits[e->last].end == WAIT_END_SOURCE &&
			  scene->waits[e->last].cause == WAKE_CAUSE_block_io))
			io += end - begin;
	}
	most = times.ns[SPAN_RUNNING];
	for (unsigned i = 0; i <= SPAN_STOPPED; i++)
		if (times.ns[i] > most)
			most = times.ns[i];
	if (sleeping * 2 > to - from)
		return VERDICT_YIELD;
	if (most == times.ns[SPAN_RUNNABLE] && most && is_starved(v, &times))
		return VERDICT_STARVED;
	if (most == times.ns[SPAN_RUNNING] || most == times.ns[SPAN_RUNNABLE])
		return diagnoser_spins(v->diagnoser, v->request->thread, from, to) ? VERDICT_YIELD : VERDICT_BUSY;
	return io * 2 > times.ns[SPAN_WAITING] ? VERDICT_IO : VERDICT_WAITING;
}

/* ---- the culprit ---- */

static uint8_t step_confidence(const struct investigation *v, uint32_t step)
{
	return step < v->steps.length ? v->steps.items[step].confidence : 50;
}

static void blame_processor(struct investigation *v, const struct account *a)
{
	struct diagnosis *d = v->d;
	struct starved starved;
	uint32_t hog;

	starved_find(v->scene, a->thread, a->first_ns, a->last_ns, &starved);
	if (starved.throttled_ns * 2 > starved.runnable_ns) {
		hog = starved.group_hog ? starved.group_hog : a->thread;
		describe_thread(&v->describer, hog, a->last_ns, &d->culprit);
		d->culprit.kind = ACTOR_CGROUP;
		d->culprit.object = answer_quota(v->arena, &starved);
		d->confidence = 90;
		return;
	}
	/* Where many shared the processor, none of them is to blame: the thread that
	 * had work to do is, if it had some of it. */
	hog = starved.hog && starved_is(&starved, v->scene, a->state_ns[SPAN_RUNNING]) ? starved.hog : a->thread;
	if (hog == a->thread) {
		describe_thread(&v->describer, hog, a->last_ns, &d->culprit);
		describe_busy(&v->describer, a->first_ns, a->last_ns, &d->culprit);
		d->confidence = 60;
		return;
	}
	describe_thread(&v->describer, hog, a->last_ns, &d->culprit);
	describe_busy(&v->describer, a->first_ns, a->last_ns, &d->culprit);
	d->culprit.object = "the processor";
	d->confidence = starved.hog_ns * 2 > starved.runnable_ns ? 90 : 50;
}

static void blame(struct investigation *v, const struct account *a)
{
	struct diagnosis *d = v->d;
	const struct piece *p = &v->pieces.items[a->biggest];
	const struct wait *w = &v->scene->waits[p->wait];

	if (a->state == SPAN_RUNNABLE) {
		blame_processor(v, a);
		return;
	}
	describe_thread(&v->describer, a->thread, p->end_ns, &d->culprit);
	d->confidence = step_confidence(v, p->step);
	if (a->state == SPAN_RUNNING) {
		describe_busy(&v->describer, a->first_ns, a->last_ns, &d->culprit);
		return;
	}
	describe_place(&v->describer, w->ustack, &d->culprit);
	d->culprit.object = describe_object(&v->describer, w->object);
	if (a->charge == CHARGE_SOURCE) {
		d->culprit.kind = w->cause == WAKE_CAUSE_unknown ? ACTOR_UNKNOWN
			: w->cause == WAKE_CAUSE_rcu || w->cause == WAKE_CAUSE_work ? ACTOR_KERNEL : ACTOR_DEVICE;
		d->culprit.object = describe_source(w);
	} else if (a->charge == CHARGE_MISSING && a->thread == v->request->thread && !v->circle_count &&
		   (w->kind != WAIT_KIND_sleep || v->d->verdict == VERDICT_YIELD)) {
		/* Nobody is known who should have ended the victim's wait. */
		d->culprit.kind = ACTOR_UNKNOWN;
		d->confidence = 20;
	} else if (a->state == SPAN_UNKNOWN) {
		d->confidence = 30;
	}
	/* A circle is closed by a suspicion where no wake-up closes it. */
	if (a->charge == CHARGE_CIRCLE) {
		const uint64_t *asked = map_find(&v->asked, w->episode);

		if (asked && *asked && v->answers.items[*asked - 1].confidence < d->confidence)
			d->confidence = v->answers.items[*asked - 1].confidence;
	}
}

/* ---- parts of the answer ---- */

static void collect_triggers(struct investigation *v, const struct account *a)
{
	struct deed *deeds = arena_array(v->arena, struct deed, TRIGGER_MAX);
	struct diagnosis *d = v->d;

	if (a->state == SPAN_STOPPED) {
		d->trigger_count = trigger_stop(&v->describer, a->thread, a->last_ns, &deeds[0]);
	} else if (a->state == SPAN_RUNNING || (a->state == SPAN_RUNNABLE && d->culprit.thread == a->thread)) {
		const struct piece *p = &v->pieces.items[a->biggest];

		d->trigger_count = trigger_find(&v->describer, a->thread, p->start_ns, deeds);
	}
	d->triggers = deeds;
}

static bool is_in_circle(const struct investigation *v, uint32_t thread)
{
	for (unsigned i = 0; i < v->circle_count; i++)
		if (v->circle[i] == thread)
			return true;
	return false;
}

static void collect_circle(struct investigation *v)
{
	struct actor *actors;

	if (!v->circle_count)
		return;
	/* A circle in a part of the window, while the time went elsewhere, explains nothing. */
	if (v->circle_ns * 2 < v->request->to_ns - v->request->from_ns && !is_in_circle(v, v->d->culprit.thread))
		return;
	actors = arena_array(v->arena, struct actor, v->circle_count);
	for (unsigned i = 0; i < v->circle_count; i++)
		describe_thread(&v->describer, v->circle[i], v->request->to_ns, &actors[i]);
	v->d->circle = actors;
	v->d->circle_count = v->circle_count;
	/* The time limit of a member's wait that ran out inside the window broke it. */
	for (unsigned i = 0; i < v->circle_count; i++) {
		const struct scene_thread *t = &v->scene->threads[v->circle[i]];

		for (uint32_t j = 0; j < t->episode_count; j++) {
			const struct episode *e = &v->scene->episodes[t->episode + j];
			const struct wait *w = &v->scene->waits[e->last];

			if (e->start_ns < v->request->to_ns && e->end_ns > v->request->from_ns && w->end == WAIT_END_TIMEOUT &&
			    e->end_ns - e->start_ns > 50000000 && w->kind != WAIT_KIND_sleep &&
			    (!v->d->circle_timeout_ns || e->end_ns - e->start_ns < v->d->circle_timeout_ns))
				v->d->circle_timeout_ns = e->end_ns - e->start_ns;
		}
	}
}

static void collect_alternatives(struct investigation *v)
{
	struct deed *deeds = arena_array(v->arena, struct deed, v->alternatives.length + v->accounts.length);
	struct diagnosis *d = v->d;

	for (size_t i = 0; i < v->alternatives.length && d->alternative_count < 6; i++) {
		const struct suspect *s = &v->alternatives.items[i];
		uint32_t thread = s->hops[s->hop_count - 1].thread;
		bool named = thread == d->culprit.thread || thread == v->request->thread;

		for (size_t j = 0; j < d->alternative_count; j++)
			named |= deeds[j].actor.thread == thread;
		if (named || s->confidence < 25)
			continue;
		deeds[d->alternative_count] = (struct deed){ .event = s->hops[s->hop_count - 1].evidence,
			.time = s->hops[s->hop_count - 1].from_ns, .confidence = s->confidence,
			.words = s->followed ? trail_end_words(s->end) : walk_link_words(s->hops[s->hop_count - 1].link) };
		describe_thread(&v->describer, thread, v->request->to_ns, &deeds[d->alternative_count++].actor);
	}
	for (size_t i = 0; i < v->accounts.length && d->alternative_count < 8; i++) {
		const struct account *a = &v->accounts.items[i];
		uint64_t share = a->ns * 100 / (d->end_ns - d->start_ns);
		bool named = a->thread == d->culprit.thread;

		for (size_t j = 0; j < d->alternative_count; j++)
			named |= deeds[j].actor.thread == a->thread;
		if (named || share < 10)
			continue;
		deeds[d->alternative_count] = (struct deed){ .time = a->first_ns, .confidence = (uint8_t)(share < 90 ? share : 90),
			.words = arena_printf(v->arena, "%s for %u %% of the window", span_state_name(a->state), (unsigned)share) };
		describe_thread(&v->describer, a->thread, a->last_ns, &deeds[d->alternative_count++].actor);
	}
	d->alternatives = deeds;
}

/* The contrast that speaks for somebody on the way to the culprit; else one
 * that speaks for another. */
static void collect_contrast(struct investigation *v)
{
	const struct baseline *chosen = NULL;

	for (size_t i = 0; i < v->answers.length; i++) {
		const struct suspect *s = &v->answers.items[i];
		bool on_path = false;

		for (size_t j = 0; s->baseline && j < v->d->path_count; j++)
			on_path |= v->d->path[j].actor.thread == s->hops[s->hop_count - 1].thread;
		if (on_path) {
			chosen = s->baseline;
			break;
		}
	}
	for (size_t i = 0; !chosen && i < v->alternatives.length; i++)
		chosen = v->alternatives.items[i].baseline;
	if (chosen)
		v->d->contrast = answer_contrast(&v->describer, chosen);
}

static uint64_t lost_in(const struct scene *scene, uint64_t from, uint64_t to)
{
	const struct trace_summary *summary = scene->trace ? trace_summary(scene->trace) : NULL;
	uint64_t covered = from, lost = 0;

	for (size_t i = 0; summary && i < summary->gap_count; i++) {
		uint64_t begin = summary->gaps[i].from_ns > covered ? summary->gaps[i].from_ns : covered;
		uint64_t end = summary->gaps[i].to_ns < to ? summary->gaps[i].to_ns : to;

		if (end > begin) {
			lost += end - begin;
			covered = end;
		}
	}
	return lost;
}

static void add_up(struct investigation *v)
{
	struct diagnosis *d = v->d;

	for (size_t i = 0; i < v->pieces.length; i++) {
		const struct piece *p = &v->pieces.items[i];
		uint64_t ns = p->end_ns - p->start_ns, lost;

		/* That nobody but itself could end its wait explains it. */
		if (piece_explained(v->scene, p, v->request->thread) ||
		    (p->charge == CHARGE_MISSING && is_in_circle(v, p->thread))) {
			d->explained_ns += ns;
			continue;
		}
		lost = lost_in(v->scene, p->start_ns, p->end_ns);
		d->lost_ns += lost;
		d->unknown_ns += ns - lost;
	}
}

/* Forks on the way to the step at which another is nearly as good. */
static unsigned count_questions(const struct investigation *v, uint32_t step)
{
	unsigned questions = 0;

	for (; step; step = v->steps.items[step].parent) {
		const uint64_t *asked = v->steps.items[step].episode ? map_find(&v->asked, v->steps.items[step].episode - 1) : NULL;

		if (asked && *asked && v->rivals.items[*asked - 1] >= ASK_LEAST &&
		    v->rivals.items[*asked - 1] + ASK_NEAR >= v->answers.items[*asked - 1].confidence)
			questions++;
	}
	return questions;
}

static void begin(struct investigation *v, struct arena *arena, struct diagnoser *diagnoser, const struct diagnose_request *request)
{
	const struct scene *scene = diagnoser->scene;

	*v = (struct investigation){
		.arena = arena, .diagnoser = diagnoser, .scene = scene, .request = request,
		.describer = { arena, scene, &diagnoser->ends, diagnoser->names, request->thread, diagnoser->busies },
		.d = arena_new(arena, struct diagnosis),
		.inquiry = { .scene = scene, .ends = &diagnoser->ends, .arena = arena, .now = &diagnoser->side, .base = request->base },
	};
	map_init(&v->asked);
	walk_victim(v);
	v->d->verdict = judge(v);
	account_threads(scene, &v->pieces, &v->accounts);
}

static void done(struct investigation *v)
{
	inquiry_done(&v->inquiry);
	map_done(&v->asked);
	vec_done(&v->pieces);
	vec_done(&v->steps);
	vec_done(&v->accounts);
	vec_done(&v->suspects);
	vec_done(&v->alternatives);
	vec_done(&v->answers);
	vec_done(&v->rivals);
}

unsigned diagnoser_way(struct diagnoser *diagnoser, const struct diagnose_request *request, uint32_t *threads, unsigned most)
{
	struct arena arena;
	struct investigation v;
	const struct account *culprit;
	unsigned count = 0, depth = 0;
	uint32_t step;

	arena_init(&arena);
	begin(&v, &arena, diagnoser, request);
	culprit = account_culprit(v.scene, &v.accounts, request->to_ns - request->from_ns);
	step = culprit ? v.pieces.items[culprit->biggest].step : 0;
	for (uint32_t at = step; at; at = v.steps.items[at].parent)
		depth++;
	for (uint32_t at = step; culprit; at = v.steps.items[at].parent, depth--) {
		if (depth < most) {
			threads[depth] = v.steps.items[at].thread;
			count++;
		}
		if (!at)
			break;
	}
	done(&v);
	arena_done(&arena);
	return count;
}

struct diagnosis *diagnose(struct arena *arena, struct diagnoser *diagnoser, const struct diagnose_request *request)
{
	const struct scene *scene = diagnoser->scene;
	struct investigation v;
	const struct account *culprit;

	begin(&v, arena, diagnoser, request);
	v.d->start_ns = request->from_ns;
	v.d->end_ns = request->to_ns;
	describe_thread(&v.describer, request->thread, request->to_ns, &v.d->victim);
	culprit = account_culprit(scene, &v.accounts, request->to_ns - request->from_ns);
	if (culprit && (culprit->state == SPAN_RUNNING || culprit->state == SPAN_RUNNABLE) &&
	    (culprit->thread == request->thread ? v.d->verdict == VERDICT_YIELD
	     : culprit->state == SPAN_RUNNING &&
	       diagnoser_spins(diagnoser, culprit->thread, culprit->first_ns, culprit->last_ns))) {
		charge_spinning(&v, culprit->thread);
		account_threads(scene, &v.pieces, &v.accounts);
		culprit = account_culprit(scene, &v.accounts, request->to_ns - request->from_ns);
	}
	if (culprit) {
		blame(&v, culprit);
		collect_triggers(&v, culprit);
	}
	collect_circle(&v);
	collect_alternatives(&v);
	add_up(&v);
	answer_chain(&v.describer, &v.pieces, &v.steps, v.d);
	if (culprit)
		v.d->questions = count_questions(&v, v.pieces.items[culprit->biggest].step);
	if (culprit)
		answer_path(&v.describer, &v.pieces, &v.steps, v.pieces.items[culprit->biggest].step, v.d);
	collect_contrast(&v);
	answer_plan(&v.describer, v.d);
	answer_text(&v.describer, v.d);
	done(&v);
	return v.d;
}
