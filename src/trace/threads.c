/* Threads by life. Numbers of threads are used again: a life begins at a fork,
 * or was found, and ends at an exit; where the exit is missing (lost), the next
 * birth of the number ends it. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "trace/part.h"
#include "trace/tables_private.h"

/* A task record can stand a moment before the fork that made the thread. */
#define FORK_SLACK_NS 100000000u

struct life {
	struct thread thread;
	uint32_t older;          /* life with the same tid before it; NONE */
	bool by_fork;
	bool ended;
};

struct named {
	uint32_t life;
	uint64_t time;
	const char *comm;
};

#define NONE UINT32_MAX

/* A thread of a pid namespace. */
struct inner {
	uint32_t entry;
	uint32_t before;         /* the one before it of the same number + 1; NONE */
};

struct lookup {
	struct map last;         /* tid to the entry that had it last */
	uint32_t *older;         /* by entry; NONE */
	struct named *names;     /* by entry, then by time */
	uint32_t *first_name;    /* by entry; one more at the end */
	struct map leaders;      /* pid to the entry of its thread that came last: by tid == pid, else any */
	struct map inner;        /* number inside a pid namespace to the one of inner_threads that had it last + 1 */
	struct vec(struct inner) inner_threads;
	uint32_t max_tid;
};

static bool is_in_namespace(const struct thread *thread)
{
	return thread->ns_tid && thread->ns_tid != thread->tid;
}

struct thread_builder {
	struct tables *tables;
	const struct trace *trace;
	struct map last;         /* tid to life */
	struct vec(struct life) lives;
	struct vec(struct named) names;
	struct map texts;        /* hash to a text in the tables' arena */
};

/* The text in the tables' arena; of those that come again and again one copy. */
static const char *intern(struct thread_builder *b, const char *text)
{
	bool new;
	uint64_t *known;

	if (!*text)
		return "";
	known = map_at(&b->texts, hash_bytes(text, strlen(text)), &new);
	if (new)
		*known = (uint64_t)(uintptr_t)arena_strdup(&b->tables->arena, text);
	else if (strcmp((const char *)(uintptr_t)*known, text))
		return arena_strdup(&b->tables->arena, text);
	return (const char *)(uintptr_t)*known;
}

static struct life *life_at(struct thread_builder *b, uint32_t i)
{
	return &b->lives.items[i];
}

static uint32_t find_life(const struct thread_builder *b, uint32_t tid)
{
	const uint64_t *found = map_find(&b->last, tid);

	return found ? (uint32_t)*found : NONE;
}

static uint32_t begin_life(struct thread_builder *b, uint32_t tid, uint64_t start_ns)
{
	uint32_t number = (uint32_t)b->lives.length;
	struct life life = { .older = find_life(b, tid) };

	life.thread = (struct thread){ .tid = tid, .pid = tid, .start_ns = start_ns, .end_ns = UINT64_MAX,
				       .comm = "?", .exe = "", .command = "", .cgroups = "" };
	if (life.older != NONE && !life_at(b, life.older)->ended)
		life_at(b, life.older)->thread.end_ns = start_ns;
	vec_push(&b->lives, life);
	map_put(&b->last, tid, number);
	return number;
}

/* The life that goes on now, begun where there is none. */
static uint32_t current_life(struct thread_builder *b, uint32_t tid, uint64_t time)
{
	uint32_t number = find_life(b, tid);

	if (number == NONE)
		return begin_life(b, tid, 0);
	if (life_at(b, number)->ended)
		return begin_life(b, tid, time);
	return number;
}

static void name_life(struct thread_builder *b, uint32_t number, uint64_t time, const char *comm)
{
	struct life *life = life_at(b, number);

	if (!*comm || !strcmp(life->thread.comm, comm))
		return;
	life->thread.comm = intern(b, comm);
	vec_push(&b->names, ((struct named){ number, time, life->thread.comm }));
}

