#include "trace/states.h"

#include <stdlib.h>

#include "base/vec.h"

struct current {
	struct state_interval now;
	bool there, gone;        /* between its first sign and its end; behind it */
	bool early;              /* woken since it runs */
	bool by_switch;          /* waiting: since a switch, not only by a snapshot's word */
};

struct states {
	const struct tables *tables;
	struct thread_tracker tracker;
	struct current *threads;
	struct vec(uint32_t) running; /* by processor: who came to it last */
	struct vec(bool) switched;    /* by processor: had a switch */
	void (*interval)(void *data, const struct state_interval *interval);
	void *data;
	uint64_t start_ns, end_ns;
};

const char *thread_state_name(enum thread_state state)
{
	switch (state) {
	case THREAD_UNKNOWN: return "unknown";
	case THREAD_RUNNING: return "running";
	case THREAD_RUNNABLE: return "runnable";
	case THREAD_WAITING: return "waiting";
	case THREAD_STOPPED: return "stopped";
	case THREAD_STATES: break;
	}
	return "unknown";
}

struct states *states_new(const struct trace *trace, const struct tables *tables,
			  void (*interval)(void *data, const struct state_interval *interval), void *data)
{
	struct states *s = mem_zalloc(sizeof(*s));

	s->tables = tables;
	s->threads = mem_zalloc(arena_array_bytes(sizeof(*s->threads), tables->thread_count + 1));
	s->interval = interval;
	s->data = data;
	s->start_ns = trace_summary(trace)->start_ns;
	s->end_ns = trace_summary(trace)->end_ns;
	thread_tracker_init(&s->tracker, tables);
	return s;
}

static void end_interval(struct states *s, struct current *c, uint64_t time, uint64_t event)
{
	c->now.to_ns = time;
	c->now.end_event = event;
	if (c->there && time > c->now.from_ns)
		s->interval(s->data, &c->now);
}

/* The state from now on. */
static void change(struct states *s, uint32_t thread, uint64_t time, enum thread_state state, uint32_t cpu, uint64_t event)
{
	struct current *c = &s->threads[thread];

	end_interval(s, c, time, event);
	c->there = true;
	c->now = (struct state_interval){ .from_ns = time, .thread = thread, .state = (uint8_t)state, .cpu = (uint16_t)cpu };
}

static bool is_asleep(const struct current *c)
{
	return c->there && (c->now.state == THREAD_WAITING || c->now.state == THREAD_STOPPED);
}

static uint64_t first_ns(const struct states *s, uint32_t thread)
{
	uint64_t born = s->tables->threads[thread].start_ns;

	return born > s->start_ns ? born : s->start_ns;
}

static uint32_t *at_cpu(struct states *s, uint32_t cpu)
{
	while (s->running.length <= cpu) {
		vec_push(&s->running, 0);
		vec_push(&s->switched, false);
	}
	return &s->running.items[cpu];
}

static void say_wait(struct current *c, unsigned state, unsigned kind, uint64_t object, uint32_t ustack, uint32_t kstack)
{
	bool stopped = state == TASK_STATE_stopped || state == TASK_STATE_traced || state == TASK_STATE_frozen;

	c->now.state = stopped ? THREAD_STOPPED : THREAD_WAITING;
	c->now.wait = (uint8_t)(stopped ? WAIT_KIND_stop : kind);
	c->now.object = object;
	c->now.ustack = ustack;
	c->now.kstack = kstack;
}

