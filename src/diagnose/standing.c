/* See standing.h. */
#include "diagnose/standing.h"

#include <signal.h>
#include <stdlib.h>

#include "diagnose/closed.h"
#include "diagnose/diagnoser.h"
#include "diagnose/group_limit.h"
#include "diagnose/kernel_place.h"
#include "diagnose/leads.h"
#include "diagnose/looked_at.h"
#include "diagnose/loops.h"
#include "diagnose/one_time.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/polled_one.h"
#include "diagnose/serving.h"
#include "diagnose/shared_word.h"
#include "diagnose/standing_doubt.h"
#include "diagnose/standing_unasked.h"
#include "diagnose/suspects.h"
#include "diagnose/watched.h"
#include "diagnose/word_lock.h"

#define WHOLE_PERCENT 90     /* of the look, so much of it in one state is all of it */
#define HALF_PERCENT 50

const char *const standing_reasons[] = {
	[STANDING_MOVES] = "it is not stuck: it runs and waits by turns", [STANDING_RESTS] = "it waits for work",
	[STANDING_WAITS] = "what it waits for does not come", [STANDING_LOCKED] = "it waits for a lock",
	[STANDING_CLOSED] = "all threads of its process wait for nothing but each other",
	[STANDING_KERNEL] = "a wait inside the kernel does not end", [STANDING_STOPPED] = "it is stopped",
	[STANDING_LOOKS] = "it looks again and again for something", [STANDING_RUNS] = "it computes, or spins, without a pause",
	[STANDING_STARVED] = "it could run and is given no processor",
};

/* ---- what a wait is ---- */

static bool ends_in_kernel(uint8_t kind)
{
	return kind == WAIT_KIND_vfork || kind == WAIT_KIND_fuse || kind == WAIT_KIND_file_lock || kind == WAIT_KIND_kernel_lock ||
	       kind == WAIT_KIND_block_io || kind == WAIT_KIND_sync || kind == WAIT_KIND_open || kind == WAIT_KIND_fault ||
	       kind == WAIT_KIND_supervised;
}

static bool has_owner(const struct wait *w)
{
	switch (w->hint_kind) {
	case HINT_KIND_mutex_owner:
	case HINT_KIND_pi_owner:
	case HINT_KIND_rwlock_writer:
	case HINT_KIND_file_lock_owner:
	case HINT_KIND_lock_owner:
	case HINT_KIND_interpreter_lock:
		return w->hint != 0;
	case HINT_KIND_owner_gone:
		return true;
	}
	return false;
}

/* By what a listener, a clock or a person sends. */
static bool brings_work(const struct scene *scene, const struct ends *ends, uint64_t object)
{
	switch (object_kind(object)) {
	case OBJECT_KIND_tty:
	case OBJECT_KIND_inotify:
	case OBJECT_KIND_timerfd:
	case OBJECT_KIND_signalfd:
	case OBJECT_KIND_netlink:
	case OBJECT_KIND_fuse:
		return true;
	case OBJECT_KIND_udp:
	case OBJECT_KIND_unix_dgram:
		return !ends_asks_by_datagram(scene, ends, object);
	case OBJECT_KIND_socket:
		return true; /* anybody may send */
	}
	return ends_role(ends, object) == END_LISTENER || ends_role(ends, object) == END_SERVER;
}

/* By its own process alone. */
static bool is_rung_inside(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t object)
{
	const struct thread *t = &scene->tables->threads[w->thread];

	return t->tid != t->pid && rule_holds(scene, RULE_loop_asks) && own_ends_has_both(ends, object, t->pid);
}

/* The set that is listened to is the one found last; one alone is awaited like a read. */
static bool set_brings_work(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint32_t count = 0, inside = 0, bells = 0, children = 0;
	bool for_children = w->kind == WAIT_KIND_epoll && !w->timeout_ns && rule_holds(scene, RULE_own_children);
	uint64_t newest = 0;
	int32_t first = 0;

	for (uint32_t i = 0; i < scene->poll_item_count; i++) {
		const struct poll_item *item = &scene->poll_items[i];
		bool mine = w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_uring ? item->set == w->object && item->set
										     : !item->set && item->pid == scene_tid(scene, w->thread);

		if (!mine)
			continue;
		if (item->time > newest + 1000000000u || (count && item->fd == first))
			count = inside = bells = children = 0;
		bells += for_children && own_ends_has_both(ends, item->object, scene_pid(scene, w->thread));
		children += for_children && own_ends_children_have(scene, ends, w->thread, item->object);
		inside += is_rung_inside(scene, ends, w, item->object);
		first = count++ ? first : item->fd;
		newest = item->time;
		if (item->object && brings_work(scene, ends, item->object))
			return true;
	}
	if (w->kind == WAIT_KIND_epoll && ends_set_role(ends, w->object) >= END_SERVER)
		return true;
	if (!count && w->kind == WAIT_KIND_poll)
		return w->argument > 2 || brings_work(scene, ends, w->detail);
	if (children && bells + children == count)
		return false;
	return count > 2 || (count && inside == count);
}