static const char *keep_text(struct thread_builder *b, const char *before, const char *text)
{
	return *text && strcmp(before, text) ? intern(b, text) : before;
}

static void take_task(struct thread_builder *b, const struct event *e)
{
	const struct event_task *at = event_as(e, task);
	uint64_t trace_start = trace_summary(trace_whole(b->trace))->start_ns;
	uint32_t number = find_life(b, e->tid);
	struct thread *thread;

	/* read before it ended, written behind that */
	if (number != NONE && life_at(b, number)->ended && at->start_ns && at->start_ns <= life_at(b, number)->thread.end_ns)
		return;
	if (number != NONE && life_at(b, number)->ended && !(at->flags & TASK_FLAGS_gone))
		number = begin_life(b, e->tid, at->start_ns > life_at(b, number)->thread.end_ns && at->start_ns < e->time ?
				    at->start_ns : e->time);
	else if (number == NONE)
		number = begin_life(b, e->tid, at->start_ns > trace_start && at->start_ns < e->time ? at->start_ns : 0);
	thread = &life_at(b, number)->thread;
	thread->pid = at->pid ? at->pid : e->tid;
	thread->parent_pid = at->parent;
	thread->born_ns = at->start_ns;
	thread->uid = at->uid;
	thread->ns_tid = at->ns_tid;
	thread->flags = at->flags;
	thread->prio = at->prio;
	thread->moved |= thread->cgroup && thread->cgroup != at->cgroup;
	thread->cgroup = at->cgroup;
	thread->exe = keep_text(b, thread->exe, tail_text(e, 1));
	thread->command = keep_text(b, thread->command, tail_text(e, 2));
	thread->cgroups = keep_text(b, thread->cgroups, tail_text(e, 3));
	name_life(b, number, e->time, tail_text(e, 0));
}

static void take_fork(struct thread_builder *b, const struct event *e)
{
	const struct event_fork *at = event_as(e, fork);
	uint32_t creator = e->tid ? current_life(b, e->tid, e->time) : NONE;
	uint32_t number = find_life(b, at->child);
	struct thread *child;

	if (!at->child)
		return;
	if (number == NONE || life_at(b, number)->ended || life_at(b, number)->by_fork ||
	    life_at(b, number)->thread.start_ns + FORK_SLACK_NS < e->time) {
		bool found = number != NONE && !life_at(b, number)->by_fork && !life_at(b, number)->ended;

		number = begin_life(b, at->child, e->time);
		if (found && creator == number)
			creator = NONE;
	} else {
		life_at(b, number)->thread.start_ns = e->time;
	}
	life_at(b, number)->by_fork = true;
	child = &life_at(b, number)->thread;
	child->pid = at->child_pid ? at->child_pid : at->child;
	child->ns_tid = at->ns_child;
	child->flags |= child->pid == child->tid ? TASK_FLAGS_leader : 0;
	if (creator != NONE && creator != number) {
		const struct thread *parent = &life_at(b, creator)->thread;

		child->creator = creator + 1; /* made an entry at the end */
		child->parent_pid = child->pid == parent->pid ? parent->parent_pid : parent->pid;
		child->uid = parent->uid;
		child->prio = parent->prio;
		child->cgroup = parent->cgroup;
		child->exe = parent->exe;
		child->command = parent->command;
		child->cgroups = parent->cgroups;
		child->flags |= parent->flags & TASK_FLAGS_kernel_thread;
	}
	if (e->tail_length)
		name_life(b, number, e->time, e->tail);
	else if (creator != NONE && !strcmp(life_at(b, number)->thread.comm, "?"))
		name_life(b, number, e->time, life_at(b, creator)->thread.comm);
}

