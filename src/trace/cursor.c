/* Walking a trace: chunks are decoded as their time comes and merged through a
 * heap of those that overlap.
 *
 * Events of equal time stand in the order of their chunks' ranks (processor,
 * then place in the stream), so that numbers are the same at each opening. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/ahead.h"
#include "base/progress.h"
#include "base/search.h"
#include "trace/part.h"
#include "trace/prelude.h"
#include "trace/reader.h"

/* Events of chunks that are open at the same time. Even a thousand processors
 * stay below; a file made to cost memory does not. */
#define LIVE_EVENTS (8u << 20)

/* A helper is worth its start when so many chunks have been walked and so many
 * are left. */
#define AHEAD_AFTER 8u
#define AHEAD_LEFT 16u

/* Of so many chunks it is told how far one is. */
#define LONG_CHUNKS 64u

/* A chunk that is being handed out. */
struct source {
	struct chunk *chunk;
	const struct decoded *decoded; /* own, or what is kept */
	struct decoded own;
	struct kept_chunk *kept;    /* to be given back; NULL it is not */
	uint32_t at;                /* next event */
	struct event_gap gap;       /* stands for a hole or a chunk that cannot be read */
	bool is_gap;
};

struct trace_cursor {
	const struct trace *trace;
	struct trace_filter filter;
	bool whole;                         /* it wants all types and fields */
	struct vec(struct source *) heap;   /* the next event's source first */
	struct vec(struct source *) unused;
	size_t next_chunk;                  /* the first one that is not in the heap yet */
	uint64_t number;                    /* of the next event in the heap */
	uint64_t skip_to;                   /* events of lower numbers are passed over */
	uint64_t live_events;
	uint64_t until_ns;                  /* the first source's events before it come next; 0: not known */
	uint64_t damaged, unknown;          /* chunks */
	struct ahead *ahead;                /* NULL: chunks are decoded when they are needed */
	size_t walked;                      /* chunks since the last leap */
	struct progress progress;
	size_t first_chunk, length;         /* chunks of the walk */
	struct event event;
	/* of a part, before its own events: */
	bool before;                        /* what stands and the prelude are still to be handed out */
	uint32_t next_standing;
	uint64_t before_ns;                 /* not what is earlier */
	struct prelude *prelude;            /* NULL when nothing of it is wanted */
	const struct event *prelude_event;  /* the next one */
	struct trace_cursor *late;          /* stacks that are reported behind the part; NULL when nothing of it is wanted */
	struct event late_event;
	bool late_begun;
};

static uint64_t source_time(const struct source *source)
{
	return source->is_gap ? source->chunk->first_ns : source->decoded->times[source->at];
}

static bool source_before(const struct source *a, const struct source *b)
{
	uint64_t x = source_time(a), y = source_time(b);

	return x != y ? x < y : a->chunk->rank < b->chunk->rank;
}

static void heap_down(struct trace_cursor *cursor, size_t i)
{
	struct source **heap = cursor->heap.items, *source = heap[i];
	size_t n = cursor->heap.length;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && source_before(heap[child + 1], heap[child]))
			child++;
		if (source_before(source, heap[child]))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = source;
}

