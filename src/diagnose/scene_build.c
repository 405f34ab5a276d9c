/* Building a scene: one pass over the events of a trace.
 *
 * Each thread has a small state machine (what it does now, since when) that
 * switches, wake-ups, forks and exits move on. A wake-up may be recorded before
 * the switch-out it belongs to: the thread had already set its state. It is
 * kept as `early` and belongs to the next wait unless that wait sees a wake-up
 * of its own. Events that contradict the state (after losses) simply set it. */
#include "diagnose/scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/scene_build.h"

static uint32_t thread_of(struct builder *b, uint32_t tid, uint64_t time)
{
	uint64_t *known;
	uint32_t thread;

	if (!tid)
		return 0;
	known = map_find(&b->by_tid, tid);
	if (known && b->tables->threads[*known].start_ns <= time && time <= b->tables->threads[*known].end_ns)
		return (uint32_t)*known;
	thread = tables_thread(b->tables, tid, time);
	if (thread)
		map_put(&b->by_tid, tid, thread);
	return thread;
}

/* The thread goes on without having been seen to be woken or let in. */
static void close_wait(struct builder *b, struct thread_state *t, uint64_t time)
{
	struct wait *w = &b->waits.items[t->wait];

	if ((t->state != SPAN_WAITING && t->state != SPAN_STOPPED) || w->end_ns != UINT64_MAX)
		return;
	w->end_ns = time > w->start_ns ? time : w->start_ns;
	w->end = WAIT_END_UNKNOWN;
}

/* The thread is in `state` from `time` on. */
static void enter(struct builder *b, uint32_t thread, enum span_state state, uint64_t time, uint32_t wait, uint16_t cpu)
{
	struct thread_state *t = &b->threads[thread];
	struct span *last = t->spans.length ? &t->spans.items[t->spans.length - 1] : NULL;

	if (last && time < last->start_ns)
		time = last->start_ns;
	if (last && last->state == SPAN_RUNNING)
		t->running_ns += time - last->start_ns;
	if (t->wait != wait)
		close_wait(b, t, time);
	t->state = (uint8_t)state;
	t->cpu = cpu;
	t->seen = true;
	if (last && last->start_ns == time)
		*last = (struct span){ time, wait, cpu, (uint8_t)state, state == SPAN_RUNNABLE && t->throttled };
	else
		vec_push(&t->spans, ((struct span){ time, wait, cpu, (uint8_t)state, state == SPAN_RUNNABLE && t->throttled }));
}

/* What the thread did before it was first seen is known from how it is first
 * seen, where that tells: whoever leaves a processor first was running, whoever
 * is woken was waiting. */
static void first_seen(struct builder *b, uint32_t thread, enum span_state before, uint64_t time)
{
	struct thread_state *t = &b->threads[thread];

	if (t->seen || time <= b->scene->start_ns)
		return;
	if (before == SPAN_WAITING) {
		struct wait w = { .start_ns = b->scene->start_ns, .end_ns = UINT64_MAX, .thread = thread,
				  .kind = WAIT_KIND_other };

		t->wait = (uint32_t)b->waits.length;
		vec_push(&t->waits, t->wait);
		vec_push(&b->waits, w);
		t->spans.length = 0;
		enter(b, thread, SPAN_WAITING, b->scene->start_ns, t->wait, t->cpu);
	} else {
		t->spans.length = 0;
		enter(b, thread, before, b->scene->start_ns, 0, t->cpu);
	}
}

/* Places in the program are told apart by the user stack where there is one,
 * else by the call and what it works on. */
static uint64_t site_of(const struct wait *w)
{
	uint64_t site = hash_u64((uint64_t)w->syscall << 40 | (uint64_t)w->kind << 32 | w->ustack);

	if (w->ustack)
		return site;
	/* The size of a poll set changes with what a loop listens to. */
	if (w->kind == WAIT_KIND_poll && w->argument > 1)
		return site;
	return hash_u64(site ^ w->object ^ (uint64_t)(uint32_t)w->argument << 20);
}

