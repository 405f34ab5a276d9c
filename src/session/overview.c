#include "session/overview.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/search.h"
#include "trace/blocks.h"
#include "trace/states.h"

#define SLOTS_LEAST 1024u
#define SLOTS_MOST 262144u
#define SLOT_EVENTS 256u
#define PARTS_MOST (4u << 20)
#define THREADS_MOST 2000u
#define NOTE_OVERVIEW 0xfffff0u     /* kind of the note: 24 bits, beyond those of processes (hang_notes.c) */
#define OVERVIEW_FORMAT 2u
#define COMM_BYTES 16u

struct gathering {
	struct overview *overview;
	struct slot_times {
		uint64_t ns[THREAD_STATES];
		uint32_t slot;
	} *now;                              /* by thread */
	struct vec(struct overview_part) *parts; /* by thread */
	size_t thread_count, part_count;
	uint64_t *running_ns, *runnable_ns;
};

static uint8_t percent(uint64_t ns, uint64_t whole)
{
	uint64_t part = ns ? (ns * 100 + whole - 1) / whole : 0;

	return (uint8_t)(part > 100 ? 100 : part);
}

static uint8_t sum(unsigned a, unsigned b)
{
	return (uint8_t)(a + b < 100 ? a + b : 100);
}

static void end_slot(struct gathering *g, uint32_t thread)
{
	struct slot_times *t = &g->now[thread];
	uint64_t whole = g->overview->slot_ns;

	struct overview_part part = { t->slot, percent(t->ns[THREAD_RUNNING], whole), percent(t->ns[THREAD_RUNNABLE], whole),
				      percent(t->ns[THREAD_UNKNOWN], whole), percent(t->ns[THREAD_STOPPED], whole) };
	struct overview_part *last = g->parts[thread].length ? &g->parts[thread].items[g->parts[thread].length - 1] : NULL;

	*t = (struct slot_times){ 0 };
	if (!part.running && !part.runnable && !part.unknown && !part.stopped)
		return;
	/* begun before stretches became longer */
	if (last && last->slot == part.slot) {
		*last = (struct overview_part){ part.slot, sum(last->running, part.running), sum(last->runnable, part.runnable),
						sum(last->unknown, part.unknown), sum(last->stopped, part.stopped) };
		return;
	}
	vec_push(&g->parts[thread], part);
	g->part_count++;
}

static uint8_t mean(unsigned a, unsigned b)
{
	return (uint8_t)((a + b + 1) / 2);
}

static size_t pair_parts(struct overview_part *parts, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; kept++) {
		struct overview_part one = parts[i++], two = { 0 };

		if (i < count && parts[i].slot / 2 == one.slot / 2)
			two = parts[i++];
		parts[kept] = (struct overview_part){ one.slot / 2, mean(one.running, two.running), mean(one.runnable, two.runnable),
						      mean(one.unknown, two.unknown), mean(one.stopped, two.stopped) };
	}
	return kept;
}

/* Two of the stretches each become one. */
static void pair_slots(struct gathering *g)
{
	for (uint32_t i = 0; i < g->thread_count; i++)
		end_slot(g, i);
	g->part_count = 0;
	for (uint32_t i = 0; i < g->thread_count; i++) {
		g->parts[i].length = pair_parts(g->parts[i].items, g->parts[i].length);
		g->part_count += g->parts[i].length;
	}
	g->overview->slot_ns *= 2;
}

static void take_interval(void *data, const struct state_interval *i)
{
	struct gathering *g = data;
	const struct overview *o = g->overview;
	uint64_t from = i->from_ns > o->from_ns ? i->from_ns : o->from_ns, to = i->to_ns < o->to_ns ? i->to_ns : o->to_ns;

	if (i->state == THREAD_WAITING)
		return;
	while (g->part_count > PARTS_MOST && o->slot_ns < o->to_ns - o->from_ns)
		pair_slots(g);
	while (from < to) {
		uint32_t slot = (uint32_t)((from - o->from_ns) / o->slot_ns);
		uint64_t slot_end = o->from_ns + (slot + UINT64_C(1)) * o->slot_ns, end = slot_end < to ? slot_end : to;

		if (g->now[i->thread].slot != slot)
			end_slot(g, i->thread);
		g->now[i->thread].slot = slot;
		g->now[i->thread].ns[i->state] += end - from;
		g->running_ns[i->thread] += i->state == THREAD_RUNNING ? end - from : 0;
		g->runnable_ns[i->thread] += i->state == THREAD_RUNNABLE ? end - from : 0;
		from = end;
	}
}

static int compare_running(const void *a, const void *b, void *data)
{
	const uint64_t *running = data, x = running[*(const uint32_t *)a], y = running[*(const uint32_t *)b];

	return (x < y) - (x > y);
}