static void heap_add(struct trace_cursor *cursor, struct source *source)
{
	size_t i = cursor->heap.length;

	cursor->live_events += source->chunk->count;
	vec_push(&cursor->heap, source);
	while (i && source_before(source, cursor->heap.items[(i - 1) / 2])) {
		cursor->heap.items[i] = cursor->heap.items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	cursor->heap.items[i] = source;
}

static void give_back(const struct trace_cursor *cursor, struct source *source)
{
	if (source->kept)
		chunk_cache_give(cursor->trace, source->kept);
	source->kept = NULL;
}

static void put_aside(struct trace_cursor *cursor, struct source *source)
{
	give_back(cursor, source);
	vec_push(&cursor->unused, source);
}

/* Takes the first source out; its chunk is done. */
static void heap_remove(struct trace_cursor *cursor)
{
	struct source *source = cursor->heap.items[0];

	cursor->live_events -= source->chunk->count;
	cursor->heap.items[0] = cursor->heap.items[--cursor->heap.length];
	if (cursor->heap.length)
		heap_down(cursor, 0);
	put_aside(cursor, source);
}

static void set_gap(struct source *source, struct trace_gap gap)
{
	source->is_gap = true;
	source->gap = (struct event_gap){ gap.from_ns, gap.to_ns, gap.lost, gap.cpu, gap.reason };
}

/* Decodes a chunk; why it cannot be, a GAP_REASON_, or 0. */
static unsigned read_chunk(struct trace_cursor *cursor, size_t number, struct source *source)
{
	struct chunk *chunk = &cursor->trace->chunks.items[number];
	unsigned bad = atomic_load_explicit(&chunk->bad, memory_order_relaxed);
	int status;

	if (bad)
		return bad;
	source->decoded = &source->own;
	if (chunk->refused || cursor->live_events + chunk->count > LIVE_EVENTS)
		status = -EBADMSG;
	else if (cursor->ahead)
		status = ahead_take(cursor->ahead, number, &source->own);
	else if ((source->kept = chunk_cache_take(cursor->trace, number, cursor->whole && cursor->walked < AHEAD_AFTER, &source->decoded)))
		status = 0;
	else
		status = chunk_decode(cursor->trace, chunk, &cursor->filter, &source->own);
	if (!status)
		return 0;
	bad = chunk_gap_reason(status);
	atomic_store_explicit(&chunk->bad, bad, memory_order_relaxed);
	return bad;
}

/* Decodes a chunk into the heap, from its first event at or after from_ns on;
 * the number of events passed over for that. */
static uint64_t open_chunk(struct trace_cursor *cursor, size_t number, uint64_t from_ns)
{
	struct chunk *chunk = &cursor->trace->chunks.items[number];
	struct source *source;
	uint32_t low = 0, high;
	unsigned reason;

	if (chunk_passed_over(chunk, &cursor->filter))
		return 0;
	if (cursor->unused.length)
		source = cursor->unused.items[--cursor->unused.length];
	else
		source = mem_zalloc(sizeof(*source));
	source->chunk = chunk;
	source->at = 0;
	source->is_gap = false;
	if (chunk->gap) {
		set_gap(source, *chunk->hole);
	} else if ((reason = read_chunk(cursor, number, source))) {
		if (reason == GAP_REASON_unknown)
			cursor->unknown++;
		else
			cursor->damaged++;
		set_gap(source, (struct trace_gap){ chunk->first_ns, chunk->last_ns, chunk->count, chunk->cpu, reason });
	}
	if (source->is_gap) {
		if (chunk->first_ns >= from_ns) {
			heap_add(cursor, source);
			return 0;
		}
		put_aside(cursor, source);
		return chunk->count;
	}
	high = source->decoded->count;
	SEARCH(low, high, middle, source->decoded->times[middle] < from_ns);
	source->at = low;
	if (low < source->decoded->count)
		heap_add(cursor, source);
	else
		put_aside(cursor, source);
	return low;
}

/* The number of chunks that begin before a time. */
static size_t chunks_before(const struct trace *trace, uint64_t time_ns)
{
	size_t low = 0, high = trace->chunks.length;

	SEARCH(low, high, middle, trace->chunks.items[middle].first_ns < time_ns);
	return low;
}

/* Places the cursor before the first event at or after a time. */
static void go_to_time(struct trace_cursor *cursor, uint64_t time_ns)
{
	const struct trace *trace = cursor->trace;
	size_t first = chunks_before(trace, time_ns);

	ahead_stop(cursor->ahead);
	cursor->ahead = NULL;
	cursor->walked = 0;
	cursor->live_events = 0;
	cursor->until_ns = 0;
	while (cursor->heap.length)
		put_aside(cursor, cursor->heap.items[--cursor->heap.length]);
	cursor->next_chunk = first;
	cursor->number = 1 + (first < trace->chunks.length ? trace->chunks.items[first].before : trace->total);
	for (size_t i = first; i > 0 && trace->chunks.items[i - 1].last_before >= time_ns; i--) {
		const struct chunk *chunk = &trace->chunks.items[i - 1];

		if (chunk->last_ns >= time_ns)
			cursor->number -= chunk->count - open_chunk(cursor, i - 1, time_ns);
	}
}

/* ---- before a part's own events ---- */

static bool passes(const struct trace_cursor *cursor, const struct event *e)
{
	return cursor->filter.types[e->type / 64] >> (e->type % 64) & 1 &&
	       (!cursor->filter.cpus || cursor->filter.cpus >> e->cpu % 64 & 1);
}

/* A stack that came up just before the part's end is told behind it. */
static void begin_late(struct trace_cursor *cursor)
{
	static const uint16_t types[] = { EVENT_module, EVENT_frame, EVENT_symbol };
	const struct trace *trace = cursor->trace;
	struct trace_filter filter = { .from_ns = trace->ceiling_ns + 1, .to_ns = trace->ceiling_ns + TRACE_LATE_NS, .unnumbered = true,
				       .cpus = cursor->filter.cpus, .fields = cursor->filter.fields };
	bool any = false;

	if (!trace->whole || trace->ceiling_ns >= trace->whole->summary.end_ns || cursor->filter.to_ns < trace->ceiling_ns)
		return;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (filter_wants_told(&cursor->filter, types[i])) {
			trace_filter_add(&filter, types[i]);
			any = true;
		}
	if (any)
		cursor->late = trace_cursor_new(trace->whole, &filter);
}

static const struct event *next_late(struct trace_cursor *cursor)
{
	const struct event *e;

	if (!cursor->late_begun)
		begin_late(cursor);
	cursor->late_begun = true;
	e = cursor->late ? trace_cursor_next(cursor->late) : NULL;
	if (!e)
		return NULL;
	cursor->late_event = *e;
	cursor->late_event.time = cursor->trace->ceiling_ns;
	return &cursor->late_event;
}

static void begin_before(struct trace_cursor *cursor, uint64_t from_ns)
{
	cursor->before = true;
	cursor->before_ns = from_ns;
	cursor->prelude = prelude_open(cursor->trace, &cursor->filter, from_ns);
}

static void begin_walk(struct trace_cursor *cursor)
{
	go_to_time(cursor, cursor->filter.from_ns);
	cursor->first_chunk = cursor->next_chunk;
}

static const struct event *next_told(struct trace_cursor *cursor)
{
	const struct event *e = cursor->prelude ? prelude_next(cursor->prelude) : NULL;

	if (!e) {
		prelude_free(cursor->prelude);
		cursor->prelude = NULL;
	}
	return e;
}

/* NULL when all of it is handed out. */
static const struct event *next_before(struct trace_cursor *cursor)
{
	const struct standing_events *standing = &cursor->trace->standing;

	for (;;) {
		const struct event *e = cursor->next_standing < standing->count ? &standing->events[cursor->next_standing] : NULL, *told;

		if (!cursor->prelude_event)
			cursor->prelude_event = next_told(cursor);
		told = cursor->prelude_event;
		if (told && (!e || told->time <= e->time)) {
			cursor->prelude_event = NULL;
			return told;
		}
		if (!e)
			break;
		cursor->next_standing++;
		if (passes(cursor, e) && e->time >= cursor->before_ns && e->time <= cursor->filter.to_ns)
			return e;
	}
	cursor->before = false;
	begin_walk(cursor);
	return NULL;
}

struct trace_cursor *trace_cursor_new(const struct trace *trace, const struct trace_filter *filter)
{
	struct trace_cursor *cursor = mem_zalloc(sizeof(*cursor));
	bool any = false;

	cursor->trace = trace;
	if (filter)
		cursor->filter = *filter;
	for (unsigned i = 0; i < sizeof(cursor->filter.types) / sizeof(cursor->filter.types[0]); i++)
		any |= cursor->filter.types[i] != 0;
	cursor->whole = !any && !cursor->filter.fields;
	if (!any)
		memset(cursor->filter.types, 0xff, sizeof(cursor->filter.types));
	if (!cursor->filter.to_ns)
		cursor->filter.to_ns = UINT64_MAX;
	if (trace->whole && cursor->filter.to_ns > trace->ceiling_ns)
		cursor->filter.to_ns = trace->ceiling_ns;
	if (cursor->filter.from_ns < trace->floor_ns) {
		if (trace->whole)
			begin_before(cursor, cursor->filter.from_ns);
		cursor->filter.from_ns = trace->floor_ns;
	}
	/* what comes before needs memory of its own for a while */
	if (!cursor->before)
		begin_walk(cursor);
	return cursor;
}

static void source_free(const struct trace_cursor *cursor, struct source *source)
{
	give_back(cursor, source);
	decoded_done(&source->own);
	free(source);
}

void trace_cursor_free(struct trace_cursor *cursor)
{
	if (!cursor)
		return;
	ahead_stop(cursor->ahead);
	progress_end(&cursor->progress);
	prelude_free(cursor->prelude);
	trace_cursor_free(cursor->late);
	for (size_t i = 0; i < cursor->heap.length; i++)
		source_free(cursor, cursor->heap.items[i]);
	for (size_t i = 0; i < cursor->unused.length; i++)
		source_free(cursor, cursor->unused.items[i]);
	vec_done(&cursor->heap);
	vec_done(&cursor->unused);
	free(cursor);
}

/* Fills the event from the first source. */
static void fill_event(struct trace_cursor *cursor, const struct source *source)
{
	const struct decoded *decoded = source->decoded;
	struct event *e = &cursor->event;
	uint32_t i = source->at;

	e->number = cursor->filter.unnumbered ? 0 : cursor->number;
	e->cpu = source->chunk->cpu;
	if (source->is_gap) {
		e->time = source->chunk->first_ns;
		e->type = EVENT_gap;
		e->tid = 0;
		e->data = &source->gap;
	} else {
		e->time = decoded->times[i];
		e->type = decoded->types[i];
		e->tid = decoded->tids[i];
		e->data = decoded->places[i] == PLACE_NONE ? NULL : decoded->data + decoded->places[i];
	}
	e->tail = "";
	e->tail_length = 0;
	if (!source->is_gap && decoded->texts) {
		e->tail = decoded->texts + decoded->tails[i];
		e->tail_length = decoded->tail_lengths[i];
	}
}

/* Steps behind the first source's event. */
static void advance(struct trace_cursor *cursor)
{
	struct source *source = cursor->heap.items[0];

	cursor->number += source->is_gap ? source->chunk->count : 1;
	if (source->is_gap || ++source->at == source->decoded->count) {
		heap_remove(cursor);
	} else if (source->decoded->times[source->at] < cursor->until_ns) {
		return;
	} else if (cursor->heap.length > 1) {
		heap_down(cursor, 0);
	}
	cursor->until_ns = 0;
}

/* How far the first source goes before another one, or a chunk not yet in the
 * heap, must be asked. */
static uint64_t run_end(const struct trace_cursor *cursor)
{
	const struct trace *trace = cursor->trace;
	uint64_t end = UINT64_MAX;

	if (cursor->next_chunk < trace->chunks.length)
		end = trace->chunks.items[cursor->next_chunk].first_ns;
	for (size_t i = 1; i < cursor->heap.length && i < 3; i++)
		if (source_time(cursor->heap.items[i]) < end)
			end = source_time(cursor->heap.items[i]);
	return end;
}

static void tell_progress(struct trace_cursor *cursor)
{
	const struct trace *trace = cursor->trace;
	uint64_t events = trace->summary.events + trace->summary.state_events;
	size_t last;

	if (cursor->walked == 1) {
		last = chunks_before(trace, cursor->filter.to_ns);
		cursor->length = last > cursor->first_chunk ? last - cursor->first_chunk : 0;
		if (cursor->length >= LONG_CHUNKS)
			progress_begin(&cursor->progress, "reading the trace", events * cursor->length / trace->chunks.length);
	}
	if (cursor->progress.counts)
		progress_to(&cursor->progress, events * (cursor->next_chunk - cursor->first_chunk) / trace->chunks.length);
}

static void open_next(struct trace_cursor *cursor)
{
	const struct trace *trace = cursor->trace;

	if (cursor->walked++ == (cursor->filter.whole ? 0 : AHEAD_AFTER) && trace->chunks.length - cursor->next_chunk > AHEAD_LEFT &&
	    sysconf(_SC_NPROCESSORS_ONLN) > 1 && !mem_is_scarce())
		cursor->ahead = ahead_start(trace, &cursor->filter, cursor->next_chunk);
	tell_progress(cursor);
	open_chunk(cursor, cursor->next_chunk++, 0);
}

const struct event *trace_cursor_next(struct trace_cursor *cursor)
{
	const struct trace *trace = cursor->trace;
	const struct event *before = cursor->before ? next_before(cursor) : NULL;

	if (before)
		return before;
	for (;;) {
		const struct source *source;
		unsigned type;
		bool pass;

		if (!cursor->until_ns) {
			while (cursor->next_chunk < trace->chunks.length &&
			       (!cursor->heap.length || trace->chunks.items[cursor->next_chunk].first_ns <= source_time(cursor->heap.items[0])))
				open_next(cursor);
			if (!cursor->heap.length)
				return next_late(cursor);
			cursor->until_ns = run_end(cursor);
		}
		source = cursor->heap.items[0];
		if (source_time(source) > cursor->filter.to_ns)
			return next_late(cursor);
		type = source->is_gap ? EVENT_gap : source->decoded->types[source->at];
		pass = type < EVENT_MAX && cursor->filter.types[type / 64] >> (type % 64) & 1 && cursor->number >= cursor->skip_to &&
		       (!cursor->filter.cpus || cursor->filter.cpus >> source->chunk->cpu % 64 & 1);
		if (pass)
			fill_event(cursor, source);
		advance(cursor);
		if (pass)
			return &cursor->event;
	}
}

/* Chunks with fewer events than that before them. */
static size_t chunks_before_number(const struct trace *trace, uint64_t number)
{
	size_t low = 0, high = trace->chunks.length;

	SEARCH(low, high, middle, trace->chunks.items[middle].before < number);
	return low;
}

void trace_number_times(const struct trace *trace, uint64_t first, uint64_t last, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	size_t begin = chunks_before_number(trace, first), end = chunks_before_number(trace, last);

	*ret_from_ns = begin ? trace->chunks.items[begin - 1].first_ns : trace->summary.start_ns;
	/* those of the chunks that begin later may lie among these */
	*ret_to_ns = end ? trace->chunks.items[end - 1].last_before : trace->summary.end_ns;
}

void trace_cursor_seek(struct trace_cursor *cursor, uint64_t number)
{
	const struct trace *trace = cursor->trace;
	size_t low = chunks_before_number(trace, number);
	uint64_t time_ns = cursor->filter.from_ns;

	cursor->filter.unnumbered = false;
	cursor->before = false;
	/* The last chunk with fewer events than that before it: all of those
	 * events, and maybe later ones, lie before its begin. */
	if (low && trace->chunks.items[low - 1].first_ns > time_ns)
		time_ns = trace->chunks.items[low - 1].first_ns;
	cursor->skip_to = number;
	go_to_time(cursor, time_ns);
}

uint64_t trace_cursor_damaged(const struct trace_cursor *cursor)
{
	return cursor->damaged;
}

uint64_t trace_cursor_unknown(const struct trace_cursor *cursor)
{
	return cursor->unknown;
}
