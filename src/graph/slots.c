/* Threads during the pass: found by tid, named, created and ended. A tid that is
 * used again gets a new thread; interrupt sources and gaps are pseudo-threads. */
#include <string.h>

#include "graph/build.h"

static void slot_reset(struct slot *slot, uint32_t tid)
{
	*slot = (struct slot){ .facts.tid = tid, .thread = GRAPH_NONE, .row = GRAPH_NONE, .last_wait = GRAPH_NONE };
}

struct slot *slot_find(struct builder *b, uint32_t tid)
{
	if (tid < SLOT_PAGE * SLOT_PAGES) {
		struct slot *page = b->pages[tid / SLOT_PAGE];

		return page ? &page[tid % SLOT_PAGE] : NULL;
	}
	uint64_t *far = map_find(&b->far_slots, tid);

	return far ? (struct slot *)(uintptr_t)*far : NULL;
}

struct slot *slot_at(struct builder *b, uint32_t tid)
{
	struct slot *slot = slot_find(b, tid);

	if (slot)
		return slot;
	if (tid < SLOT_PAGE * SLOT_PAGES) {
		struct slot *page = arena_array(&b->arena, struct slot, SLOT_PAGE);

		for (unsigned i = 0; i < SLOT_PAGE; i++)
			slot_reset(&page[i], tid / SLOT_PAGE * SLOT_PAGE + i);
		b->pages[tid / SLOT_PAGE] = page;
		return &page[tid % SLOT_PAGE];
	}
	slot = arena_new(&b->arena, struct slot);
	slot_reset(slot, tid);
	map_put(&b->far_slots, tid, (uintptr_t)slot);
	return slot;
}

struct slot_more *slot_more(struct builder *b, struct slot *slot)
{
	if (!slot->more)
		slot->more = arena_new(&b->arena, struct slot_more);
	return slot->more;
}

const char *intern_comm(struct builder *b, const char *text, size_t length)
{
	bool new;
	uint64_t *at;

	length = strnlen(text, length);
	at = map_at(&b->comms, hash_bytes(text, length), &new);
	if (new)
		*at = (uintptr_t)arena_strndup(&b->arena, text, length);
	return (const char *)(uintptr_t)*at;
}

void slot_new_thread(struct builder *b, struct slot *slot)
{
	struct built_thread thread = { .first_ns = b->now_ns, .tid = slot->facts.tid, .pid = slot->facts.pid,
				       .kind = GRAPH_THREAD };

	slot->thread = (uint32_t)b->threads.length;
	vec_push(&b->threads, thread);
}

uint32_t source_thread(struct builder *b, enum graph_thread_kind kind, uint8_t cause, uint64_t number)
{
	bool new;
	uint64_t *at = map_at(&b->sources, hash_u64(number ^ (uint64_t)kind << 56 ^ (uint64_t)cause << 48), &new);

	if (new) {
		struct built_thread thread = { .first_ns = b->now_ns, .kind = (uint8_t)kind, .cause = cause, .number = number };

		*at = b->threads.length;
		vec_push(&b->threads, thread);
	}
	return (uint32_t)*at;
}

/* The thread of this tid has gone without a word, or its end was lost. */
static void slot_recycle(struct slot *slot)
{
	slot_reset(slot, slot->facts.tid);
}

static void missed(struct builder *b, struct slot *slot, uint64_t last_ns, uint64_t end_ns)
{
	if (b->gathering)
		tables_gather_missed(b->gathering, slot->facts.tid, last_ns, end_ns);
	slot_end_unseen(b, slot, end_ns > b->start_ns ? end_ns : b->start_ns);
}

static void call_slot(struct builder *b, struct slot *slot)
{
	uint64_t last_ns, end_ns;

	if (slot->status == SLOT_gone || (slot->row == GRAPH_NONE && !slot->more))
		return;
	last_ns = slot_last_ns(b, slot);
	if (roll_call_misses(&b->roll_call, slot->facts.tid, last_ns, &end_ns))
		missed(b, slot, last_ns, end_ns);
}

