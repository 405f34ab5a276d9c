/* Who did not do its part this time, see baseline.h. */
#include "diagnose/baseline.h"

#include <string.h>
#include <sys/syscall.h>

#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/request.h"
#include "diagnose/suspects.h"
#include "graph/graph.h"

#define OWN_PAUSES 8              /* waits inside one piece of work that are gone over */
#define SIMILARS_TRIED 3
#define LOOPS_COMPARED 16
#define PLAYERS_COMPARED 32

const char *baseline_doing_words(enum baseline_doing doing)
{
	switch (doing) {
	case DOING_ABSENT: return "was not there";
	case DOING_GONE: return "had ended";
	case DOING_RESTED: return "waited for work";
	case DOING_AWAITED: return "waited for that";
	case DOING_BLOCKED: return "was blocked";
	case DOING_BUSY: return "was busy";
	case DOING_STARVED: return "was given no processor";
	case DOING_STOPPED: return "was stopped";
	}
	return "";
}

/* ---- the way back from the wait that went well ---- */

struct slice {
	struct side *base;
	const struct graph *graph;
	const struct episode *episode;
	struct baseline *found;
};

static bool is_thread(const struct slice *s, uint32_t thread)
{
	return thread && thread < s->base->scene->thread_count;
}

static bool on_path(const struct slice *s, uint32_t thread)
{
	for (unsigned i = 0; i < s->found->step_count; i++)
		if (s->found->steps[i].then_thread == thread)
			return true;
	return false;
}

/* What carries content says more than the wake-up beside it; a lock that was
 * handed on, or a timer, says nothing about who asked for the work. */
static unsigned worth(const struct graph_edge *edge)
{
	switch (edge->kind) {
	case MECHANISM_message: case MECHANISM_work: case MECHANISM_submit: case MECHANISM_flag: case MECHANISM_queue:
	case MECHANISM_fuse_request: case MECHANISM_file_event: case MECHANISM_join:
		return 3;
	case MECHANISM_wake: case MECHANISM_signal: case MECHANISM_continue: case MECHANISM_exit: case MECHANISM_file_lock:
	case MECHANISM_fuse_reply: case MECHANISM_uring: case MECHANISM_journal:
		return 2;
	case MECHANISM_fork: case MECHANISM_exec:
		return 1;
	default:
		return 0;
	}
}

/* A pause that a thread makes by itself, or for what the kernel or another thread keeps for a moment, inside its
 * work: who ended it did not set it to work. */
static bool is_own_pause(const struct graph_wait *w)
{
	return w->mechanism == MECHANISM_release || w->mechanism == MECHANISM_timeout || w->kind == WAIT_KIND_sleep ||
	       w->kind == WAIT_KIND_block_io || w->kind == WAIT_KIND_sync || w->kind == WAIT_KIND_fault ||
	       w->kind == WAIT_KIND_kernel_lock || w->kind == WAIT_KIND_yield ||
	       (w->kind == WAIT_KIND_other && (w->state == TASK_STATE_blocked || w->state == TASK_STATE_killable));
}

/* Whether the segment goes on with the work of the one before it. */
static bool goes_on(const struct graph *graph, uint32_t segment, uint32_t *ret_before)
{
	uint32_t before = graph_segment_previous(graph, segment);
	struct graph_segment s;
	struct graph_wait w;

	if (before == GRAPH_NONE || !graph_segment(graph, before, &s))
		return false;
	*ret_before = before;
	/* Split without a wait: the same work goes on. */
	return s.wait == GRAPH_NONE || !graph_wait(graph, s.wait, &w) || is_own_pause(&w);
}

static bool ends_own_pause(const struct graph *graph, uint32_t segment)
{
	uint32_t before = graph_segment_previous(graph, segment);
	struct graph_segment s;
	struct graph_wait w;

	return before != GRAPH_NONE && graph_segment(graph, before, &s) && s.wait != GRAPH_NONE && graph_wait(graph, s.wait, &w) && is_own_pause(&w);
}

