/* See trace.h: opening a file or the files of a ring, and what is known of them. */
#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "trace/part.h"
#include "trace/output.h"
#include "trace/reader.h"
#include "trace/tables_private.h"

/* Payloads of traces up to this size are checked while opening; those of larger
 * ones when they are read. */
#define VERIFY_BYTES (64u << 20)
#define FEW_THREADS 4096u
#define PROCESSORS_MOST 16384u
#define UNWRITTEN_NS 2000000000u /* chunks are written long before they are so old */

/* Recordings made as root are root's: the usual case after `sudo argus record`. */
static int cannot_open(int dir, const char *name, const char *path, int code, struct err *err)
{
	struct stat st;

	if (code == -EACCES && !fstatat(dir, name, &st, 0) && st.st_uid != geteuid())
		return err_set(err, code, "'%s' is %s and may not be read: use sudo, or give it to you with chown", path,
			       st.st_uid ? "another user's" : "root's");
	return err_sys(err, code, "opening '%s'", path);
}

static int open_regular(int dir, const char *name, const char *path, struct err *err)
{
	struct stat st;
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return cannot_open(dir, name, path, -errno, err);
	if (fstat(fd, &st) || S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(err, -EBADMSG, "'%s' is not a regular file", path);
}

/* ---- directories ---- */

struct ring_file {
	const char *path;
	int fd;
	uint64_t bytes;
	struct file_head head;
};

struct ring_files vec(struct ring_file);

static int by_sequence(const void *a, const void *b)
{
	const struct ring_file *x = a, *y = b;

	if (x->head.sequence != y->head.sequence)
		return x->head.sequence < y->head.sequence ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Opens all in the directory that begins as a trace does. */
static void list_ring(struct trace *trace, DIR *dir, struct ring_files *files)
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		struct ring_file file = { 0 };
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		file.path = arena_printf(&trace->arena, "%s/%s", trace->path, entry->d_name);
		file.fd = open_regular(dirfd(dir), entry->d_name, file.path, NULL);
		if (file.fd < 0)
			continue;
		if (fstat(file.fd, &st) || pread(file.fd, &file.head, sizeof(file.head), 0) != (ssize_t)sizeof(file.head) ||
		    memcmp(file.head.magic, FORMAT_MAGIC, sizeof(file.head.magic))) {
			close(file.fd);
			continue;
		}
		file.bytes = (uint64_t)st.st_size;
		vec_push(files, file);
	}
}

/* The files of the newest recording, in their order; the others are counted. */
static int load_ring(struct trace *trace, struct ring_files *files, struct err *err)
{
	const struct ring_file *newest = NULL;
	uint64_t recording, bytes = 0;
	int status = 0;

	for (size_t i = 0; i < files->length; i++)
		if (!newest || files->items[i].head.created_wall_ns > newest->head.created_wall_ns)
			newest = &files->items[i];
	if (!newest)
		return err_set(err, -ENOENT, "no trace of Argus in the directory '%s'", trace->path);
	recording = newest->head.recording;
	qsort(files->items, files->length, sizeof(files->items[0]), by_sequence);
	for (size_t i = 0; i < files->length; i++)
		bytes += files->items[i].head.recording == recording ? files->items[i].bytes : 0;
	trace->verify |= bytes <= VERIFY_BYTES;
	for (size_t i = 0; i < files->length; i++) {
		struct ring_file *file = &files->items[i];

		if (file->head.recording != recording) {
			trace->summary.foreign_files++;
			continue;
		}
		status = trace_file_load(trace, file->path, file->fd, err);
		file->fd = -1; /* the trace's now, or closed */
		if (status)
			trace->summary.unreadable_files++;
	}
	return trace->files.length ? 0 : status;
}