static void begin_wait(struct builder *b, uint32_t thread, const struct event *e, const struct event_switch *s)
{
	struct thread_state *t = &b->threads[thread];
	bool stopped = s->state == TASK_STATE_stopped || s->state == TASK_STATE_traced || s->state == TASK_STATE_frozen;
	struct wait w = {
		.start_ns = e->time, .end_ns = UINT64_MAX, .begin_event = e->number, .object = s->object,
		.detail = s->detail, .timeout_ns = s->timeout_ns, .thread = thread, .hint = thread_of(b, s->hint, e->time),
		.hint_pid = s->hint, .argument = (int32_t)s->argument, .ustack = s->ustack, .kstack = s->kstack,
		.syscall = s->syscall, .kind = s->wait, .hint_kind = s->hint_kind, .state = s->state,
	};

	if (stopped)
		w.kind = WAIT_KIND_stop;
	w.site = site_of(&w);
	close_wait(b, t, e->time);
	t->wait = (uint32_t)b->waits.length;
	vec_push(&t->waits, t->wait);
	vec_push(&b->waits, w);
	enter(b, thread, stopped ? SPAN_STOPPED : SPAN_WAITING, e->time, t->wait, e->cpu);
}

/* A time limit counts as passed when the wait is at least as long; the kernel
 * adds slack, so a little more than the limit is usual, less never. */
static bool limit_passed(const struct wait *w)
{
	return w->timeout_ns && w->end_ns - w->start_ns + 1000000 >= w->timeout_ns;
}

static bool is_timer_vector(uint8_t vector)
{
	return vector == 1 || vector == 8; /* TIMER_SOFTIRQ, HRTIMER_SOFTIRQ */
}

static void classify_end(struct wait *w, const struct event_wake *k, uint32_t waker, uint32_t armer)
{
	bool interrupt = k->context != CONTEXT_thread && k->cause != WAKE_CAUSE_own_send;

	w->cause = k->cause;
	w->vector = k->vector;
	w->source = k->source;
	w->wake_ustack = k->ustack;
	if (k->cause == WAKE_CAUSE_timeout ||
	    (interrupt && (k->cause == WAKE_CAUSE_unknown || k->cause == WAKE_CAUSE_timer) &&
	     (is_timer_vector(k->vector) || k->context == CONTEXT_hardirq) &&
	     (w->kind == WAIT_KIND_sleep || limit_passed(w)))) {
		w->end = WAIT_END_TIMEOUT;
		w->cause = WAKE_CAUSE_timeout;
	} else if (!interrupt) {
		w->end = waker ? WAIT_END_THREAD : WAIT_END_SOURCE;
		w->waker = waker;
	} else {
		w->end = WAIT_END_SOURCE;
		w->waker = armer;
		if (k->cause == WAKE_CAUSE_other_cpu && armer)
			w->end = WAIT_END_THREAD;
	}
}

static void end_wait(struct builder *b, uint32_t thread, uint32_t wake, const struct event_wake *k, uint64_t time)
{
	struct thread_state *t = &b->threads[thread];
	struct wait *w = &b->waits.items[t->wait];
	struct wake *made = &b->wakes.items[wake];

	w->end_ns = time > w->start_ns ? time : w->start_ns;
	w->end_event = made->number;
	classify_end(w, k, made->waker, thread_of(b, k->armer, time));
	made->wait = t->wait;
}

#define CPU_NOT_SEEN UINT32_MAX

static uint32_t had_processor(const struct builder *b, uint16_t cpu)
{
	const struct cpu_state *c = cpu < b->cpus.length ? &b->cpus.items[cpu] : NULL;

	return c && c->runs.length ? c->runs.items[c->runs.length - 1].thread : CPU_NOT_SEEN;
}

static void set_unknown(struct thread_state *t)
{
	t->state = SPAN_UNKNOWN;
	t->spans.items[t->spans.length - 1].state = SPAN_UNKNOWN;
}

