/* Work as a hang, see hangs_busy.h. */
#include "diagnose/hangs_busy.h"

#include "base/search.h"
#include "diagnose/hangs_loop.h"
#include "diagnose/spin_asked.h"
#include "diagnose/starved.h"

void hangs_offer_piece(struct finder *f, enum rule_id rule, uint64_t from, uint64_t to, uint64_t least_ns)
{
	if (rule_holds(f->scene, rule))
		vec_push(&f->hangs, ((struct hang){ .thread = f->thread, .start_ns = from, .end_ns = to, .rule = rule, .weight = rule_infos[rule].weight,
						    .least_ns = least_ns }));
}

static bool begins_before(const struct finder *f, uint64_t from)
{
	return f->options->goes_before && from <= f->scene->start_ns;
}

/* How long it must be with its other pieces, 0: it is long enough. False when it is too short, and there is no more of it. */
static bool is_long(const struct finder *f, enum limit_id usual, uint64_t from, uint64_t to, uint64_t *ret_least_ns)
{
	uint64_t long_ns = hangs_long_ns(f, usual);

	*ret_least_ns = to - from < long_ns ? long_ns : 0;
	return !*ret_least_ns || (to > from && (begins_before(f, from) || (f->options->goes_on && to >= f->scene->end_ns)));
}

/* ---- silence ---- */

/* True when something was sent to the thread during the stretch that it read only
 * behind it, long after. */
static bool left_unread(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[f->thread];

	for (uint32_t i = scene_messages_from(scene, f->thread, to), n = 0; i < t->messages.count && n < 20; i++, n++) {
		const struct message m = scene_message(scene, t->messages.items[i]);
		const struct row *row = m.flags & MESSAGE_FLAGS_receive ? scene_channel(scene, m.channel) : NULL;

		if (m.time > to + 100000000)
			break;
		for (uint32_t j = row ? scene_channel_from(scene, row, from) : 0; row && j < row->count; j++) {
			const struct message sent = scene_message(scene, row->items[j]);

			if (sent.time + limit_of(scene, LIMIT_wait_ns) >= to)
				break;
			if (!(sent.flags & MESSAGE_FLAGS_receive) && sent.result > 0)
				return true;
		}
	}
	return false;
}

/* A computation that is shared out among threads of the process: a batch, not stuck. */
static bool works_together(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;

	SCENE_EACH_MATE(scene, f->thread, i) {
		struct state_times times;

		if (i == f->thread)
			continue;
		scene_state_times(scene, i, from, to, &times);
		if (most_of(f->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], to - from) &&
		    times.ns[SPAN_RUNNING] * 100 > limit_of(f->scene, LIMIT_helper_runs) * (to - from))
			return true;
	}
	return false;
}

/* A stretch in which the thread gave no sign of life to anybody. */
static void judge_silence(struct finder *f, enum rule_id rule, uint64_t from, uint64_t to)
{
	uint64_t own_ns = hangs_own_work_ns(f, LIMIT_busy_ns), least_ns;
	struct state_times times;

	if (!is_long(f, LIMIT_busy_ns, from, to, &least_ns))
		return;
	if (least_ns)
		own_ns = (uint64_t)((double)own_ns * (double)(to - from) / (double)least_ns);
	scene_state_times(f->scene, f->thread, from, to, &times);
	if (!nearly_all(f->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], to - from))
		return;
	/* On a busy machine much takes long; its own work must be long too. */
	if (times.ns[SPAN_RUNNING] < own_ns)
		return;
	/* Looking at a flag is no work. */
	if (times.ns[SPAN_RUNNABLE] > times.ns[SPAN_RUNNING] &&
	    times.ns[SPAN_RUNNING] * diagnoser_work_share(f->diagnoser, f->thread, from, to) / 100 < own_ns)
		return;
	if (rule_holds(f->scene, RULE_unread) && left_unread(f, from, to))
		hangs_offer_piece(f, RULE_unread, from, to, least_ns);
	else if (f->leads && (rule == RULE_silent_turn || !works_together(f, from, to)))
		hangs_offer_piece(f, rule, from, to, least_ns);
}