static enum standing_kind kind_of_wait(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	const struct thread *t = &scene->tables->threads[w->thread];

	if (w->kind == WAIT_KIND_stop)
		return STANDING_STOPPED;
	if (w->idle)
		return STANDING_RESTS;
	if (has_owner(w))
		return STANDING_LOCKED;
	if (ends_in_kernel(w->kind))
		return STANDING_KERNEL;
	switch (w->kind) {
	case WAIT_KIND_none:
	case WAIT_KIND_worker:
	case WAIT_KIND_sleep:
	case WAIT_KIND_accept:
	case WAIT_KIND_signal:
	case WAIT_KIND_exit:
		return STANDING_RESTS;
	case WAIT_KIND_throttled:
		return STANDING_STARVED;
	case WAIT_KIND_poll:
	case WAIT_KIND_epoll:
	case WAIT_KIND_uring:
		return set_brings_work(scene, ends, w) ? STANDING_RESTS : STANDING_WAITS;
	case WAIT_KIND_read:
		return brings_work(scene, ends, w->object) || is_rung_inside(scene, ends, w, w->object) ? STANDING_RESTS : STANDING_WAITS;
	case WAIT_KIND_futex:
		if (!w->timeout_ns && !word_shared(ends, w) && closed_process(scene, t->pid, scene->end_ns - 1))
			return STANDING_CLOSED;
		if (leads_in_rest(scene, w))
			return STANDING_RESTS;
		/* pools wait for work by their condition variables */
		return t->tid == t->pid || w->hint_kind == HINT_KIND_thread_exit ? STANDING_WAITS : STANDING_RESTS;
	}
	return STANDING_WAITS;
}

/* A wait in slices tells its owner in one of them. */
static enum standing_kind kind_of_episode(const struct scene *scene, const struct ends *ends, const struct episode *e)
{
	const struct wait *w = &scene->waits[e->last];
	enum standing_kind kind = kind_of_wait(scene, ends, w);

	return w->kind == WAIT_KIND_futex && (kind == STANDING_WAITS || kind == STANDING_RESTS) && e->slices > 1 && !w->idle &&
	       has_owner(scene_slice_with_owner(scene, e, scene->end_ns)) ? STANDING_LOCKED : kind;
}

static const char *rest_reason(const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_sleep:
		return "it sleeps for a time of its own choice";
	case WAIT_KIND_signal:
		return "it waits for a signal";
	case WAIT_KIND_exit:
		return "it has ended";
	case WAIT_KIND_futex:
		if (w->hint_kind == HINT_KIND_thread_exit)
			return "it waits for the end of its other threads";
		break;
	}
	if (object_kind(w->object) == OBJECT_KIND_tty || (w->kind == WAIT_KIND_poll && object_kind(w->detail) == OBJECT_KIND_tty))
		return "it waits for a person at its terminal";
	return standing_reasons[STANDING_RESTS];
}

/* ---- what a thread does ---- */

/* Without one wait that lasts: by where the time of the stretch went. */
static enum standing_kind kind_of_times(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t look = to_ns - from_ns;
	struct state_times times;

	scene_state_times(scene, thread, from_ns, to_ns, &times);
	if (times.ns[SPAN_STOPPED] * 100 >= look * WHOLE_PERCENT)
		return STANDING_STOPPED;
	if (times.ns[SPAN_RUNNABLE] * 100 >= look * HALF_PERCENT && times.ns[SPAN_RUNNABLE] > 4 * times.ns[SPAN_RUNNING])
		return STANDING_STARVED;
	if ((times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE]) * 100 >= look * WHOLE_PERCENT)
		return STANDING_RUNS;
	const struct wait *last = scene_last_wait(scene, thread);

	if (last && loop_is(scene, &scene->episodes[last->episode]) && times.ns[SPAN_WAITING] * 2 > look)
		return STANDING_LOOKS;
	return STANDING_MOVES;
}

