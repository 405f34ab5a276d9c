/* Which loops are hangs, see hangs_loop.h. */
#include "diagnose/hangs_loop.h"

#include <sys/wait.h>

#include "base/search.h"
#include "diagnose/broken_off.h"
#include "diagnose/hangs_work.h"
#include "diagnose/loops.h"
#include "diagnose/meeting.h"
#include "diagnose/serving.h"
#include "diagnose/spin_asked.h"
#include "diagnose/starved.h"

/* It looks whether what it has just started is ready, as it does not do all the time. */
static bool starts_up(const struct finder *f, const struct episode *e, uint32_t partner)
{
	const struct place *p = hangs_place_of(f, &f->scene->waits[e->last]);

	return partner && (!p || p->visits < limit_of(f->scene, LIMIT_looks)) &&
	       scene_descends_from(f->scene, partner, scene_pid(f->scene, f->thread)) &&
	       f->scene->tables->threads[partner].start_ns + limit_of(f->scene, LIMIT_look_ns) > e->start_ns;
}

/* What it looks for another program does, as far as is known. */
static bool looks_for_stranger(const struct finder *f, uint32_t partner)
{
	return partner && !scene_same_process(f->scene, partner, f->thread) &&
	       !scene_descends_from(f->scene, partner, scene_pid(f->scene, f->thread));
}

/* What it does between its sleeps is more than a look. */
static bool works_between(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	struct state_times times;

	if (!rule_holds(scene, RULE_works_between))
		return false;
	scene_state_times(scene, f->thread, e->start_ns, e->end_ns, &times);
	return times.ns[SPAN_RUNNING] > e->slices * limit_of(scene, LIMIT_piece_ns) &&
	       times.ns[SPAN_RUNNING] > part_of(scene, LIMIT_piece_share, e->end_ns - e->start_ns);
}

static bool looks_often(const struct finder *f, const struct episode *e)
{
	uint64_t ns = e->end_ns - e->start_ns;
	uint8_t confidence;
	uint32_t partner;

	if (f->scene->waits[e->last].kind == WAIT_KIND_yield || !loop_is(f->scene, e) ||
	    (!loop_backs_off(f->scene, e) &&
	     (e->slices < limit_of(f->scene, LIMIT_looks) || ns / e->slices > limit_of(f->scene, LIMIT_look_ns))))
		return false;
	if (f->options->pid)
		return true;
	if (hangs_awaited_ends(f->scene, e->start_ns, &f->scene->waits[e->last], ns / e->slices) || works_between(f, e))
		return false;
	partner = loop_partner(f->scene, f->thread, NULL, 0, e->start_ns, e->end_ns, &confidence);
	/* who paces itself looks for nothing: of a whole machine nobody says that this one does */
	if (!partner && (hangs_is_unattended(f) || (f->scene->judgement && f->scene->judgement->machine && rule_holds(f->scene, RULE_paces_itself))))
		return false;
	if (ns >= limit_of(f->scene, LIMIT_stranger_ns))
		return true;
	return !starts_up(f, e, partner) && !looks_for_stranger(f, partner);
}

/* It sleeps as long at other times, too, wherever in the program: that is its pace. */
static bool keeps_pace(const struct scene *scene, const struct episode *e)
{
	uint64_t pause = scene->waits[e->last].timeout_ns, slack = part_of(scene, LIMIT_edge, pause), slept = 0;

	for (uint32_t i = scene_waits_from(scene, e->thread, 0); i < scene_waits_end(scene, e->thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->kind == WAIT_KIND_sleep && (i < e->first || i > e->last) && w->timeout_ns + slack >= pause && w->timeout_ns <= pause + slack)
			slept += w->end_ns - w->start_ns;
	}
	return slept > part_of(scene, LIMIT_a_good_part, e->end_ns - e->start_ns);
}

