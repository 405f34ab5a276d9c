/* Questions to a scene that is built: finding spans and rows by time. */
#include "diagnose/scene.h"

#include <stdlib.h>
#include <string.h>

#include "base/populate.h"
#include "base/search.h"
#include "diagnose/judgement.h"
#include "diagnose/scene_build.h"
#include "graph/graph.h"

const char *span_state_name(enum span_state state)
{
	switch (state) {
	case SPAN_UNKNOWN: return "unknown";
	case SPAN_RUNNING: return "running";
	case SPAN_RUNNABLE: return "runnable";
	case SPAN_WAITING: return "waiting";
	case SPAN_STOPPED: return "stopped";
	case SPAN_ABSENT: return "absent";
	}
	return "unknown";
}

uint32_t scene_span_index(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t low = 0, high;

	scene_need_spans(scene, thread);
	high = t->span_count;

	if (!t->span_count || time < t->spans[0].start_ns || time > t->spans[t->span_count].start_ns)
		return t->span_count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->spans[middle].start_ns <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

const struct span *scene_span(const struct scene *scene, uint32_t thread, uint64_t time)
{
	uint32_t i = scene_span_index(scene, thread, time);

	return i < scene->threads[thread].span_count ? &scene->threads[thread].spans[i] : NULL;
}

/* All entries of the scene's arrays that rows point into have their time at a
 * known place; the rows are sorted by it. */
#define FIND_FROM(row, array, member, when) \
	do { \
		uint32_t low = 0, high = (row)->count; \
		SEARCH(low, high, middle, (array)[(row)->items[middle]].member < (when)); \
		return low; \
	} while (0)

uint32_t scene_wakes_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	uint32_t high = scene_wakes_end(scene, thread), low = scene->threads[thread].wake;

	SEARCH(low, high, middle, scene->wakes[middle].time < time);
	return low;
}

uint32_t scene_waits_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	uint32_t high = scene_waits_end(scene, thread), low = scene->threads[thread].wait;

	SEARCH(low, high, middle, scene->waits[middle].start_ns < time);
	return low;
}

uint32_t scene_messages_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	FIND_FROM(&scene->threads[thread].messages, scene->messages, time, time);
}

uint32_t scene_channel_from(const struct scene *scene, const struct row *row, uint64_t time)
{
	FIND_FROM(row, scene->messages, time, time);
}

struct message scene_message(const struct scene *scene, uint32_t index)
{
	const struct kept_message *kept = &scene->messages[index];
	const struct message_end *end = &scene->message_ends[kept->end];
	uint64_t duration = kept->duration_ns;

	if (duration == UINT32_MAX) {
		const uint64_t *found = map_find(&scene->long_messages, kept->number);

		if (found)
			duration = *found;
	}
	return (struct message){ .time = kept->time, .start_ns = kept->time - duration, .object = end->object, .channel = end->channel,
				 .number = kept->number, .thread = end->thread, .peer = end->peer, .bytes = kept->bytes,
				 .result = kept->result, .ustack = kept->ustack, .kind = end->kind, .flags = end->flags };
}

uint32_t scene_samples_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	FIND_FROM(&scene->threads[thread].samples, scene->samples, time, time);
}

static uint32_t yields_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	FIND_FROM(&scene->threads[thread].yields, scene->yields, time, time);
}

uint64_t scene_yields(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t from = yields_from(scene, thread, from_ns);
	uint32_t to = to_ns == UINT64_MAX ? scene->threads[thread].yields.count : yields_from(scene, thread, to_ns + 1);

	return to > from ? to - from : 0;
}

const struct episode *scene_episode(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *episodes;
	uint32_t low = 0, high;

	scene_need(scene, thread);
	episodes = scene->episodes + t->episode;
	high = t->episode_count;
	SEARCH(low, high, middle, episodes[middle].end_ns <= time);
	return low < t->episode_count ? &episodes[low] : NULL;
}

