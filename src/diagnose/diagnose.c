/* From a window of a thread to the answer: Algorithm 1 of the paper, extended.
 *
 * The walk charges the window to threads and sources, asking for suspects where
 * a wake-up is missing. The biggest account is the culprit; where that is a
 * thread without a processor the blame goes on to who had it, where it is one
 * that yields in a loop to who should have ended the loop. */
#include "diagnose/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/answer.h"
#include "diagnose/certainty.h"
#include "diagnose/far_host.h"
#include "diagnose/kernel_place.h"
#include "diagnose/investigation.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/starved.h"
#include "diagnose/tries.h"
#include "diagnose/trigger.h"

/* A person is asked where the next best suspect has at least this confidence, and at
 * most so much less than the best, per cent. */
#define ASK_LEAST 40
#define ASK_NEAR 15
#define RIVALS_TOLD 3

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

/* ---- verdict ---- */

/* Sharing a busy machine with many others is slow, not starvation: that has a
 * quota or one thread behind it, or leaves next to nothing. */
static bool is_starved(struct investigation *v)
{
	struct starved starved;

	return starved_judge(v->scene, v->request->thread, v->request->from_ns, v->request->to_ns, &starved);
}

static enum verdict judge(struct investigation *v)
{
	const struct scene *scene = v->scene;
	const struct scene_thread *t = &scene->threads[v->request->thread];
	uint64_t from = v->request->from_ns, to = v->request->to_ns, sleeping = 0, io = 0, most;
	struct state_times times;
	struct tries tries;

	scene_state_times(scene, v->request->thread, from, to, &times);
	sleeping = v->retried_ns;
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &scene->episodes[t->episode + i];
		uint64_t begin = e->start_ns > from ? e->start_ns : from, end = e->end_ns < to ? e->end_ns : to;
		uint8_t kind = scene->waits[e->last].kind;

		if (begin >= end)
			continue;
		if (loop_is(scene, e) || loop_is_short(scene, e) || tries_find(scene, e, &tries) ||
		    (kind == WAIT_KIND_sleep && suspects_refused_lock(scene, &scene->waits[e->last], begin, end)))
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
	if (most == times.ns[SPAN_RUNNING] || most == times.ns[SPAN_RUNNABLE]) {
		/* one that spins waits for another, also where it hardly comes to look */
		if (diagnoser_spins(v->diagnoser, v->request->thread, from, to))
			return VERDICT_YIELD;
		return most == times.ns[SPAN_RUNNABLE] && most && is_starved(v) ? VERDICT_STARVED : VERDICT_BUSY;
	}
	return io * 2 > times.ns[SPAN_WAITING] ? VERDICT_IO : VERDICT_WAITING;
}

/* ---- the culprit ---- */

/* When most of it went by: programs change at both ends. */
static uint64_t middle_of(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns + (to_ns - from_ns) / 2;
}

static uint8_t step_confidence(const struct investigation *v, uint32_t step)
{
	return step < v->steps.length ? v->steps.items[step].confidence : 50;
}

/* By who had the processor for such a part of the time. */
static uint8_t kept_off(const struct investigation *v, uint64_t part_ns, uint64_t whole_ns)
{
	return (uint8_t)(rule_holds(v->scene, RULE_kept_off) && most_of(v->scene, part_ns, whole_ns) ? rule_infos[RULE_kept_off].weight
												    : limit_of(v->scene, LIMIT_kept_off_partly));
}

static void name_keepers(struct investigation *v, const struct account *a)
{
	struct actor *keepers = arena_array(v->arena, struct actor, KEEPERS_TOLD);
	uint64_t *ns = arena_array(v->arena, uint64_t, KEEPERS_TOLD);
	struct diagnosis *d = v->d;
	struct keepers found;

	starved_by(v->scene, a->thread, a->first_ns, a->last_ns, &found);
	for (unsigned i = 0; i < found.count; i++) {
		describe_thread(&v->describer, found.items[i].thread, middle_of(a->first_ns, a->last_ns), &keepers[i]);
		ns[i] = found.items[i].ns;
	}
	d->keepers = keepers;
	d->keepers_ns = ns;
	d->keeper_count = found.count;
	d->queue_cpu = found.cpu;
	d->idle_cpu = found.idle_cpu;
	d->idle_ns = found.count ? found.idle_ns : 0;
}