static int compare_threads(const void *a, const void *b)
{
	const struct overview_thread *x = a, *y = b;
	unsigned x_kernel = (x->flags & TASK_FLAGS_kernel_thread) != 0, y_kernel = (y->flags & TASK_FLAGS_kernel_thread) != 0;

	if (x_kernel != y_kernel)
		return x_kernel ? 1 : -1;
	if (x->pid != y->pid)
		return (x->pid > y->pid) - (x->pid < y->pid);
	if ((x->tid == x->pid) != (y->tid == y->pid))
		return x->tid == x->pid ? -1 : 1;
	return x->tid != y->tid ? (x->tid > y->tid) - (x->tid < y->tid) : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void keep_threads(struct arena *arena, struct gathering *g, const struct tables *tables)
{
	struct overview *o = g->overview;
	uint32_t *order = arena_array(arena, uint32_t, tables->thread_count), seen = 0;

	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (g->parts[i].length || (!tables->threads[i].start_ns && tables->threads[i].end_ns == UINT64_MAX))
			order[seen++] = i;
	qsort_r(order, seen, sizeof(*order), compare_running, g->running_ns);
	o->thread_count = seen < THREADS_MOST ? seen : THREADS_MOST;
	o->left_out = seen - o->thread_count;
	o->threads = arena_array(arena, struct overview_thread, o->thread_count);
	for (uint32_t i = 0; i < o->thread_count; i++) {
		const struct thread *t = &tables->threads[order[i]];

		o->threads[i] = (struct overview_thread){ .tid = t->tid, .pid = t->pid, .flags = t->flags, .comm = arena_strdup(arena, t->comm),
							  .start_ns = t->start_ns, .end_ns = t->end_ns, .running_ns = g->running_ns[order[i]],
							  .runnable_ns = g->runnable_ns[order[i]], .first = o->part_count,
							  .count = (uint32_t)g->parts[order[i]].length };
		o->part_count += o->threads[i].count;
	}
	o->parts = arena_array(arena, struct overview_part, o->part_count);
	for (uint32_t i = 0; i < o->thread_count; i++)
		if (o->threads[i].count)
			memcpy(o->parts + o->threads[i].first, g->parts[order[i]].items, o->threads[i].count * sizeof(*o->parts));
	if (o->thread_count)
		qsort(o->threads, o->thread_count, sizeof(*o->threads), compare_threads);
}

static int gather(struct arena *arena, const struct trace *trace, struct overview *o, struct err *err)
{
	struct trace_filter filter = { .unnumbered = true };
	struct gathering g = { .overview = o };
	struct trace_cursor *cursor;
	struct states *states;
	struct tables *tables;
	int r = tables_build_parts(trace, TABLES_THREADS, &tables, err);

	if (r)
		return r;
	g.thread_count = tables->thread_count;
	g.now = mem_zalloc(arena_array_bytes(sizeof(*g.now), tables->thread_count));
	g.parts = mem_zalloc(arena_array_bytes(sizeof(*g.parts), tables->thread_count));
	g.running_ns = mem_zalloc(arena_array_bytes(sizeof(*g.running_ns), tables->thread_count));
	g.runnable_ns = mem_zalloc(arena_array_bytes(sizeof(*g.runnable_ns), tables->thread_count));
	states_filter(&filter);
	states = states_new(trace, tables, take_interval, &g);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		states_take(states, e);
	trace_cursor_free(cursor);
	states_finish(states);
	for (uint32_t i = 0; i < tables->thread_count; i++)
		end_slot(&g, i);
	keep_threads(arena, &g, tables);
	for (uint32_t i = 0; i < tables->thread_count; i++)
		vec_done(&g.parts[i]);
	free(g.now);
	free(g.parts);
	free(g.running_ns);
	free(g.runnable_ns);
	tables_free(tables);
	return 0;
}

/* ---- in the index ---- */

struct note_head {
	uint64_t to_ns, events;              /* of the trace that it was made of */
	uint64_t slot_ns;
	uint32_t format, thread_count, part_count, left_out;
};

struct note_thread {
	uint64_t start_ns, end_ns, running_ns, runnable_ns;
	uint32_t tid, pid, flags, first, count;
	char comm[COMM_BYTES];
};

static bool read_note(struct arena *arena, const struct session *session, struct overview *o)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	size_t size;
	const char *bytes = blocks_noted(session->blocks, 0, NOTE_OVERVIEW, &size);
	struct note_head head;

	if (!bytes || size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.format != OVERVIEW_FORMAT || head.to_ns != summary->end_ns || head.events != summary->events || head.thread_count > THREADS_MOST ||
	    !head.slot_ns || head.part_count > 2 * PARTS_MOST ||
	    size != sizeof(head) + head.thread_count * sizeof(struct note_thread) + head.part_count * sizeof(struct overview_part))
		return false;
	o->thread_count = head.thread_count;
	o->part_count = head.part_count;
	o->slot_ns = head.slot_ns;
	o->left_out = head.left_out;
	o->threads = arena_array(arena, struct overview_thread, head.thread_count);
	o->parts = arena_array(arena, struct overview_part, head.part_count);
	if (head.part_count)
		memcpy(o->parts, bytes + sizeof(head) + head.thread_count * sizeof(struct note_thread), head.part_count * sizeof(*o->parts));
	for (uint32_t i = 0; i < head.thread_count; i++) {
		struct note_thread t;

		memcpy(&t, bytes + sizeof(head) + i * sizeof(t), sizeof(t));
		if (t.first > head.part_count || t.count > head.part_count - t.first)
			return false;
		o->threads[i] = (struct overview_thread){ t.tid, t.pid, t.flags, arena_strndup(arena, t.comm, strnlen(t.comm, COMM_BYTES)),
							  t.start_ns, t.end_ns, t.running_ns, t.runnable_ns, t.first, t.count };
	}
	return true;
}