const struct row *scene_channel(const struct scene *scene, uint64_t channel)
{
	uint32_t low = 0, high = scene->channel_count;

	SEARCH(low, high, middle, scene->channels[middle].channel < channel);
	return low < scene->channel_count && scene->channels[low].channel == channel
		? &scene->channels[low].messages : NULL;
}

const struct span *scene_span_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t low = 1, high;

	if (!near)
		return scene_span(scene, thread, time);
	scene_need_spans(scene, thread);
	high = t->span_count;
	if (!high || time < t->spans[0].start_ns || time > t->spans[t->span_count].start_ns)
		return NULL;
	SEARCH_NEAR(low, high, near[thread].span, middle, t->spans[middle].start_ns <= time);
	near[thread].span = low;
	return &t->spans[low - 1];
}

const struct episode *scene_episode_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *episodes;
	uint32_t low = 0, high;

	if (!near)
		return scene_episode(scene, thread, time);
	scene_need(scene, thread);
	episodes = scene->episodes + t->episode;
	high = t->episode_count;
	SEARCH_NEAR(low, high, near[thread].episode, middle, episodes[middle].end_ns <= time);
	near[thread].episode = low;
	return low < t->episode_count ? &episodes[low] : NULL;
}

uint32_t scene_waits_from_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near)
{
	uint32_t high = scene_waits_end(scene, thread), low = scene->threads[thread].wait;

	if (!near)
		return scene_waits_from(scene, thread, time);
	SEARCH_NEAR(low, high, near[thread].wait, middle, scene->waits[middle].start_ns < time);
	return near[thread].wait = low;
}

uint32_t scene_samples_from_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near)
{
	const struct row *row = &scene->threads[thread].samples;
	uint32_t low = 0, high = row->count;

	if (!near)
		return scene_samples_from(scene, thread, time);
	SEARCH_NEAR(low, high, near[thread].sample, middle, scene->samples[row->items[middle]].time < time);
	return near[thread].sample = low;
}

/* How long it took the thread from one wait to the next, on the processor: on a busy
 * machine it stands in the queue before it can look. */
static bool looked_briefly(const struct scene *scene, const struct wait *before, const struct wait *after)
{
	uint64_t slice = before->end_ns - before->start_ns, gap = after->start_ns - before->end_ns;
	uint64_t half = part_of(scene, LIMIT_most, slice), brief = limit_of(scene, LIMIT_look_ran_ns);
	struct state_times times;

	if (half > brief)
		brief = half;
	if (gap <= brief)
		return true;
	if (gap > limit_of(scene, LIMIT_look_queued_ns))
		return false;
	scene_state_times(scene, before->thread, before->end_ns, after->start_ns, &times);
	return times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] == gap && times.ns[SPAN_RUNNING] <= brief;
}

/* Where nothing tells what ended a wait, that it lasted just as long as its limit does. */
static bool ran_out(const struct scene *scene, const struct wait *w)
{
	uint64_t lasted = w->end_ns - w->start_ns;

	return w->end == WAIT_END_TIMEOUT ||
	       (w->end == WAIT_END_UNKNOWN && (wait_slept_out(w) || (w->timeout_ns && lasted >= w->timeout_ns &&
								     lasted - w->timeout_ns <= part_of(scene, LIMIT_ran_over, w->timeout_ns))));
}

/* No thread ended it, and nothing came: a tick of the kernel's own, or a signal, had it look, and wait on. A program itself may
 * read what nothing reported, inside the kernel it waits for one thing. */
static bool was_stirred(const struct scene *scene, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_sleep: /* is over when its time is */
	case WAIT_KIND_signal:
	case WAIT_KIND_worker:
	case WAIT_KIND_yield:
		return false;
	default:
		if (w->cause == WAKE_CAUSE_signal || w->cause == WAKE_CAUSE_timer)
			return scene_met_signal(scene, w);
		return wait_is_in_kernel(w) && (w->end == WAIT_END_UNKNOWN || (w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_unknown));
	}
}