static void name_who_kept_off(struct investigation *v, const struct account *a)
{
	struct diagnosis *d = v->d;
	struct starved starved;
	bool kept = starved_judge(v->scene, a->thread, a->first_ns, a->last_ns, &starved);
	uint32_t hog;

	if (most_of(v->scene, starved.throttled_ns, starved.runnable_ns)) {
		hog = starved.group_hog ? starved.group_hog : a->thread;
		describe_thread(&v->describer, hog, a->last_ns, &d->culprit);
		d->culprit.kind = ACTOR_CGROUP;
		d->culprit.object = answer_quota(v->arena, &starved);
		d->confidence = kept_off(v, starved.throttled_ns, starved.runnable_ns);
		return;
	}
	/* Where many shared the processor, none of them is to blame: the thread that
	 * had work to do is, if it had some of it. */
	hog = starved.hog && starved.hog_ns > part_of(v->scene, LIMIT_a_good_part, starved.runnable_ns) && kept ? starved.hog : a->thread;
	if (hog == a->thread) {
		describe_thread(&v->describer, hog, a->last_ns, &d->culprit);
		describe_busy(&v->describer, a->first_ns, a->last_ns, &d->culprit);
		d->confidence = (uint8_t)limit_of(v->scene, LIMIT_kept_off_by_all);
		name_keepers(v, a);
		return;
	}
	describe_thread(&v->describer, hog, a->last_ns, &d->culprit);
	describe_busy(&v->describer, a->first_ns, a->last_ns, &d->culprit);
	d->culprit.object = "the processor";
	d->hog_ns = starved.hog_ns;
	d->queued_ns = starved.runnable_ns;
	d->confidence = kept_off(v, starved.hog_ns, starved.runnable_ns);
}

/* No surer than that the way leads to who was kept off. */
static void blame_processor(struct investigation *v, const struct account *a)
{
	uint8_t sure = step_confidence(v, v->pieces.items[a->biggest].step);

	name_who_kept_off(v, a);
	if (v->d->confidence > sure)
		v->d->confidence = sure;
}

/* It stands where the kernel waits for a block device, which so is what is late. */
static bool waits_for_device(const struct investigation *v, const struct wait *w)
{
	return w->end == WAIT_END_OPEN && rule_holds(v->scene, RULE_device_late) &&
	       kernel_place_of_wait(v->describer.names, v->scene->tables, w) == KERNEL_PLACE_BLOCK_IO;
}

/* How sure anything can be of what ends so: nobody is named, or is known who should have come, what the last thread did was not seen, or not what
 * ended its wait. */
static uint8_t most_certain(const struct investigation *v, const struct account *a)
{
	const struct piece *p = &v->pieces.items[a->biggest];

	if (v->d->culprit.kind == ACTOR_UNKNOWN)
		return (uint8_t)rule_infos[RULE_nobody_known].weight;
	if (v->d->far)
		return (uint8_t)rule_infos[RULE_far_host].weight;
	if (v->d->source && a->charge == CHARGE_MISSING)
		return (uint8_t)rule_infos[RULE_device_late].weight;
	if (a->state == SPAN_WAITING && walk_other_end_came(v->scene, &v->scene->waits[p->wait]))
		return (uint8_t)rule_infos[RULE_fifo_newcomer].weight;
	if (a->state == SPAN_UNKNOWN)
		return (uint8_t)limit_of(v->scene, LIMIT_state_unknown);
	if (a->charge == CHARGE_MISSING && a->thread != v->request->thread && !piece_explained(v->scene, p, v->request->thread))
		return (uint8_t)limit_of(v->scene, LIMIT_end_unseen);
	return 100;
}

