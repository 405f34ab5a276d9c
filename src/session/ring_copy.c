/* See ring_copy.h. */
#include "session/ring_copy.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/blocks.h"
#include "trace/copy.h"
#include "trace/copy_own.h"
#include "trace/part.h"

#define NEAR_EVENTS 1500000u /* to go through them takes less than to open an index */

static int copy_events(const struct trace *trace, const struct trace_filter *filter, struct writer *writer, struct err *err)
{
	struct trace_cursor *cursor = trace_cursor_new(trace, filter);
	int r = 0;

	for (const struct event *e; !r && (e = trace_cursor_next(cursor)); )
		if (e->type < EVENT_MAX && event_infos[e->type].name)
			r = writer_add_event(writer, e, err);
	trace_cursor_free(cursor);
	return r;
}

/* The last block up to that one, and after the moment, at whose beginning it is known what stands. */
static bool find_known(const struct blocks *blocks, size_t i, uint64_t after_ns, size_t *ret_known)
{
	for (*ret_known = i; blocks_at(blocks, *ret_known)->from_ns > after_ns; --*ret_known)
		if (blocks_at(blocks, *ret_known)->known || !*ret_known)
			return blocks_at(blocks, *ret_known)->known;
	return false;
}

/* What tells what stood at a moment, where that is far from the head of its file and an index knows it of a moment between the
 * two: the events since, with what stood then. */
static struct trace *open_before(const struct trace *trace, uint64_t from_ns, struct arena *arena)
{
	struct standing_events *events = arena_new(arena, struct standing_events);
	struct blocks *blocks;
	uint64_t head_ns = trace_state_from(trace, from_ns), begin_ns;
	bool is_known;
	size_t known;

	if (head_ns >= trace_copy_begin(trace, NEAR_EVENTS) || blocks_open(trace, &(struct blocks_options){ 0 }, &blocks, NULL))
		return NULL;
	blocks_keep_to_itself(blocks);
	is_known = find_known(blocks, blocks_find(blocks, from_ns - 1), head_ns, &known) && !blocks_standing(blocks, known, arena, events, NULL);
	begin_ns = blocks_at(blocks, known)->from_ns;
	blocks_close(blocks);
	return is_known ? trace_part(trace, begin_ns, from_ns - 1, events) : NULL;
}

/* The trace from then on, and what stood at that moment: who waits since when, and who is there no more. */
static struct trace *open_since(const struct trace *trace, uint64_t from_ns, struct arena *arena)
{
	struct trace *before = open_before(trace, from_ns, arena);
	struct trace_filter filter = { .from_ns = before ? 0 : trace_state_from(trace, from_ns), .to_ns = from_ns - 1 };
	struct standing *standing = standing_new(trace, from_ns);
	struct standing_events events;
	struct trace_cursor *cursor;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (event_infos[type].name && standing_ever(type))
			trace_filter_add(&filter, type);
	cursor = trace_cursor_new(before ? before : trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		if (e->data || !event_infos[e->type].bytes)
			standing_see(standing, e);
	trace_cursor_free(cursor);
	trace_close(before);
	standing_take(arena, standing, from_ns - 1, &events);
	standing_free(standing);
	return trace_part(trace, from_ns, UINT64_MAX, &events);
}

/* From then on; `uid`: what that user may see, NULL all. */
static int copy_since(const struct trace *trace, uint64_t from_ns, const uint32_t *uid, struct writer *writer, struct err *err)
{
	struct trace_filter before = { .to_ns = from_ns - 1, .unnumbered = true };
	struct trace *since = NULL;
	struct arena arena;
	int r = 0;

	arena_init(&arena);
	if (from_ns > trace_summary(trace)->start_ns)
		since = open_since(trace, from_ns, &arena);
	if (uid)
		r = trace_copy_own(since ? since : trace, *uid, writer, err);
	else if (since)
		r = copy_events(since, &before, writer, err);
	if (!r && !uid)
		r = trace_copy(trace, from_ns, writer, err);
	trace_close(since);
	arena_done(&arena);
	return r;
}

/* `from` is closed. */
static int copy_to(struct trace *from, uint64_t from_ns, const uint32_t *uid, const char *path, struct err *err)
{
	struct writer_options options = { .whole = true, .cpus = trace_summary(from)->cpus ? trace_summary(from)->cpus : 1 };
	struct writer *writer;
	int r = writer_create(path, true, &options, &writer, err);

	if (!r) {
		r = copy_since(from, from_ns, uid, writer, err);
		if (r)
			writer_drop(writer);
		else
			r = writer_close(writer, err);
	}
	trace_close(from);
	return r;
}

/* There it would be taken for a part of the ring, or take a part's place. */
static int refuse_ring(const char *folder, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct stat ring, parent;
	char copy[PATH_MAX];

	if (strlen(path) >= sizeof(copy))
		return 0; /* creating it says so */
	strcpy(copy, slash ? path : ".");
	if (slash)
		copy[slash - path + 1] = 0;
	if (stat(folder, &ring) || stat(copy, &parent) || !S_ISDIR(ring.st_mode) || ring.st_dev != parent.st_dev ||
	    ring.st_ino != parent.st_ino)
		return 0;
	return err_set(err, -EINVAL, "'%s' is in the folder of the ring, whose history it would replace: save it elsewhere", path);
}

static uint64_t begin_of(const struct trace *trace, const struct ring_copy_want *want)
{
	uint64_t end = trace_summary(trace)->end_ns, from = want->from_ns, latest;

	if (want->last_ns)
		from = end > want->last_ns ? end - want->last_ns : 0;
	if (!want->most_events)
		return from;
	latest = trace_copy_begin(trace, want->most_events);
	return from > latest ? from : latest;
}

int ring_copy(const char *folder, const char *path, const struct ring_copy_want *want, struct err *err)
{
	struct trace *trace;
	int r = refuse_ring(folder, path, err);

	if (r)
		return r;
	r = trace_open(folder, &trace, err);
	return r ? err_prefix(err, "reading the ring") : copy_to(trace, begin_of(trace, want), NULL, path, err);
}

int ring_copy_own(const char *from, const char *path, uint32_t uid, uint64_t from_ns, struct err *err)
{
	struct trace *trace;
	int r = trace_open(from, &trace, err);

	return r ? err_prefix(err, "reading what was recorded") : copy_to(trace, from_ns, &uid, path, err);
}
