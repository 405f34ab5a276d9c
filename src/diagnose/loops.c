/* Whom a loop waits for, see loops.h. */
#include "diagnose/loops.h"

#include <string.h>

#include "diagnose/judgement.h"

#define MOST_WAITS_GONE 4096u

/* What ended it was the child's being stopped, or going on: nothing was looked at. */
static bool was_only_told(const struct wait *w)
{
	return w->kind == WAIT_KIND_child && (w->cause == WAKE_CAUSE_signal || w->cause == WAKE_CAUSE_timer);
}

uint32_t loop_times(const struct scene *scene, const struct episode *episode)
{
	uint32_t looks = episode->slices;

	for (uint32_t i = episode->first; scene->waits[episode->last].kind == WAIT_KIND_child && i < episode->last && looks > 1; i++)
		looks -= was_only_told(&scene->waits[i]);
	return looks;
}

/* Asked of each wait of a loop: no more of them is looked at than is needed. */
static bool looks_so_often(const struct scene *scene, const struct episode *episode, uint64_t least)
{
	uint64_t looks = 1;

	if (episode->slices < least || scene->waits[episode->last].kind != WAIT_KIND_child)
		return episode->slices >= least;
	for (uint32_t i = episode->first; i < episode->last && looks < least; i++)
		looks += scene->waits[i].kind == WAIT_KIND_child && !was_only_told(&scene->waits[i]);
	return looks >= least;
}

bool loop_is(const struct scene *scene, const struct episode *episode)
{
	const struct wait *w = &scene->waits[episode->last];

	/* Waits for children are one only where each child only sleeps. */
	return (w->kind == WAIT_KIND_sleep || w->kind == WAIT_KIND_yield || w->kind == WAIT_KIND_child) &&
	       looks_so_often(scene, episode, limit_of(scene, LIMIT_loop_looks));
}

bool loop_backs_off(const struct scene *scene, const struct episode *episode)
{
	uint64_t before = 0;
	uint32_t grew = 0;

	if (!rule_holds(scene, RULE_backs_off_for) || scene->waits[episode->last].kind != WAIT_KIND_sleep)
		return false;
	for (uint32_t i = episode->first; i <= episode->last; i++) {
		const struct wait *w = &scene->waits[i];

		if (w->kind != WAIT_KIND_sleep)
			continue;
		if (!w->timeout_ns || w->timeout_ns < before)
			return false;
		grew += before && w->timeout_ns >= part_of(scene, LIMIT_backs_off_more, before);
		before = w->timeout_ns;
	}
	return grew >= limit_of(scene, LIMIT_grows);
}

bool loop_is_short(const struct scene *scene, const struct episode *episode)
{
	const struct wait *first = &scene->waits[episode->first], *last = &scene->waits[episode->last];
	const struct wait *over = last->end == WAIT_END_OPEN ? first : last;

	return last->kind == WAIT_KIND_sleep && episode->slices == 2 && first->kind == last->kind &&
	       last->start_ns - first->start_ns + limit_of(scene, LIMIT_standing_slack_ns) >= limit_of(scene, LIMIT_wait_ns) &&
	       (over->end == WAIT_END_TIMEOUT || wait_slept_out(over));
}

bool loop_looks_away(const struct scene *scene, const struct wait *wait)
{
	switch (wait->kind) {
	case WAIT_KIND_sleep:
	case WAIT_KIND_child:
		return !loop_is(scene, &scene->episodes[wait->episode]);
	case WAIT_KIND_stop:
	case WAIT_KIND_vfork:
	case WAIT_KIND_file_lock:
	case WAIT_KIND_fuse:
	case WAIT_KIND_supervised:
	case WAIT_KIND_open:
	case WAIT_KIND_block_io:
	case WAIT_KIND_sync:
	case WAIT_KIND_kernel_lock:
	case WAIT_KIND_fault:
	case WAIT_KIND_write:
		return true;
	case WAIT_KIND_futex:
		return wait->hint != 0;
	case WAIT_KIND_read:
		return scene_is_pipe(wait->object) || object_kind(wait->object) == OBJECT_KIND_timerfd;
	case WAIT_KIND_poll:
		return wait->argument == 1 && object_kind(wait->detail) == OBJECT_KIND_timerfd;
	default:
		return false;
	}
}