static void blame(struct investigation *v, const struct account *a)
{
	struct diagnosis *d = v->d;
	const struct piece *p = &v->pieces.items[a->biggest];
	const struct wait *w = &v->scene->waits[p->wait];
	const char *far;
	uint8_t most;

	if (a->state == SPAN_RUNNABLE) {
		blame_processor(v, a);
		return;
	}
	describe_thread(&v->describer, a->thread, middle_of(p->start_ns, p->end_ns), &d->culprit);
	d->confidence = step_confidence(v, p->step);
	if (a->state == SPAN_RUNNING) {
		describe_busy(&v->describer, a->first_ns, a->last_ns, &d->culprit);
		return;
	}
	describe_place(&v->describer, w->ustack, &d->culprit);
	d->culprit.object = describe_object(&v->describer, w->object);
	if ((a->charge == CHARGE_SOURCE || a->charge == CHARGE_MISSING) && (far = far_host_kept_out(&v->describer, w))) {
		d->culprit.kind = ACTOR_DEVICE;
		d->culprit.object = far;
		d->source = d->far = true;
	} else if (a->charge == CHARGE_SOURCE) {
		d->culprit.kind = w->cause == WAKE_CAUSE_unknown ? ACTOR_UNKNOWN
			: w->cause == WAKE_CAUSE_rcu || w->cause == WAKE_CAUSE_work ? ACTOR_KERNEL : ACTOR_DEVICE;
		d->culprit.object = describe_packet(&v->describer, w, p->sender);
		if (p->sender && d->confidence > rule_infos[RULE_in_flight].weight)
			d->confidence = rule_infos[RULE_in_flight].weight;
		d->source = true;
	} else if (a->charge == CHARGE_MISSING && (far = far_host_silent(&v->describer, w))) {
		d->culprit.kind = ACTOR_DEVICE;
		d->culprit.object = far;
		d->source = d->far = true;
	} else if (a->charge == CHARGE_MISSING && waits_for_device(v, w)) {
		d->culprit.kind = ACTOR_DEVICE;
		d->culprit.object = w->object ? arena_printf(v->arena, "block device I/O for %s", d->culprit.object) : "block device I/O";
		d->source = true;
	} else if (a->charge == CHARGE_MISSING && a->thread == v->request->thread && !v->circle_count &&
		   (w->kind != WAIT_KIND_sleep || v->d->verdict == VERDICT_YIELD)) {
		/* Nobody is known who should have ended the victim's wait. */
		d->culprit.kind = ACTOR_UNKNOWN;
	}
	most = most_certain(v, a);
	if (most < d->confidence)
		d->confidence = most;
	/* A circle is closed by a suspicion where no wake-up closes it. */
	if (a->charge == CHARGE_CIRCLE) {
		const struct fork *fork = investigation_fork_of(v, w->episode);

		if (fork && fork->count && fork->suspects[fork->chosen].confidence < d->confidence)
			d->confidence = fork->suspects[fork->chosen].confidence;
	}
}

/* ---- parts of the answer ---- */

static void collect_triggers(struct investigation *v, const struct account *a)
{
	struct deed *deeds = arena_array(v->arena, struct deed, TRIGGER_MAX);
	struct diagnosis *d = v->d;

	if (a->state == SPAN_STOPPED) {
		d->trigger_count = trigger_stop(&v->describer, a->thread, a->last_ns, &deeds[0]);
	} else if (a->state == SPAN_ABSENT) {
		d->trigger_count = trigger_kill(&v->describer, a->thread, &deeds[0]);
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
	if (!v->circle_count)
		return;
	/* A circle in a part of the window, while the time went elsewhere, explains nothing. */
	if (v->circle_ns * 2 < v->request->to_ns - v->request->from_ns && !is_in_circle(v, v->d->culprit.thread))
		return;
	answer_circle(&v->describer, &v->pieces, v->circle, v->circle_count, v->d);
}

static const char *suspect_words(const struct suspect *s)
{
	return s->followed ? trail_end_words(s->end) : walk_link_words(s->hops[s->hop_count - 1].link);
}

/* As it was called in the middle of the window, or who came later as it was at its end. */
static void describe_other(struct investigation *v, uint32_t thread, struct actor *ret_actor)
{
	uint64_t middle = middle_of(v->request->from_ns, v->request->to_ns);

	describe_thread(&v->describer, thread, v->scene->tables->threads[thread].start_ns > middle ? v->request->to_ns : middle, ret_actor);
}

static void collect_alternatives(struct investigation *v)
{
	struct deed *deeds = arena_array(v->arena, struct deed, v->alternatives.length + v->accounts.length + v->rivals.length);
	struct diagnosis *d = v->d;

	for (size_t i = 0; i < v->rivals.length && d->alternative_count < RIVALS_TOLD; i++) {
		const struct rival *r = &v->rivals.items[i];
		const struct hop *hop = &r->over->hops[r->over->hop_count - 1];
		struct actor over;

		if (r->thread == d->culprit.thread || r->thread == v->request->thread)
			continue;
		describe_other(v, hop->thread, &over);
		deeds[d->alternative_count] = (struct deed){ .event = hop->evidence, .time = hop->from_ns, .confidence = r->confidence,
			.words = arena_printf(v->arena, "%s; there the way over %s ends, which %s", r->words, answer_who(v->arena, &over),
					      suspect_words(r->over)) };
		describe_other(v, r->thread, &deeds[d->alternative_count++].actor);
	}

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
			.words = suspect_words(s) };
		describe_other(v, thread, &deeds[d->alternative_count++].actor);
	}
	for (size_t i = 0; i < v->accounts.length && d->alternative_count < 8; i++) {
		const struct account *a = &v->accounts.items[i];
		uint64_t share = a->state_ns[a->state] * 100 / (d->end_ns - d->start_ns);
		bool named = a->thread == d->culprit.thread;

		for (size_t j = 0; j < d->alternative_count; j++)
			named |= deeds[j].actor.thread == a->thread;
		if (named || share < 10)
			continue;
		deeds[d->alternative_count] = (struct deed){ .time = a->first_ns, .confidence = (uint8_t)(share < 90 ? share : 90),
			.words = arena_printf(v->arena, "%s for %u %% of the window", span_state_name(a->state), (unsigned)share) };
		describe_thread(&v->describer, a->thread, a->last_ns, &deeds[d->alternative_count++].actor);
	}
	/* All that speaks for one of them was weighed: none is surer than who was chosen. */
	for (size_t i = 0; i < d->alternative_count; i++)
		if (d->culprit.kind != ACTOR_UNKNOWN && deeds[i].confidence > d->confidence)
			deeds[i].confidence = d->confidence;
	d->alternatives = deeds;
}