/* It did the same before the look, where more than that was seen. */
static uint64_t go_back(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t look, enum standing_kind kind)
{
	const struct thread *t = &scene->tables->threads[thread];
	uint64_t first = t->start_ns > scene->start_ns ? t->start_ns : scene->start_ns;

	if (kind != STANDING_RUNS && kind != STANDING_STARVED && kind != STANDING_STOPPED)
		return from_ns;
	while (from_ns >= first + look && kind_of_times(scene, thread, from_ns - look, from_ns) == kind)
		from_ns -= look;
	return from_ns;
}

/* It never got the lock that it looks for, itself or by its children, and who has it is known. */
static bool is_refused_all_along(const struct scene *scene, const struct episode *e, uint64_t from_ns)
{
	const struct wait *w = &scene->waits[e->last];
	const struct file_lock *refused;
	uint64_t begin, end;

	if (!rule_holds(scene, RULE_refused_all_along))
		return false;
	if (w->kind == WAIT_KIND_child)
		return suspects_refused_children(scene, e->thread, from_ns, scene->end_ns) != NULL;
	refused = suspects_refused_lock(scene, w, from_ns, scene->end_ns);
	if (!refused || !refused->blocker)
		return false;
	suspects_refused_longest(scene, refused, from_ns, scene->end_ns, &begin, &end);
	return nearly_all(scene, end - begin, scene->end_ns - from_ns);
}

/* Of a daemon a signal may end such a wait. */
static bool is_dead_command(const struct scene *scene, uint32_t thread)
{
	return rule_holds(scene, RULE_dead_command) && owed_command(scene, thread) &&
	       closed_for_ever(scene, scene_pid(scene, thread), scene->end_ns - 1);
}

/* A command's wait for a word that nobody who lives can change, nor one to come. */
static bool is_lost_command(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t begin_ns)
{
	bool named;

	return owed_command(scene, w->thread) && word_lost(scene, ends, w, begin_ns, &named) && !named;
}

/* Another is known to be in its way, or should have ended its wait. */
static bool is_owed(const struct diagnoser *diagnoser, const struct standing *s, const struct episode *e, uint64_t begin_ns)
{
	const struct scene *scene = diagnoser->scene;
	const struct wait *w = &scene->waits[e->last];

	switch (s->kind) {
	case STANDING_WAITS:
		return is_dead_command(scene, s->thread) || is_lost_command(scene, &diagnoser->ends, w, begin_ns) ||
		       owed_by_now(scene, &diagnoser->ends, w, begin_ns) || owed_leaves_windows(scene, &diagnoser->ends, w, begin_ns);
	case STANDING_RESTS:
		return owed_to_loop(scene, &diagnoser->ends, w, begin_ns);
	case STANDING_LOOKS:
		return is_refused_all_along(scene, e, begin_ns);
	case STANDING_CLOSED:
		return is_dead_command(scene, s->thread);
	case STANDING_MOVES:
	case STANDING_LOCKED:
	case STANDING_KERNEL:
	case STANDING_STOPPED:
	case STANDING_RUNS:
	case STANDING_STARVED:
		return false;
	}
	return false;
}

/* A young program does one thing: it most likely did that since it began. A wait with a time limit may be one of a row. */
static uint64_t earliest(const struct scene *scene, const struct ends *ends, const struct standing *s, const struct wait *w)
{
	uint64_t born = serving_born(scene, s->thread), asked = own_ends_asked_ns(scene, ends, w);

	if (asked && asked < s->since_ns)
		return asked;
	if (!born || born >= s->since_ns || !rule_holds(scene, RULE_one_thing))
		return s->since_ns;
	if (s->exactly && (!w->timeout_ns || w->timeout_ns >= scene->end_ns - born))
		return s->since_ns;
	return scene->end_ns - born <= limit_of(scene, LIMIT_young_ns) ? born : s->since_ns;
}

