/* See observe.h. */
#include "infer/observe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/observe_thread.h"
#include "symbols/file_opener.h"

#define GENERATIONS 64

/* Where an event's type keeps its stacks and its system call; -1 nowhere. */
struct places {
	int user, kernel, call;
};

struct watched {
	struct observed thread;
	uint32_t tid, pid;
	bool wanted, ended, free;
};

struct run {
	struct observer *observer;
	struct file_opener *opener;
	const struct trace *trace;
	const struct tables *tables;
	struct places places[EVENT_MAX];
	struct map by_tid;                  /* tid -> index of threads + 1; GONE and its program + 1, 0 not wanted */
	struct vec(struct watched) threads; /* that there are now; places are used again */
	struct vec(uint32_t) free;
	struct watched gone;                /* stands for the one asked for last that has ended */
	struct observe_counts ended;        /* stacks of threads that have ended */
	uint32_t wanted_ended;
	bool calls_recorded;
	bool counting;                      /* inside the window */
	uint64_t from_ns;                   /* where reading begins */
	struct latency_rules rules;         /* the observer's, silent before the window */
};

/* Of a tid whose thread has ended: nothing more is taken into account. */
#define GONE (1ull << 63)

static void no_instance(void *data, const struct latency_instance *instance)
{
	(void)data;
	(void)instance;
}

static uint32_t field_u32(const struct event *e, int offset)
{
	uint32_t value;

	if (offset < 0 || !e->data)
		return 0;
	memcpy(&value, (const char *)e->data + offset, sizeof(value));
	return value;
}

static uint16_t field_call(const struct event *e, int offset)
{
	uint16_t value;

	if (offset < 0 || !e->data)
		return CONTEXT_NO_CALL;
	memcpy(&value, (const char *)e->data + offset, sizeof(value));
	return value;
}

static void find_places(struct run *run)
{
	for (unsigned type = 0; type < EVENT_MAX; type++) {
		const struct event_info *info = &event_infos[type];
		const struct field_info *f;

		run->places[type] = (struct places){ -1, -1, -1 };
		if (!info->name || (info->categories & META))
			continue;
		if ((f = field_info_find(info, "ustack")))
			run->places[type].user = f->offset;
		if ((f = field_info_find(info, "kstack")))
			run->places[type].kernel = f->offset;
		if ((f = field_info_find(info, "syscall")))
			run->places[type].call = f->offset;
	}
}

static bool listed(const uint32_t *list, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == number)
			return true;
	return false;
}

static bool descends(const struct run *run, const struct thread *thread)
{
	const struct observe_scope *scope = &run->observer->scope;

	for (unsigned generation = 0; generation < GENERATIONS; generation++) {
		if (listed(scope->roots, scope->root_count, thread->pid))
			return true;
		if (!thread->creator)
			return false;
		thread = &run->tables->threads[thread->creator];
	}
	return false;
}

static bool is_wanted(const struct run *run, const struct thread *thread, uint32_t tid, const char *program)
{
	const struct observe_scope *scope = &run->observer->scope;

	if (!tid)
		return false;
	if (thread && (thread->flags & TASK_FLAGS_argus))
		return false;
	if (scope->tids)
		return listed(scope->tids, scope->tid_count, tid);
	if (scope->pids)
		return thread && listed(scope->pids, scope->pid_count, thread->pid);
	if (scope->name)
		return (thread && !strcmp(thread->comm, scope->name)) || !strcmp(path_file_name(program), scope->name);
	if (scope->roots)
		return thread && descends(run, thread);
	return scope->kernel_threads || !thread || !(thread->flags & TASK_FLAGS_kernel_thread);
}

/* A program started by a relative path: the mapped file of that name. */
static const char *absolute(const struct tables *tables, const char *program)
{
	const char *name = path_file_name(program);

	if (program[0] == '/' || program[0] == '[')
		return program;
	for (uint32_t m = 1; m < tables->module_count; m++)
		if (tables->modules[m].path[0] == '/' && !strcmp(path_file_name(tables->modules[m].path), name))
			return tables->modules[m].path;
	return program;
}