/* The contrast that speaks for somebody on the way to the culprit; else one
 * that speaks for another. */
static void collect_contrast(struct investigation *v)
{
	const struct baseline *chosen = NULL;

	for (size_t i = 0; i < v->forks.length; i++) {
		const struct suspect *s = &v->forks.items[i]->suspects[v->forks.items[i]->chosen];
		bool on_path = false;

		if (!v->forks.items[i]->count)
			continue;
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
	/* The wait that the path tells of did not go well at another time. */
	for (size_t i = 0; chosen && !chosen->other_trace && i < v->d->path_count; i++)
		if (v->d->contrast && v->d->path[i].event && v->d->path[i].event == v->d->contrast->end_event)
			v->d->contrast = NULL;
}

static void add_up(struct investigation *v)
{
	struct diagnosis *d = v->d;

	for (size_t i = 0; i < v->pieces.length; i++) {
		const struct piece *p = &v->pieces.items[i];
		uint64_t ns = p->end_ns - p->start_ns, lost;

		/* That nobody but itself, or another machine, could end its wait explains it. */
		if (piece_explained(v->scene, p, v->request->thread) ||
		    (p->charge == CHARGE_MISSING && (is_in_circle(v, p->thread) || far_host_silent(&v->describer, &v->scene->waits[p->wait]) ||
						       waits_for_device(v, &v->scene->waits[p->wait])))) {
			d->explained_ns += ns;
			continue;
		}
		lost = v->scene->trace ? trace_losses(v->scene->trace, p->start_ns, p->end_ns).ns : 0;
		d->lost_ns += lost;
		d->unknown_ns += ns - lost;
	}
}

/* Forks on the way to the culprit at which another is nearly as good. */
static unsigned count_questions(const struct investigation *v)
{
	unsigned questions = 0;

	for (uint32_t step = investigation_culprit_step(v); step; step = v->steps.items[step].parent) {
		const struct fork *fork = investigation_fork(v, step);
		uint8_t other = 0;

		for (unsigned i = 0; fork && i < fork->count; i++)
			if (i != fork->chosen && fork->suspects[i].confidence > other)
				other = fork->suspects[i].confidence;
		questions += other >= ASK_LEAST && other + ASK_NEAR >= fork->suspects[fork->chosen].confidence;
	}
	return questions;
}

/* Of the window something lies before the part of the trace that is looked at, and is not told by
 * what stands at the part's beginning. */
static bool begins_unseen(const struct investigation *v)
{
	uint64_t seen_from = v->scene->start_ns, unseen = 0;

	if (seen_from <= v->scene->reach_ns || seen_from >= v->request->to_ns)
		return false;
	for (size_t i = 0; i < v->pieces.length; i++)
		if (v->pieces.items[i].state == SPAN_UNKNOWN && v->pieces.items[i].start_ns < seen_from)
			unseen += v->pieces.items[i].end_ns - v->pieces.items[i].start_ns;
	return unseen > part_of(v->scene, LIMIT_next_to_nothing, v->request->to_ns - v->request->from_ns);
}

/* Of a hang that is too long to be looked at as a whole its end is: nobody is told to have done
 * nothing, or not to have been seen, in what was not looked at. */
static void begin(struct investigation *v, struct arena *arena, struct diagnoser *diagnoser, struct diagnose_request *request)
{
	uint64_t began_ns = 0;

	investigation_init(v, arena, diagnoser, request);
	investigation_walk(v);
	if (begins_unseen(v)) {
		began_ns = request->from_ns;
		request->from_ns = v->scene->start_ns;
		investigation_done(v);
		investigation_init(v, arena, diagnoser, request);
		investigation_walk(v);
	}
	v->d->began_ns = began_ns;
	v->d->verdict = judge(v);
}

unsigned diagnoser_way(struct diagnoser *diagnoser, const struct diagnose_request *request, uint32_t *threads, unsigned most)
{
	struct diagnose_request looked_at = *request;
	struct arena arena;
	struct investigation v;
	unsigned count = 0, depth = 0;
	uint32_t step;

	arena_init(&arena);
	begin(&v, &arena, diagnoser, &looked_at);
	step = investigation_culprit_step(&v);
	for (uint32_t at = step; at; at = v.steps.items[at].parent)
		depth++;
	for (uint32_t at = step; v.culprit; at = v.steps.items[at].parent, depth--) {
		if (depth < most) {
			threads[depth] = v.steps.items[at].thread;
			count++;
		}
		if (!at)
			break;
	}
	investigation_done(&v);
	arena_done(&arena);
	return count;
}

/* The thread that computed only looked at a flag again and again. */
static bool spins(const struct investigation *v)
{
	const struct account *c = v->culprit;

	if (!c || (c->state != SPAN_RUNNING && c->state != SPAN_RUNNABLE))
		return false;
	if (c->thread == v->request->thread)
		return v->d->verdict == VERDICT_YIELD;
	return diagnoser_spins(v->diagnoser, c->thread, c->first_ns, c->last_ns);
}

#define MOST_SPINNERS 4 /* each for the next */

struct diagnosis *diagnose(struct arena *arena, struct diagnoser *diagnoser, const struct diagnose_request *request)
{
	struct diagnose_request looked_at = *request;
	struct investigation v;

	begin(&v, arena, diagnoser, &looked_at);
	beam_search(&v);
	v.d->start_ns = looked_at.from_ns;
	v.d->end_ns = request->to_ns;
	v.d->ended_ns = request->ended_ns;
	describe_thread(&v.describer, request->thread, middle_of(looked_at.from_ns, request->to_ns), &v.d->victim);
	/* one that it looks to may spin in turn */
	for (uint32_t spinner = 0, before = 0, i = 0; i < MOST_SPINNERS && spins(&v); before = spinner, i++) {
		spinner = v.culprit->thread;
		if (!investigation_charge_spinning(&v, spinner, before))
			break;
	}
	if (investigation_looks(&v))
		investigation_charge_looking(&v);
	if (v.culprit) {
		blame(&v, v.culprit);
		collect_triggers(&v, v.culprit);
	}
	collect_circle(&v);
	certainty_judge(&v);
	collect_alternatives(&v);
	add_up(&v);
	answer_chain(&v.describer, &v.pieces, &v.steps, v.d);
	if (v.culprit) {
		v.d->questions = count_questions(&v);
		answer_path(&v.describer, &v.pieces, &v.steps, investigation_culprit_step(&v), v.d);
		answer_doings(&v.describer, &v.pieces, v.d);
	}
	collect_contrast(&v);
	answer_plan(&v.describer, v.d);
	answer_text(&v.describer, v.d);
	investigation_done(&v);
	return v.d;
}