/* The edge by which another thread brought the segment about, before the deed. */
static bool bringer(const struct slice *s, uint32_t segment, uint64_t before_ns, struct graph_edge *ret_edge)
{
	struct graph_edges walk = graph_edges_into(s->graph, segment, EDGES_STRONG);
	bool paused = ends_own_pause(s->graph, segment);
	unsigned best = 0;

	for (struct graph_edge edge; graph_edges_next(&walk, &edge); ) {
		unsigned value = paused && edge.kind == MECHANISM_wake ? 0 : worth(&edge);

		if (!value || edge.from_thread == edge.to_thread || !is_thread(s, edge.from_thread) || edge.to_ns > before_ns)
			continue;
		if (value < best || (value == best && edge.to_ns < ret_edge->to_ns))
			continue;
		best = value;
		*ret_edge = edge;
	}
	return best > 0;
}

static uint32_t stack_of_event(const struct side *side, uint64_t number)
{
	struct arena arena;
	const struct event *e;
	uint32_t stack = 0;

	arena_init(&arena);
	e = trace_event(side->scene->trace, &arena, number);
	if (e && e->type == EVENT_wake)
		stack = event_as(e, wake)->ustack;
	if (e && e->type == EVENT_message)
		stack = event_as(e, message)->ustack;
	arena_done(&arena);
	return stack;
}

static void add_step(struct slice *s, uint32_t thread, uint64_t time_ns, uint64_t event, unsigned mechanism)
{
	s->found->steps[s->found->step_count++] = (struct baseline_step){ .then_thread = thread, .then_ns = time_ns,
		.then_event = event, .then_stack = event ? stack_of_event(s->base, event) : 0, .mechanism = (uint8_t)mechanism };
}

/* On from the segment in which the last step did its part. */
static void slice_back(struct slice *s, uint32_t segment)
{
	uint64_t before = limit_of(s->base->scene, LIMIT_led_to_ns), earliest = s->episode->start_ns > before ? s->episode->start_ns - before : 0;

	while (s->found->step_count < BASELINE_MAX_STEPS) {
		uint64_t before_ns = s->found->steps[s->found->step_count - 1].then_ns;
		struct graph_edge edge;
		unsigned pauses = 0;
		bool found;

		while (!(found = bringer(s, segment, before_ns, &edge)) && pauses++ < OWN_PAUSES &&
		       goes_on(s->graph, segment, &segment))
			;
		if (!found || edge.from_ns < earliest)
			return;
		if (edge.from_thread == s->episode->thread) {
			s->found->from_victim = true;
			return;
		}
		if (on_path(s, edge.from_thread))
			return;
		add_step(s, edge.from_thread, edge.from_ns, edge.from_event, edge.kind);
		segment = edge.from;
	}
}

/* The wait of the graph that the episode ends with. */
static bool find_wait(const struct graph *graph, const struct side *side, const struct episode *episode, struct graph_wait *ret_wait)
{
	const struct wait *w = &side->scene->waits[episode->last];
	struct graph_waits walk = graph_waits_of(graph, episode->thread, w->start_ns, w->end_ns);

	while (graph_waits_next(&walk, ret_wait))
		if (ret_wait->out_event == w->begin_event || ret_wait->out_ns >= w->start_ns)
			return ret_wait->out_ns < w->end_ns;
	return false;
}

/* Who ended the wait: the waker, or, where an interrupt woke, who sent what the
 * thread then read. */
static void slice_from_wait(struct slice *s)
{
	struct graph_wait wait;
	struct graph_edge edge;

	if (!find_wait(s->graph, s->base, s->episode, &wait))
		return;
	if (!wait.removed && wait.waker != GRAPH_NONE && is_thread(s, wait.waker) && wait.waker != s->episode->thread) {
		add_step(s, wait.waker, wait.wake_ns, wait.wake_event, MECHANISM_wake);
		slice_back(s, wait.wake_segment);
	} else if (wait.next_segment != GRAPH_NONE && bringer(s, wait.next_segment, UINT64_MAX, &edge) &&
		   edge.from_thread != s->episode->thread) {
		add_step(s, edge.from_thread, edge.from_ns, edge.from_event, edge.kind);
		slice_back(s, edge.from);
	}
}

static bool ran_in(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	struct state_times times;

	scene_state_times(scene, thread, from, to, &times);
	return times.ns[SPAN_RUNNING] > 0;
}