bool hangs_is_sign(const struct scene *scene, const struct wake *k)
{
	return !scene_same_process(scene, k->waker, k->target) && !scene_is_system(scene, k->target);
}

/* The first sign of life from then on; the stretch's end, where there is none in it. */
static uint64_t first_sign(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	const struct row *messages = &scene->threads[f->thread].messages;
	uint32_t message = scene_messages_from(scene, f->thread, from);

	for (uint32_t i = scene_wakes_from(scene, f->thread, from); i < scene_wakes_end(scene, f->thread) && scene->wakes[i].time < to; i++)
		if (hangs_is_sign(scene, &scene->wakes[i]))
			to = scene->wakes[i].time;
	if (message < messages->count && scene->messages[messages->items[message]].time < to)
		to = scene->messages[messages->items[message]].time;
	return to;
}

/* Wake-ups of other processes and messages are signs of life; between them is silence. Signs
 * are many, so each step goes to the last one that comes before a silence would be
 * long. */
void hangs_silences(struct finder *f, enum rule_id rule, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	const struct row *messages = &scene->threads[f->thread].messages;
	uint32_t wake = scene_wakes_from(scene, f->thread, from), message = scene_messages_from(scene, f->thread, from);
	uint64_t usual = hangs_long_ns(f, LIMIT_busy_ns), previous = from, next = from;

	if (begins_before(f, from))
		judge_silence(f, rule, from, first_sign(f, from, to));
	for (; previous < to && next < to; previous = next) {
		uint64_t limit = to - previous < usual ? to : previous + (usual ? usual : 1), last = previous;
		uint32_t wakes_end = scene_wakes_end(scene, f->thread), high = wakes_end, before = wake;

		SEARCH(wake, high, middle, scene->wakes[middle].time < limit);
		for (uint32_t i = wake; i > before; i--)
			if (hangs_is_sign(scene, &scene->wakes[i - 1])) {
				last = scene->wakes[i - 1].time;
				break;
			}
		before = message;
		high = messages->count;
		SEARCH(message, high, middle, scene->messages[messages->items[middle]].time < limit);
		if (message > before && scene->messages[messages->items[message - 1]].time > last)
			last = scene->messages[messages->items[message - 1]].time;
		next = last;
		if (last > previous)
			continue;
		while (wake < wakes_end && !hangs_is_sign(scene, &scene->wakes[wake]))
			wake++;
		next = to;
		if (wake < wakes_end && scene->wakes[wake].time < next)
			next = scene->wakes[wake].time;
		if (message < messages->count && scene->messages[messages->items[message]].time < next)
			next = scene->messages[messages->items[message]].time;
		judge_silence(f, rule, previous, next);
	}
}

/* ---- processor time ---- */

/* A machine with too much to do is slow for all; starved is who is kept off by one
 * thread or by a quota. */
static bool is_kept_off(const struct finder *f, uint64_t from, uint64_t to, bool *ret_by_quota)
{
	struct starved starved;

	if (!starved_judge(f->scene, f->thread, from, to, &starved))
		return false;
	*ret_by_quota = most_of(f->scene, starved.throttled_ns, starved.runnable_ns);
	if (*ret_by_quota)
		return true;
	if (!f->options->pid && f->scene->tables->threads[f->thread].prio >= limit_of(f->scene, LIMIT_gives_way) &&
	    !most_of(f->scene, starved.raised_ns, starved.runnable_ns))
		return false;
	/* Where many have work to do, one behind all of them, as builds in the background are, is slow by design. */
	return !hangs_is_unattended(f) || most_of(f->scene, starved.hog_ns, starved.runnable_ns);
}

bool hangs_has_clients(const struct finder *f)
{
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, f->thread));

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_role(f->ends, ends_at(f->ends, row, i)->at.object) >= END_SERVER)
			return true;
	return false;
}