static void take_exec(struct thread_builder *b, const struct event *e)
{
	const struct event_exec *at = event_as(e, exec);
	const char *slash = strrchr(e->tail, '/');
	char comm[16] = { 0 };
	uint32_t old = NONE, number;
	struct thread *thread;

	if (at->old_tid && at->old_tid != e->tid) {
		old = current_life(b, at->old_tid, e->time);
		life_at(b, old)->ended = true;
		life_at(b, old)->thread.end_ns = e->time;
	}
	number = current_life(b, e->tid, e->time);
	thread = &life_at(b, number)->thread;
	if (old != NONE && thread->start_ns == e->time) {
		/* the leader had ended; the caller goes on under its number */
		thread->parent_pid = life_at(b, old)->thread.parent_pid;
		thread->creator = old + 1;
		thread->uid = life_at(b, old)->thread.uid;
		thread->flags = TASK_FLAGS_leader;
	}
	thread->exe = intern(b, e->tail);
	thread->command = thread->exe;
	memccpy(comm, slash ? slash + 1 : e->tail, 0, sizeof(comm) - 1);
	name_life(b, number, e->time, comm);
}

void thread_builder_take(struct thread_builder *b, const struct event *e)
{
	uint32_t number;

	switch (e->type) {
	case EVENT_task:
		if (e->tid)
			take_task(b, e);
		break;
	case EVENT_fork:
		take_fork(b, e);
		break;
	case EVENT_exec:
		if (e->tid)
			take_exec(b, e);
		break;
	case EVENT_exit:
		if (!e->tid)
			break;
		number = current_life(b, e->tid, e->time);
		life_at(b, number)->ended = true;
		life_at(b, number)->thread.end_ns = e->time;
		life_at(b, number)->thread.exit_code = event_as(e, exit)->code;
		break;
	case EVENT_rename:
		number = event_as(e, rename)->target ? event_as(e, rename)->target : e->tid;
		if (number)
			name_life(b, current_life(b, number, e->time), e->time, e->tail);
		break;
	}
}

void thread_builder_missed(struct thread_builder *b, uint32_t tid, uint64_t last_ns, uint64_t end_ns)
{
	uint32_t number = find_life(b, tid);

	while (number != NONE && life_at(b, number)->thread.start_ns > last_ns)
		number = life_at(b, number)->older;
	if (number == NONE || life_at(b, number)->ended)
		return;
	life_at(b, number)->ended = true;
	life_at(b, number)->thread.end_ns = end_ns;
}

struct thread_builder *thread_builder_new(struct tables *tables, const struct trace *trace)
{
	struct thread_builder *b = mem_zalloc(sizeof(*b));

	b->tables = tables;
	b->trace = trace;
	return b;
}

/* Threads of which nothing but their number is told. */
static void add_bare(void *context, uint32_t tid, uint32_t pid)
{
	struct thread_builder *b = context;
	uint32_t number;

	if (!tid || find_life(b, tid) != NONE)
		return;
	number = begin_life(b, tid, 0);
	if (pid)
		life_at(b, number)->thread.pid = pid;
}

struct by_birth {
	uint64_t start_ns;
	uint32_t tid, life;
};

static int compare_births(const void *a, const void *b)
{
	const struct by_birth *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->life < y->life ? -1 : x->life > y->life;
}

/* Lives to entries by birth; *ret_entries by life. */
static void sort_lives(struct thread_builder *b, uint32_t *entries)
{
	uint32_t count = (uint32_t)b->lives.length;
	struct by_birth *births = mem_alloc(arena_array_bytes(sizeof(*births), count));
	struct thread *threads = arena_array(&b->tables->arena, struct thread, count + 1);

	for (uint32_t i = 0; i < count; i++)
		births[i] = (struct by_birth){ b->lives.items[i].thread.start_ns, b->lives.items[i].thread.tid, i };
	if (count)
		qsort(births, count, sizeof(*births), compare_births);
	threads[0] = (struct thread){ .end_ns = UINT64_MAX, .comm = "idle", .exe = "", .command = "", .cgroups = "",
				      .flags = TASK_FLAGS_kernel_thread };
	for (uint32_t i = 0; i < count; i++) {
		threads[i + 1] = b->lives.items[births[i].life].thread;
		entries[births[i].life] = i + 1;
	}
	for (uint32_t i = 1; i <= count; i++)
		if (threads[i].creator)
			threads[i].creator = entries[threads[i].creator - 1];
	b->tables->threads = threads;
	b->tables->thread_count = count + 1;
	free(births);
}

