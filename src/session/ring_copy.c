/* See ring_copy.h. */
#include "session/ring_copy.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/copy.h"
#include "trace/copy_own.h"

/* Time of the newest head of a file not after from_ns; 0 when there is none. */
static uint64_t find_head(const struct trace *trace, uint64_t from_ns)
{
	struct trace_filter filter = { .to_ns = from_ns, .unnumbered = true };
	struct trace_cursor *cursor;
	uint64_t head = 0;

	trace_filter_add(&filter, EVENT_machine);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		head = e->time;
	trace_cursor_free(cursor);
	return head;
}

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

static void add_lives(struct trace_filter *filter)
{
	static const unsigned lives[] = { EVENT_fork, EVENT_exec, EVENT_exit, EVENT_rename };

	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (event_infos[type].name && event_infos[type].categories & (STATE | META))
			trace_filter_add(filter, type);
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		trace_filter_add(filter, lives[i]);
}

static int copy_all(const struct trace *trace, uint64_t from_ns, struct writer *writer, struct err *err)
{
	const struct trace_summary *summary = trace_summary(trace);
	struct trace_filter before = { .unnumbered = true };
	int r = 0;

	if (from_ns > summary->start_ns) {
		before.from_ns = find_head(trace, from_ns);
		before.to_ns = from_ns - 1;
		add_lives(&before);
		r = copy_events(trace, &before, writer, err);
	}
	return r ? r : trace_copy(trace, from_ns, writer, err);
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
	struct writer_options options = { .whole = true };
	struct writer *writer;
	struct trace *trace;
	int r = refuse_ring(folder, path, err);

	if (r)
		return r;
	r = trace_open(folder, &trace, err);
	if (r)
		return err_prefix(err, "reading the ring");
	options.cpus = trace_summary(trace)->cpus ? trace_summary(trace)->cpus : 1;
	r = writer_create(path, true, &options, &writer, err);
	if (!r) {
		r = copy_all(trace, begin_of(trace, want), writer, err);
		if (r)
			writer_drop(writer);
		else
			r = writer_close(writer, err);
	}
	trace_close(trace);
	return r;
}

int ring_copy_own(const char *from, const char *path, uint32_t uid, uint64_t from_ns, struct err *err)
{
	struct writer_options options = { .whole = true };
	struct writer *writer;
	struct trace *trace;
	int r = trace_open(from, &trace, err);

	if (r)
		return err_prefix(err, "reading what was recorded");
	options.cpus = trace_summary(trace)->cpus ? trace_summary(trace)->cpus : 1;
	r = writer_create(path, true, &options, &writer, err);
	if (!r) {
		r = trace_copy_own(trace, uid, from_ns ? find_head(trace, from_ns) : 0, from_ns, writer, err);
		if (r)
			writer_drop(writer);
		else
			r = writer_close(writer, err);
	}
	trace_close(trace);
	return r;
}