static void leave(struct states *s, uint32_t thread, const struct event *e, const struct event_switch *w)
{
	struct current *c = &s->threads[thread];

	if (!c->there)   /* it had the processor from the start, or came to it unseen */
		change(s, thread, first_ns(s, thread), s->switched.items[e->cpu] ? THREAD_UNKNOWN : THREAD_RUNNING, e->cpu, 0);
	else if (is_asleep(c))
		change(s, thread, e->time, THREAD_UNKNOWN, e->cpu, e->number);
	else if (c->now.state != THREAD_RUNNING)
		c->now.state = THREAD_UNKNOWN;
	if (w->state == TASK_STATE_dead || w->wait == WAIT_KIND_exit) {
		end_interval(s, c, e->time, e->number);
		c->there = false;
		c->gone = true;
	} else if (w->state == TASK_STATE_running) {
		change(s, thread, e->time, THREAD_RUNNABLE, e->cpu, e->number);
	} else {
		change(s, thread, e->time, THREAD_WAITING, e->cpu, e->number);
		say_wait(c, w->state, w->wait, w->object, w->ustack, w->kstack);
		c->by_switch = true;
		return;          /* a wake-up before counts where none comes after */
	}
	c->early = false;
}

static void arrive(struct states *s, uint32_t thread, const struct event *e)
{
	struct current *c = &s->threads[thread];

	if (!c->there)
		change(s, thread, first_ns(s, thread), THREAD_UNKNOWN, e->cpu, 0);
	if (is_asleep(c) && c->early && c->by_switch)
		c->now.state = THREAD_RUNNABLE;
	c->early = false;
	change(s, thread, e->time, THREAD_RUNNING, e->cpu, e->number);
}

static void take_switch(struct states *s, const struct event *e)
{
	const struct event_switch *w = event_as(e, switch);
	uint32_t *at = at_cpu(s, e->cpu), thread = thread_tracker_find(&s->tracker, e->tid, e->time);
	struct current *before = &s->threads[*at];

	/* Who was here has left, and no event says when. */
	if (*at && *at != thread && before->there && before->now.state == THREAD_RUNNING && before->now.cpu == e->cpu)
		before->now.state = THREAD_UNKNOWN;
	if (thread)
		leave(s, thread, e, w);
	*at = w->next ? thread_tracker_find(&s->tracker, w->next, e->time) : 0;
	if (*at)
		arrive(s, *at, e);
	s->switched.items[e->cpu] = true;
}

static void take_wake(struct states *s, const struct event *e)
{
	uint32_t thread = thread_tracker_find(&s->tracker, event_as(e, wake)->target, e->time);
	struct current *c = &s->threads[thread];

	if (!thread)
		return;
	if (!c->there && c->gone)
		return;
	if (!c->there) {
		change(s, thread, first_ns(s, thread), THREAD_WAITING, e->cpu, 0);
		c->now.wait = WAIT_KIND_other;
		c->by_switch = false;
	}
	if (is_asleep(c)) {
		change(s, thread, e->time, THREAD_RUNNABLE, e->cpu, e->number);
		c->early = false;
	} else if (c->now.state == THREAD_RUNNING) {
		c->early = true;
	}
}

static void take_waiting(struct states *s, const struct event *e)
{
	const struct event_waiting *w = event_as(e, waiting);
	uint32_t thread = thread_tracker_find(&s->tracker, e->tid, e->time);
	struct current *c = &s->threads[thread];

	if (!thread)
		return;
	if (c->gone)     /* written late */
		return;
	if (!c->there) {
		uint64_t first = first_ns(s, thread);

		change(s, thread, w->since_ns > first && w->since_ns < e->time ? w->since_ns : first, THREAD_WAITING, e->cpu, 0);
		c->by_switch = false;
		say_wait(c, w->state, w->wait, w->object, w->ustack, w->kstack);
	} else if (is_asleep(c) && c->now.wait <= WAIT_KIND_other) {
		say_wait(c, w->state, w->wait, w->object, w->ustack, w->kstack);
	} else if (is_asleep(c) && !c->now.ustack) {
		c->now.ustack = w->ustack;
	}
}