static void write_note(const struct session *session, const struct overview *o)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	struct note_head head = { summary->end_ns, summary->events, o->slot_ns, OVERVIEW_FORMAT, o->thread_count, o->part_count, o->left_out };
	struct buf buf;

	buf_init(&buf);
	buf_add(&buf, &head, sizeof(head));
	for (uint32_t i = 0; i < o->thread_count; i++) {
		const struct overview_thread *t = &o->threads[i];
		struct note_thread note;

		memset(&note, 0, sizeof(note));
		note = (struct note_thread){ t->start_ns, t->end_ns, t->running_ns, t->runnable_ns, t->tid, t->pid, t->flags, t->first, t->count, "" };
		memcpy(note.comm, t->comm, strnlen(t->comm, COMM_BYTES));
		buf_add(&buf, &note, sizeof(note));
	}
	buf_add(&buf, o->parts, o->part_count * sizeof(*o->parts));
	blocks_note(session->blocks, 0, NOTE_OVERVIEW, buf.data, buf.length);
	buf_done(&buf);
}

int overview_make(struct arena *arena, const struct session *session, struct overview *ret_overview, struct err *err)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	struct overview o = { .from_ns = summary->start_ns, .to_ns = summary->end_ns };
	uint64_t slots = summary->events / SLOT_EVENTS;
	int r = 0;

	slots = slots < SLOTS_LEAST ? SLOTS_LEAST : slots > SLOTS_MOST ? SLOTS_MOST : slots;
	o.slot_ns = (o.to_ns - o.from_ns) / slots + 1;
	if (!session->blocks || !read_note(arena, session, &o)) {
		r = gather(arena, session->trace, &o, err);
		if (!r && session->blocks)
			write_note(session, &o);
	}
	if (!r)
		*ret_overview = o;
	return r;
}

/* The first of the thread's stretches that reaches beyond the moment. */
static uint32_t first_part(const struct overview *o, const struct overview_thread *t, uint64_t at_ns)
{
	uint32_t low = t->first, high = t->first + t->count;

	SEARCH(low, high, middle, o->from_ns + (o->parts[middle].slot + UINT64_C(1)) * o->slot_ns <= at_ns);
	return low;
}

static void add_wait(struct lane_mixing *mixing, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns < end_ns)
		lane_mix(mixing, &(struct lane_cell){ .start_ns = start_ns, .state = LANE_WAITING }, end_ns);
}

static bool is_stopped(const struct overview_part *part)
{
	return part->stopped && !part->running && !part->runnable && !part->unknown;
}

void overview_lane(const struct overview *o, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned most, struct lane_cells *cells)
{
	const struct overview_thread *t = &o->threads[thread];
	uint64_t from = t->start_ns > from_ns ? t->start_ns : from_ns, to = t->end_ns < to_ns ? t->end_ns : to_ns, at = from;
	struct lane_mixing mixing = { .cells = cells };
	uint32_t first, last;

	if (from >= to)
		return;
	first = first_part(o, t, from);
	last = first_part(o, t, to);
	mixing.least_ns = lane_least(from, to, (last - first) * 2, most);
	for (uint32_t i = first; i < t->first + t->count && at < to; i++) {
		const struct overview_part *part = &o->parts[i];
		uint64_t start = o->from_ns + part->slot * o->slot_ns, end = start + o->slot_ns < to ? start + o->slot_ns : to;

		if (start >= to)
			break;
		add_wait(&mixing, at, start);
		at = start > at ? start : at;
		lane_mix(&mixing, &(struct lane_cell){ .start_ns = at, .state = is_stopped(part) ? LANE_STOPPED : LANE_MIXED,
						       .running = part->running, .runnable = part->runnable, .unknown = part->unknown }, end);
		at = end;
	}
	add_wait(&mixing, at, to);
	lane_mix_end(&mixing);
	if (to < to_ns)
		vec_push(cells, ((struct lane_cell){ .start_ns = to, .state = LANE_ABSENT }));
}
