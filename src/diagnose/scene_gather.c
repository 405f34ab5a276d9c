/* What the graph does not hold, gathered while it is built.
 *
 * During the pass the tables are in the making, so threads are noted by tid and
 * told apart afterwards: messages, samples and switches where they lie, all that
 * is rare by going through copies of its events. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/map.h"
#include "base/populate.h"
#include "diagnose/ending.h"
#include "diagnose/scene_build.h"
#include "trace/part.h"

#define RECENT_ENDS 4096u
#define SIGNAL_DELIVERED_NS 1000000000ull /* at most, from a signal to its handler */
#define EXPECTED_MOST 4000000u
#define SIGNAL_QUEUED 0u /* how the kernel calls it: the target has it still to take */

struct cpu_rows {
	struct vec(struct cpu_run) runs;
	size_t populated;
	uint64_t first_ns;                    /* when the first one was seen, which began before */
};

struct gatherer {
	const struct trace *trace;
	uint64_t fields[EVENT_MAX];
	uint64_t start_ns, end_ns;
	struct arena arena;                   /* of the copies */
	struct vec(struct event) rare;
	struct wait_details *waits;
	size_t waits_populated;
	struct scene_frequent frequent;
	struct map end_of;                    /* hash -> place in frequent.ends; of equal hashes the next free one */
	uint32_t recent_ends[RECENT_ENDS];    /* by hash */
	struct vec(struct cpu_rows) cpus;
	uint64_t switches;                    /* of a processor, about */
	/* behind the pass */
	struct scene *scene;
	struct thread_tracker tracker;
	struct scene_gathered *threads;       /* the scene's own */
	struct vec(struct file_lock) locks;
	struct vec(struct fuse_request) fuse;
	struct map fuse_open;                 /* unique number -> index of the request */
	struct vec(struct sent_signal) signals;
	struct map signals_open;              /* process and signal -> index + 1 of the one that it has still to take */
	struct vec(struct call_made) calls;
	struct vec(struct named_call) named_calls;
	struct vec(struct quota) quotas;
	struct vec(struct file_change) changes;
	struct vec(struct mark) marks;
	struct vec(struct poll_item) poll_items;
	struct vec(struct watched_file) watched;
	struct vec(struct group_limit) group_limits;
	struct vec(struct pending_signal) pending_signals;
	struct vec(struct descriptor_limit) descriptor_limits;
};

/* ---- during the pass ---- */

static void keep_copy(struct gatherer *b, const struct event *e)
{
	struct event copy = *e;

	if (e->data)
		copy.data = arena_memdup(&b->arena, e->data, event_infos[e->type].bytes);
	copy.tail = arena_strndup(&b->arena, e->tail, e->tail_length);
	vec_push(&b->rare, copy);
}

static bool is_throttled(const struct event_switch *s)
{
	return s->flags & SWITCH_FLAGS_throttled || s->wait == WAIT_KIND_throttled;
}

/* So many of something as a trace may have: room that is not needed costs no memory until
 * it is touched, room that must grow is copied. What a trace says of itself may be wrong. */
static size_t expected(uint64_t count)
{
	return count < EXPECTED_MOST ? (size_t)count : EXPECTED_MOST;
}

/* The event is of the thread that has the processor: the first tells who had it from the start. */
static struct cpu_rows *cpu_of(struct gatherer *b, const struct event *e)
{
	struct cpu_rows *cpu;

	while (b->cpus.length <= e->cpu)
		vec_push(&b->cpus, ((struct cpu_rows){ 0 }));
	cpu = &b->cpus.items[e->cpu];
	if (!cpu->runs.length) {
		cpu->first_ns = e->time;
		vec_reserve(&cpu->runs, expected(b->switches));
		vec_push(&cpu->runs, ((struct cpu_run){ b->start_ns, e->tid }));
	}
	return cpu;
}

static void see_cpu(struct gatherer *b, const struct event *e, const struct event_switch *s)
{
	struct cpu_rows *cpu = cpu_of(b, e);

	vec_push_populated(&cpu->runs, &cpu->populated, ((struct cpu_run){ e->time, s->next }));
}