static bool bore_a_child(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct tables *tables = scene->tables;
	uint32_t low = 1, high = tables->thread_count;

	SEARCH(low, high, middle, tables->threads[middle].start_ns < from_ns);
	for (; low < tables->thread_count && tables->threads[low].start_ns <= to_ns; low++)
		if (tables->threads[low].creator == thread)
			return true;
	return false;
}

bool scene_is_sleeper(const struct scene *scene, const struct wait *sleep, bool loosely)
{
	const struct tables *tables = scene->tables;
	uint32_t depth = sleep->ustack && sleep->ustack < tables->frame_count ? tables->frames[sleep->ustack].depth : 0;
	bool shallow = depth > 1 && depth <= limit_of(scene, LIMIT_sleeper_depth);
	uint64_t most = limit_of(scene, loosely ? LIMIT_sleeper_ran_unattended_ns : LIMIT_sleeper_ran_ns);

	if (shallow && most < limit_of(scene, LIMIT_sleeper_began_ns))
		most = limit_of(scene, LIMIT_sleeper_began_ns);
	scene_need_spans(scene, sleep->thread);
	return scene->threads[sleep->thread].running_ns < most;
}

/* A script sleeps by waiting for a child that does nothing else, and is the only one meanwhile. */
static bool slept_by_child(const struct scene *scene, const struct wait *w)
{
	const struct scene_thread *t = &scene->threads[w->waker];
	bool brief = w->end_ns - w->start_ns < limit_of(scene, LIMIT_sleeper_brief_ns);
	uint64_t slept = 0;
	uint32_t sleeps = 0;

	if (w->kind != WAIT_KIND_child || w->end != WAIT_END_THREAD || !w->waker || t->messages.count)
		return false;
	scene_need(scene, w->waker);
	if (scene->tables->threads[w->waker].parent_pid != scene_pid(scene, w->thread) ||
	    scene->tables->threads[w->waker].start_ns + limit_of(scene, LIMIT_look_queued_ns) < w->start_ns)
		return false;
	for (uint32_t i = t->wait; i < t->wait + t->wait_count; i++) {
		const struct wait *its = &scene->waits[i];

		if (its->kind == WAIT_KIND_sleep && its->end == WAIT_END_TIMEOUT) {
			if (!scene_is_sleeper(scene, its, brief))
				return false;
			slept += its->end_ns - its->start_ns;
			sleeps++;
		}
	}
	/* who sleeps many times looks for something */
	return slept && sleeps <= limit_of(scene, LIMIT_sleeper_sleeps) && most_of(scene, slept, w->end_ns - w->start_ns) &&
	       !bore_a_child(scene, w->thread, scene->tables->threads[w->waker].start_ns + 1, w->end_ns);
}

/* True when the thread did nothing between the two waits that another can notice: it
 * sent nothing, and woke nobody but who met it there: a lock that is held while
 * looking makes others wait for just that while. */
static bool did_nothing(const struct scene *scene, const struct wait *before, const struct wait *after)
{
	const struct scene_thread *t = &scene->threads[before->thread];
	uint32_t wake, message;

	for (wake = scene_wakes_from(scene, before->thread, before->end_ns);
	     wake < scene_wakes_end(scene, before->thread) && scene->wakes[wake].time < after->start_ns; wake++) {
		const struct span *ended = scene_span(scene, scene->wakes[wake].target, scene->wakes[wake].time - 1);

		if (!ended || (ended->state == SPAN_WAITING && ended->start_ns < before->end_ns))
			return false;
	}
	for (message = scene_messages_from(scene, before->thread, before->end_ns); message < t->messages.count; message++) {
		const struct message m = scene_message(scene, t->messages.items[message]);

		if (m.time > after->start_ns)
			break;
		if (!(m.flags & MESSAGE_FLAGS_would_block))
			return false;
	}
	return true;
}