/* It waited, nobody saw for what, until its own time limit, or a look at nothing, let it wait again: most likely there, too. */
static bool is_unseen_before(const struct scene *scene, uint32_t thread, const struct episode *e, uint64_t from_ns, uint64_t to_ns)
{
	struct state_times times;

	if (!e || e->start_ns <= from_ns || e->end_ns < to_ns || !most_of(scene, to_ns - e->start_ns, to_ns - from_ns) || !scene->waits[e->last].timeout_ns)
		return false;
	for (const struct episode *before = e; before > scene->episodes + scene->threads[thread].episode && before[-1].end_ns > from_ns; before--)
		if (scene->waits[before[-1].last].kind > WAIT_KIND_other)
			return false;
	scene_state_times(scene, thread, from_ns, e->start_ns, &times);
	return nearly_all(scene, times.ns[SPAN_UNKNOWN] + times.ns[SPAN_WAITING], e->start_ns - from_ns);
}

/* It may write to a frozen file system only when that is thawed. */
static bool is_frozen_out(const struct diagnoser *diagnoser, const struct wait *w)
{
	return w->state == TASK_STATE_blocked && rule_holds(diagnoser->scene, RULE_frozen_unasked) &&
	       kernel_place_of_wait(diagnoser->names, diagnoser->scene->tables, w) == KERNEL_PLACE_FROZEN;
}

/* It listens to a loop where its process asked before, and has got nothing: threads of its process take turns there, or a clock of its own lets it
 * come and go. */
static bool asked_in_turn(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t *ret_asked_ns)
{
	const struct scene *scene = diagnoser->scene;
	const struct wait *w = scene_stands_until(scene, thread, scene->end_ns);

	*ret_asked_ns = w ? own_ends_asked_in_loop(scene, &diagnoser->ends, w) : 0;
	return *ret_asked_ns && *ret_asked_ns < from_ns;
}

/* It looked whether something had come over one thing, again and again, all through the look: that is what it waits for. */
static void judge_polling(struct diagnoser *diagnoser, uint64_t from, struct standing *ret)
{
	const struct scene *scene = diagnoser->scene;
	uint64_t look = scene->end_ns - from;
	struct state_times times;
	struct polled_one polled;
	const struct wait *w;

	if (!polled_one_find(scene, ret->thread, scene->end_ns, &polled) || polled.begin_ns > from + look * (100 - HALF_PERCENT) / 100)
		return;
	scene_state_times(scene, ret->thread, from, scene->end_ns, &times);
	w = &scene->waits[polled.wait];
	if (times.ns[SPAN_WAITING] * 2 <= look || kind_of_wait(scene, &diagnoser->ends, w) != STANDING_WAITS)
		return;
	ret->kind = STANDING_WAITS;
	ret->polls = polled.wait;
	ret->since_ns = ret->early_ns = polled.begin_ns;
	ret->last_ns = polled.recent_ns > polled.begin_ns ? polled.recent_ns : 0;
	ret->early_ns = earliest(scene, &diagnoser->ends, ret, w);
	ret->owed = is_owed(diagnoser, ret, &scene->episodes[w->episode], from);
}

const struct wait *standing_wait(const struct scene *scene, const struct standing *s)
{
	return s->polls ? &scene->waits[s->polls] : scene_last_wait(scene, s->thread);
}