void slots_roll_call(struct builder *b)
{
	size_t at = 0;

	for (unsigned page = 0; page < SLOT_PAGES; page++)
		for (unsigned i = 0; b->pages[page] && i < SLOT_PAGE; i++)
			call_slot(b, &b->pages[page][i]);
	for (const struct map_slot *slot; (slot = map_next(&b->far_slots, &at)); )
		call_slot(b, (struct slot *)(uintptr_t)slot->value);
}

/* Its number is given again, so it has ended; that was lost where events were. */
static void end_before_birth(struct builder *b, struct slot *slot, uint64_t birth_ns)
{
	uint64_t last_ns, end_ns;

	if (slot->row == GRAPH_NONE || slot->status == SLOT_gone || before_start(b))
		return;
	last_ns = slot_last_ns(b, slot);
	if (last_ns < birth_ns && roll_call_lost_from(&b->roll_call, last_ns, birth_ns, &end_ns))
		missed(b, slot, last_ns, end_ns);
}

static void fork_event(struct builder *b, const struct event *e, struct slot *parent)
{
	const struct event_fork *fork = event_as(e, fork);
	struct slot *child;
	struct slot_more *more;

	if (!fork->child)
		return;
	child = slot_at(b, fork->child);
	end_before_birth(b, child, e->time);
	slot_recycle(child);
	child->facts.pid = fork->child_pid;
	child->facts.kernel = parent->facts.kernel;
	child->facts.comm = e->tail_length ? intern_comm(b, e->tail, e->tail_length) : parent->facts.comm;
	more = slot_more(b, child);
	more->fork_ns = e->time;
	more->fork_event = b->event;
	more->fork_row = before_start(b) ? GRAPH_NONE : parent->row;
	more->fork_tid = e->tid;
}

static void exec_event(struct builder *b, const struct event *e, struct slot *slot)
{
	const struct event_exec *exec = event_as(e, exec);
	struct slot *old;

	if (!exec->old_tid || exec->old_tid == e->tid || !(old = slot_find(b, exec->old_tid)) || old->row == GRAPH_NONE)
		return;
	/* A thread other than the first took the first's number. */
	b->cpus.items[e->cpu].current = e->tid;
	if (old->status == SLOT_running) {
		row_set_out(b->graph, old->row, e->time);
		b->graph->rows[old->row].flags |= ROW_LAST;
		b->graph->rows[old->row].out_event = b->event;
	}
	edge_add(b, &(struct stored_edge){ .from_ns = e->time, .to_ns = e->time, .from_row = old->row, .to_row = slot->row,
					   .from_event = b->event, .to_event = b->event, .rule = BUILTIN_exec,
					   .kind = MECHANISM_exec, .confidence = mechanism_infos[MECHANISM_exec].confidence },
		 old, slot);
	old->status = SLOT_gone;
}

static void task_event(struct builder *b, const struct event *e)
{
	const struct event_task *task = event_as(e, task);
	struct slot *slot = slot_at(b, e->tid);

	if (slot->status == SLOT_gone) {
		/* read before it ended, written behind that */
		if (task->start_ns && slot->row != GRAPH_NONE && task->start_ns <= row_out_ns(b->graph, slot->row))
			return;
		slot_recycle(slot);
	}
	slot->facts.pid = task->pid;
	slot->facts.kernel = task->flags & TASK_FLAGS_kernel_thread ? 1 : 0;
	slot->recorder = task->flags & TASK_FLAGS_argus;
	if (e->tail_length)
		slot->facts.comm = intern_comm(b, e->tail, e->tail_length);
	if (slot->thread != GRAPH_NONE)
		b->threads.items[slot->thread].pid = task->pid;
}

void life_event(struct builder *b, const struct event *e, struct slot *slot)
{
	switch (e->type) {
	case EVENT_fork:
		fork_event(b, e, slot);
		break;
	case EVENT_exec:
		exec_event(b, e, slot);
		break;
	case EVENT_rename: {
		struct slot *target = slot_at(b, event_as(e, rename)->target);

		target->facts.comm = intern_comm(b, e->tail, e->tail_length);
		break;
	}
	case EVENT_task:
		if (e->tid)
			task_event(b, e);
		break;
	default:
		break;
	}
}