static void see_switch(struct gatherer *b, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);
	bool stands = e->time < b->start_ns; /* of before the trace's part */

	if (!stands)
		see_cpu(b, e, s);
	if (!e->tid)
		return;
	if (!stands && (s->wait == WAIT_KIND_yield || s->syscall == SYS_sched_yield))
		vec_push(&b->frequent.yields, ((struct yield){ e->time, e->tid }));
	if (s->state == TASK_STATE_running) {
		if (is_throttled(s))
			keep_copy(b, e);
		return;
	}
	vec_push_populated(&b->waits->items, &b->waits_populated, ((struct wait_detail){ .event = (uint32_t)e->number, .detail = s->detail,
		.argument = (int32_t)s->argument, .ustack = s->ustack, .kstack = s->kstack }));
	b->waits->apart += stands;
}

static bool same_end(const struct message_end *a, const struct message_end *b)
{
	return a->object == b->object && a->channel == b->channel && a->thread == b->thread && a->peer == b->peer &&
	       a->kind == b->kind && a->flags == b->flags;
}

/* Most messages are of few ends. */
static uint32_t end_of(struct gatherer *b, const struct message_end *end)
{
	uint64_t hash = hash_u64(end->object ^ (uint64_t)end->thread << 32 ^ (uint64_t)end->flags << 24 ^ (uint64_t)end->kind << 16) ^
			hash_u64(end->channel + end->peer);
	uint32_t *recent = &b->recent_ends[hash % RECENT_ENDS];
	bool fresh = false;
	uint64_t *place;

	if (*recent < b->frequent.ends.length && same_end(&b->frequent.ends.items[*recent], end))
		return *recent;
	for (;; hash++) {
		place = map_at(&b->end_of, hash, &fresh);
		if (fresh) {
			*place = b->frequent.ends.length;
			vec_push(&b->frequent.ends, *end);
		}
		if (fresh || same_end(&b->frequent.ends.items[*place], end))
			break;
	}
	return *recent = (uint32_t)*place;
}

static void see_message(struct gatherer *b, const struct event *e)
{
	const struct event_message *m = event_as(e, message);
	const struct message_end end = { .object = m->object, .channel = m->channel, .thread = e->tid, .peer = m->peer,
					 .kind = m->kind, .flags = m->flags };
	uint64_t duration = m->duration_ns < e->time ? m->duration_ns : 0;

	if (!e->tid)
		return;
	if (duration >= UINT32_MAX)
		map_put(&b->frequent.long_messages, (uint32_t)e->number, duration);
	vec_push(&b->frequent.messages, ((struct kept_message){
		.time = e->time, .end = end_of(b, &end), .number = (uint32_t)e->number,
		.duration_ns = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX, .bytes = m->bytes,
		.result = (int32_t)m->result, .ustack = m->ustack }));
}

/* What the call says of a lock that is a file, a folder or a process. */
static enum call_what call_what(const struct event_syscall *s)
{
	int64_t result = (int64_t)s->result;

	switch (s->number) {
	case SYS_openat:
#ifdef SYS_open
	case SYS_open:
#endif
		if ((s->arg0 & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL))
			return CALL_OTHER;
		break;
	case SYS_mkdirat: case SYS_linkat: case SYS_symlinkat:
#ifdef SYS_mkdir
	case SYS_mkdir: case SYS_link: case SYS_symlink:
#endif
		break;
	case SYS_unlinkat: case SYS_renameat2:
#ifdef SYS_rename
	case SYS_rename: case SYS_unlink: case SYS_rmdir: case SYS_renameat:
#endif
		return result == 0 ? CALL_TAKEN_AWAY : result == -EEXIST || result == -ENOTEMPTY ? CALL_REFUSED : CALL_OTHER;
	case SYS_kill:
		return s->arg1 ? CALL_OTHER : result == 0 ? CALL_ALIVE : result == -ESRCH ? CALL_GONE : CALL_OTHER;
	case SYS_wait4:
		return result == 0 ? CALL_CHILD_LIVES : CALL_OTHER;
	default: /* other calls say nothing of that */
		return CALL_OTHER;
	}
	return result >= 0 ? CALL_MADE : result == -EEXIST ? CALL_REFUSED : CALL_OTHER;
}

static void see_syscall(struct gatherer *b, const struct event *e)
{
	if (e->tid && e->time >= b->start_ns && call_what(event_as(e, syscall)) != CALL_OTHER)
		keep_copy(b, e);
	if (e->tid && event_as(e, syscall)->number == SYS_sched_yield)
		vec_push(&b->frequent.yields, ((struct yield){ e->time, e->tid }));
}