bool hangs_serves_others(const struct finder *f, uint64_t from)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	const struct wait *w = &f->scene->waits[scene_waits_from(f->scene, f->thread, from)];

	if (w-- > &f->scene->waits[t->wait] && w->end == WAIT_END_THREAD && !hangs_told_by_parent(f, w) && !scene_same_process(f->scene, w->waker, f->thread) &&
	    w->kind != WAIT_KIND_child && w->kind != WAIT_KIND_vfork && w->kind != WAIT_KIND_kernel_lock && !scene_is_pipe(w->object) &&
	    !scene_is_system(f->scene, w->waker))
		return true;
	return hangs_has_clients(f);
}

/* For a good part of the time it let times pass, one after the other, as in its rounds: then it did not spin all along. */
static bool sleeps_between(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	uint64_t slept = 0;

	for (uint32_t i = scene_waits_from(scene, f->thread, from); i < scene_waits_end(scene, f->thread) && scene->waits[i].end_ns <= to; i++)
		if (scene->waits[i].kind == WAIT_KIND_sleep)
			slept += scene->waits[i].end_ns - scene->waits[i].start_ns;
	return slept > part_of(scene, LIMIT_a_good_part, to - from);
}

/* A stretch in which the thread ran, or could have, without a wait of any length. */
static void judge_stretch(struct finder *f, uint64_t from, uint64_t to)
{
	struct state_times times;
	enum limit_id usual = f->options->pid ? LIMIT_wait_ns : LIMIT_busy_ns;
	uint64_t spin_from = from, spin_to = to, long_ns = hangs_long_ns(f, usual), least_ns, spin_least_ns;
	bool by_quota = false, asks;
	struct spin_asked asked;

	if (!is_long(f, LIMIT_starved_ns, from, to, &least_ns))
		return;
	hangs_longest_spin(f, &spin_from, &spin_to);
	/* It looks for another's answer, which is as late as if it waited for that; and for another one each time. */
	asks = spin_asked_find(f->scene, f->thread, spin_from, spin_to, &asked);
	if (asks && rule_holds(f->scene, RULE_spins_late) && spin_asked_is_late(f->scene, f->thread, &asked)) {
		usual = LIMIT_wait_ns;
		long_ns = hangs_long_ns(f, usual);
	}
	if (!asks && spin_to - spin_from < long_ns && !sleeps_between(f, from, to) &&
	    (to - from >= long_ns || !is_long(f, usual, spin_from, spin_to, &spin_least_ns))) {
		spin_from = from;
		spin_to = to;
	}
	scene_state_times(f->scene, f->thread, spin_from, spin_to, &times);
	if (hangs_spins(f, times.ns[SPAN_RUNNING], &spin_from, &spin_to) && is_long(f, usual, spin_from, spin_to, &spin_least_ns)) {
		if (!hangs_spins_for_load(f, spin_from, spin_to))
			hangs_offer_piece(f, RULE_spins, spin_from, spin_to, spin_least_ns);
		return;
	}
	scene_state_times(f->scene, f->thread, from, to, &times);
	if (times.ns[SPAN_RUNNABLE] * 100 > limit_of(f->scene, LIMIT_runnable) * (to - from) && is_kept_off(f, from, to, &by_quota)) {
		hangs_offer_piece(f, RULE_starved, from, to, least_ns);
		if (by_quota && rule_holds(f->scene, RULE_starved))
			f->hangs.items[f->hangs.length - 1].weight = (uint32_t)limit_of(f->scene, LIMIT_quota_weight);
		return;
	}
	if (!hangs_is_unattended(f) || hangs_serves_others(f, from))
		hangs_silences(f, RULE_computes, from, to);
}

void hangs_stretches(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	uint64_t begin = 0;
	bool open = false;

	scene_need_spans(f->scene, f->thread);
	for (uint32_t i = 0; i <= t->span_count; i++, scene_need_spans(f->scene, f->thread)) {
		const struct span *s = &t->spans[i];
		bool breaks = i == t->span_count || s->state == SPAN_ABSENT || s->state == SPAN_UNKNOWN ||
			      ((s->state == SPAN_WAITING || s->state == SPAN_STOPPED) && span_end(s) - s->start_ns > limit_of(f->scene, LIMIT_pause_ns));

		if (!open && !breaks) {
			open = true;
			begin = s->start_ns;
		} else if (open && breaks) {
			open = false;
			judge_stretch(f, begin, s->start_ns);
		}
	}
}