/* The thread's longest wait in the stretch in which it did not listen for work, and
 * when that ended, 0 never: who is away several times may just tick. */
static uint64_t away_ns(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to, uint64_t *ret_end_ns)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *e = scene_episode(scene, thread, from);
	uint64_t away = 0;

	*ret_end_ns = 0;
	for (; e && e < scene->episodes + t->episode + t->episode_count && e->start_ns < to; e++) {
		const struct wait *w = &scene->waits[e->last];
		uint64_t begin = e->start_ns > from ? e->start_ns : from, end = e->end_ns < to ? e->end_ns : to;

		if (end <= begin + away || !loop_looks_away(scene, w))
			continue;
		away = end - begin;
		*ret_end_ns = w->end == WAIT_END_OPEN ? 0 : e->end_ns;
	}
	return away;
}

/* Near a moment of the loop, by the share of its time. */
static uint64_t near_ns(const struct scene *scene, enum limit_id share, uint64_t whole_ns)
{
	return part_of(scene, share, whole_ns) + limit_of(scene, LIMIT_change_ns);
}

/* It ended, came back from where it was, or went to rest, as the loop was about to
 * end: not behind it, as all threads do when their process ends. */
static bool changed_with(const struct scene *scene, uint32_t thread, uint64_t away_until_ns, uint64_t from, uint64_t to, uint64_t late)
{
	uint64_t early = near_ns(scene, LIMIT_next_to_nothing, to - from), begin = to - from > early ? to - early : from;
	uint64_t end = scene->tables->threads[thread].end_ns;
	const struct episode *e = scene_episode(scene, thread, begin);

	if (end >= begin && end <= late)
		return true;
	if (away_until_ns >= begin && away_until_ns <= late)
		return true;
	return e && e->start_ns >= begin && e->start_ns <= late && !loop_looks_away(scene, &scene->waits[e->last]);
}

static uint32_t parent_of(const struct scene *scene, uint32_t thread)
{
	const struct tables *tables = scene->tables;
	const struct thread *t = &tables->threads[thread];
	uint32_t first = tables_process(tables, t->pid, t->start_ns);
	const struct thread *leader = first ? &tables->threads[first] : t;

	if (leader->creator)
		return tables_process(tables, tables->threads[leader->creator].pid, leader->start_ns);
	return leader->parent_pid > 1 ? tables_process(tables, leader->parent_pid, leader->start_ns) : 0;
}

/* True when some process a few generations back started both, or the one the other. */
static bool are_kin(const struct scene *scene, uint32_t a, uint32_t b)
{
	uint64_t generations = limit_of(scene, LIMIT_kin);

	for (unsigned i = 0; a && i <= generations; i++, a = parent_of(scene, a)) {
		uint32_t other = b;

		for (unsigned j = 0; other && j <= generations; j++, other = parent_of(scene, other))
			if (scene_same_process(scene, a, other))
				return !scene_is_system(scene, a);
	}
	return false;
}

/* It began to wait as the loop began, no matter for what. */
static bool went_with(const struct episode *e, uint64_t from_ns, uint64_t slack)
{
	return e->start_ns + slack >= from_ns && e->start_ns <= from_ns + slack;
}

/* The one's wait, in which it was at the time, was ended by the other. */
static bool waited_for(const struct scene *scene, uint32_t thread, uint32_t other, uint64_t time)
{
	const struct episode *e = scene_episode(scene, thread, time);
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	return w && w->end == WAIT_END_THREAD && scene_same_process(scene, w->waker, other);
}