static void see_sample(struct gatherer *b, const struct event *e)
{
	const struct event_sample *s = event_as(e, sample);

	/* a thread that keeps its processor all the time leaves no switch */
	if (e->time >= b->start_ns)
		cpu_of(b, e);
	if (e->tid)
		vec_push(&b->frequent.samples, ((struct sample){ e->time, e->number, s->period_ns, e->tid, s->ustack, s->kstack }));
}

void gatherer_see(void *gatherer, const struct event *e)
{
	struct gatherer *b = gatherer;

	switch (e->type) {
	case EVENT_switch: see_switch(b, e); break;
	case EVENT_message: see_message(b, e); break;
	case EVENT_sample: see_sample(b, e); break;
	case EVENT_syscall: see_syscall(b, e); return;
	case EVENT_fork: case EVENT_exec: case EVENT_waiting: case EVENT_file_lock: case EVENT_lock_held: case EVENT_fuse_send:
	case EVENT_fuse_end: case EVENT_fuse_asked: case EVENT_signal: case EVENT_deliver: case EVENT_throttle: case EVENT_cgroup:
	case EVENT_file_event: case EVENT_poll_item: case EVENT_watch: case EVENT_call_name:
	case EVENT_group_limit: case EVENT_signal_pending: case EVENT_descriptor_limit:
	case EVENT_call_held: case EVENT_mark:
		keep_copy(b, e);
		break;
	default: /* event numbers are open: the rest has no part in the scene */
		return;
	}
	/* State records may follow the last event. */
	if (e->time > b->end_ns)
		b->end_ns = e->time;
}

static const uint16_t scene_events[] = {
	EVENT_switch, EVENT_fork, EVENT_exec, EVENT_waiting, EVENT_message, EVENT_sample, EVENT_file_lock, EVENT_lock_held,
	EVENT_fuse_send, EVENT_fuse_end, EVENT_fuse_asked, EVENT_signal, EVENT_deliver, EVENT_throttle, EVENT_cgroup, EVENT_file_event, EVENT_poll_item,
	EVENT_watch, EVENT_call_name, EVENT_group_limit, EVENT_signal_pending, EVENT_descriptor_limit, EVENT_call_held, EVENT_mark, EVENT_syscall,
};

#define BIT(event, field) (1ull << offsetof(struct event_##event, field))

struct gatherer *gatherer_new(const struct trace *trace)
{
	struct gatherer *b = mem_zalloc(sizeof(*b));
	const struct trace_summary *summary = trace_summary(trace);
	uint64_t events = trace_events_about(trace);

	b->trace = trace;
	b->start_ns = summary->start_ns;
	b->end_ns = summary->end_ns;
	b->switches = events * 2 / 3;
	if (summary->busy_cpus > 1)
		b->switches = b->switches * 5 / 4 / summary->busy_cpus;
	b->waits = mem_zalloc(sizeof(*b->waits));
	vec_reserve(&b->waits->items, expected(events / 2));
	arena_init(&b->arena);
	map_init(&b->end_of);
	map_init(&b->frequent.long_messages);
	for (size_t i = 0; i < sizeof(scene_events) / sizeof(*scene_events); i++)
		b->fields[scene_events[i]] = UINT64_MAX;
	/* What the graph tells of the frequent events is not decoded again. */
	b->fields[EVENT_switch] = BIT(switch, detail) | BIT(switch, next) | BIT(switch, argument) | BIT(switch, ustack) |
				  BIT(switch, kstack) | BIT(switch, state) | BIT(switch, wait) | BIT(switch, flags) |
				  BIT(switch, syscall);
	b->fields[EVENT_syscall] = BIT(syscall, number) | BIT(syscall, arg0) | BIT(syscall, arg1) | BIT(syscall, result);
	b->fields[EVENT_message] &= ~(BIT(message, argument) | BIT(message, number) | BIT(message, position));
	return b;
}

const uint64_t *gatherer_fields(const struct gatherer *gatherer)
{
	return gatherer->fields;
}

/* ---- behind it: what is rare ---- */

static uint32_t thread_of(struct gatherer *b, uint32_t tid, uint64_t time)
{
	return tid ? thread_tracker_find(&b->tracker, tid, time) : 0;
}