/* It sleeps and looks at a slow pace, and ends that as one of its own program comes back. */
static bool looks_for_fellow(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint64_t ns = e->end_ns - e->start_ns;
	uint8_t confidence;
	uint32_t partner;

	if (!rule_holds(scene, RULE_looks_for_fellow) || scene->waits[e->last].kind != WAIT_KIND_sleep || !loop_is(scene, e) ||
	    ns < limit_of(scene, LIMIT_stranger_ns) || ns / e->slices > limit_of(scene, LIMIT_slow_look_ns) || works_between(f, e) ||
	    keeps_pace(scene, e))
		return false;
	partner = loop_partner(scene, f->thread, NULL, 0, e->start_ns, e->end_ns, &confidence);
	return partner && confidence >= limit_of(scene, LIMIT_partner_sure) && loop_is_fellow(scene, partner, f->thread);
}

/* It looked there for as long at other times, too: a clock, which ticks but for when there is work. */
static bool ticks(const struct finder *f, const struct place *p, uint64_t ns)
{
	uint64_t other = p->longest_ns > ns ? p->longest_ns : p->next_ns;

	return !f->options->pid && other > part_of(f->scene, LIMIT_a_good_part, ns);
}

/* A signal that ends programs was sent to it since: the loop would have gone on. */
static bool was_told_to_end(const struct finder *f, uint64_t since_ns)
{
	const struct scene *scene = f->scene;
	uint32_t low = 0, high = scene->signal_count;

	SEARCH(low, high, middle, scene->signals[middle].time < since_ns);
	for (uint32_t i = low; i < scene->signal_count && scene->signals[i].time <= scene->tables->threads[f->thread].end_ns; i++) {
		const struct sent_signal *s = &scene->signals[i];

		if (scene_same_process(scene, s->target, f->thread) && broken_off_ends_programs(s->signal))
			return true;
	}
	return false;
}

/* From when on and until when it is known. */
static uint64_t born_ns(const struct finder *f)
{
	uint64_t start = f->scene->tables->threads[f->thread].start_ns, since = f->scene->threads[f->thread].since_ns;

	return start > since ? start : since;
}

static uint64_t gone_ns(const struct finder *f)
{
	uint64_t end = f->scene->tables->threads[f->thread].end_ns;

	return end < f->scene->end_ns ? end : f->scene->end_ns;
}

/* It has looked so since it was up, until it was killed, or nobody knows how it goes on: it may do nothing else by design. */
bool hangs_looks_all_along(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct thread *t = &scene->tables->threads[f->thread];
	const struct place *p = hangs_place_of(f, &scene->waits[e->last]);
	const struct wait *first = &scene->waits[scene->threads[f->thread].wait];
	uint64_t born = born_ns(f), end = gone_ns(f);

	if (!rule_holds(scene, RULE_all_along) || !p ||
	    (t->end_ns <= scene->end_ns && !WIFSIGNALED(t->exit_code) && !was_told_to_end(f, e->start_ns)))
		return false;
	while (first->site != scene->waits[e->last].site)
		first++;
	return first->start_ns > born && first->start_ns - born <= part_of(scene, LIMIT_a_good_part, end - first->start_ns) &&
	       nearly_all(scene, p->total_ns, end - first->start_ns);
}

bool hangs_looks_in_vain(const struct finder *f, const struct episode *e)
{
	const struct place *p = hangs_place_of(f, &f->scene->waits[e->last]);
	uint64_t born = born_ns(f), end = gone_ns(f), evidence;

	if (!(f->leads || f->options->pid) || (f->scene->waits[e->last].kind == WAIT_KIND_child && !f->options->pid) || !looks_often(f, e))
		return false;
	/* a script that goes on with other things looked for something, whatever it did before */
	if (f->options->pid && f->scene->waits[e->last].kind == WAIT_KIND_child && e->end_ns < end)
		return true;
	if (p && end > born && !nearly_all(f->scene, p->total_ns, end - born) && (f->options->pid || !hangs_looks_all_along(f, e)) &&
	    !ticks(f, p, e->end_ns - e->start_ns))
		return true;
	return suspects_told_to_end(f->scene, e, &evidence);
}

