/* Building a scene: the graph, whose pass makes the tables too, then one pass over
 * the trace that gathers what the graph does not hold, and decodes no more than
 * that. Each pass keeps two processors at work by itself. */
#include "diagnose/scene_build.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "graph/graph.h"

#define MANY_MESSAGES 20000    /* below, a thread of their own costs more than it brings */

struct thread_rows {
	struct vec(uint32_t) messages, samples;
};

struct cpu_rows {
	struct vec(struct cpu_run) runs;
};

struct gatherer {
	struct scene *scene;
	const struct tables *tables;
	struct thread_tracker tracker;
	struct scene_gathered *threads;       /* the scene's own */
	struct thread_rows *rows;
	struct vec(struct message) messages;
	struct vec(struct sample) samples;
	struct vec(struct file_lock) locks;
	struct vec(struct fuse_request) fuse;
	struct map fuse_open;                 /* unique number -> index of the request */
	struct vec(struct sent_signal) signals;
	struct vec(struct quota) quotas;
	struct vec(struct file_change) changes;
	struct vec(struct mark) marks;
	struct vec(struct poll_item) poll_items;
	struct vec(struct cpu_rows) cpus;
};

static uint32_t thread_of(struct gatherer *b, uint32_t tid, uint64_t time)
{
	return tid ? thread_tracker_find(&b->tracker, tid, time) : 0;
}

static void set_throttled(struct gatherer *b, uint32_t thread, uint64_t time, bool throttled)
{
	vec_push(&b->threads[thread].throttlings, ((struct throttling){ time, throttled }));
}

static void on_switch(struct gatherer *b, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);
	uint32_t thread = thread_of(b, e->tid, e->time);

	while (b->cpus.length <= e->cpu)
		vec_push(&b->cpus, ((struct cpu_rows){ 0 }));
	if (!b->cpus.items[e->cpu].runs.length)
		vec_push(&b->cpus.items[e->cpu].runs, ((struct cpu_run){ b->scene->start_ns, thread }));
	vec_push(&b->cpus.items[e->cpu].runs, ((struct cpu_run){ e->time, thread_of(b, s->next, e->time) }));
	if (!thread)
		return;
	if (s->state == TASK_STATE_running) {
		if (s->flags & SWITCH_FLAGS_throttled || s->wait == WAIT_KIND_throttled)
			set_throttled(b, thread, e->time, true);
		return;
	}
	vec_push(&b->threads[thread].details, ((struct wait_detail){ .event = (uint32_t)e->number, .detail = s->detail,
		.argument = (int32_t)s->argument, .ustack = s->ustack, .kstack = s->kstack }));
}

static void on_waiting(struct gatherer *b, const struct event *e)
{
	const struct event_waiting *r = event_as(e, waiting);
	uint32_t thread = thread_of(b, e->tid, e->time);

	if (!thread || !r->wait || r->state == TASK_STATE_running || r->state == TASK_STATE_dead)
		return;
	vec_push(&b->threads[thread].found, ((struct wait_found){ e->time, *r }));
}

static void on_message(struct gatherer *b, const struct event *e)
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
	vec_push(&b->rows[thread].messages, (uint32_t)b->messages.length);
	vec_push(&b->messages, made);
}