/* Who was seen to write what the loop looks at. */
static bool slice_from_flag(struct slice *s)
{
	const struct flag_write *write = flag_writes_ended(side_flags(s->base), s->base->scene, s->episode);
	uint32_t segment = write ? graph_segment_at(s->graph, write->thread, write->time) : GRAPH_NONE;
	const char *name = write ? flag_write_name(side_flags(s->base), write) : NULL;

	if (!write)
		return false;
	s->found->steps[s->found->step_count++] = (struct baseline_step){ .then_thread = write->thread, .then_ns = write->time,
		.then_event = write->number, .then_stack = write->ustack, .mechanism = MECHANISM_flag,
		.flag = name ? name : "" };
	if (segment != GRAPH_NONE)
		slice_back(s, segment);
	return true;
}

/* Whether the thread was at work through the whole stretch, on a processor or on its way there. */
static bool at_work(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	struct state_times times;

	scene_state_times(scene, thread, from, to, &times);
	return from < to && times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] == to - from;
}

/* For most of the stretch, and to its end, it looked again and again for something itself: that changes nothing. */
static bool only_looked(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct episode *e = scene_episode(scene, thread, to - 1);

	return e && e->end_ns >= to && loop_is(scene, e) && (e->start_ns <= from || most_of(scene, to - e->start_ns, to - from));
}

/* A loop that sleeps and looks again was ended by what changed during its last
 * sleep: by the thread of its process that ran then, and not in the sleeps before. */
static void slice_from_loop(struct slice *s)
{
	const struct scene *scene = s->base->scene;
	const struct wait *last = &scene->waits[s->episode->last];
	uint32_t first = scene_waits_from(scene, s->episode->thread, s->episode->start_ns), best = 0;
	unsigned fewest = LOOPS_COMPARED + 1;
	struct graph_segment segment;

	SCENE_EACH_MATE(scene, s->episode->thread, i) {
		unsigned ran = 0, compared = 0;

		if (i == s->episode->thread || !ran_in(scene, i, last->start_ns, last->end_ns) || only_looked(scene, i, last->start_ns, last->end_ns))
			continue;
		for (uint32_t j = s->episode->last; j-- > first && compared < LOOPS_COMPARED; ) {
			const struct wait *w = &scene->waits[j];

			compared++;
			/* What a thread is still at when the last sleep begins belongs there, and its beginning is no work. */
			if (j + 1 == s->episode->last && at_work(scene, i, w->end_ns, last->start_ns))
				continue;
			ran += scene->tables->threads[i].start_ns < w->start_ns && ran_in(scene, i, w->start_ns, w->end_ns);
		}
		/* One that runs all the time as well is as good as any other. */
		if (ran < fewest && (!compared || ran < compared)) {
			fewest = ran;
			best = i;
		}
	}
	if (!best || !graph_segment(s->graph, graph_segment_at(s->graph, best, last->end_ns), &segment))
		return;
	add_step(s, best, segment.end_ns < last->end_ns ? segment.end_ns : last->end_ns, 0, 0);
	slice_back(s, segment.segment);
}

/* ---- what happened this time ---- */

struct diff {
	struct side *now;
	const struct episode *episode;
	uint64_t request_ns, from_ns, to_ns;
	struct baseline *found;
};

/* The event by which one handed on to the other in the stretch, 0 none. */
static uint64_t handed_on(const struct scene *scene, uint32_t from, uint32_t to, uint64_t begin_ns, uint64_t end_ns)
{
	const struct scene_thread *t = &scene->threads[from];
	const struct thread *target = &scene->tables->threads[to];

	if (target->creator == from && target->start_ns >= begin_ns && target->start_ns <= end_ns && scene->threads[to].fork_event)
		return scene->threads[to].fork_event;
	for (uint32_t i = scene_wakes_from(scene, from, begin_ns); i < scene_wakes_end(scene, from); i++) {
		const struct wake *k = &scene->wakes[i];

		if (k->time > end_ns)
			break;
		if (k->target == to)
			return k->number;
	}
	for (uint32_t i = scene_messages_from(scene, from, begin_ns); i < t->messages.count; i++) {
		const struct message m = scene_message(scene, t->messages.items[i]);

		if (m.start_ns > end_ns)
			break;
		if (!(m.flags & MESSAGE_FLAGS_receive) && m.result > 0 && m.peer == target->pid && !scene_is_cut(scene, &m))
			return m.number;
	}
	return 0;
}