/* All through the look the thread was in waits of one episode, or in one kind of state. */
void standing_of(struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, struct standing *ret)
{
	const struct scene *scene = diagnoser->scene;
	const struct thread *t = &scene->tables->threads[thread];
	uint64_t begin = from_ns > scene->start_ns ? from_ns : scene->start_ns, from = t->start_ns > begin ? t->start_ns : begin;
	uint64_t to = scene->end_ns, look = to - from, asked;
	const struct episode *e = scene_episode(scene, thread, to ? to - 1 : 0);

	*ret = (struct standing){ .thread = thread, .since_ns = from };
	if (t->end_ns < to || from >= to || look * 2 < to - begin)
		goto out;
	bool unseen = is_unseen_before(scene, thread, e, from, to);

	if (e && (unseen || e->start_ns <= from + look * (100 - WHOLE_PERCENT) / 100) && e->end_ns >= to) {
		const struct wait *w = &scene->waits[e->last], *first = &scene->waits[e->first];

		ret->since_ns = e->slices > 1 && first->start_ns > begin ? begin : first->start_ns;
		ret->exactly = e->slices == 1 && !unseen;
		ret->kind = loop_is(scene, e) || suspects_tries_for_lock(scene, e) || looked_at_once(scene, thread, from, to)
				    ? STANDING_LOOKS
				    : kind_of_episode(scene, &diagnoser->ends, e);
		if (is_frozen_out(diagnoser, w))
			ret->kind = STANDING_KERNEL;
		ret->owed = is_owed(diagnoser, ret, e, begin);
		ret->kind = ret->owed && ret->kind == STANDING_RESTS ? STANDING_WAITS : ret->kind;
		ret->dead = ret->owed && (is_dead_command(scene, thread) || is_lost_command(scene, &diagnoser->ends, w, begin));
		/* a disk that is busy serves one piece after the other: that is slow at most, but not where it may serve no more */
		ret->blocked = ret->kind == STANDING_KERNEL && (e->slices == 1 || group_limit_of_device(scene, thread, begin)) && w->kind != WAIT_KIND_vfork &&
			       (w->state == TASK_STATE_blocked || w->state == TASK_STATE_killable);
		ret->early_ns = earliest(scene, &diagnoser->ends, ret, w);
		if (ret->owed && w->kind == WAIT_KIND_epoll && owed_asked_since(scene, w) < ret->early_ns)
			ret->early_ns = owed_asked_since(scene, w);
		if (ret->kind == STANDING_RESTS)
			ret->reason = rest_reason(w);
	} else {
		ret->kind = kind_of_times(scene, thread, from, to);
		ret->since_ns = go_back(scene, thread, from, look, ret->kind);
		if (ret->kind == STANDING_MOVES && asked_in_turn(diagnoser, thread, from, &asked)) {
			ret->kind = STANDING_WAITS;
			ret->since_ns = ret->early_ns = asked;
			ret->last_ns = e->start_ns;
			ret->owed = is_owed(diagnoser, ret, e, begin);
		}
		if (ret->kind == STANDING_MOVES || ret->kind == STANDING_LOOKS)
			judge_polling(diagnoser, from, ret);
		if (ret->kind == STANDING_LOOKS) {
			const struct wait *w = &scene->waits[scene_waits_end(scene, thread) - 1];

			ret->owed = is_owed(diagnoser, ret, &scene->episodes[w->episode], begin);
			ret->early_ns = earliest(scene, &diagnoser->ends, ret, w);
		}
	}
out:
	if (!ret->early_ns)
		ret->early_ns = ret->since_ns;
	if (!ret->reason)
		ret->reason = standing_reasons[ret->kind];
}

/* ---- which of them to tell of ---- */

/* For a word of its own process. */
static bool waits_unowned(const struct scene *scene, uint32_t thread)
{
	const struct wait *w = scene_last_wait(scene, thread);

	/* who only awaits the end of another waits for what that one waits for */
	if (w && w->kind == WAIT_KIND_futex && w->hint && w->hint_kind == HINT_KIND_thread_exit && w->hint != thread &&
	    scene_same_process(scene, w->hint, thread) && rule_holds(scene, RULE_joins_unowned))
		w = scene_last_wait(scene, w->hint);
	return w && w->kind == WAIT_KIND_futex && w->argument & WAIT_FUTEX_PRIVATE && !w->hint;
}

/* Before the look began, and nothing has come since. */
static bool has_asked(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns)
{
	const struct scene *scene = diagnoser->scene;
	const struct wait *w = rule_holds(scene, RULE_asked_tells) ? scene_stands_until(scene, thread, scene->end_ns) : NULL;
	uint64_t asked = w ? own_ends_asked_ns(scene, &diagnoser->ends, w) : 0;

	asked = w && !asked ? own_ends_asked_in_loop(scene, &diagnoser->ends, w) : asked;
	return asked && asked < from_ns;
}

/* Which thread of a process tells most about its being stuck. */
static unsigned telling(const struct scene *scene, const struct standing *s)
{
	static const unsigned worth[] = {
		[STANDING_MOVES] = 0, [STANDING_RESTS] = 1, [STANDING_RUNS] = 3, [STANDING_WAITS] = 6, [STANDING_LOOKS] = 7,
		[STANDING_STARVED] = 8, [STANDING_KERNEL] = 9, [STANDING_CLOSED] = 10, [STANDING_LOCKED] = 10, [STANDING_STOPPED] = 11,
	};
	const struct thread *t = &scene->tables->threads[s->thread];
	unsigned value = worth[s->kind];

	/* it may do well: who is known to be stuck tells more */
	if (s->answered)
		return value;

	/* The first thread is meant where it is stuck itself, unless another waits for what was asked, and nobody keeps for whom the first one waits; else
	 * the one that stands for it, unless more is known of another. */
	if (t->tid == t->pid)
		return value > 1 ? value + (s->kind == STANDING_WAITS && waits_unowned(scene, s->thread) ? 10 : 12) : value;
	if (s->asked && s->kind == STANDING_WAITS)
		return value + 11;
	return s->kind == STANDING_WAITS && rule_holds(scene, RULE_lead_asked) && leads_process(scene, s->thread) ? value + 3 : value;
}