static void on_switch(struct builder *b, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);
	uint32_t out = thread_of(b, e->tid, e->time), in = thread_of(b, s->next, e->time);
	uint32_t had = had_processor(b, e->cpu);

	/* Switches between threads that were not recorded lie between: what these
	 * two did meanwhile is not known. */
	if (had != out && had != CPU_NOT_SEEN) {
		if (had && b->threads[had].state == SPAN_RUNNING && b->threads[had].cpu == e->cpu)
			set_unknown(&b->threads[had]);
		if (out && b->threads[out].state != SPAN_RUNNING)
			enter(b, out, SPAN_UNKNOWN, b->threads[out].spans.length ? e->time : b->scene->start_ns, 0, e->cpu);
	}
	if (out) {
		struct thread_state *t = &b->threads[out];

		first_seen(b, out, had == CPU_NOT_SEEN ? SPAN_RUNNING : SPAN_UNKNOWN, e->time);
		t->throttled = s->flags & SWITCH_FLAGS_throttled || s->wait == WAIT_KIND_throttled;
		if (s->state == TASK_STATE_dead || t->exiting)
			enter(b, out, SPAN_ABSENT, e->time, 0, e->cpu);
		else if (s->state == TASK_STATE_running)
			enter(b, out, SPAN_RUNNABLE, e->time, 0, e->cpu);
		else
			begin_wait(b, out, e, s);
	}
	while (b->cpus.length <= e->cpu)
		vec_push(&b->cpus, ((struct cpu_state){ 0 }));
	if (!b->cpus.items[e->cpu].runs.length)
		vec_push(&b->cpus.items[e->cpu].runs, ((struct cpu_run){ b->scene->start_ns, out }));
	vec_push(&b->cpus.items[e->cpu].runs, ((struct cpu_run){ e->time, in }));
	if (in) {
		struct thread_state *t = &b->threads[in];

		first_seen(b, in, SPAN_UNKNOWN, e->time);
		if (t->state == SPAN_WAITING || t->state == SPAN_STOPPED) {
			struct wait *w = &b->waits.items[t->wait];

			/* No wake-up since it left: an early one, or none that was seen. */
			if (t->early) {
				struct wake *k = &b->wakes.items[t->early - 1];

				w->end_ns = w->start_ns;
				w->end_event = k->number;
				w->waker = k->waker;
				w->cause = k->cause;
				w->end = k->own && k->waker ? WAIT_END_THREAD : WAIT_END_SOURCE;
				k->wait = t->wait;
			} else {
				w->end_ns = e->time;
				w->end = WAIT_END_UNKNOWN;
			}
		}
		t->early = 0;
		t->throttled = false;
		enter(b, in, SPAN_RUNNING, e->time, 0, e->cpu);
	}
}

static void on_wake(struct builder *b, const struct event *e)
{
	const struct event_wake *k = event_as(e, wake);
	uint32_t target = thread_of(b, k->target, e->time), waker = thread_of(b, e->tid, e->time);
	bool own = k->context == CONTEXT_thread || k->cause == WAKE_CAUSE_own_send;
	struct wake made = { .time = e->time, .number = e->number, .object = k->object, .target = target,
			     .waker = waker, .cause = k->cause, .own = own };
	uint32_t index = (uint32_t)b->wakes.length;
	struct thread_state *t;

	if (!target)
		return;
	vec_push(&b->wakes, made);
	if (own && waker)
		vec_push(&b->threads[waker].wakes, index);
	t = &b->threads[target];
	first_seen(b, target, SPAN_WAITING, e->time);
	if (t->state == SPAN_WAITING || t->state == SPAN_STOPPED) {
		end_wait(b, target, index, k, e->time);
		t->early = 0;
		enter(b, target, SPAN_RUNNABLE, e->time, 0, k->target_cpu);
	} else if (t->state == SPAN_RUNNING) {
		t->early = index + 1;
	}
}