static void on_sample(struct gatherer *b, const struct event *e)
{
	const struct event_sample *s = event_as(e, sample);
	uint32_t thread = thread_of(b, e->tid, e->time);

	if (!thread)
		return;
	vec_push(&b->rows[thread].samples, (uint32_t)b->samples.length);
	vec_push(&b->samples, ((struct sample){ e->time, e->number, s->period_ns, thread, s->ustack, s->kstack }));
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

static void on_fuse_send(struct gatherer *b, const struct event *e)
{
	const struct event_fuse_send *f = event_as(e, fuse_send);

	map_put(&b->fuse_open, hash_u64(f->unique) ^ f->connection, b->fuse.length);
	vec_push(&b->fuse, ((struct fuse_request){ .time = e->time, .number = e->number, .unique = f->unique,
		.thread = thread_of(b, e->tid, e->time), .connection = f->connection, .opcode = f->opcode }));
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

static void on_signal(struct gatherer *b, const struct event *e)
{
	const struct event_signal *s = event_as(e, signal);
	uint32_t target = thread_of(b, s->target, e->time);

	if (!target)
		return;
	vec_push(&b->signals, ((struct sent_signal){ e->time, e->number, thread_of(b, e->tid, e->time), target, s->number }));
}

static void on_throttle(struct gatherer *b, const struct event *e)
{
	const struct event_throttle *t = event_as(e, throttle);
	uint32_t thread = thread_of(b, t->target, e->time);

	vec_push(&b->quotas, ((struct quota){ .time = e->time, .number = e->number, .cgroup = t->cgroup,
		.quota_ns = t->quota_ns, .period_ns = t->period_ns, .thread = thread, .throttled = t->throttled != 0 }));
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

	if (child)
		b->scene->threads[child].fork_event = e->number;
}

static void on_event(struct gatherer *b, const struct event *e)
{
	uint32_t thread;

	switch (e->type) {
	case EVENT_switch: on_switch(b, e); break;
	case EVENT_fork: on_fork(b, e); break;
	case EVENT_exec:
		thread = thread_of(b, e->tid, e->time);
		if (thread)
			b->scene->threads[thread].exec_ns = e->time;
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
	EVENT_switch, EVENT_fork, EVENT_exec, EVENT_waiting, EVENT_message, EVENT_sample, EVENT_file_lock, EVENT_lock_held,
	EVENT_fuse_send, EVENT_fuse_end, EVENT_signal, EVENT_throttle, EVENT_cgroup, EVENT_file_event, EVENT_poll_item,
	EVENT_mark,
};

#define BIT(event, field) (1ull << offsetof(struct event_##event, field))

static void gather(struct gatherer *b)
{
	uint64_t fields[EVENT_MAX];
	struct trace_filter filter = { .fields = fields };
	struct trace_cursor *cursor;

	/* What the graph tells of the frequent events is not decoded again. */
	for (unsigned i = 0; i < EVENT_MAX; i++)
		fields[i] = UINT64_MAX;
	fields[EVENT_switch] = BIT(switch, detail) | BIT(switch, next) | BIT(switch, argument) | BIT(switch, ustack) |
			       BIT(switch, kstack) | BIT(switch, state) | BIT(switch, wait) | BIT(switch, flags);
	fields[EVENT_message] &= ~(BIT(message, argument) | BIT(message, number));
	for (size_t i = 0; i < sizeof(scene_events) / sizeof(*scene_events); i++)
		trace_filter_add(&filter, scene_events[i]);
	cursor = trace_cursor_new(b->scene->trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		/* State records may stand behind the last happening. */
		if (e->time > b->scene->end_ns)
			b->scene->end_ns = e->time;
		on_event(b, e);
	}
	trace_cursor_free(cursor);
}

/* ---- keeping ---- */

/* The scene takes a vector's items as they lie: of messages there may be half a
 * gigabyte. */
#define KEEP(b, vector, array, counter) \
	do { \
		(b)->scene->counter = (uint32_t)(b)->vector.length; \
		(b)->scene->array = (b)->vector.items; \
		(b)->scene->kept[(b)->scene->kept_count++] = (b)->vector.items; \
	} while (0)

static struct row keep_row(struct arena *arena, const uint32_t *items, size_t count)
{
	return (struct row){ arena_memdup(arena, items, arena_array_bytes(sizeof(*items), count)), (uint32_t)count };
}

static void keep_cpus(struct gatherer *b)
{
	struct scene *scene = b->scene;

	scene->cpu_count = (uint32_t)b->cpus.length;
	scene->cpus = arena_array(&scene->arena, struct cpu_row, b->cpus.length);
	for (uint32_t i = 0; i < scene->cpu_count; i++) {
		struct cpu_rows *c = &b->cpus.items[i];

		scene->cpus[i].count = (uint32_t)c->runs.length;
		vec_push(&c->runs, ((struct cpu_run){ scene->end_ns, 0 }));
		scene->cpus[i].runs = arena_memdup(&scene->arena, c->runs.items,
						   arena_array_bytes(sizeof(struct cpu_run), c->runs.length));
		vec_done(&c->runs);
	}
	vec_done(&b->cpus);
}

static int by_channel(const void *a, const void *b)
{
	const struct channel *x = a, *y = b;

	return x->channel < y->channel ? -1 : x->channel > y->channel;
}

/* Messages are in the order of time already: each goes behind the last one of its
 * channel. */
static void *keep_channels(void *data)
{
	struct scene *scene = data;
	uint32_t *order = arena_array(&scene->arena, uint32_t, scene->message_count);
	uint32_t *group_of = mem_alloc(arena_array_bytes(sizeof(*group_of), scene->message_count));
	struct vec(uint32_t) next = { 0 };
	struct map groups;
	const struct map_slot *slot;
	size_t at = 0;
	uint32_t place = 0;

	map_init(&groups);
	for (uint32_t i = 0; i < scene->message_count; i++) {
		bool fresh;
		uint64_t *group = scene->messages[i].channel ? map_at(&groups, scene->messages[i].channel, &fresh) : NULL;

		if (!group)
			continue;
		if (fresh) {
			*group = next.length;
			vec_push(&next, 0);
		}
		next.items[*group]++;
		group_of[i] = (uint32_t)*group;
	}
	scene->channel_count = (uint32_t)next.length;
	scene->channels = arena_array(&scene->arena, struct channel, next.length);
	for (size_t i = 0; i < next.length; i++) {
		uint32_t count = next.items[i];

		scene->channels[i].messages = (struct row){ order + place, count };
		next.items[i] = place;
		place += count;
	}
	while ((slot = map_next(&groups, &at)))
		scene->channels[slot->value].channel = slot->key;
	for (uint32_t i = 0; i < scene->message_count; i++)
		if (scene->messages[i].channel)
			order[next.items[group_of[i]]++] = i;
	if (scene->channel_count)
		qsort(scene->channels, scene->channel_count, sizeof(*scene->channels), by_channel);
	map_done(&groups);
	vec_done(&next);
	free(group_of);
	return NULL;
}

static void keep(struct gatherer *b)
{
	for (uint32_t i = 0; i < b->scene->thread_count; i++) {
		struct thread_rows *rows = &b->rows[i];

		b->scene->threads[i].messages = keep_row(&b->scene->arena, rows->messages.items, rows->messages.length);
		b->scene->threads[i].samples = keep_row(&b->scene->arena, rows->samples.items, rows->samples.length);
		vec_done(&rows->messages);
		vec_done(&rows->samples);
	}
	KEEP(b, messages, messages, message_count);
	KEEP(b, samples, samples, sample_count);
	KEEP(b, locks, locks, lock_count);
	KEEP(b, fuse, fuse, fuse_count);
	KEEP(b, signals, signals, signal_count);
	KEEP(b, quotas, quotas, quota_count);
	KEEP(b, changes, changes, change_count);
	KEEP(b, marks, marks, mark_count);
	KEEP(b, poll_items, poll_items, poll_item_count);
	keep_cpus(b);
	thread_tracker_done(&b->tracker);
	map_done(&b->fuse_open);
	free(b->rows);
}

/* ---- together ---- */

int scene_build(const struct trace *trace, const struct tables *tables, struct scene **ret_scene, struct err *err)
{
	static const struct graph_options options = { .background_index = true };
	const struct trace_summary *summary = trace_summary(trace);
	struct gatherer b = { 0 };
	struct scene *scene;
	struct graph *graph;
	pthread_t thread;
	bool beside;
	int r;

	if (summary->end_ns <= summary->start_ns)
		return err_set(err, -ENODATA, "the trace holds no stretch of time to diagnose");
	r = graph_build(trace, tables, &options, &graph, err);
	if (r)
		return r;
	scene = b.scene = mem_zalloc(sizeof(*scene));
	arena_init(&scene->arena);
	arena_init(&scene->laid);
	scene->trace = trace;
	scene->graph = graph;
	scene->tables = tables = b.tables = graph_tables(graph);
	scene->owned_tables = graph_take_tables(graph); /* a graph that takes this one's place uses them too */
	scene->start_ns = summary->start_ns;
	scene->end_ns = summary->end_ns;
	scene->messages_seen = summary->counts[EVENT_message] > 0;
	scene->thread_count = tables->thread_count;
	scene->threads = arena_array(&scene->arena, struct scene_thread, tables->thread_count);
	b.threads = scene->gathered = mem_zalloc(arena_array_bytes(sizeof(*b.threads), tables->thread_count));
	b.rows = mem_zalloc(arena_array_bytes(sizeof(*b.rows), tables->thread_count));
	thread_tracker_init(&b.tracker, tables);
	map_init(&b.fuse_open);
	gather(&b);
	keep(&b);
	beside = scene->message_count > MANY_MESSAGES && !pthread_create(&thread, NULL, keep_channels, scene);
	scene_lay(scene);
	if (beside)
		pthread_join(thread, NULL);
	else
		keep_channels(scene);
	*ret_scene = scene;
	return 0;
}

void scene_free(struct scene *scene)
{
	if (!scene)
		return;
	for (uint32_t i = 0; scene->gathered && i < scene->thread_count; i++) {
		vec_done(&scene->gathered[i].details);
		vec_done(&scene->gathered[i].found);
		vec_done(&scene->gathered[i].throttlings);
	}
	free(scene->gathered);
	for (unsigned i = 0; i < scene->kept_count; i++)
		free(scene->kept[i]);
	if (scene->graph)
		graph_free(scene->graph);
	tables_free(scene->owned_tables);
	arena_done(&scene->laid);
	arena_done(&scene->arena);
	free(scene);
}