/* Threads behind the first may loop until there is new work: what keeps that away is
 * another that computes. A script looks after what it started by design. */
static bool partner_counts(const struct finder *f, uint64_t from, uint64_t to, bool script)
{
	struct state_times times;
	uint8_t confidence;
	uint32_t partner = loop_partner(f->scene, f->thread, NULL, 0, from, to, &confidence);
	bool own;

	if (!partner || confidence < limit_of(f->scene, LIMIT_partner_sure) || (!f->leads && !scene_same_process(f->scene, partner, f->thread)))
		return false;
	own = scene_descends_from(f->scene, partner, scene_pid(f->scene, f->thread)) ||
	      f->scene->tables->threads[partner].parent_pid == scene_pid(f->scene, f->thread);
	if (own ? script : to - from < limit_of(f->scene, LIMIT_stranger_ns))
		return false;
	scene_state_times(f->scene, partner, from, to, &times);
	/* where many have work to do it takes its share */
	if (hangs_is_unattended(f))
		times.ns[SPAN_RUNNING] += times.ns[SPAN_RUNNABLE];
	return f->leads || !most_of(f->scene, times.ns[SPAN_RUNNING], to - from);
}

bool hangs_flag_came(const struct finder *f, const struct episode *e)
{
	const struct thread *t = &f->scene->tables->threads[f->thread];
	const struct wait *w = &f->scene->waits[e->last];
	const struct place *p = hangs_place_of(f, w);

	/* Whoever is killed, or still at it, may do nothing else by design; nor may who looks so all the time. */
	return (w->end == WAIT_END_TIMEOUT || w->kind == WAIT_KIND_child) && e->end_ns < f->scene->end_ns && e->end_ns < t->end_ns &&
	       (looks_often(f, e) || looks_for_fellow(f, e)) && !(hangs_is_unattended(f) && p && ticks(f, p, e->end_ns - e->start_ns)) &&
	       !(t->end_ns < e->end_ns + limit_of(f->scene, LIMIT_stranger_ns) && was_told_to_end(f, w->start_ns)) &&
	       partner_counts(f, e->start_ns, e->end_ns, w->kind == WAIT_KIND_child);
}

void hangs_longest_spin(const struct finder *f, uint64_t *from, uint64_t *to)
{
	const struct scene *scene = f->scene;
	uint32_t i = scene_waits_from(scene, f->thread, *from), wake = scene_wakes_from(scene, f->thread, *from);
	uint64_t begin = *from, best_from = *from, best_to = *from, end = *to;

	while (begin < end) {
		const struct wait *w;
		uint64_t asked = wake < scene_wakes_end(scene, f->thread) && scene->wakes[wake].time < end ? scene->wakes[wake].time : end, until;

		while (i < scene_waits_end(scene, f->thread) &&
		       (scene->waits[i].kind == WAIT_KIND_yield ||
			scene->waits[i].end_ns - scene->waits[i].start_ns <= limit_of(scene, LIMIT_look_ran_ns)))
			i++;
		w = i < scene_waits_end(scene, f->thread) && scene->waits[i].start_ns < asked ? &scene->waits[i] : NULL;
		until = w ? w->start_ns : asked;
		if (until > begin && until - begin > best_to - best_from) {
			best_from = begin;
			best_to = until;
		}
		begin = w ? w->end_ns : asked;
		i += w != NULL;
		wake += !w;
	}
	*from = best_from;
	*to = best_to;
}