static int open_ring(struct trace *trace, struct err *err)
{
	struct ring_files files = { 0 };
	DIR *dir = opendir(trace->path);
	int status;

	if (!dir)
		return err_sys(err, -errno, "opening '%s'", trace->path);
	list_ring(trace, dir, &files);
	status = load_ring(trace, &files, err);
	for (size_t i = 0; i < files.length; i++)
		if (files.items[i].fd >= 0)
			close(files.items[i].fd);
	vec_done(&files);
	closedir(dir);
	return status;
}

static int open_file(struct trace *trace, struct err *err)
{
	struct stat st;
	int fd = open_regular(AT_FDCWD, trace->path, trace->path, err);

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st))
		trace->verify |= (uint64_t)st.st_size <= VERIFY_BYTES;
	return trace_file_load(trace, trace->path, fd, err);
}

/* ---- what is known ---- */

/* The texts of the machine records, each key once: a later one wins. */
static void read_machine(struct trace *trace)
{
	struct vec(const char *) texts = { 0 };
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;
	const struct event *e;

	trace_filter_add(&filter, EVENT_machine);
	cursor = trace->summary.counts[EVENT_machine] ? trace_cursor_new(trace, &filter) : NULL;
	/* Each file of a ring begins with them; the first says it all. */
	for (unsigned i = 0; cursor && i < 16 && (e = trace_cursor_next(cursor)); i++) {
		const char *at = e->tail, *end = e->tail + e->tail_length;

		for (; at < end; at += strlen(at) + 1) {
			const char *equals = strchr(at, '=');
			size_t k = 0;

			while (k < texts.length && equals && strncmp(texts.items[k], at, (size_t)(equals - at) + 1))
				k++;
			if (!equals)
				continue;
			if (k == texts.length)
				vec_push(&texts, NULL);
			texts.items[k] = arena_strdup(&trace->arena, at);
		}
		if (trace->summary.counts[EVENT_machine] <= i + 1)
			break;
	}
	trace_cursor_free(cursor);
	vec_push(&texts, NULL);
	trace->summary.machine = arena_memdup(&trace->arena, texts.items, texts.length * sizeof(texts.items[0]));
	vec_done(&texts);
}

static void count_threads(struct trace *trace)
{
	uint32_t tid, pid;

	/* A thread whose process is nowhere told counts as one of its own. */
	for (uint64_t at = 0; tid_table_next(&trace->threads, &at, &tid, &pid);)
		if (!pid)
			tid_table_put(&trace->processes, tid, 1);
	trace->summary.threads = (uint32_t)(trace->threads.length + trace->reused_threads);
	trace->summary.processes = (uint32_t)trace->processes.length;
}

/* The recorder keeps state in a stream of its own, which is no processor's. */
static uint32_t count_busy_cpus(const struct trace *trace)
{
	struct map cpus = { 0 };
	uint32_t count;

	for (size_t i = 0; i < trace->chunks.length; i++)
		if (trace->chunks.items[i].count > trace->chunks.items[i].state_count)
			map_at(&cpus, trace->chunks.items[i].cpu, NULL);
	count = (uint32_t)cpus.length;
	map_done(&cpus);
	return count;
}

/* Of a recording that was broken off, processors' last moments were not written together. */
static void find_reach(struct trace *trace)
{
	uint64_t *reach = arena_array(&trace->arena, uint64_t, trace->summary.cpus + 1);

	for (size_t i = 0; i < trace->chunks.length; i++) {
		const struct chunk *chunk = &trace->chunks.items[i];

		if (!chunk->gap && chunk->count > chunk->state_count && chunk->last_ns > reach[chunk->cpu])
			reach[chunk->cpu] = chunk->last_ns;
	}
	trace->summary.reach_ns = reach;
}

/* Nobody closed its last file, and nobody writes it. */
static bool is_broken_off(const struct trace *trace)
{
	const struct trace_file *last = &trace->files.items[trace->files.length - 1];

	return !last->complete && !output_is_written(last->fd);
}

static uint32_t processors_of(const struct trace *trace)
{
	uint32_t count = trace->files.items[trace->files.length - 1].head.processors;

	return count < PROCESSORS_MOST ? count : PROCESSORS_MOST;
}