/* It was woken by the other behind the stretch, and had waited since before its middle. */
static bool waits_for(const struct scene *scene, uint32_t thread, uint32_t other, uint64_t middle_ns, uint64_t to_ns)
{
	const struct episode *e = scene_episode(scene, thread, middle_ns);
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	return w && w->end == WAIT_END_THREAD && w->waker == other && e->start_ns <= middle_ns && e->end_ns + limit_of(scene, LIMIT_change_late_ns) >= to_ns;
}

#define MOST_BEHIND 8u

bool loop_waits_behind(const struct scene *scene, uint32_t thread, uint32_t looking, uint64_t time)
{
	for (unsigned i = 0; thread && i < MOST_BEHIND && rule_holds(scene, RULE_behind_looker); i++) {
		const struct episode *e = scene_episode(scene, thread, time);
		const struct wait *w = e && e->start_ns <= time && e->end_ns > time ? &scene->waits[e->last] : NULL;

		if (!w || w->end != WAIT_END_THREAD)
			return false;
		if (w->waker == looking)
			return true;
		thread = w->waker;
	}
	return false;
}

/* It left the place where it rests before the loop had begun, whatever it did then, and came
 * back there, or ended, as the loop was about to end. *ret_back_ns: when. */
static bool was_gone(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint64_t begin_ns, uint64_t *ret_back_ns)
{
	const struct thread *t = &scene->tables->threads[thread];
	uint32_t first = scene->threads[thread].wait, back = scene_waits_from(scene, thread, begin_ns), least;

	if (back == scene_waits_end(scene, thread) || scene->waits[back].start_ns > to_ns)
		return false;
	*ret_back_ns = scene->waits[back].start_ns;
	if (t->start_ns > from_ns)
		return false;
	least = back - first > MOST_WAITS_GONE ? back - MOST_WAITS_GONE : first;
	for (uint32_t i = back; i-- > least; )
		if (scene->waits[i].site == scene->waits[back].site)
			return scene->waits[i].end_ns <= from_ns;
	return false;
}

/* In one wait, in which it may not have listened for work, all the time, and then it went on. */
static bool was_held(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint64_t begin_ns, uint64_t slack,
		     bool with_it, uint64_t *ret_back_ns)
{
	const struct episode *e = scene_episode(scene, thread, begin_ns);
	uint32_t away;

	if (!e || e->start_ns > from_ns + slack || !(with_it ? went_with(e, from_ns, slack) : loop_looks_away(scene, &scene->waits[e->last])))
		return false;
	/* Two sleeps in a row are no loop yet. */
	for (away = e->first; away < e->last && scene->waits[away].end_ns < begin_ns; )
		away++;
	*ret_back_ns = scene->waits[away].end_ns;
	return scene->waits[away].end_ns >= begin_ns && scene->waits[away].end_ns <= to_ns && scene->waits[away].start_ns <= from_ns + slack &&
	       scene->waits[away].end != WAIT_END_OPEN;
}

/* At one place again and again all the time, and elsewhere, where it had not been before, just as
 * the loop was about to end. */
static bool left_place(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint64_t begin_ns, uint64_t *ret_back_ns)
{
	uint32_t first = scene->threads[thread].wait, next = scene_waits_from(scene, thread, begin_ns);
	const struct wait *old = &scene->waits[next - 1];
	uint64_t stayed = 0;

	if (next == first || next == scene_waits_end(scene, thread) || scene->waits[next].start_ns > to_ns || old->end_ns < begin_ns ||
	    scene->waits[next].ustack == old->ustack || !old->ustack || !scene->waits[next].ustack)
		return false;
	*ret_back_ns = old->end_ns;
	for (uint32_t i = next; i-- > first && next - i < MOST_WAITS_GONE && scene->waits[i].end_ns > from_ns; ) {
		const struct wait *w = &scene->waits[i];

		if (w->ustack == scene->waits[next].ustack)
			return false;
		if (w->ustack == old->ustack)
			stayed += w->end_ns - (w->start_ns > from_ns ? w->start_ns : from_ns);
	}
	return stayed > part_of(scene, LIMIT_a_good_part, begin_ns - from_ns);
}