static struct watched *place_thread(struct run *run, const struct watched *added)
{
	uint32_t place = (uint32_t)run->threads.length;

	if (run->free.length) {
		place = run->free.items[--run->free.length];
		run->threads.items[place] = *added;
	} else {
		vec_push(&run->threads, *added);
	}
	map_put(&run->by_tid, added->tid, place + 1);
	return &run->threads.items[place];
}

static void count_stacks(const struct observed *thread, struct observe_counts *counts)
{
	counts->stacks += thread->stacks;
	counts->missing += thread->missing;
	counts->cut += thread->cut;
	counts->broken += thread->latency.broken;
	counts->threads += thread->stacks != 0;
}

/* Its calls are closed; nothing more comes of it. */
static void let_go(struct run *run, struct watched *watched)
{
	const struct latency_hooks *hooks = &run->observer->rules.hooks;

	count_stacks(&watched->thread, &run->ended);
	run->wanted_ended += watched->wanted;
	observed_done(&watched->thread);
	if (watched->wanted && hooks->gone)
		hooks->gone(hooks->data, watched->thread.latency.thread);
	watched->ended = watched->free = true;
	vec_push(&run->free, (uint32_t)(watched - run->threads.items));
}

static struct watched *begin_thread(struct run *run, uint32_t tid, uint64_t time, uint64_t start, const char *program)
{
	struct observer *observer = run->observer;
	uint32_t entry = tables_thread(run->tables, tid, time);
	const struct thread *thread = entry ? &run->tables->threads[entry] : NULL;
	struct watched added = { .tid = tid, .pid = thread ? thread->pid : tid };
	struct observe_thread known = { .tid = tid, .pid = added.pid };
	char name[64], *real;

	if (!program)
		program = thread && thread->exe[0] ? thread->exe : NULL;
	if (!program) {
		/* A kernel thread, or one that ended before it was looked at. */
		known.name = thread ? thread->comm : "?";
		snprintf(name, sizeof(name), "[%.40s]", thread && (thread->flags & TASK_FLAGS_kernel_thread) ? "kernel" : known.name);
		program = name;
	}
	program = absolute(run->tables, program);
	/* One program by all its names: /usr/bin/python3 may be a link. */
	real = program[0] == '/' ? file_opener_real_path(run->opener, program) : NULL;
	if (real)
		program = real;
	added.wanted = is_wanted(run, thread, tid, program);
	known.name = thread ? thread->comm : "?";
	added.thread.latency.thread = (uint32_t)observer->threads.length;
	added.thread.latency.start = start;
	added.thread.latency.last = start > run->from_ns ? start : run->from_ns;
	added.thread.kernel_thread = thread && (thread->flags & TASK_FLAGS_kernel_thread);
	if (added.wanted)
		known.program = added.thread.program = contexts_program(observer->rules.contexts, program);
	free(real);
	vec_push(&observer->threads, known);
	return place_thread(run, &added);
}

static struct watched *thread_of(struct run *run, uint32_t tid, uint64_t time)
{
	const uint64_t *found = map_find(&run->by_tid, tid);
	uint32_t program;

	if (!found)
		return begin_thread(run, tid, time, 0, NULL);
	if (!(*found & GONE))
		return &run->threads.items[*found - 1];
	program = (uint32_t)*found;
	run->gone = (struct watched){ .tid = tid, .wanted = program, .ended = true, .thread.program = program ? program - 1 : 0 };
	return &run->gone;
}

static const char *program_of(const struct run *run, const struct watched *watched)
{
	return watched->wanted ? run->observer->rules.contexts->programs.items[watched->thread.program].path : NULL;
}