bool hangs_spins(const struct finder *f, uint64_t running_ns, uint64_t *from, uint64_t *to)
{
	struct meeting_wait meeting;
	struct spin_asked asked;
	uint64_t begin, end;
	bool spins, asks;

	/* A pack tells that it waits for others, who are as late whichever thread it is. */
	if (meeting_spun(f->scene, f->thread, *from, *to, &meeting) &&
	    meeting.end_ns - meeting.start_ns >= hangs_long_ns(f, LIMIT_busy_ns)) {
		*from = meeting.start_ns;
		*to = meeting.end_ns;
		return true;
	}
	/* On a busy machine one that gives up the processor hardly runs. */
	asks = spin_asked_find(f->scene, f->thread, *from, *to, &asked);
	spins = (asks || running_ns > part_of(f->scene, LIMIT_spin_runs, *to - *from)) && diagnoser_spins(f->diagnoser, f->thread, *from, *to);

	/* Between two pieces of work it spins anew. */
	if (diagnoser_spin_window(f->diagnoser, f->thread, *from, *to, &begin, &end)) {
		uint64_t edge = part_of(f->scene, LIMIT_edge, *to - *from);

		/* samples tell where it ends to one of them */
		if (begin > *from + edge)
			*from = begin;
		if (end + edge < *to)
			*to = end;
		spins = true;
	}
	return spins && (f->leads || asks || partner_counts(f, *from, *to, false));
}

bool hangs_spins_for_load(const struct finder *f, uint64_t from, uint64_t to)
{
	uint32_t partner = diagnoser_spin_partner(f->diagnoser, f->thread, from, to);
	struct state_times times;
	struct starved starved;

	if (!partner)
		return false;
	scene_state_times(f->scene, partner, from, to, &times);
	if (!most_of(f->scene, times.ns[SPAN_RUNNABLE], to - from))
		return false;
	return !starved_judge(f->scene, partner, from, to, &starved);
}

/* For how long it was there, as far as is seen. */
static uint64_t life_ns(const struct scene *scene, const struct thread *t)
{
	uint64_t born = t->start_ns > scene->start_ns ? t->start_ns : scene->start_ns, died = t->end_ns < scene->end_ns ? t->end_ns : scene->end_ns;

	return died > born ? died - born : 0;
}

/* A signal, not what it looked for, ended the sleep behind the last. */
static bool broken_off(const struct scene *scene, const struct retries *r)
{
	const struct wait *last = &scene->waits[r->last];

	for (uint32_t i = r->last + 1; i < scene_waits_end(scene, last->thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->start_ns > r->end_ns + limit_of(scene, LIMIT_look_ns))
			break;
		if (w->kind == WAIT_KIND_sleep && w->site == last->site)
			return w->cause == WAKE_CAUSE_signal || scene_ended_by_signal(scene, w);
	}
	return false;
}

/* From its first sleep at that place to the last: one that took longer between two of them went on with the same. */
static uint64_t sleeps_there_ns(const struct scene *scene, uint32_t sleep)
{
	const struct wait *w = &scene->waits[sleep];
	uint32_t first = scene->threads[w->thread].wait, last = scene_waits_end(scene, w->thread) - 1;

	while (scene->waits[first].site != w->site)
		first++;
	while (scene->waits[last].site != w->site)
		last--;
	return scene->waits[last].end_ns - scene->waits[first].start_ns;
}

/* The next sleep of the same row behind that one; the last has none. */
static uint32_t next_sleep(const struct scene *scene, const struct retries *r, uint32_t at)
{
	while (++at <= r->last && (scene->waits[at].kind != WAIT_KIND_sleep || scene->waits[at].site != scene->waits[r->last].site))
		;
	return at;
}

/* Each sleep is as long as it likes, some shorter than the one before: who tries again sleeps as long, or longer each time. */
static bool sleeps_at_random(const struct scene *scene, const struct retries *r)
{
	uint32_t first = scene_waits_from(scene, scene->waits[r->last].thread, r->start_ns), shorter = 0, pairs = 0;

	if (first > scene->threads[scene->waits[r->last].thread].wait && scene->waits[first - 1].start_ns == r->start_ns)
		first--;
	for (uint32_t at = first, next; (next = next_sleep(scene, r, at)) <= r->last; at = next) {
		uint64_t before = scene->waits[at].timeout_ns, now = scene->waits[next].timeout_ns;

		pairs += before && now;
		shorter += before > now && before - now > part_of(scene, LIMIT_shorter_by, before);
	}
	return pairs && shorter * 100 >= pairs * limit_of(scene, LIMIT_shorter_again);
}