/* Inside one call of the kernel the place in the program may be read in two ways, and where stacks are read of sleepers alone,
 * a wait between two snapshots has none. */
static bool at_same_place(const struct scene *scene, const struct wait *before, const struct wait *after)
{
	if (before->site == after->site)
		return true;
	if (before->syscall != after->syscall || before->object != after->object)
		return false;
	return wait_is_in_kernel(before) || scene_sleeps_on(scene, before, after) ||
	       (!before->ustack != !after->ustack && before->argument == after->argument && before->detail == after->detail);
}

/* In a loop of sleeps one look may take longer, which nothing in the program did. */
static bool looked_oddly(const struct scene *scene, const struct episode *e, const struct wait *before, const struct wait *after)
{
	uint64_t gap = after->start_ns - before->end_ns;

	return before->kind == WAIT_KIND_sleep && e->slices >= limit_of(scene, LIMIT_looks) && gap <= limit_of(scene, LIMIT_odd_look_ns) &&
	       gap <= part_of(scene, LIMIT_next_to_nothing, before->end_ns - e->start_ns);
}

/* Nothing came by the wait: who waits there again looks again. */
static bool came_to_nothing(const struct scene *scene, const struct wait *w)
{
	return ran_out(scene, w) || was_stirred(scene, w) || slept_by_child(scene, w);
}

/* Whoever let the file lock go had it look, and another one has it again, or still. */
static bool was_refused_anew(const struct scene *scene, const struct wait *before, const struct wait *after)
{
	uint32_t low = 0, high = scene->lock_count;
	bool refused = false;

	if (!rule_holds(scene, RULE_refused_anew) || before->kind != WAIT_KIND_file_lock || before->end != WAIT_END_THREAD || before->object != after->object)
		return false;
	SEARCH(low, high, middle, scene->locks[middle].time < before->end_ns);
	for (; low < scene->lock_count && scene->locks[low].time <= after->start_ns; low++) {
		const struct file_lock *l = &scene->locks[low];

		if (l->thread != before->thread || l->object != before->object)
			continue;
		if (l->result <= 0)
			return false;
		refused = true;
	}
	return refused;
}

/* True when the thread only looked again between the two waits, for a short while. */
static bool looked_again(const struct scene *scene, const struct episode *e, const struct wait *before, const struct wait *after)
{
	return at_same_place(scene, before, after) && before->kind == after->kind && before->kind != WAIT_KIND_stop &&
	       (came_to_nothing(scene, before) || was_refused_anew(scene, before, after)) && before->idle == after->idle &&
	       (looked_briefly(scene, before, after) || looked_oddly(scene, e, before, after)) && did_nothing(scene, before, after);
}

/* What was read of one slice of a wait in the kernel holds for the next. */
static void hand_on(const struct wait *before, struct wait *w)
{
	if (!wait_is_in_kernel(w))
		return;
	if (!w->kstack)
		w->kstack = before->kstack;
	if (!w->hint) {
		w->hint = before->hint;
		w->hint_kind = before->hint_kind;
	}
}

/* Between two children by which it sleeps a script may look by another one, which takes less time than they do, and wait, in
 * the kernel, until it has started them. */
static bool is_part_of_look(const struct scene *scene, const struct episode *e, const struct wait *w)
{
	const struct wait *before = &scene->waits[e->last], *end = scene->waits + scene_waits_end(scene, w->thread);

	if (before->kind != WAIT_KIND_child || !came_to_nothing(scene, before))
		return false;
	for (; w + 1 < end && w->start_ns - before->end_ns <= limit_of(scene, LIMIT_look_queued_ns); w++) {
		if (w->kind != WAIT_KIND_vfork && w->kind != WAIT_KIND_kernel_lock &&
		    (w->kind != WAIT_KIND_child || w->end != WAIT_END_THREAD || slept_by_child(scene, w)))
			return false;
		if (looked_again(scene, e, before, w + 1))
			return true;
	}
	return false;
}

