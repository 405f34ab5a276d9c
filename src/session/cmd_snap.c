/* argus snap: a trace of the last minutes, out of the ring, while recording
 * goes on.
 *
 * From the moment asked for on everything is copied; of the time before, back
 * to the head of the file that holds that moment, only what was found then and
 * the life of threads, so that the result can be read alone. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/control.h"
#include "session/command.h"
#include "trace/copy.h"

static const struct option_spec options[] = {
	OPTION_OUTPUT_TRACE,
	{ "last", 0, OPTION_DURATION, "TIME", "only the last so much time (all that the ring holds)", .least = 1 },
	{ "dir", 'd', OPTION_TEXT, "DIR", "folder of a ring that nobody records into (after a crash)" },
	{ NULL },
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Time of the newest head of a file not after from_ns; 0 when there is none. */
static uint64_t find_head(const struct trace *trace, uint64_t from_ns)
{
	struct trace_filter filter = { .to_ns = from_ns };
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
	struct trace_filter before = { 0 };
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

static int snap(struct command_context *context, const char *folder, const char *path, struct err *err)
{
	uint64_t last = options_number(context->options, "last", 0), from_ns = 0;
	const struct trace_summary *summary;
	struct writer_options want = { 0 };
	struct writer *writer;
	struct trace *trace;
	int r = refuse_ring(folder, path, err);

	if (r)
		return r;
	r = trace_open(folder, &trace, err);
	if (r)
		return err_prefix(err, "reading the ring");
	summary = trace_summary(trace);
	if (last) {
		uint64_t end = options_has(context->options, "dir") ? summary->end_ns : now_ns();

		from_ns = end > last ? end - last : 0;
	}
	want.cpus = summary->cpus ? summary->cpus : 1;
	want.whole = true;
	r = writer_create(path, true, &want, &writer, err);
	if (!r) {
		r = copy_all(trace, from_ns, writer, err);
		if (r)
			writer_drop(writer);
		else
			r = writer_close(writer, err);
	}
	trace_close(trace);
	return r;
}

static int run(struct command_context *context, struct err *err)
{
	const char *path = options_text(context->options, "output", COMMAND_TRACE);
	const char *folder = options_text(context->options, "dir", NULL);
	struct buf reply;
	int r = 0;

	buf_init(&reply);
	if (!folder) {
		r = control_ask("flush", &reply, err);
		folder = buf_str(&reply);
	}
	if (!r)
		r = snap(context, folder, path, err);
	if (!r)
		sink_printf(context->notes, "saved %s\n", path);
	buf_done(&reply);
	return r;
}

const struct command command_snap = {
	.name = "snap",
	.arguments = "",
	.summary = "save what the recorder in the background has, or the end of it",
	.options = options,
	.run = run,
};