static void set_throttled(struct gatherer *b, uint32_t thread, uint64_t time, bool throttled)
{
	vec_push(&b->threads[thread].throttlings, ((struct throttling){ time, throttled }));
}

static void on_waiting(struct gatherer *b, const struct event *e)
{
	const struct event_waiting *r = event_as(e, waiting);
	uint32_t thread = thread_of(b, e->tid, e->time);

	if (!thread || !r->wait || r->state == TASK_STATE_running || r->state == TASK_STATE_dead)
		return;
	/* read before it ended, written behind that */
	if (b->scene->tables->threads[thread].end_ns <= e->time)
		return;
	vec_push(&b->threads[thread].found, ((struct wait_found){ e->time, *r }));
}

static void on_file_lock(struct gatherer *b, const struct event *e)
{
	const struct event_file_lock *l = event_as(e, file_lock);

	vec_push(&b->locks, ((struct file_lock){ .time = e->time, .number = e->number, .object = l->object,
		.start = l->start, .end = l->end, .thread = thread_of(b, e->tid, e->time), .owner = l->owner,
		.blocker = l->blocker, .result = (int32_t)l->result, .type = l->type, .family = l->family,
		.waits = l->flags & 1 }));
}

static void on_lock_held(struct gatherer *b, const struct event *e)
{
	const struct event_lock_held *l = event_as(e, lock_held);

	vec_push(&b->locks, ((struct file_lock){ .time = e->time, .number = e->number, .object = l->object,
		.start = l->start, .end = l->end, .owner = e->tid, .blocker = l->blocker, .type = l->type,
		.family = l->family, .state = true, .waits = l->blocked != 0 }));
}

static void asked_of_fuse(struct gatherer *b, const struct event *e, uint64_t unique, uint32_t connection, uint32_t opcode)
{
	map_put(&b->fuse_open, hash_u64(unique) ^ connection, b->fuse.length);
	vec_push(&b->fuse, ((struct fuse_request){ .time = e->time, .number = e->number, .unique = unique,
		.thread = thread_of(b, e->tid, e->time), .connection = connection, .opcode = opcode }));
}

static void on_fuse_send(struct gatherer *b, const struct event *e)
{
	const struct event_fuse_send *f = event_as(e, fuse_send);

	asked_of_fuse(b, e, f->unique, f->connection, f->opcode);
}

#define PAGE_OF (1ull << 63) /* and the thread that awaits it: a request for pages has no number there */

/* What was asked before the trace began; later snapshots tell it again, and a request
 * that was answered while one was taken. */
static void on_fuse_asked(struct gatherer *b, const struct event *e)
{
	const struct event_fuse_asked *f = event_as(e, fuse_asked);
	uint64_t unique = f->unique ? f->unique : PAGE_OF | e->tid;

	if (!map_find(&b->fuse_open, hash_u64(unique) ^ f->connection))
		asked_of_fuse(b, e, unique, f->connection, f->opcode);
}

static void on_fuse_end(struct gatherer *b, const struct event *e)
{
	const struct event_fuse_end *f = event_as(e, fuse_end);
	uint64_t *at = map_find(&b->fuse_open, hash_u64(f->unique) ^ f->connection);

	if (!at || b->fuse.items[*at].end_ns)
		return;
	b->fuse.items[*at].end_ns = e->time;
	b->fuse.items[*at].end_number = e->number;
	b->fuse.items[*at].server = thread_of(b, e->tid, e->time);
}

static uint64_t signal_key(const struct gatherer *b, uint32_t thread, uint32_t signal)
{
	return (uint64_t)scene_pid(b->scene, thread) << 32 | signal;
}

static void on_signal(struct gatherer *b, const struct event *e)
{
	const struct event_signal *s = event_as(e, signal);
	uint32_t target = thread_of(b, s->target, e->time);

	if (!target)
		return;
	/* an interrupt's is not that of the thread it interrupted */
	vec_push(&b->signals, ((struct sent_signal){ e->time, e->number, s->context == CONTEXT_thread ? thread_of(b, e->tid, e->time) : 0, target,
						      s->number, s->result == SIGNAL_QUEUED }));
	if (s->result == SIGNAL_QUEUED)
		map_put(&b->signals_open, signal_key(b, target, s->number), b->signals.length);
}