/* The end of one child is not what the thread waited for: it goes on waiting, and nothing
 * came of it. */
static bool waits_for_another_child(const struct scene *scene, const struct wait *before, const struct wait *after)
{
	return before->kind == WAIT_KIND_child && after->kind == WAIT_KIND_child && before->end == WAIT_END_THREAD &&
	       before->site == after->site && before->idle == after->idle && !slept_by_child(scene, before) &&
	       after->start_ns - before->end_ns <= limit_of(scene, LIMIT_look_queued_ns) && looked_briefly(scene, before, after) &&
	       did_nothing(scene, before, after) && !bore_a_child(scene, before->thread, before->end_ns, after->start_ns);
}

/* A loop of sleeps in which it started nobody is over once it did: what it looks for now is another thing. */
static bool began_anew(const struct scene *scene, const struct episode *e, const struct wait *w)
{
	const struct wait *before = &scene->waits[e->last];

	return before->kind == WAIT_KIND_sleep && e->slices >= limit_of(scene, LIMIT_loop_looks) &&
	       bore_a_child(scene, w->thread, before->end_ns, w->start_ns) &&
	       !bore_a_child(scene, w->thread, e->start_ns, before->start_ns);
}

#define LIMITS_LOOKED_AT 4096

const struct episode *scene_limit_begin(const struct scene *scene, const struct episode *episode, uint64_t slack_ns)
{
	const struct episode *first = scene->episodes + scene->threads[episode->thread].episode, *begin = episode;
	const struct wait *last = &scene->waits[episode->last];
	uint64_t limit = last->start_ns + last->timeout_ns;

	if (!last->timeout_ns)
		return episode;
	for (const struct episode *e = episode; e > first && episode - e < LIMITS_LOOKED_AT; ) {
		const struct wait *w = &scene->waits[(--e)->last];
		uint64_t its = w->start_ns + w->timeout_ns;

		if (w->site != last->site)
			continue;
		if (!w->timeout_ns || w->timeout_ns == last->timeout_ns || its > limit + slack_ns || its + slack_ns < limit)
			break;
		begin = e;
	}
	return begin;
}

void scene_join_waits_of(struct scene *scene, uint32_t thread, size_t capacity, size_t *populated)
{
	struct scene_thread *t = &scene->threads[thread];
	struct episode *e = NULL;

	t->episode = scene->episode_count;
	for (uint32_t j = t->wait; j < t->wait + t->wait_count; j++) {
		struct wait *w = &scene->waits[j];

		if (e && w->start_ns >= e->end_ns && is_part_of_look(scene, e, w)) {
			w->episode = (uint32_t)(e - scene->episodes);
			continue;
		}
		if (e && w->start_ns >= e->end_ns && looked_again(scene, e, &scene->waits[e->last], w) && !began_anew(scene, e, w)) {
			e->slices++;
			hand_on(&scene->waits[e->last], w);
		} else if (!(e && w->start_ns >= e->end_ns && waits_for_another_child(scene, &scene->waits[e->last], w))) {
			if ((scene->episode_count + 1) * sizeof(*e) > *populated)
				*populated = mem_populate_ahead(scene->episodes, *populated, capacity * sizeof(*e));
			e = &scene->episodes[scene->episode_count++];
			*e = (struct episode){ .start_ns = w->start_ns > scene->reach_ns ? w->start_ns
					       : scene->reach_ns, .first = j, .slices = 1, .thread = thread };
		}
		e->last = j;
		e->end_ns = w->end_ns > e->start_ns ? w->end_ns : e->start_ns;
		w->episode = (uint32_t)(e - scene->episodes);
	}
	t->episode_count = scene->episode_count - t->episode;
}