static void on_fork(struct builder *b, const struct event *e)
{
	const struct event_fork *f = event_as(e, fork);
	uint32_t child = thread_of(b, f->child, e->time);

	if (!child)
		return;
	b->threads[child].spans.length = 0;
	if (e->time > b->scene->start_ns)
		enter(b, child, SPAN_ABSENT, b->scene->start_ns, 0, 0);
	enter(b, child, SPAN_RUNNABLE, e->time, 0, e->cpu);
	b->threads[child].fork_event = e->number;
}

/* A state record of what a thread waits on: it tells the state of a thread not
 * seen before, and fills in what the switch did not know. */
static void on_waiting(struct builder *b, const struct event *e)
{
	const struct event_waiting *r = event_as(e, waiting);
	uint32_t thread = thread_of(b, e->tid, e->time);
	struct thread_state *t;
	struct wait *w;

	if (!thread || !r->wait || r->state == TASK_STATE_running || r->state == TASK_STATE_dead)
		return;
	t = &b->threads[thread];
	if (!t->seen) {
		bool stopped = r->state == TASK_STATE_stopped || r->state == TASK_STATE_traced ||
			       r->state == TASK_STATE_frozen;
		struct wait found = {
			.start_ns = r->since_ns ? r->since_ns : b->scene->start_ns, .end_ns = UINT64_MAX,
			.begin_event = e->number, .thread = thread, .kind = r->wait, .state = r->state,
		};

		if (stopped)
			found.kind = WAIT_KIND_stop;
		t->wait = (uint32_t)b->waits.length;
		vec_push(&t->waits, t->wait);
		vec_push(&b->waits, found);
		t->spans.length = 0;
		enter(b, thread, stopped ? SPAN_STOPPED : SPAN_WAITING,
		      found.start_ns > b->scene->start_ns ? found.start_ns : b->scene->start_ns, t->wait, e->cpu);
	}
	if (t->state != SPAN_WAITING && t->state != SPAN_STOPPED)
		return;
	w = &b->waits.items[t->wait];
	if (!w->ustack)
		w->ustack = r->ustack;
	if (!w->kstack)
		w->kstack = r->kstack;
	if (!w->object)
		w->object = r->object;
	if (!w->detail)
		w->detail = r->detail;
	if (!w->hint) {
		w->hint = thread_of(b, r->hint, e->time);
		w->hint_pid = r->hint;
		w->hint_kind = r->hint_kind;
	}
	if (!w->timeout_ns)
		w->timeout_ns = r->timeout_ns;
	if (w->kind <= WAIT_KIND_other) {
		w->kind = r->wait;
		w->syscall = r->syscall;
		w->argument = (int32_t)r->argument;
		w->state = r->state;
	}
	w->site = site_of(w);
}

static void on_message(struct builder *b, const struct event *e)
{
	const struct event_message *m = event_as(e, message);
	uint32_t thread = thread_of(b, e->tid, e->time);
	struct message made = {
		.time = e->time, .start_ns = e->time - (m->duration_ns < e->time ? m->duration_ns : 0),
		.number = e->number, .object = m->object, .channel = m->channel, .position = m->position,
		.thread = thread, .peer = m->peer, .bytes = m->bytes, .result = (int32_t)m->result,
		.ustack = m->ustack, .kind = m->kind, .flags = m->flags,
	};

	if (!thread)
		return;
	vec_push(&b->threads[thread].messages, (uint32_t)b->messages.length);
	vec_push(&b->messages, made);
}

static void on_sample(struct builder *b, const struct event *e)
{
	const struct event_sample *s = event_as(e, sample);
	uint32_t thread = thread_of(b, e->tid, e->time);

	if (!thread)
		return;
	vec_push(&b->threads[thread].samples, (uint32_t)b->samples.length);
	vec_push(&b->samples, ((struct sample){ e->time, e->number, s->period_ns, thread, s->ustack, s->kstack }));
}