/* The wait that fills most of the stretch. */
static uint32_t longest_wait(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *e = scene_episode(scene, thread, from);
	uint64_t longest = 0;
	uint32_t found = 0;

	for (; e && e < scene->episodes + t->episode + t->episode_count && e->start_ns < to; e++) {
		uint64_t begin = e->start_ns > from ? e->start_ns : from, end = e->end_ns < to ? e->end_ns : to;

		if (end > begin && end - begin > longest) {
			longest = end - begin;
			found = e->last;
		}
	}
	return found;
}

/* Whether the thread waits as its counterpart did before it was set to work. */
/* Two sets are two places, from wherever they are looked at. */
static bool are_two_sets(const struct diff *d, const struct wait *a, const struct wait *b)
{
	return !d->found->other_trace && a->kind == WAIT_KIND_epoll && a->object && b->object && a->object != b->object;
}

static bool rests(struct diff *d, const struct baseline_step *step)
{
	const struct scene *base = d->found->base->scene;
	const struct wait *w = &d->now->scene->waits[step->wait], *other;
	const struct episode *e = scene_episode(base, step->then_thread, step->then_ns);
	const struct episode *first = base->episodes + base->threads[step->then_thread].episode;
	uint64_t x, y;

	/* There comes no work, whatever it did between two pieces: nor where it looks again and again for something. */
	if (w->kind == WAIT_KIND_write || wait_is_in_kernel(w) || (w->kind == WAIT_KIND_futex && w->hint) ||
	    (w->kind == WAIT_KIND_sleep && loop_is(d->now->scene, &d->now->scene->episodes[w->episode])))
		return false;
	if (!e)
		e = first + base->threads[step->then_thread].episode_count;
	/* The wait before its part, or the one after. */
	for (int i = 0; i < 2; i++, e--) {
		if (e >= first + base->threads[step->then_thread].episode_count)
			continue;
		other = &base->waits[e->last];
		x = side_stack_place(d->now, w->ustack);
		y = side_stack_place(d->found->base, other->ustack);
		if (w->kind == other->kind && w->syscall == other->syscall && (x == y || !x || !y) && !are_two_sets(d, w, other))
			return true;
		if (e == first)
			break;
	}
	return false;
}

static void tell_doing(struct diff *d, struct baseline_step *step)
{
	const struct scene *scene = d->now->scene;
	const struct thread *t = &scene->tables->threads[step->now_thread];
	uint64_t window = d->to_ns - d->from_ns;
	struct state_times times;

	if (!step->now_thread)
		return;
	scene_state_times(scene, step->now_thread, d->from_ns, d->to_ns, &times);
	step->wait = longest_wait(scene, step->now_thread, d->from_ns, d->to_ns);
	if (t->end_ns < d->from_ns + part_of(scene, LIMIT_most, window))
		step->doing = DOING_GONE;
	else if (most_of(scene, times.ns[SPAN_STOPPED], window))
		step->doing = DOING_STOPPED;
	else if (most_of(scene, times.ns[SPAN_RUNNABLE], window))
		step->doing = DOING_STARVED;
	else if (most_of(scene, times.ns[SPAN_RUNNING], window))
		step->doing = DOING_BUSY;
	else
		step->doing = step->wait && !rests(d, step) ? DOING_BLOCKED : DOING_RESTED;
}

/* Who plays the part of the step's thread: of several as good, one that has to do
 * with the next one on the way. */
static uint32_t player(struct diff *d, const struct baseline_step *step, uint32_t towards)
{
	const struct scene *scene = d->now->scene;
	struct counterpart players[PLAYERS_COMPARED];
	unsigned count = side_counterparts(d->found->base, step->then_thread, d->now, players, PLAYERS_COMPARED);
	uint32_t best = 0, best_match = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct thread *t = &scene->tables->threads[players[i].thread];
		uint32_t match = players[i].match;

		if (t->start_ns >= d->to_ns || t->end_ns <= d->request_ns || players[i].thread == d->episode->thread)
			continue;
		if (towards && match < SIDE_MATCH_SELF &&
		    (handed_on(scene, players[i].thread, towards, scene->start_ns, scene->end_ns) ||
		     handed_on(scene, towards, players[i].thread, scene->start_ns, scene->end_ns)))
			match += (uint32_t)limit_of(scene, LIMIT_player_linked);
		if (match > best_match) {
			best_match = match;
			best = players[i].thread;
		}
	}
	/* One that ended before is a part of the story where nobody took its place. */
	return best || d->found->other_trace ? best : step->then_thread;
}