bool loop_is_fellow(const struct scene *scene, uint32_t partner, uint32_t thread)
{
	const struct tables *tables = scene->tables;
	const struct thread *own = &tables->threads[thread], *its = &tables->threads[partner];

	for (uint64_t i = 0; partner && i <= limit_of(scene, LIMIT_kin) && its->pid != own->pid; i++) {
		if (!strcmp(its->comm, own->comm) && own->exe[0] && !strcmp(its->exe, own->exe) && !scene_descends_from(scene, thread, its->pid))
			return true;
		partner = parent_of(scene, partner);
		its = &tables->threads[partner];
	}
	return false;
}

enum absence { WAS_AWAY, WENT_WITH_IT, LEFT_PLACE };

/* Of other processes: one that was away all the time, and came back as the loop looked
 * for the last time, after `begin`; of several the last. 0 when there is none. */
static uint32_t one_came_back(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint64_t begin, enum absence absence,
			      bool fellows, bool *ret_alone)
{
	const struct tables *tables = scene->tables;
	uint64_t slack = near_ns(scene, LIMIT_edge, to_ns - from_ns), found_ns = 0;
	uint32_t found = 0;

	*ret_alone = true;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		uint64_t back_ns;

		if (scene_is_system(scene, i) || scene_same_process(scene, i, thread) || tables->threads[i].start_ns > from_ns + slack ||
		    tables->threads[i].end_ns < begin)
			continue;
		if (absence == LEFT_PLACE ? !left_place(scene, i, from_ns + slack, to_ns, begin, &back_ns)
					  : !(absence == WAS_AWAY && was_gone(scene, i, from_ns + slack, to_ns, begin, &back_ns)) &&
						    !was_held(scene, i, from_ns, to_ns, begin, slack, absence == WENT_WITH_IT, &back_ns))
			continue;
		if (!are_kin(scene, thread, i) || loop_waits_behind(scene, i, thread, begin) || (fellows && !loop_is_fellow(scene, i, thread)))
			continue;
		/* Who waited for that one came back with it. */
		if (found && (scene_descends_from(scene, i, scene_pid(scene, found)) || waited_for(scene, found, i, begin)))
			found = 0;
		else if (found && (scene_descends_from(scene, found, scene_pid(scene, i)) || waited_for(scene, i, found, begin)))
			continue;
		*ret_alone = !found;
		if (!found || back_ns > found_ns) {
			found = i;
			found_ns = back_ns;
		}
	}
	return found;
}