static void take_signal(struct gatherer *b, uint32_t thread, uint32_t signal)
{
	uint64_t *open = thread ? map_find(&b->signals_open, signal_key(b, thread, signal)) : NULL;

	if (!open || !*open)
		return;
	b->signals.items[*open - 1].stays = false;
	*open = 0;
}

/* A timer's signal whose sending was not recorded, as where its interrupt met the recorder's own program: it was
 * sent just before. */
static void on_deliver(struct gatherer *b, const struct event *e)
{
	const struct event_deliver *d = event_as(e, deliver);
	uint32_t thread = thread_of(b, e->tid, e->time);

	take_signal(b, thread, d->number);
	if (!thread || !d->handler || ((int32_t)d->code != SI_KERNEL && (int32_t)d->code != SI_TIMER))
		return;
	for (size_t i = b->signals.length; i-- > 0 && b->signals.items[i].time + SIGNAL_DELIVERED_NS > e->time; )
		if (b->signals.items[i].signal == d->number && scene_same_process(b->scene, b->signals.items[i].target, thread))
			return;
	vec_push(&b->signals, ((struct sent_signal){ e->time, e->number, 0, thread, d->number, false }));
}

static void on_call(struct gatherer *b, const struct event *e)
{
	const struct event_syscall *s = event_as(e, syscall);
	enum call_what what = call_what(s);
	bool looks = what == CALL_ALIVE || what == CALL_GONE || what == CALL_CHILD_LIVES;

	vec_push(&b->calls, ((struct call_made){ .time = e->time, .number = e->number, .thread = thread_of(b, e->tid, e->time),
		.target = looks && s->arg0 && s->arg0 <= INT32_MAX ? thread_of(b, (uint32_t)s->arg0, e->time) : 0, .syscall = s->number,
		.what = (uint8_t)what }));
}

static void on_call_name(struct gatherer *b, const struct event *e)
{
	const struct event_call_name *c = event_as(e, call_name);

	vec_push(&b->named_calls, ((struct named_call){ .time = e->time, .number = e->number, .thread = thread_of(b, e->tid, e->time),
		.result = (int32_t)c->result, .syscall = c->number, .family = c->family, .port = c->port,
		.address = { c->address_high, c->address_low }, .path = arena_strndup(&b->scene->arena, e->tail, e->tail_length) }));
}

#define NO_QUOTA UINT64_MAX /* of a group whose limit was taken away meanwhile, or that has none of its own */

static void on_throttle(struct gatherer *b, const struct event *e)
{
	const struct event_throttle *t = event_as(e, throttle);
	uint32_t thread = thread_of(b, t->target, e->time);

	vec_push(&b->quotas, ((struct quota){ .time = e->time, .number = e->number, .cgroup = t->cgroup,
		.quota_ns = t->quota_ns == NO_QUOTA ? 0 : t->quota_ns, .period_ns = t->period_ns, .thread = thread, .throttled = t->throttled != 0 }));
	if (thread)
		set_throttled(b, thread, e->time, t->throttled != 0);
}

static void on_cgroup(struct gatherer *b, const struct event *e)
{
	const struct event_cgroup *c = event_as(e, cgroup);

	vec_push(&b->quotas, ((struct quota){ .time = e->time, .number = e->number, .cgroup = c->cgroup,
		.quota_ns = c->quota_ns, .period_ns = c->period_ns, .throttled_ns = c->throttled_ns,
		.path = arena_strndup(&b->scene->arena, e->tail, e->tail_length) }));
}

static void on_fork(struct gatherer *b, const struct event *e)
{
	uint32_t child = thread_of(b, event_as(e, fork)->child, e->time);

	if (!child)
		return;
	b->scene->threads[child].fork_event = e->number;
	b->scene->threads[child].fork_stack = event_as(e, fork)->ustack;
}

#define SNAPSHOT_TAKES_NS 5000000000u /* at most: descriptors are read behind the threads and their names */

/* Its wait stands before that in the same snapshot. */
static void on_call_held(struct gatherer *b, uint32_t thread, uint64_t object, uint64_t time_ns)
{
	struct scene_gathered *found = &b->threads[thread];
	struct event_waiting *said = thread && found->found.length ? &found->found.items[found->found.length - 1].said : NULL;

	if (!said || found->found.items[found->found.length - 1].time + SNAPSHOT_TAKES_NS < time_ns)
		return;
	said->wait = WAIT_KIND_supervised;
	said->object = object;
	said->hint = said->hint_kind = 0;
}