/* Each command that it ran meanwhile ended well, the last as those before. */
static bool commands_end_well(const struct scene *scene, const struct retries *r)
{
	uint32_t thread = scene->waits[r->last].thread, commands = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->creator != thread || t->tid != t->pid || t->start_ns < r->start_ns || t->start_ns > r->end_ns)
			continue;
		if (t->exit_code || t->end_ns > scene->end_ns)
			return false;
		commands++;
	}
	return commands + 1 >= r->count && commands >= limit_of(scene, LIMIT_tries) / 2;
}

/* Where nobody asks: it is not known to try in vain. */
static bool gets_on(const struct finder *f, const struct retries *r)
{
	return rule_holds(f->scene, RULE_gets_on) && hangs_is_left_alone(f) && (sleeps_at_random(f->scene, r) || commands_end_well(f->scene, r));
}

bool hangs_retries(const struct finder *f, uint32_t sleep, struct retries *ret_retries)
{
	const struct scene *scene = f->scene;
	const struct thread *t = &scene->tables->threads[f->thread];
	uint64_t look_ns = limit_of(scene, LIMIT_look_ns), stranger_ns = limit_of(scene, LIMIT_stranger_ns);
	bool lockstep;

	if (!f->leads || !loop_retries(scene, sleep, ret_retries) || ret_retries->end_ns - ret_retries->start_ns < stranger_ns ||
	    (ret_retries->end_ns - ret_retries->start_ns) / ret_retries->count > look_ns + look_ns / 10)
		return false;
	/* Whoever is killed, or still at it, may do nothing else by design. */
	if (ret_retries->end_ns + stranger_ns / 10 >= scene->end_ns && t->end_ns > scene->end_ns)
		return false;
	if (broken_off(scene, ret_retries) || (t->end_ns <= ret_retries->end_ns + look_ns && was_told_to_end(f, ret_retries->start_ns)))
		return false;
	if (f->options->pid)
		return true;
	if (hangs_awaited_ends(scene, ret_retries->start_ns, &scene->waits[ret_retries->last],
			       (ret_retries->end_ns - ret_retries->start_ns) / ret_retries->count))
		return false;
	/* What it does all the time it does by design, unless another does so in step with it. */
	return loop_retry_partner(scene, ret_retries, &lockstep) &&
	       (lockstep || (!nearly_all(scene, sleeps_there_ns(scene, sleep), life_ns(scene, t)) && !gets_on(f, ret_retries)));
}

static bool is_vain(const struct finder *f, const struct wait *w)
{
	return w->kind == WAIT_KIND_futex && w->end == WAIT_END_THREAD && !w->timeout_ns && scene_same_process(f->scene, w->waker, f->thread);
}

/* Who woke it woke others of its process with it: what came may have been for one of them. */
static bool woken_among_others(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	uint64_t near = limit_of(scene, LIMIT_vain_look_ns);

	for (uint32_t i = scene_wakes_from(scene, w->waker, w->end_ns > near ? w->end_ns - near : 0);
	     i < scene_wakes_end(scene, w->waker) && scene->wakes[i].time <= w->end_ns + near; i++)
		if (scene->wakes[i].target != f->thread && scene_same_process(scene, scene->wakes[i].target, f->thread))
			return true;
	return false;
}

/* What it waits for is then that its process's threads get on. */
static bool process_works(const struct finder *f, uint64_t from, uint64_t to)
{
	uint64_t ran = 0;

	SCENE_EACH_MATE(f->scene, f->thread, i) {
		struct state_times times;

		if (i == f->thread)
			continue;
		scene_state_times(f->scene, i, from, to, &times);
		ran += times.ns[SPAN_RUNNING];
	}
	return ran > part_of(f->scene, LIMIT_vain_work, to - from);
}