static bool is_better(const struct scene *scene, const struct standing *a, const struct standing *b)
{
	unsigned x = telling(scene, a), y = telling(scene, b);

	return x != y ? x > y : a->since_ns < b->since_ns;
}

/* Its newest child is a program by which a script sleeps: for how long; 0 it is not. */
static uint64_t child_sleeps_for(const struct scene *scene, uint32_t thread)
{
	const struct thread *threads = scene->tables->threads;
	uint32_t child = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++)
		if (threads[i].parent_pid == threads[thread].pid && threads[i].tid == threads[i].pid && threads[i].end_ns >= scene->end_ns &&
		    (!child || threads[i].start_ns > threads[child].start_ns))
			child = i;
	const struct wait *w = child ? scene_last_wait(scene, child) : NULL;

	return w && w->kind == WAIT_KIND_sleep && w->timeout_ns && scene_is_sleeper(scene, w, true) ? w->timeout_ns : 0;
}

static void find_asked(struct diagnoser *diagnoser, const struct standing_options *options, struct standing *list, size_t *count)
{
	const struct scene *scene = diagnoser->scene;

	for (size_t i = 0; i < options->pid_count; i++) {
		struct standing best = { 0 }, s;

		for (uint32_t thread = 1; thread < scene->thread_count; thread++) {
			if (scene_pid(scene, thread) != options->pids[i] || scene->tables->threads[thread].end_ns < scene->end_ns)
				continue;
			standing_of(diagnoser, thread, options->from_ns, &s);
			standing_doubt(diagnoser, &s, options->from_ns);
			s.asked = has_asked(diagnoser, thread, options->from_ns > scene->start_ns ? options->from_ns : scene->start_ns);
			s.by_child = s.kind == STANDING_WAITS && child_sleeps_for(scene, thread);
			if (!best.thread || is_better(scene, &s, &best))
				best = s;
		}
		if (best.thread)
			list[(*count)++] = best;
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct standing *x = a, *y = b;

	return x->since_ns < y->since_ns ? -1 : x->since_ns > y->since_ns;
}

/* By the key for that at its terminal: a person will go on with it, or not. */
static bool is_put_aside(const struct scene *scene, const struct standing *s)
{
	const struct wait *w = scene_last_wait(scene, s->thread);

	return s->kind == STANDING_STOPPED && rule_holds(scene, RULE_put_aside) && w && w->kind == WAIT_KIND_stop && w->argument == SIGTSTP;
}

/* Without a person who says so, only what cannot be meant. */
static bool is_beyond_doubt(const struct scene *scene, const struct standing *s)
{
	if (is_put_aside(scene, s))
		return false;
	return s->kind == STANDING_LOCKED || s->kind == STANDING_KERNEL || s->kind == STANDING_STOPPED;
}

/* It waits, without a limit, for one thing that another is to give. */
static bool may_be_in_circle(const struct scene *scene, const struct standing *s)
{
	const struct wait *w = scene_last_wait(scene, s->thread);

	return rule_holds(scene, RULE_circle_unasked) && s->kind == STANDING_WAITS && s->exactly && w && !w->timeout_ns &&
	       (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_child || (w->kind == WAIT_KIND_poll && w->argument == 1) || w->hint);
}

static void find_all(struct diagnoser *diagnoser, const struct standing_options *options, struct standing *list, size_t *count)
{
	const struct scene *scene = diagnoser->scene;
	uint64_t begin = options->from_ns > scene->start_ns ? options->from_ns : scene->start_ns;

	for (uint32_t thread = 1; thread < scene->thread_count; thread++) {
		struct standing s;

		if (scene_is_system(scene, thread) || scene_is_other_argus(scene, thread))
			continue;
		standing_of(diagnoser, thread, options->from_ns, &s);
		standing_doubt_once(diagnoser, &s);
		s.maybe = !is_beyond_doubt(scene, &s) && !s.owed;
		if (options->uncertain) {
			s.asks = s.maybe && unasked_may_ask(scene, &diagnoser->ends, &s);
			s.inside = s.maybe && unasked_stands_inside(scene, &diagnoser->ends, &s, begin);
			s.lost = s.maybe && unasked_may_be_lost(scene, &diagnoser->ends, &s, begin);
			s.turned = s.asks && unasked_turned(scene, &diagnoser->ends, &s) != TURNED_NONE;
			s.awaited = s.maybe && !s.asks && !s.inside && !s.lost && unasked_is_awaited(scene, &s);
			if ((s.asks || s.inside || s.lost || s.awaited) && s.early_ns + options->threshold_ns <= scene->end_ns)
				list[(*count)++] = s;
			continue;
		}
		if ((!s.maybe || may_be_in_circle(scene, &s)) && s.early_ns + options->threshold_ns <= scene->end_ns)
			list[(*count)++] = s;
	}
	qsort(list, *count, sizeof(*list), longest_first);
}

size_t standing_find(struct arena *arena, struct diagnoser *diagnoser, const struct standing_options *options,
		     const struct standing **ret_standing)
{
	struct standing *list = arena_array(arena, struct standing, diagnoser->scene->thread_count + options->pid_count);
	size_t count = 0;

	if (options->pid_count)
		find_asked(diagnoser, options, list, &count);
	else
		find_all(diagnoser, options, list, &count);
	*ret_standing = list;
	return count;
}

/* Until it has slept out, of one whose sleep is no short one, nor a long one; 0: it is that, or it is no sleep. */
static uint64_t rest_of_sleep(const struct scene *scene, const struct wait *w)
{
	uint64_t ends_ns = w->start_ns + w->timeout_ns;

	if (w->kind != WAIT_KIND_sleep || w->end != WAIT_END_OPEN || w->timeout_ns <= limit_of(scene, LIMIT_short_sleep_ns) ||
	    w->timeout_ns > limit_of(scene, LIMIT_rest_of_sleep_ns))
		return 0;
	return (ends_ns > scene->end_ns ? ends_ns - scene->end_ns : 0) + 2 * limit_of(scene, LIMIT_sleep_margin_ns);
}

uint64_t standing_look_for(const struct scene *scene, const struct standing *s, uint64_t from_ns)
{
	const struct wait *w = scene_last_wait(scene, s->thread);
	uint64_t from = from_ns > scene->start_ns ? from_ns : scene->start_ns, least = limit_of(scene, LIMIT_looks_least_ns), sleep;

	/* nor what a lock is that only functions' names tell of */
	if (!w || w->idle || s->owed || (s->kind == STANDING_LOCKED && !w->hint))
		return 0;
	if (s->kind != STANDING_RESTS && s->kind != STANDING_MOVES && s->kind != STANDING_LOOKS && !w->timeout_ns && !s->by_child)
		return 0;
	/* until a moment, which of one that had begun is not known: as far as is known it is short yet */
	if (w->kind == WAIT_KIND_sleep && !w->timeout_ns && s->exactly && rule_holds(scene, RULE_sleeps_until) &&
	    scene->end_ns - s->since_ns <= limit_of(scene, LIMIT_until_ns) && looked_at_may(scene, s->thread, from, scene->end_ns))
		return limit_of(scene, LIMIT_until_ns) + limit_of(scene, LIMIT_sleep_margin_ns);
	if (s->exactly && w->end == WAIT_END_OPEN && w->kind != WAIT_KIND_sleep && w->timeout_ns && rule_holds(scene, RULE_outlasts_look) &&
	    s->since_ns + w->timeout_ns > scene->end_ns + least + limit_of(scene, LIMIT_sleep_margin_ns))
		return 0;
	if (rest_of_sleep(scene, w) && looked_at_may(scene, s->thread, from, scene->end_ns))
		return rest_of_sleep(scene, w);
	sleep = w->kind == WAIT_KIND_child ? child_sleeps_for(scene, s->thread) : s->exactly && w->kind != WAIT_KIND_sleep ? 0 : w->timeout_ns;
	if (sleep > limit_of(scene, LIMIT_short_sleep_ns) || (s->kind == STANDING_RESTS && !sleep) ||
	    !looked_at_may(scene, s->thread, from, scene->end_ns))
		return 0;
	/* two looks, where that is soon */
	sleep = 2 * sleep > limit_of(scene, LIMIT_short_sleep_ns) ? sleep : 2 * sleep;
	return (sleep > least ? sleep : least) + limit_of(scene, LIMIT_sleep_margin_ns);
}