static void on_file_lock(struct builder *b, const struct event *e)
{
	const struct event_file_lock *l = event_as(e, file_lock);

	vec_push(&b->locks, ((struct file_lock){ .time = e->time, .number = e->number, .object = l->object,
		.start = l->start, .end = l->end, .thread = thread_of(b, e->tid, e->time), .owner = l->owner,
		.blocker = l->blocker, .result = (int32_t)l->result, .type = l->type, .family = l->family,
		.waits = l->flags & 1 }));
}

static void on_lock_held(struct builder *b, const struct event *e)
{
	const struct event_lock_held *l = event_as(e, lock_held);

	vec_push(&b->locks, ((struct file_lock){ .time = e->time, .number = e->number, .object = l->object,
		.start = l->start, .end = l->end, .owner = e->tid, .blocker = l->blocker, .type = l->type,
		.family = l->family, .state = true, .waits = l->blocked != 0 }));
}

static void on_fuse_send(struct builder *b, const struct event *e)
{
	const struct event_fuse_send *f = event_as(e, fuse_send);

	map_put(&b->fuse_open, hash_u64(f->unique) ^ f->connection, b->fuse.length);
	vec_push(&b->fuse, ((struct fuse_request){ .time = e->time, .number = e->number, .unique = f->unique,
		.thread = thread_of(b, e->tid, e->time), .connection = f->connection, .opcode = f->opcode }));
}

static void on_fuse_end(struct builder *b, const struct event *e)
{
	const struct event_fuse_end *f = event_as(e, fuse_end);
	uint64_t *at = map_find(&b->fuse_open, hash_u64(f->unique) ^ f->connection);

	if (!at || b->fuse.items[*at].end_ns)
		return;
	b->fuse.items[*at].end_ns = e->time;
	b->fuse.items[*at].end_number = e->number;
	b->fuse.items[*at].server = thread_of(b, e->tid, e->time);
}

static void on_signal(struct builder *b, const struct event *e)
{
	const struct event_signal *s = event_as(e, signal);
	uint32_t target = thread_of(b, s->target, e->time);

	/* SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU: what stops a process and lets it go on. */
	if (s->number < 18 || s->number > 22 || !target)
		return;
	vec_push(&b->stops, ((struct stop_signal){ e->time, e->number, thread_of(b, e->tid, e->time), target, s->number }));
}

static void on_throttle(struct builder *b, const struct event *e)
{
	const struct event_throttle *t = event_as(e, throttle);
	uint32_t thread = thread_of(b, t->target, e->time);

	vec_push(&b->quotas, ((struct quota){ .time = e->time, .number = e->number, .cgroup = t->cgroup,
		.quota_ns = t->quota_ns, .period_ns = t->period_ns, .thread = thread, .throttled = t->throttled != 0 }));
	if (!thread)
		return;
	b->threads[thread].throttled = t->throttled != 0;
	if (b->threads[thread].state == SPAN_RUNNABLE)
		enter(b, thread, SPAN_RUNNABLE, e->time, 0, b->threads[thread].cpu);
}

static void on_cgroup(struct builder *b, const struct event *e)
{
	const struct event_cgroup *c = event_as(e, cgroup);

	vec_push(&b->quotas, ((struct quota){ .time = e->time, .number = e->number, .cgroup = c->cgroup,
		.quota_ns = c->quota_ns, .period_ns = c->period_ns, .throttled_ns = c->throttled_ns,
		.path = arena_strndup(&b->scene->arena, e->tail, e->tail_length) }));
}