/* The wait goes on with the row that ended then. */
static bool goes_on(const struct finder *f, const struct wait *w, uint64_t end_ns)
{
	return w->start_ns - end_ns <= limit_of(f->scene, LIMIT_vain_look_ns) || nearly_none(f->scene, w->start_ns - end_ns, w->end_ns - end_ns);
}

/* The waits of such a row, of which most of the time was ended by waking others, too. */
static bool is_vain_row(const struct finder *f, uint32_t first, uint32_t end)
{
	const struct wait *waits = f->scene->waits;
	uint64_t vain = 0;

	for (uint32_t i = first; i < end && end - first >= limit_of(f->scene, LIMIT_vain_wakes); i++)
		vain += woken_among_others(f, &waits[i]) ? waits[i].end_ns - waits[i].start_ns : 0;
	return vain && most_of(f->scene, vain, waits[end - 1].end_ns - waits[first].start_ns);
}

bool hangs_woken_in_vain(const struct finder *f, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	const struct scene *scene = f->scene;
	const struct thread *t = &scene->tables->threads[f->thread];
	uint64_t born = t->start_ns > scene->start_ns ? t->start_ns : scene->start_ns, died = t->end_ns < scene->end_ns ? t->end_ns : scene->end_ns;
	uint32_t first = scene->threads[f->thread].wait, end = scene_waits_end(scene, f->thread);
	uint64_t total = 0, longest = 0;

	for (uint32_t i = first; f->leads && i <= end; i++) {
		bool vain = i < end && is_vain(f, &scene->waits[i]);
		uint64_t length;

		if (vain && i > first && goes_on(f, &scene->waits[i], scene->waits[i - 1].end_ns))
			continue;
		length = is_vain_row(f, first, i) ? scene->waits[i - 1].end_ns - scene->waits[first].start_ns : 0;
		total += length;
		if (length > longest) {
			longest = length;
			*ret_from_ns = scene->waits[first].start_ns;
			*ret_to_ns = scene->waits[i - 1].end_ns;
		}
		first = vain ? i : i + 1;
	}
	return longest && longest >= hangs_long_ns(f, LIMIT_vain_ns) && died > born && !nearly_all(scene, longest, died - born) &&
	       total - longest <= part_of(scene, LIMIT_a_good_part, longest) && (f->options->pid || !process_works(f, *ret_from_ns, *ret_to_ns));
}

static bool is_as_long(const struct scene *scene, uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= part_of(scene, LIMIT_edge, a);
}

/* Since when it has done nothing but to look, moments that broke the row of looks aside. */
static uint64_t looks_since(const struct scene *scene, const struct hang *hang)
{
	uint32_t first = scene->threads[hang->thread].wait, i = scene_waits_from(scene, hang->thread, hang->start_ns);
	uint64_t since = hang->start_ns, sleeps = i < scene_waits_end(scene, hang->thread) ? scene->waits[i].timeout_ns : 0;

	while (i-- > first && scene->waits[i].kind == WAIT_KIND_sleep && is_as_long(scene, scene->waits[i].timeout_ns, sleeps) &&
	       scene->waits[i].end_ns + limit_of(scene, LIMIT_look_queued_ns) >= since)
		since = scene->waits[i].start_ns;
	return since;
}

bool hangs_looks_since_birth(const struct scene *scene, const struct hang *hang)
{
	uint64_t born = serving_born(scene, hang->thread), from = looks_since(scene, hang), to = hang->end_ns;
	/* of one that looked so as the recording began it is not known since when */
	bool stood = from <= scene->reach_ns + limit_of(scene, LIMIT_standing_slack_ns);

	if (!born || born > from)
		return false;
	return stood ? most_of(scene, to - from, to - born) : from - born <= part_of(scene, LIMIT_a_good_part, to - from);
}