/* The time since the last sample is this one's; so is what follows, until there is another. */
static void take_sample(struct states *s, const struct event *e)
{
	const struct event_sample *sample = event_as(e, sample);
	uint32_t thread = thread_tracker_find(&s->tracker, e->tid, e->time);
	struct current *c = &s->threads[thread];
	bool early = c->early;

	if (!thread || !c->there || c->now.state != THREAD_RUNNING)
		return;
	c->now.ustack = sample->ustack;
	c->now.kstack = sample->kstack;
	change(s, thread, e->time, THREAD_RUNNING, c->now.cpu, e->number);
	c->now.ustack = sample->ustack;
	c->now.kstack = sample->kstack;
	c->early = early;
}

/* Whoever ran on a processor whose events were lost may have left it at once. */
static void take_gap(struct states *s, const struct event *e)
{
	const struct event_gap *gap = event_as(e, gap);

	for (uint32_t cpu = 0; cpu < s->running.length; cpu++) {
		struct current *c = &s->threads[s->running.items[cpu]];

		if ((gap->cpu != UINT32_MAX && gap->cpu != cpu) || !s->running.items[cpu] || !c->there || c->now.state != THREAD_RUNNING)
			continue;
		if (gap->from_ns > c->now.from_ns)
			change(s, s->running.items[cpu], gap->from_ns, THREAD_UNKNOWN, cpu, 0);
		else
			c->now.state = THREAD_UNKNOWN;
	}
}

void states_take(struct states *s, const struct event *e)
{
	uint32_t thread;

	switch (e->type) {
	case EVENT_switch:
		take_switch(s, e);
		return;
	case EVENT_wake:
		take_wake(s, e);
		return;
	case EVENT_fork:
		thread = thread_tracker_find(&s->tracker, event_as(e, fork)->child, e->time);
		if (thread && !s->threads[thread].there)
			change(s, thread, e->time, THREAD_RUNNABLE, e->cpu, 0);
		return;
	case EVENT_waiting:
		take_waiting(s, e);
		return;
	case EVENT_sample:
		take_sample(s, e);
		return;
	case EVENT_gap:
		take_gap(s, e);
		return;
	default:
		return;
	}
}

void states_filter(struct trace_filter *filter)
{
	trace_filter_add(filter, EVENT_switch);
	trace_filter_add(filter, EVENT_wake);
	trace_filter_add(filter, EVENT_fork);
	trace_filter_add(filter, EVENT_waiting);
	trace_filter_add(filter, EVENT_sample);
	trace_filter_add(filter, EVENT_gap);
}

bool states_now(const struct states *s, uint32_t thread, struct state_interval *ret_interval)
{
	const struct current *c = &s->threads[thread];

	if (c->there)
		*ret_interval = c->now;
	return c->there;
}

void states_finish(struct states *s)
{
	for (uint32_t i = 1; i < s->tables->thread_count; i++) {
		struct current *c = &s->threads[i];
		uint64_t end = s->tables->threads[i].end_ns;

		/* What ended unseen ended then. */
		c->now.open = end >= s->end_ns;
		end_interval(s, c, end < s->end_ns ? end : s->end_ns, 0);
	}
	thread_tracker_done(&s->tracker);
	vec_done(&s->running);
	vec_done(&s->switched);
	free(s->threads);
	free(s);
}

/* ---- totals ---- */

static void add_total(void *data, const struct state_interval *i)
{
	struct state_totals *t = (struct state_totals *)data + i->thread;

	t->ns[i->state] += i->to_ns - i->from_ns;
	if (i->state == THREAD_WAITING || i->state == THREAD_STOPPED)
		t->wait_ns[i->wait % 64] += i->to_ns - i->from_ns;
}

struct state_totals *states_total(struct arena *arena, const struct trace *trace, const struct tables *tables)
{
	struct state_totals *totals = arena_array(arena, struct state_totals, tables->thread_count);
	struct trace_filter filter = { .unnumbered = true };
	struct states *states = states_new(trace, tables, add_total, totals);
	struct trace_cursor *cursor;

	states_filter(&filter);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		states_take(states, e);
	trace_cursor_free(cursor);
	states_finish(states);
	return totals;
}