static void on_event(struct builder *b, const struct event *e)
{
	uint32_t thread;

	switch (e->type) {
	case EVENT_switch: on_switch(b, e); break;
	case EVENT_wake: on_wake(b, e); break;
	case EVENT_fork: on_fork(b, e); break;
	case EVENT_exec:
		thread = thread_of(b, e->tid, e->time);
		if (thread)
			b->threads[thread].exec_ns = e->time;
		break;
	case EVENT_exit:
		thread = thread_of(b, e->tid, e->time);
		if (thread)
			b->threads[thread].exiting = true;
		break;
	case EVENT_waiting: on_waiting(b, e); break;
	case EVENT_message: on_message(b, e); break;
	case EVENT_sample: on_sample(b, e); break;
	case EVENT_file_lock: on_file_lock(b, e); break;
	case EVENT_lock_held: on_lock_held(b, e); break;
	case EVENT_fuse_send: on_fuse_send(b, e); break;
	case EVENT_fuse_end: on_fuse_end(b, e); break;
	case EVENT_signal: on_signal(b, e); break;
	case EVENT_throttle: on_throttle(b, e); break;
	case EVENT_cgroup: on_cgroup(b, e); break;
	case EVENT_file_event: {
		const struct event_file_event *f = event_as(e, file_event);

		vec_push(&b->changes, ((struct file_change){ e->time, e->number, f->object, f->watcher,
							     thread_of(b, e->tid, e->time), f->mask }));
		break;
	}
	case EVENT_poll_item: {
		const struct event_poll_item *p = event_as(e, poll_item);

		vec_push(&b->poll_items, ((struct poll_item){ e->time, p->set, p->object, e->tid, (int32_t)p->fd }));
		break;
	}
	case EVENT_mark:
		vec_push(&b->marks, ((struct mark){ e->time, e->number,
			arena_strndup(&b->scene->arena, e->tail, e->tail_length) }));
		break;
	default: /* event numbers are open: the rest has no part in the scene */
		break;
	}
}

static const uint16_t scene_events[] = {
	EVENT_switch, EVENT_wake, EVENT_fork, EVENT_exec, EVENT_exit, EVENT_waiting, EVENT_message, EVENT_sample,
	EVENT_file_lock, EVENT_lock_held, EVENT_fuse_send, EVENT_fuse_end, EVENT_signal, EVENT_throttle, EVENT_cgroup,
	EVENT_file_event, EVENT_poll_item, EVENT_mark,
};

int scene_build(const struct trace *trace, const struct tables *tables, struct scene **ret_scene, struct err *err)
{
	const struct trace_summary *summary = trace_summary(trace);
	struct builder b = { .tables = tables };
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;

	if (summary->end_ns <= summary->start_ns)
		return err_set(err, -ENODATA, "the trace holds no stretch of time to diagnose");
	b.scene = mem_zalloc(sizeof(*b.scene));
	arena_init(&b.scene->arena);
	b.scene->trace = trace;
	b.scene->tables = tables;
	b.scene->start_ns = summary->start_ns;
	b.scene->end_ns = summary->end_ns;
	b.scene->messages_seen = summary->counts[EVENT_message] > 0;
	b.scene->thread_count = tables->thread_count;
	b.scene->threads = arena_array(&b.scene->arena, struct scene_thread, tables->thread_count);
	b.threads = mem_zalloc(arena_array_bytes(sizeof(*b.threads), tables->thread_count));
	map_init(&b.by_tid);
	map_init(&b.fuse_open);
	vec_push(&b.waits, ((struct wait){ 0 })); /* entry 0 stands for none */

	for (size_t i = 0; i < sizeof(scene_events) / sizeof(*scene_events); i++)
		trace_filter_add(&filter, scene_events[i]);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		/* State records may stand behind the last happening. */
		if (e->time > b.scene->end_ns)
			b.scene->end_ns = e->time;
		on_event(&b, e);
	}
	trace_cursor_free(cursor);

	for (size_t i = 1; i < b.waits.length; i++)
		if (b.waits.items[i].end_ns == UINT64_MAX)
			b.waits.items[i].end_ns = b.scene->end_ns;
	scene_keep(&b);
	map_done(&b.by_tid);
	map_done(&b.fuse_open);
	free(b.threads);
	*ret_scene = b.scene;
	return 0;
}