/* The only one that the other let go on then, which had been stopped all the time: that one could not do its part; 0 none, or several. */
static uint32_t let_go_on(const struct scene *scene, uint32_t thread, uint32_t other, uint64_t from_ns, uint64_t begin)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < scene->thread_count && rule_holds(scene, RULE_let_go_on); i++) {
		const struct episode *e = scene_is_system(scene, i) ? NULL : scene_episode(scene, i, begin);
		const struct wait *w = e && e->start_ns <= from_ns && e->end_ns >= begin ? &scene->waits[e->last] : NULL;

		if (!w || w->kind != WAIT_KIND_stop || w->end != WAIT_END_THREAD || w->waker != other || scene_same_process(scene, i, thread) ||
		    (found && scene_same_process(scene, i, found)) || !are_kin(scene, thread, i))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* One that waited for what may be anything counts where nobody else does, and so does, at last,
 * one that was at something else all the time. */
static uint32_t came_back(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint64_t begin, bool *ret_alone)
{
	uint32_t found = 0, stopped;

	*ret_alone = true;
	/* one that runs the same program comes before others: the two try for the same */
	if (rule_holds(scene, RULE_looks_for_fellow))
		found = one_came_back(scene, thread, from_ns, to_ns, begin, WAS_AWAY, true, ret_alone);
	if (!*ret_alone)
		found = 0;
	for (enum absence absence = WAS_AWAY; !found && absence <= LEFT_PLACE; absence++)
		found = one_came_back(scene, thread, from_ns, to_ns, begin, absence, false, ret_alone);
	stopped = found ? let_go_on(scene, thread, found, from_ns + near_ns(scene, LIMIT_edge, to_ns - from_ns), begin) : 0;
	return stopped ? stopped : found;
}

/* When a loop looked for the last time but one. */
static uint64_t last_look(const struct scene *scene, const struct wait *last)
{
	return last->start_ns - near_ns(scene, LIMIT_a_good_part, last->end_ns - last->start_ns);
}

/* How likely the thread is the one that the loop waits for: one that could not do its part, most. */
static uint64_t score_of(const struct scene *scene, const struct state_times *times, uint64_t away_ns)
{
	return part_of(scene, LIMIT_could_not_counts, times->ns[SPAN_RUNNABLE] + times->ns[SPAN_STOPPED]) +
	       part_of(scene, LIMIT_ran_counts, times->ns[SPAN_RUNNING]) + part_of(scene, LIMIT_away_counts, away_ns) +
	       part_of(scene, LIMIT_waited_counts, times->ns[SPAN_WAITING]);
}

static bool is_one_of(const uint32_t *threads, unsigned count, uint32_t thread)
{
	for (unsigned i = 0; i < count; i++)
		if (threads[i] == thread)
			return true;
	return false;
}

/* When, behind `begin_ns`, the thread turned to what it is at, to the end; 0: before, or it comes and goes, rests or looks itself. */
static uint64_t turned_ns(const struct scene *scene, uint32_t thread, uint64_t begin_ns)
{
	const struct wait *w = scene_stands_until(scene, thread, scene->end_ns);
	uint32_t at = scene_waits_from(scene, thread, begin_ns);
	struct state_times times;

	if (w)
		return !w->idle && !wait_is_loop_rest(w) && w->end == WAIT_END_OPEN && loop_looks_away(scene, w) ? scene->episodes[w->episode].start_ns : 0;
	if (at == scene_waits_end(scene, thread) || scene->waits[at].end_ns <= begin_ns)
		return 0;
	scene_state_times(scene, thread, scene->waits[at].end_ns, scene->end_ns, &times);
	return nearly_all(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], scene->end_ns - scene->waits[at].end_ns) ? scene->waits[at].end_ns : 0;
}

/* Of others of its kin the first that turned to something just as it began to look, and is at it to the end, as it looks to the end; 0 none. */
static uint32_t turned_then(const struct scene *scene, const struct episode *loop, const uint32_t *waiting, unsigned count)
{
	uint64_t pause = (loop->end_ns - loop->start_ns) / loop->slices, begin = loop_first(scene, loop)->start_ns, first_ns = UINT64_MAX;
	uint64_t slack = near_ns(scene, LIMIT_edge, scene->end_ns - begin);
	uint32_t found = 0;

	if (!rule_holds(scene, RULE_turned_then) || begin <= scene->start_ns + pause)
		return 0;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];
		uint64_t at;

		if (scene_is_system(scene, i) || scene_same_process(scene, i, loop->thread) || is_one_of(waiting, count, i) || t->end_ns < scene->end_ns ||
		    t->start_ns > begin || !are_kin(scene, loop->thread, i))
			continue;
		at = turned_ns(scene, i, begin);
		if (at < begin || at > begin + slack || at >= first_ns)
			continue;
		found = i;
		first_ns = at;
	}
	return found;
}