static void on_sight(struct run *run, struct watched *watched, uint64_t time, enum sight_kind kind,
		     const struct event *e)
{
	const struct places *places = e ? &run->places[e->type] : NULL;
	struct sight sight = { .time = time, .kind = kind, .call = CONTEXT_NO_CALL };
	bool hold = false;

	if (!watched->wanted || watched->ended)
		return;
	if (e) {
		sight.user = field_u32(e, places->user);
		sight.kernel = field_u32(e, places->kernel);
		sight.call = field_call(e, places->call);
		if (e->type == EVENT_sample)
			sight.sampled_ns = event_as(e, sample)->period_ns;
		/* In user mode, and no call goes on: nothing to wait for. */
		hold = run->calls_recorded &&
		       (sight.call != CONTEXT_NO_CALL || places->call < 0) &&
		       !(e->type == EVENT_sample && !sight.kernel);
		if (kind == SIGHT_stack && !sight.user && !sight.kernel)
			return;
	}
	observed_sight(&watched->thread, &run->rules, &sight, hold);
}

static void end_thread(struct run *run, struct watched *watched, uint64_t time)
{
	if (watched->ended)
		return;
	if (watched->wanted)
		observed_close(&watched->thread, &run->rules, time, true);
	map_put(&run->by_tid, watched->tid, GONE | (watched->wanted ? watched->thread.program + 1u : 0));
	let_go(run, watched);
}

static void on_switch(struct run *run, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);
	struct watched *watched;

	if (e->tid) {
		watched = thread_of(run, e->tid, e->time);
		on_sight(run, watched, e->time, s->state == TASK_STATE_running ? SIGHT_off : SIGHT_out, e);
		/* Of some, such as the recorder's helpers, there is no other word of their end. */
		if (s->state == TASK_STATE_dead)
			end_thread(run, watched, e->time);
	}
	if (s->next) {
		watched = thread_of(run, s->next, e->time);
		on_sight(run, watched, e->time, SIGHT_in, NULL);
	}
}

/* `duration`: 0 where it is not known when the call began. */
static void on_call(struct run *run, const struct event *e, uint64_t duration, uint16_t call, uint32_t user)
{
	struct watched *watched = thread_of(run, e->tid, e->time);

	if (!watched->wanted || watched->ended)
		return;
	if (duration)
		observed_call(&watched->thread, &run->rules, e->time > duration ? e->time - duration : 0, e->time, call, user);
	else
		observed_call_end(&watched->thread, &run->rules, e->time, call, user);
}

static int by_number(const void *a, const void *b)
{
	const struct watched *const *x = a, *const *y = b;
	uint32_t first = (*x)->thread.latency.thread, second = (*y)->thread.latency.thread;

	return (first > second) - (first < second);
}

/* In the order in which they were first met: functions' paces are learned on the way. */
static void end_all(struct run *run, uint64_t time)
{
	struct vec(struct watched *) left = { 0 };

	for (size_t i = 0; i < run->threads.length; i++)
		if (run->threads.items[i].wanted && !run->threads.items[i].ended)
			vec_push(&left, &run->threads.items[i]);
	if (left.length)
		qsort(left.items, left.length, sizeof(*left.items), by_number);
	for (size_t i = 0; i < left.length; i++)
		observed_close(&left.items[i]->thread, &run->rules, time, false);
	vec_done(&left);
}

/* The tid is another thread's from now on. */
static void replace(struct run *run, struct watched *watched, uint64_t time)
{
	if (watched->ended)
		return;
	if (watched->wanted)
		observed_close(&watched->thread, &run->rules, time, true);
	let_go(run, watched);
}

static void on_fork(struct run *run, const struct event *e)
{
	const struct event_fork *f = event_as(e, fork);
	const char *program = program_of(run, thread_of(run, e->tid, e->time));
	const uint64_t *old = map_find(&run->by_tid, f->child);

	if (old && !(*old & GONE))
		replace(run, &run->threads.items[*old - 1], e->time);
	begin_thread(run, f->child, e->time, e->time, program);
}