/* What a processor had recorded last was not written, if there was any: between its last
 * event and the recording's end nothing is known of it, except that what is older than
 * UNWRITTEN_NS would have been written. Processors without any event count, too. */
static void find_unwritten(struct trace *trace)
{
	struct trace_summary *summary = &trace->summary;
	uint64_t end = summary->end_ns;
	uint64_t earliest = end - summary->start_ns > UNWRITTEN_NS ? end - UNWRITTEN_NS : summary->start_ns;
	struct vec(struct trace_gap) gaps = { 0 };

	for (uint32_t cpu = 0; cpu < summary->cpus; cpu++) {
		uint64_t reach = summary->reach_ns[cpu];

		if (!reach && cpu >= processors_of(trace))
			continue;
		if (!reach)
			reach = summary->reach_ns[cpu] = summary->start_ns;
		if (reach < earliest)
			reach = earliest;
		if (reach < end)
			vec_push(&gaps, ((struct trace_gap){ reach, end, 0, cpu, GAP_REASON_unwritten }));
	}
	trace_arrange_end(trace, gaps.items, gaps.length);
	vec_done(&gaps);
}

static void summarize(struct trace *trace)
{
	struct trace_summary *summary = &trace->summary;

	summary->files = (uint32_t)trace->files.length;
	summary->complete = true;
	for (size_t i = 0; i < trace->files.length; i++)
		summary->complete &= trace->files.items[i].complete;
	for (size_t i = 0; i < trace->chunks.length; i++)
		if (trace->chunks.items[i].cpu >= summary->cpus)
			summary->cpus = trace->chunks.items[i].cpu + 1u;
	bool broken_off = is_broken_off(trace);

	if (broken_off && summary->cpus < processors_of(trace))
		summary->cpus = processors_of(trace);
	summary->busy_cpus = count_busy_cpus(trace);
	find_reach(trace);
	count_threads(trace);
	summary->start_wall_ns = trace_wall_ns(trace, summary->start_ns);
	read_machine(trace);
	if (broken_off)
		find_unwritten(trace);
}

/* In the oldest file of a ring, events before the floor are those of some
 * processors only: what others had at that time stood in a file that is gone.
 * They are left out of counts and cursors. */
static void raise_floor(struct trace *trace)
{
	uint64_t floor_ns = trace->files.items[0].head.floor_ns;
	struct trace_summary *summary = &trace->summary;
	struct trace_filter filter = { .to_ns = floor_ns - 1 };
	struct trace_cursor *cursor;
	const struct event *e;

	if (floor_ns <= summary->start_ns || floor_ns > summary->end_ns)
		return;
	cursor = trace_cursor_new(trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		/* what stands for a chunk that cannot be read was not counted */
		if (e->type == EVENT_gap && (event_as(e, gap)->reason == GAP_REASON_damaged || event_as(e, gap)->reason == GAP_REASON_unknown))
			continue;
		summary->counts[e->type]--;
		if (event_infos[e->type].categories & (STATE | META))
			summary->state_events--;
		else
			summary->events--;
	}
	trace_cursor_free(cursor);
	trace->floor_ns = summary->start_ns = floor_ns;
}

static int open_trace(const char *path, bool verify, struct trace **ret_trace, struct err *err)
{
	struct trace *trace = mem_zalloc(sizeof(*trace));
	struct stat st;
	int status;

	trace->verify = trace->decode = verify;
	trace->cache = chunk_cache_new();
	trace->path = arena_strdup(&trace->arena, path);
	if (stat(path, &st))
		status = err_sys(err, -errno, "opening '%s'", path);
	else if (S_ISDIR(st.st_mode))
		status = open_ring(trace, err);
	else
		status = open_file(trace, err);
	if (status) {
		trace_close(trace);
		return status;
	}
	trace_arrange(trace);
	raise_floor(trace);
	summarize(trace);
	*ret_trace = trace;
	return 0;
}