/* Of a pool's threads the one that was set to work this time. */
static uint32_t player_set_to_work(struct diff *d, const struct baseline_step *step, uint32_t by)
{
	const struct scene *scene = d->now->scene;
	struct counterpart players[PLAYERS_COMPARED];
	unsigned count;

	if (!by || handed_on(scene, by, step->now_thread, d->request_ns, d->to_ns))
		return step->now_thread;
	count = side_counterparts(d->found->base, step->then_thread, d->now, players, PLAYERS_COMPARED);
	for (unsigned i = 0; i < count; i++)
		if (players[i].thread != d->episode->thread && handed_on(scene, by, players[i].thread, d->request_ns, d->to_ns))
			return players[i].thread;
	return step->now_thread;
}

/* Of many short exchanges in a row the last one counts. */
static void begin_at_last_request(struct diff *d, uint32_t asked)
{
	const struct scene *scene = d->now->scene;
	uint32_t thread = d->episode->thread;

	for (uint32_t i = scene_wakes_from(scene, thread, d->episode->start_ns); asked && i-- > scene->threads[thread].wake; ) {
		if (scene->wakes[i].time <= d->request_ns)
			return;
		if (scene_same_process(scene, scene->wakes[i].target, asked)) {
			d->request_ns = scene->wakes[i].time;
			return;
		}
	}
}

static void find_players(struct diff *d)
{
	struct baseline *found = d->found;
	uint32_t towards = d->episode->thread;

	for (unsigned i = 0; i < found->step_count; i++)
		towards = found->steps[i].now_thread = player(d, &found->steps[i], towards);
	if (found->from_victim)
		begin_at_last_request(d, towards);
	for (unsigned i = found->step_count; i-- > 1; )
		if (found->steps[i - 1].now_thread)
			found->steps[i - 1].now_thread = player_set_to_work(d, &found->steps[i - 1], found->steps[i].now_thread);
}

/* Who hands on only then was late itself. */
static uint64_t late_from(const struct diff *d)
{
	return d->from_ns + part_of(d->now->scene, LIMIT_most, d->to_ns - d->from_ns);
}

static void compare_steps(struct diff *d)
{
	struct baseline *found = d->found;
	uint32_t towards = d->episode->thread;

	find_players(d);
	for (unsigned i = 0; i < found->step_count; i++) {
		struct baseline_step *step = &found->steps[i];
		uint64_t begin = i ? d->request_ns : d->from_ns;

		tell_doing(d, step);
		if (step->now_thread && step->mechanism == MECHANISM_flag && !i) {
			const struct flag_write *write = flag_writes_by(side_flags(d->now), d->now->scene, step->now_thread,
									d->episode->thread, begin, d->to_ns);

			step->did_event = write ? write->number : 0;
		} else if (step->now_thread && towards && step->mechanism)
			step->did_event = handed_on(d->now->scene, step->now_thread, towards, begin, d->to_ns);
		step->did = step->did_event != 0;
		if (i) {
			struct baseline_step *next = &found->steps[i - 1];

			next->set_to_work = step->did;
			next->work_event = step->did_event;
			if (step->did && next->doing == DOING_RESTED && !handed_on(d->now->scene, step->now_thread, towards, begin, late_from(d)))
				next->doing = DOING_AWAITED;
		}
		towards = step->now_thread;
	}
	if (found->from_victim && towards) {
		struct baseline_step *last = &found->steps[found->step_count - 1];

		last->work_event = handed_on(d->now->scene, d->episode->thread, towards, d->request_ns, d->to_ns);
		last->set_to_work = last->work_event != 0;
	}
}

static uint32_t limit(const struct diff *d, enum limit_id id)
{
	return (uint32_t)limit_of(d->now->scene, id);
}