static void on_rare(struct gatherer *b, const struct event *e)
{
	uint32_t thread;

	switch (e->type) {
	case EVENT_switch:
		thread = thread_of(b, e->tid, e->time);
		if (thread)
			set_throttled(b, thread, e->time, true);
		break;
	case EVENT_fork: on_fork(b, e); break;
	case EVENT_exec:
		thread = thread_of(b, e->tid, e->time);
		if (thread)
			b->scene->threads[thread].exec_ns = e->time;
		break;
	case EVENT_waiting: on_waiting(b, e); break;
	case EVENT_file_lock: on_file_lock(b, e); break;
	case EVENT_lock_held: on_lock_held(b, e); break;
	case EVENT_fuse_send: on_fuse_send(b, e); break;
	case EVENT_fuse_end: on_fuse_end(b, e); break;
	case EVENT_fuse_asked: on_fuse_asked(b, e); break;
	case EVENT_signal: on_signal(b, e); break;
	case EVENT_deliver: on_deliver(b, e); break;
	case EVENT_syscall: on_call(b, e); break;
	case EVENT_call_name: on_call_name(b, e); break;
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

		vec_push(&b->poll_items, ((struct poll_item){ e->time, p->set, p->object, e->tid, (int32_t)p->fd, p->events }));
		break;
	}
	case EVENT_watch: {
		const struct event_watch *w = event_as(e, watch);

		vec_push(&b->watched, ((struct watched_file){ e->time, w->watcher, w->object, e->tid, w->mask,
							      arena_strndup(&b->scene->arena, e->tail, e->tail_length) }));
		break;
	}
	case EVENT_group_limit: {
		const struct event_group_limit *l = event_as(e, group_limit);

		vec_push(&b->group_limits, ((struct group_limit){ e->time, l->limit, l->used, l->most_bytes, thread_of(b, l->most, e->time), l->device,
								  l->refused, l->kind, arena_strndup(&b->scene->arena, e->tail, e->tail_length), e->tid }));
		break;
	}
	case EVENT_signal_pending: {
		const struct event_signal_pending *s = event_as(e, signal_pending);

		vec_push(&b->pending_signals, ((struct pending_signal){ e->time, e->number, thread_of(b, e->tid, e->time),
			s->sender ? thread_of(b, s->sender, e->time) : 0, s->number, s->blocked != 0 }));
		break;
	}
	case EVENT_call_held:
		on_call_held(b, thread_of(b, e->tid, e->time), event_as(e, call_held)->object, e->time);
		break;
	case EVENT_descriptor_limit:
		vec_push(&b->descriptor_limits, ((struct descriptor_limit){ e->time, e->number, e->tid, event_as(e, descriptor_limit)->limit }));
		break;
	case EVENT_mark:
		vec_push(&b->marks, ((struct mark){ e->time, e->number,
			arena_strndup(&b->scene->arena, e->tail, e->tail_length) }));
		break;
	default: /* gatherer_see keeps no others */
		break;
	}
}

/* ---- behind it: the threads of what is frequent ---- */

/* Each walk over time begins with the threads that were there at first. */
static void start_over(struct gatherer *b)
{
	thread_tracker_done(&b->tracker);
	thread_tracker_init(&b->tracker, b->scene->tables);
}

/* `uses`: a place for each thread, 0 before and after. */
static void add_up_blocks(struct cpu_row *row, uint64_t *uses)
{
	struct vec(struct cpu_share) shares = { 0 };

	row->block_count = row->count / CPU_BLOCK;
	row->blocks = mem_alloc(((size_t)row->block_count + 1) * sizeof(*row->blocks));
	for (uint32_t i = 0; i < row->block_count; i++) {
		const struct cpu_run *runs = row->runs + (size_t)i * CPU_BLOCK;

		row->blocks[i] = (uint32_t)shares.length;
		for (uint32_t k = 0; k < CPU_BLOCK; k++) {
			/* a clock that stepped back gives nobody time */
			uint64_t ns = runs[k + 1].start_ns > runs[k].start_ns ? runs[k + 1].start_ns - runs[k].start_ns : 0;

			if (ns && !uses[runs[k].thread])
				vec_push(&shares, ((struct cpu_share){ 0, runs[k].thread }));
			uses[runs[k].thread] += ns;
		}
		for (size_t k = row->blocks[i]; k < shares.length; k++) {
			shares.items[k].ns = uses[shares.items[k].thread];
			uses[shares.items[k].thread] = 0;
		}
	}
	row->blocks[row->block_count] = (uint32_t)shares.length;
	row->shares = shares.items;
}