static void on_exec(struct run *run, const struct event *e)
{
	replace(run, thread_of(run, e->tid, e->time), e->time);
	begin_thread(run, e->tid, e->time, e->time, e->tail_length ? e->tail : NULL);
}

static void begin_window(struct run *run, uint64_t time)
{
	run->rules = run->observer->rules;
	run->counting = true;
	run->ended = (struct observe_counts){ .broken = run->ended.broken };
	for (size_t i = 0; i < run->threads.length; i++) {
		struct watched *watched = &run->threads.items[i];

		watched->thread.stacks = watched->thread.cut = watched->thread.missing = 0;
		if (watched->wanted && !watched->ended)
			observed_cut(&watched->thread, time);
	}
}

static void on_event(struct run *run, const struct event *e)
{
	struct watched *watched;
	const struct event_wake *w;

	switch (e->type) {
	case EVENT_switch:
		on_switch(run, e);
		return;
	case EVENT_wake:
		w = event_as(e, wake);
		on_sight(run, thread_of(run, w->target, e->time), e->time, SIGHT_woken, NULL);
		if (w->context == CONTEXT_thread && e->tid)
			on_sight(run, thread_of(run, e->tid, e->time), e->time, SIGHT_stack, e);
		return;
	case EVENT_syscall:
		on_call(run, e, event_as(e, syscall)->duration_ns, event_as(e, syscall)->number,
			event_as(e, syscall)->ustack);
		return;
	case EVENT_call_end:
		on_call(run, e, 0, event_as(e, call_end)->number, event_as(e, call_end)->ustack);
		return;
	case EVENT_message:
		if (!(event_as(e, message)->flags & MESSAGE_FLAGS_part))
			on_call(run, e, event_as(e, message)->duration_ns, event_as(e, message)->number,
				event_as(e, message)->ustack);
		return;
	case EVENT_queue_message:
		on_call(run, e, event_as(e, queue_message)->duration_ns, event_as(e, queue_message)->number,
			event_as(e, queue_message)->ustack);
		return;
	case EVENT_waiting:
		watched = thread_of(run, e->tid, e->time);
		/* Found at the start; later ones repeat what the switch has told. */
		if (!watched->thread.off_since && !watched->thread.latency.site && !watched->thread.held.length)
			on_sight(run, watched, e->time, SIGHT_out, e);
		return;
	case EVENT_fork:
		on_sight(run, thread_of(run, e->tid, e->time), e->time, SIGHT_stack, e);
		on_fork(run, e);
		return;
	case EVENT_exec:
		on_exec(run, e);
		return;
	case EVENT_exit:
		end_thread(run, thread_of(run, e->tid, e->time), e->time);
		return;
	case EVENT_gap:
		run->observer->counts.gaps++;
		end_all(run, event_as(e, gap)->from_ns);
		return;
	default:
		on_sight(run, thread_of(run, e->tid, e->time), e->time, SIGHT_stack, e);
	}
}

static enum observe_source source_of(unsigned type)
{
	switch (type) {
	case EVENT_syscall:
	case EVENT_message:
	case EVENT_queue_message:
	case EVENT_call_end:
		return OBSERVE_calls;
	case EVENT_switch:
	case EVENT_waiting:
		return OBSERVE_switches;
	case EVENT_sample:
		return OBSERVE_samples;
	default:
		return OBSERVE_others;
	}
}

static void set_filter(struct run *run, struct trace_filter *filter)
{
	unsigned sources = run->observer->scope.sources;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (run->places[type].user >= 0 && (!sources || (sources & source_of(type))))
			trace_filter_add(filter, type);
	trace_filter_add(filter, EVENT_fork);
	trace_filter_add(filter, EVENT_exec);
	trace_filter_add(filter, EVENT_exit);
	trace_filter_add(filter, EVENT_gap);
}