uint32_t loop_partner(const struct scene *scene, uint32_t thread, const uint32_t *waiting, unsigned count, uint64_t from_ns, uint64_t to_ns,
		      uint8_t *ret_confidence)
{
	const struct tables *tables = scene->tables;
	const struct episode *ends = scene_episode(scene, thread, to_ns - 1);
	/* One that spins sees the change before the other has even gone on. */
	bool sleeps = ends && (loop_is(scene, ends) || loop_is_short(scene, ends));
	uint64_t late = sleeps ? to_ns : to_ns + limit_of(scene, LIMIT_change_late_ns);
	uint64_t best_score = 0, window = to_ns - from_ns;
	uint32_t best = 0;

	for (uint32_t i = 1; i < tables->thread_count; i++) {
		bool own = tables->threads[i].pid == tables->threads[thread].pid;
		struct state_times times;
		uint64_t score, away, away_until;

		if (i == thread || is_one_of(waiting, count, i) || (!own && tables->threads[i].parent_pid != tables->threads[thread].pid))
			continue;
		if (tables->threads[i].start_ns > to_ns || tables->threads[i].end_ns < from_ns ||
		    waits_for(scene, i, thread, from_ns + window / 2, to_ns))
			continue;
		scene_state_times(scene, i, from_ns, to_ns, &times);
		away = away_ns(scene, i, from_ns, to_ns, &away_until);
		score = score_of(scene, &times, away);
		if (to_ns < scene->end_ns && most_of(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] + away, window) &&
		    changed_with(scene, i, away_until, from_ns, to_ns, late))
			score += window;
		if (!own)
			score = part_of(scene, LIMIT_child_counts, score);
		if (score > best_score) {
			best_score = score;
			best = i;
		}
	}
	*ret_confidence = (uint8_t)limit_of(scene, best_score > window ? LIMIT_flag_known : LIMIT_flag_guess);
	if (best_score <= window && to_ns < scene->end_ns) {
		uint64_t begin = sleeps ? last_look(scene, &scene->waits[ends->last]) : to_ns - near_ns(scene, LIMIT_next_to_nothing, window);
		bool alone;
		uint32_t other = came_back(scene, thread, from_ns, to_ns, begin, &alone);

		if (other) {
			*ret_confidence = (uint8_t)limit_of(scene, alone ? LIMIT_flag_came_back : LIMIT_flag_one_of_several);
			return other;
		}
	} else if (best_score <= window && sleeps) {
		uint32_t other = turned_then(scene, ends, waiting, count);

		if (other) {
			*ret_confidence = (uint8_t)limit_of(scene, LIMIT_flag_turned);
			return other;
		}
	}
	return best;
}

static bool near(uint64_t a, uint64_t b, uint64_t slack)
{
	return a > b ? a - b <= slack : b - a <= slack;
}

/* The wait that the wake-up ended, as one who listens for work; NULL none. */
static const struct wait *ended_by(const struct scene *scene, const struct wake *k)
{
	uint32_t next = scene_waits_from(scene, k->target, k->time);
	const struct wait *w = next > scene->threads[k->target].wait ? &scene->waits[next - 1] : NULL;

	return w && w->end_event == k->number && !loop_looks_away(scene, w) ? w : NULL;
}

/* One loop may sleep at several places, as an interpreter does that translates it meanwhile: sleeps as long, with
 * nothing but a look between them. */
static bool goes_on(const struct scene *scene, const struct episode *a, const struct episode *b)
{
	const struct wait *v = &scene->waits[a->last], *w = &scene->waits[b->last];
	uint64_t pause = (a->end_ns - a->start_ns) / a->slices, slack = part_of(scene, LIMIT_edge, pause);

	return v->kind == w->kind && v->end == WAIT_END_TIMEOUT && b->start_ns - a->end_ns <= slack &&
	       near((b->end_ns - b->start_ns) / b->slices, pause, slack) &&
	       scene_wakes_from(scene, a->thread, a->end_ns) == scene_wakes_from(scene, a->thread, b->start_ns);
}

const struct episode *loop_first(const struct scene *scene, const struct episode *loop)
{
	const struct episode *first = scene->episodes + scene->threads[loop->thread].episode;

	while (loop > first && goes_on(scene, loop - 1, loop))
		loop--;
	return loop;
}