static void fill_names(struct thread_builder *b, struct lookup *lookup, const uint32_t *entries)
{
	uint32_t count = b->tables->thread_count;
	size_t names = b->names.length;

	lookup->first_name = mem_zalloc(arena_array_bytes(sizeof(uint32_t), count + 1));
	lookup->names = mem_alloc(arena_array_bytes(sizeof(struct named), names));
	for (size_t i = 0; i < names; i++)
		lookup->first_name[entries[b->names.items[i].life] + 1]++;
	for (uint32_t i = 0; i < count; i++)
		lookup->first_name[i + 1] += lookup->first_name[i];
	for (size_t i = names; i-- > 0;) {
		/* from the last backwards, so that each entry's names stay in order */
		uint32_t entry = entries[b->names.items[i].life];

		lookup->names[--lookup->first_name[entry + 1]] = b->names.items[i];
	}
	/* Now first_name[entry + 1] is where the entry's names begin. */
	memmove(lookup->first_name, lookup->first_name + 1, count * sizeof(uint32_t));
	lookup->first_name[count] = (uint32_t)names;
}

void thread_builder_finish(struct thread_builder *b, bool all)
{
	struct lookup *lookup = mem_zalloc(sizeof(*lookup));
	uint32_t *entries;

	if (all)
		trace_each_tid(b->trace, add_bare, b);
	entries = mem_alloc(arena_array_bytes(sizeof(*entries), b->lives.length));
	sort_lives(b, entries);
	vec_done(&b->lives);
	fill_names(b, lookup, entries);
	lookup->older = mem_alloc(arena_array_bytes(sizeof(uint32_t), b->tables->thread_count));
	lookup->older[0] = NONE;
	for (uint32_t entry = 1; entry < b->tables->thread_count; entry++) {
		const struct thread *thread = &b->tables->threads[entry];
		uint64_t *last = map_at(&lookup->last, thread->tid, NULL), *leader;

		lookup->older[entry] = *last ? (uint32_t)*last : NONE;
		*last = entry;
		if (is_in_namespace(thread)) {
			uint64_t *inner = map_at(&lookup->inner, thread->ns_tid, NULL);

			vec_push(&lookup->inner_threads, ((struct inner){ entry, *inner ? (uint32_t)*inner : NONE }));
			*inner = lookup->inner_threads.length;
		}
		if (thread->tid > lookup->max_tid)
			lookup->max_tid = thread->tid;
		leader = map_at(&lookup->leaders, thread->pid, NULL);
		if (!*leader || thread->tid == thread->pid)
			*leader = entry;
	}
	b->tables->lookup = lookup;
	free(entries);
	map_done(&b->last);
	map_done(&b->texts);
	vec_done(&b->names);
	free(b);
}

void thread_lookup_free(struct tables *tables)
{
	struct lookup *lookup = tables->lookup;

	if (!lookup)
		return;
	map_done(&lookup->last);
	map_done(&lookup->leaders);
	map_done(&lookup->inner);
	vec_done(&lookup->inner_threads);
	free(lookup->older);
	free(lookup->names);
	free(lookup->first_name);
	free(lookup);
}

uint32_t tables_thread(const struct tables *tables, uint32_t tid, uint64_t time)
{
	const struct lookup *lookup = tables->lookup;
	const uint64_t *last = tid ? map_find(&lookup->last, tid) : NULL;
	uint32_t entry = last ? (uint32_t)*last : NONE;

	while (entry != NONE && tables->threads[entry].start_ns > time)
		entry = lookup->older[entry];
	return entry == NONE ? 0 : entry;
}