static int judge(struct run *run, struct err *err)
{
	struct observer *observer = run->observer;
	struct observe_counts *counts = &observer->counts;
	const struct observe_scope *scope = &observer->scope;
	bool narrowed = scope->tids || scope->pids || scope->name || scope->roots;
	uint32_t wanted = run->wanted_ended;

	for (size_t i = 0; i < run->threads.length; i++) {
		if (run->threads.items[i].free)
			continue;
		wanted += run->threads.items[i].wanted;
		count_stacks(&run->threads.items[i].thread, &run->ended);
	}
	counts->stacks += run->ended.stacks;
	counts->missing += run->ended.missing;
	counts->cut += run->ended.cut;
	counts->broken += run->ended.broken;
	counts->threads += run->ended.threads;
	if (counts->stacks)
		return 0;
	if (narrowed && !wanted)
		return err_set(err, -ENODATA, "no event of the threads asked for in '%s'", trace_path(run->trace));
	if (run->tables->frame_count <= 1)
		return err_set(err, -ENODATA, "'%s' holds no stacks: it was recorded without them",
			       trace_path(run->trace));
	return err_set(err, -ENODATA, "no stack of %s in the window of '%s'",
		       narrowed ? "the threads asked for" : "any thread", trace_path(run->trace));
}

int observe_run(struct observer *observer, const struct trace *trace, const struct tables *tables, struct err *err)
{
	const struct trace_summary *summary = trace_summary(trace);
	const struct observe_scope *scope = &observer->scope;
	uint64_t from = scope->from_ns > summary->start_ns ? scope->from_ns : summary->start_ns;
	uint64_t to = scope->to_ns && scope->to_ns < summary->end_ns ? scope->to_ns : summary->end_ns;
	struct run run = { .observer = observer,  .trace = trace, .tables = tables, .rules = observer->rules };
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	int result;

	if (!summary->events)
		return err_set(err, -ENODATA, "'%s' holds no events", trace_path(trace));
	if (from > to || (scope->to_ns && scope->to_ns < summary->start_ns))
		return err_set(err, -ENODATA, "the window is empty: '%s' lasts from %" PRIu64 " to %" PRIu64,
			       trace_path(trace), summary->start_ns, summary->end_ns);
	map_init(&run.by_tid);
	run.opener = file_opener_new();
	find_places(&run);
	run.calls_recorded = (summary->counts[EVENT_syscall] || summary->counts[EVENT_message] || summary->counts[EVENT_call_end]) &&
			     (!scope->sources || (scope->sources & OBSERVE_calls));
	run.rules.hooks.instance = no_instance;
	run.rules.hooks.stretch = NULL;
	run.rules.hooks.sample = NULL;
	run.rules.hooks.life = NULL;
	filter.to_ns = to;
	filter.unnumbered = true;
	if (scope->before_ns && from > scope->before_ns)
		filter.from_ns = from - scope->before_ns;
	run.from_ns = filter.from_ns > summary->start_ns ? filter.from_ns : summary->start_ns;
	set_filter(&run, &filter);
	observer->counts.from_ns = from;
	observer->counts.to_ns = to;
	if (from == summary->start_ns)
		begin_window(&run, from);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor));) {
		if (!run.counting && e->time >= from)
			begin_window(&run, from);
		on_event(&run, e);
	}
	trace_cursor_free(cursor);
	if (!run.counting)
		begin_window(&run, from);
	end_all(&run, to);
	result = judge(&run, err);
	for (size_t i = 0; i < run.threads.length; i++)
		observed_done(&run.threads.items[i].thread);
	vec_done(&run.threads);
	vec_done(&run.free);
	map_done(&run.by_tid);
	file_opener_free(run.opener);
	return result;
}

void observe_done(struct observer *observer)
{
	vec_done(&observer->threads);
}