static void take_cpus(struct gatherer *b)
{
	struct scene *scene = b->scene;
	uint64_t *uses = mem_zalloc(arena_array_bytes(sizeof(*uses), scene->thread_count));

	scene->cpu_count = (uint32_t)b->cpus.length;
	scene->cpus = arena_array(&scene->arena, struct cpu_row, b->cpus.length);
	for (uint32_t i = 0; i < scene->cpu_count; i++) {
		struct cpu_rows *c = &b->cpus.items[i];

		start_over(b);
		for (size_t k = 0; k < c->runs.length; k++)
			c->runs.items[k].thread = thread_of(b, c->runs.items[k].thread, k ? c->runs.items[k].start_ns : c->first_ns);
		scene->cpus[i].count = (uint32_t)c->runs.length;
		vec_push(&c->runs, ((struct cpu_run){ scene->end_ns, 0 }));
		scene->cpus[i].runs = c->runs.items;
		c->runs.items = NULL;
		add_up_blocks(&scene->cpus[i], uses);
	}
	free(uses);
	vec_done(&b->cpus);
}

/* The scene takes a vector's items as they lie. */
#define KEEP(b, vector, array, counter) \
	do { \
		(b)->scene->counter = (uint32_t)(b)->vector.length; \
		(b)->scene->array = (b)->vector.items; \
		(b)->scene->kept[(b)->scene->kept_count++] = (b)->vector.items; \
		(b)->vector.items = NULL; \
	} while (0)

void gatherer_give(struct gatherer *b, struct scene *scene)
{
	b->scene = scene;
	b->threads = scene->gathered;
	map_init(&b->fuse_open);
	map_init(&b->signals_open);
	start_over(b);
	for (size_t i = 0; i < b->rare.length; i++)
		on_rare(b, &b->rare.items[i]);
	wait_details_index(b->waits);
	scene->wait_details = b->waits;
	b->waits = NULL;
	take_cpus(b);
	KEEP(b, locks, locks, lock_count);
	KEEP(b, fuse, fuse, fuse_count);
	KEEP(b, signals, signals, signal_count);
	ending_note_signals(scene);
	KEEP(b, calls, calls, call_count);
	KEEP(b, named_calls, named_calls, named_call_count);
	KEEP(b, quotas, quotas, quota_count);
	KEEP(b, changes, changes, change_count);
	KEEP(b, marks, marks, mark_count);
	KEEP(b, poll_items, poll_items, poll_item_count);
	KEEP(b, watched, watched, watched_count);
	KEEP(b, group_limits, group_limits, group_limit_count);
	KEEP(b, pending_signals, pending_signals, pending_signal_count);
	KEEP(b, descriptor_limits, descriptor_limits, descriptor_limit_count);
	scene_narrow_polls(scene);
	map_done(&b->fuse_open);
	map_done(&b->signals_open);
	vec_done(&b->rare);
	arena_done(&b->arena);
}

uint64_t gatherer_end_ns(const struct gatherer *b)
{
	return b->end_ns;
}

struct scene_frequent *gatherer_frequent(struct gatherer *b)
{
	return &b->frequent;
}

void gatherer_free(struct gatherer *b)
{
	for (size_t i = 0; i < b->cpus.length; i++)
		vec_done(&b->cpus.items[i].runs);
	vec_done(&b->cpus);
	vec_done(&b->rare);
	wait_details_free(b->waits);
	vec_done(&b->frequent.messages);
	vec_done(&b->frequent.ends);
	map_done(&b->frequent.long_messages);
	map_done(&b->end_of);
	vec_done(&b->frequent.samples);
	vec_done(&b->frequent.yields);
	thread_tracker_done(&b->tracker);
	arena_done(&b->arena);
	free(b);
}