void scene_join_waits(struct scene *scene)
{
	uint32_t total = 0;
	size_t populated = 0;

	for (uint32_t i = 0; i < scene->thread_count; i++)
		total += scene->threads[i].wait_count;
	if (!scene->episodes)
		scene->episodes = scene->laid_columns[LAID_episodes] = mem_alloc(arena_array_bytes(sizeof(*scene->episodes), total));
	scene->episode_count = 0;
	for (uint32_t i = 0; i < scene->thread_count; i++, scene_spare(scene))
		scene_join_waits_of(scene, i, total, &populated);
}

void scene_state_times(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       struct state_times *ret_times)
{
	const struct scene_thread *t = &scene->threads[thread];

	*ret_times = (struct state_times){ 0 };
	scene_need_spans(scene, thread);
	if (t->span_count && from_ns < t->spans[0].start_ns)
		from_ns = t->spans[0].start_ns;
	for (uint32_t i = scene_span_index(scene, thread, from_ns); i < t->span_count; i++) {
		const struct span *s = &t->spans[i];
		uint64_t from = s->start_ns > from_ns ? s->start_ns : from_ns;
		uint64_t to = span_end(s) < to_ns ? span_end(s) : to_ns;

		if (s->start_ns >= to_ns)
			break;
		if (to <= from)
			continue;
		ret_times->ns[s->state] += to - from;
		if (s->throttled)
			ret_times->throttled_ns += to - from;
	}
}

bool scene_is_cut(const struct scene *scene, const struct message *sent)
{
	struct graph_edge edge;

	return scene->graph &&
	       graph_edge_of_event(scene->graph, sent->thread, sent->time, sent->number, MECHANISM_message, &edge) && edge.removed;
}

#define SIGNAL_NS 200000   /* between the wake-up and the record of the signal that made it */

bool scene_ended_by_signal(const struct scene *scene, const struct wait *wait)
{
	uint32_t low = 0, high = scene->signal_count;

	if (wait->end != WAIT_END_THREAD)
		return false;
	SEARCH(low, high, middle, scene->signals[middle].time + SIGNAL_NS < wait->end_ns);
	for (; low < scene->signal_count && scene->signals[low].time <= wait->end_ns + SIGNAL_NS; low++)
		if (scene->signals[low].sender == wait->waker && scene_same_process(scene, scene->signals[low].target, wait->thread))
			return true;
	return false;
}

uint32_t scene_signal_at_end(const struct scene *scene, const struct wait *wait)
{
	uint32_t low = 0, high = scene->signal_count;

	SEARCH(low, high, middle, scene->signals[middle].time + SIGNAL_NS < wait->end_ns);
	for (; low < scene->signal_count && scene->signals[low].time <= wait->end_ns + SIGNAL_NS; low++)
		if (scene_same_process(scene, scene->signals[low].target, wait->thread))
			return scene->signals[low].signal;
	return 0;
}

bool scene_met_signal(const struct scene *scene, const struct wait *wait)
{
	return scene_signal_at_end(scene, wait);
}

bool scene_same_process(const struct scene *scene, uint32_t a, uint32_t b)
{
	return a && b && scene_pid(scene, a) == scene_pid(scene, b) && scene_pid(scene, a);
}

uint32_t scene_mate(const struct scene *scene, uint32_t thread, uint32_t after)
{
	uint32_t pid = scene_pid(scene, thread);

	if (scene->threads[thread].first_mate)
		return after ? scene->threads[after].next_mate : scene->threads[thread].first_mate;
	for (uint32_t i = after + 1; pid && i < scene->thread_count; i++)
		if (scene_pid(scene, i) == pid)
			return i;
	return 0;
}

void scene_link_mates(struct scene *scene)
{
	struct scene_thread *threads = scene->threads;
	struct map last;

	map_init(&last);
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		bool fresh = true;
		uint64_t *at = scene_pid(scene, i) ? map_at(&last, scene_pid(scene, i), &fresh) : NULL;

		threads[i].first_mate = !at ? 0 : fresh ? i : threads[*at].first_mate;
		if (!fresh)
			threads[*at].next_mate = i;
		if (at)
			*at = i;
	}
	map_done(&last);
}