/* The one nearest to the victim that was set to work, or has nobody behind it. */
static void find_culprit(struct diff *d)
{
	struct baseline *found = d->found;
	const struct baseline_step *step;
	unsigned confidence;

	found->culprit = found->step_count;
	for (unsigned i = 0; i < found->step_count; i++) {
		step = &found->steps[i];
		if (step->now_thread && !step->did)
			found->culprit = i;
		if (found->culprit == i && (step->set_to_work || step->doing == DOING_BUSY || step->doing == DOING_STARVED ||
					    step->doing == DOING_STOPPED || step->doing == DOING_GONE))
			break;
	}
	if (found->culprit == found->step_count)
		return;
	step = &found->steps[found->culprit];
	confidence = found->other_trace ? rule_infos[RULE_went_well_elsewhere].weight : limit(d, LIMIT_went_well_before);
	confidence += found->similar.alike >= limit(d, LIMIT_nearly_all) && found->similar.same_place ? limit(d, LIMIT_well_alike) : 0u;
	confidence += step->set_to_work ? limit(d, LIMIT_well_alike) : 0u;
	confidence += step->doing == DOING_RESTED ? 0u : limit(d, LIMIT_well_kept);
	/* Nothing but that it ran at the right moment speaks for it. */
	confidence -= step->mechanism ? 0u : limit(d, LIMIT_well_unlinked);
	/* A watchpoint saw who ended the loop then. */
	confidence += found->steps[0].mechanism == MECHANISM_flag ? limit(d, LIMIT_well_watched) : 0u;
	confidence -= !step->set_to_work && step->doing == DOING_RESTED ? limit(d, LIMIT_well_unasked) : 0u;
	found->confidence = (uint8_t)confidence;
}

/* The process of who ended the thread's wait just before by the end of a connection, which comes once, and was asked for nothing since; 0 none did. */
static uint32_t said_last(const struct scene *scene, const struct episode *episode)
{
	const struct episode *before = episode > scene->episodes + scene->threads[episode->thread].episode ? episode - 1 : NULL;
	const struct wait *w = before ? &scene->waits[before->last] : NULL;
	const struct event *e;
	struct arena arena;
	bool closed;

	if (!w || w->end != WAIT_END_THREAD || w->cause != WAKE_CAUSE_own_send || !rule_holds(scene, RULE_said_last))
		return 0;
	for (uint32_t i = scene_wakes_from(scene, w->thread, w->end_ns); i < scene_wakes_end(scene, w->thread) && scene->wakes[i].time < episode->end_ns; i++)
		if (scene_same_process(scene, scene->wakes[i].target, w->waker))
			return 0;
	arena_init(&arena);
	e = trace_event(scene->trace, &arena, w->end_event);
	closed = e && e->type == EVENT_wake && (event_as(e, wake)->syscall == SYS_shutdown || event_as(e, wake)->syscall == SYS_close);
	arena_done(&arena);
	return closed ? scene_pid(scene, w->waker) : 0;
}

bool baseline_diff_with(struct side *now, const struct episode *episode, uint64_t from_ns, uint64_t to_ns, struct side *base,
			const struct similar *similar, struct baseline *ret_baseline)
{
	struct slice slice = { .base = base, .graph = base->scene->graph, .found = ret_baseline,
			       .episode = &base->scene->episodes[similar->episode] };
	struct diff diff = { .now = now, .episode = episode, .request_ns = request_start(now->scene, episode),
			     .from_ns = from_ns, .to_ns = to_ns, .found = ret_baseline };
	uint32_t pid;
	unsigned kind;

	*ret_baseline = (struct baseline){ .base = base, .other_trace = now != base, .similar = *similar };
	if (!slice.graph || from_ns >= to_ns)
		return false;
	slice_from_wait(&slice);
	kind = base->scene->waits[slice.episode->last].kind;
	if (!ret_baseline->step_count && (kind == WAIT_KIND_sleep || kind == WAIT_KIND_yield) && !slice_from_flag(&slice) &&
	    kind == WAIT_KIND_sleep)
		slice_from_loop(&slice);
	if (!ret_baseline->step_count)
		return false;
	compare_steps(&diff);
	find_culprit(&diff);
	pid = said_last(now->scene, episode);
	return !pid || scene_pid(now->scene, ret_baseline->steps[0].now_thread) != pid;
}

bool baseline_diff(struct side *now, const struct episode *episode, uint64_t from_ns, uint64_t to_ns, struct side *base,
		   struct baseline *ret_baseline)
{
	struct similars similars = { 0 };
	bool found = false;

	similar_find(now, episode, base, NULL, &similars);
	for (size_t i = 0; !found && i < similars.length && i < SIMILARS_TRIED; i++)
		found = baseline_diff_with(now, episode, from_ns, to_ns, base, &similars.items[i], ret_baseline);
	vec_done(&similars);
	return found;
}