uint32_t loop_asked(const struct scene *scene, const struct episode *loop, uint64_t *ret_event, uint64_t *ret_begin_ns)
{
	const struct episode *end = scene->episodes + scene->threads[loop->thread].episode + scene->threads[loop->thread].episode_count;
	const struct wait *last;

	loop = loop_first(scene, loop);
	*ret_begin_ns = loop->start_ns;
	while (loop + 1 < end && goes_on(scene, loop, loop + 1))
		loop++;
	last = &scene->waits[loop->last];
	for (uint32_t i = scene_wakes_from(scene, loop->thread, *ret_begin_ns); i-- > scene->threads[loop->thread].wake; ) {
		const struct wake *k = &scene->wakes[i];
		const struct wait *rest;
		uint32_t back;

		if (k->time + limit_of(scene, LIMIT_asked_before_ns) < *ret_begin_ns)
			return 0;
		rest = scene_is_system(scene, k->target) || scene_same_process(scene, k->target, loop->thread) ? NULL : ended_by(scene, k);
		if (!rest)
			continue;
		for (back = scene_waits_from(scene, k->target, k->time); back < scene_waits_end(scene, k->target); back++)
			if (scene->waits[back].site == rest->site)
				break;
		if (back < scene_waits_end(scene, k->target)
			    ? scene->waits[back].start_ns < last->start_ns || scene->waits[back].start_ns > loop->end_ns
			    : loop->end_ns < scene->end_ns)
			continue;
		*ret_event = k->number;
		return k->target;
	}
	return 0;
}

/* ---- retries ---- */

#define MOST_STEPS 200000      /* waits looked at */

/* Goes on over the thread's waits in one direction. */
static void extend(const struct scene *scene, uint32_t sleep, bool forward, struct retries *r)
{
	const struct wait *w = &scene->waits[sleep];
	uint32_t first = scene->threads[w->thread].wait, end = scene_waits_end(scene, w->thread), at = sleep;
	uint64_t pause = (w->end_ns - w->start_ns) / 2 + limit_of(scene, LIMIT_tries_pause_ns);

	for (unsigned i = 0; i < MOST_STEPS; i++) {
		const struct wait *next;

		if (forward ? at + 1 >= end : at <= first)
			return;
		at = forward ? at + 1 : at - 1;
		next = &scene->waits[at];
		if (forward ? next->start_ns > r->end_ns + pause : next->end_ns + pause < r->start_ns)
			return;
		if (next->kind != WAIT_KIND_sleep || next->site != w->site || next->end != WAIT_END_TIMEOUT)
			continue;
		r->count++;
		if (forward) {
			r->end_ns = next->end_ns;
			r->last = at;
		} else {
			r->start_ns = next->start_ns;
		}
	}
}

bool loop_retries(const struct scene *scene, uint32_t sleep, struct retries *ret_retries)
{
	const struct wait *w = &scene->waits[sleep];
	struct retries r = { .start_ns = w->start_ns, .end_ns = w->end_ns, .last = sleep, .count = 1 };

	if (w->kind != WAIT_KIND_sleep || w->end != WAIT_END_TIMEOUT)
		return false;
	extend(scene, sleep, true, &r);
	extend(scene, sleep, false, &r);
	*ret_retries = r;
	return r.count >= limit_of(scene, LIMIT_tries);
}

uint32_t loop_retry_partner(const struct scene *scene, const struct retries *retries, bool *ret_lockstep)
{
	uint32_t thread = scene->waits[retries->last].thread;
	uint64_t slack = part_of(scene, LIMIT_edge, retries->end_ns - retries->start_ns);
	uint32_t other;
	bool alone;

	*ret_lockstep = true;
	SCENE_EACH_MATE(scene, thread, i) {
		uint32_t at = scene_waits_from(scene, i, retries->start_ns + slack), end = scene_waits_end(scene, i);
		struct retries its;

		if (i == thread)
			continue;
		while (at < end && scene->waits[at].kind != WAIT_KIND_sleep && scene->waits[at].start_ns < retries->end_ns)
			at++;
		if (at < end && loop_retries(scene, at, &its) && near(its.start_ns, retries->start_ns, slack) &&
		    near(its.end_ns, retries->end_ns, slack) && near(its.count, retries->count, part_of(scene, LIMIT_tries_alike, retries->count)))
			return i;
	}
	*ret_lockstep = false;
	other = came_back(scene, thread, retries->start_ns, retries->end_ns, last_look(scene, &scene->waits[retries->last]), &alone);
	return alone ? other : 0;
}