/* Who made it; of one that was there before the recording began its parent. */
static uint32_t maker_of(const struct scene *scene, uint32_t thread)
{
	const struct thread *t = &scene->tables->threads[thread];
	uint32_t leader;

	if (t->creator)
		return t->creator;
	leader = t->tid == t->pid ? 0 : tables_process(scene->tables, t->pid, t->start_ns);
	if (leader && leader != thread)
		return leader;
	return t->parent_pid && t->parent_pid != t->pid ? tables_process(scene->tables, t->parent_pid, t->start_ns) : 0;
}

/* Its parent may be another by now. */
bool scene_has_started(const struct scene *scene, uint32_t thread, uint32_t child)
{
	const struct thread *c = &scene->tables->threads[child];

	return c->creator ? scene_same_process(scene, c->creator, thread) : c->parent_pid == scene_pid(scene, thread);
}

bool scene_is_kin(const struct scene *scene, uint32_t a, uint32_t b)
{
	const struct thread *x = &scene->tables->threads[a], *y = &scene->tables->threads[b];

	return (x->parent_pid > 1 && x->parent_pid == y->parent_pid) || x->parent_pid == y->pid || y->parent_pid == x->pid;
}

bool scene_descends_from(const struct scene *scene, uint32_t thread, uint32_t pid)
{
	for (unsigned i = 0; thread && i < 64; i++) {
		if (scene->tables->threads[thread].pid == pid)
			return true;
		thread = maker_of(scene, thread);
	}
	return false;
}

uint32_t scene_only_child(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t pid = scene_pid(scene, thread), found = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->parent_pid != pid || t->tid != t->pid || t->start_ns > from_ns || t->end_ns < to_ns)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

bool scene_sleeps_until_told(const struct scene *scene, const struct wait *wait)
{
	return rule_holds(scene, RULE_until_told) && wait->kind == WAIT_KIND_sleep && wait->timeout_ns >= limit_of(scene, LIMIT_no_end_ns);
}

bool scene_is_system(const struct scene *scene, uint32_t thread)
{
	return !thread || scene->tables->threads[thread].flags & (TASK_FLAGS_kernel_thread | TASK_FLAGS_argus);
}

static bool find_other_argus(const struct scene *scene, uint32_t thread)
{
	const struct tables *tables = scene->tables;
	uint32_t first = tables_process(tables, scene_pid(scene, thread), tables->threads[thread].start_ns);
	const char *name = first ? tables_comm(tables, first, tables->threads[thread].end_ns) : "";
	uint32_t pid = scene_pid(scene, thread);

	if (strcmp(name, "argus"))
		return !strcmp(name, "argus-helper");
	/* other programs are called argus, too: they have no such helper */
	for (uint32_t i = 1; i < scene->thread_count; i++)
		if (tables->threads[i].parent_pid == pid && !strcmp(tables_comm(tables, i, tables->threads[i].end_ns), "argus-helper"))
			return true;
	return false;
}

bool scene_is_other_argus(const struct scene *scene, uint32_t thread)
{
	uint8_t *known = &scene->other_argus[thread];

	if (!*known)
		*known = find_other_argus(scene, thread) ? 2 : 1;
	return *known == 2;
}

const struct wait *scene_slice_with_owner(const struct scene *scene, const struct episode *episode, uint64_t to_ns)
{
	const struct wait *last = &scene->waits[episode->last];

	for (uint32_t i = episode->last; !last->hint && i-- > episode->first; ) {
		const struct wait *w = &scene->waits[i];
		const struct episode *its = w->hint && w->object == last->object ? scene_episode(scene, w->hint, w->start_ns) : NULL;

		if (its && its->slices == 1 && its->start_ns <= w->start_ns && its->end_ns >= to_ns)
			return w;
	}
	return last;
}