int trace_open(const char *path, struct trace **ret_trace, struct err *err)
{
	return open_trace(path, false, ret_trace, err);
}

int trace_open_checked(const char *path, struct trace **ret_trace, struct err *err)
{
	return open_trace(path, true, ret_trace, err);
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->whole) {
		map_done(&trace->processes_there);
		map_done(&trace->past_threads);
		frame_table_leave(trace->frames);
		arena_done(&trace->arena);
		free(trace);
		return;
	}
	for (size_t i = 0; i < trace->files.length; i++)
		close(trace->files.items[i].fd);
	vec_done(&trace->files);
	vec_done(&trace->chunks);
	vec_done(&trace->gaps);
	vec_done(&trace->clocks);
	tid_table_done(&trace->threads);
	tid_table_done(&trace->processes);
	chunk_cache_free(trace->cache);
	if (trace->scratch)
		decoded_done(trace->scratch);
	free(trace->scratch);
	arena_done(&trace->arena);
	free(trace);
}

const struct trace_summary *trace_summary(const struct trace *trace)
{
	return &trace->summary;
}

const char *trace_path(const struct trace *trace)
{
	return trace->path;
}

const char *trace_machine(const struct trace *trace, const char *key)
{
	size_t length = strlen(key);

	for (const char *const *text = trace->summary.machine; *text; text++)
		if (!strncmp(*text, key, length) && (*text)[length] == '=')
			return *text + length + 1;
	return NULL;
}

uint64_t trace_wall_ns(const struct trace *trace, uint64_t time_ns)
{
	size_t low = 0, high = trace->clocks.length;

	if (!high)
		return 0;
	SEARCH(low, high, middle, trace->clocks.items[middle].time_ns <= time_ns);
	low -= low > 0; /* the last one before, or the first */
	return trace->clocks.items[low].wall_ns + (time_ns - trace->clocks.items[low].time_ns);
}

uint64_t trace_time_of_wall(const struct trace *trace, uint64_t wall_ns)
{
	uint64_t from = trace->summary.start_ns;

	/* between two clock records the clock runs; at one it may have been set */
	for (size_t i = 0; i < trace->clocks.length; i++) {
		uint64_t to = i + 1 < trace->clocks.length ? trace->clocks.items[i + 1].time_ns : UINT64_MAX, wall;

		if (to <= from)
			continue;
		wall = trace_wall_ns(trace, from);
		if (wall_ns <= wall)
			return from;
		if (wall_ns - wall < to - from)
			return from + (wall_ns - wall);
		from = to;
	}
	return from;
}

void trace_each_tid(const struct trace *trace, void (*call)(void *context, uint32_t tid, uint32_t pid), void *context)
{
	uint32_t tid, pid;

	/* Most of a long trace's threads are not there in a part of it. */
	if (trace->whole && trace->threads.length > FEW_THREADS) {
		for (uint32_t i = 0; i < trace->standing.count; i++)
			call(context, trace->standing.events[i].tid, 0);
		return;
	}
	for (uint64_t at = 0; tid_table_next(&trace->threads, &at, &tid, &pid);)
		call(context, tid, pid);
}

const struct event *trace_event(const struct trace *trace, struct arena *arena, uint64_t number)
{
	struct trace_cursor *cursor;
	const struct event *e;
	struct event *copy = NULL;

	if (!number || number > trace->total)
		return NULL;
	cursor = trace_cursor_new(trace_whole(trace), NULL);
	trace_cursor_seek(cursor, number);
	e = trace_cursor_next(cursor);
	if (e && e->number == number) {
		copy = arena_memdup(arena, e, sizeof(*e));
		if (e->data)
			copy->data = arena_memdup(arena, e->data, event_infos[e->type].bytes);
		copy->tail = arena_alloc(arena, e->tail_length + 1, 1);
		memcpy((char *)copy->tail, e->tail, e->tail_length);
	}
	trace_cursor_free(cursor);
	return copy;
}