/* Read from the program's memory, where its own numbers are. */
static bool is_inner(uint32_t hint_kind)
{
	return hint_kind == HINT_KIND_mutex_owner || hint_kind == HINT_KIND_pi_owner || hint_kind == HINT_KIND_thread_exit ||
	       hint_kind == HINT_KIND_rwlock_writer || hint_kind == HINT_KIND_interpreter_lock;
}

uint32_t tables_hint_tid(const struct tables *tables, uint32_t thread, uint32_t hint, uint32_t hint_kind, uint64_t time)
{
	const struct lookup *lookup = tables->lookup;
	const struct thread *by = thread < tables->thread_count ? &tables->threads[thread] : NULL, *found = NULL;
	const uint64_t *last;

	if (!by || !is_in_namespace(by) || !is_inner(hint_kind))
		return hint;
	last = map_find(&lookup->inner, hint);
	for (uint32_t at = last ? (uint32_t)*last : NONE; at != NONE; at = lookup->inner_threads.items[at - 1].before) {
		const struct thread *t = &tables->threads[lookup->inner_threads.items[at - 1].entry];

		if (t->start_ns > time)
			continue;
		if (t->pid == by->pid)
			return t->tid;
		if (t->cgroup == by->cgroup && !found)
			found = t;
	}
	return found ? found->tid : 0;
}

uint32_t tables_process(const struct tables *tables, uint32_t pid, uint64_t time)
{
	const struct lookup *lookup = tables->lookup;
	uint32_t leader = tables_thread(tables, pid, time);
	const uint64_t *found;

	if (leader && tables->threads[leader].pid == pid)
		return leader;
	found = pid ? map_find(&lookup->leaders, pid) : NULL;
	return found ? (uint32_t)*found : 0;
}

const char *tables_comm(const struct tables *tables, uint32_t thread, uint64_t time)
{
	const struct lookup *lookup = tables->lookup;
	uint32_t first, low, high;

	if (thread >= tables->thread_count)
		return "?";
	first = low = lookup->first_name[thread];
	high = lookup->first_name[thread + 1];
	if (low == high)
		return tables->threads[thread].comm;
	SEARCH(low, high, middle, lookup->names[middle].time <= time);
	return lookup->names[low > first ? low - 1 : first].comm;
}

const char *tables_program(const struct tables *tables, uint32_t thread, uint64_t time)
{
	const struct thread *t = &tables->threads[thread];
	uint32_t leader = t->tid == t->pid || !t->pid ? 0 : tables_process(tables, t->pid, time);
	const char *name = leader && tables->threads[leader].tid == t->pid ? tables_comm(tables, leader, time) : "";

	return *name && strcmp(name, "?") && strcmp(name, tables_comm(tables, thread, time)) ? name : NULL;
}

/* ---- following a cursor ---- */

#define TRACKED_TIDS (4u << 20) /* above the kernel's own bound */

void thread_tracker_init(struct thread_tracker *tracker, const struct tables *tables)
{
	const struct lookup *lookup = tables->lookup;

	*tracker = (struct thread_tracker){ .tables = tables, .next = 1 };
	tracker->limit = lookup->max_tid < TRACKED_TIDS ? lookup->max_tid + 1 : TRACKED_TIDS;
	tracker->entries = mem_zalloc(arena_array_bytes(sizeof(uint32_t), tracker->limit));
	thread_tracker_advance(tracker, 0);
}

void thread_tracker_done(struct thread_tracker *tracker)
{
	free(tracker->entries);
	*tracker = (struct thread_tracker){ 0 };
}

void thread_tracker_advance(struct thread_tracker *tracker, uint64_t time)
{
	const struct tables *tables = tracker->tables;

	for (; tracker->next < tables->thread_count && tables->threads[tracker->next].start_ns <= time; tracker->next++)
		if (tables->threads[tracker->next].tid < tracker->limit)
			tracker->entries[tables->threads[tracker->next].tid] = tracker->next;
	tracker->next_ns = tracker->next < tables->thread_count ? tables->threads[tracker->next].start_ns : UINT64_MAX;
}
