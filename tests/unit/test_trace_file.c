/* src/trace/writer.c and the reader: what is written is read, in order, from
 * whole, torn, damaged and foreign files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/crc32c.h"
#include "trace_files.h"

static int by_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Events as a recorder has them: nearly in order on each processor. */
static struct events make_events(struct arena *arena, unsigned count, unsigned cpus)
{
	struct events events = { 0 };
	uint64_t time = 1000000000;

	for (unsigned i = 0; i < count; i++) {
		struct event e = random_event(arena, random_type(), time - (random_u64() % 8 ? 0 : random_u64() % 2000), cpus);

		time += random_u64() % 3000;
		e.number = i;
		vec_push(&events, e);
	}
	return events;
}

/* ---- whole files ---- */

static void every_event_comes_back(void **state)
{
	const char *path = path_of("whole");
	struct arena arena = { 0 };
	struct events events = make_events(&arena, 20000, 5);
	uint64_t counts[EVENT_MAX] = { 0 }, state_events = 0;
	struct trace_cursor *cursor;
	struct trace *trace;

	(void)state;
	write_events(&events, path, 2777);
	qsort(events.items, events.length, sizeof(events.items[0]), by_order);
	trace = open_good(path);
	cursor = trace_cursor_new(trace, NULL);
	for (size_t i = 0; i < events.length; i++) {
		const struct event *e = trace_cursor_next(cursor);

		assert_non_null(e);
		assert_true(same_event(&events.items[i], e));
		assert_int_equal(e->number, i + 1);
		counts[e->type]++;
		state_events += (event_infos[e->type].categories & (STATE | META)) != 0;
	}
	assert_null(trace_cursor_next(cursor));
	assert_null(trace_cursor_next(cursor));
	trace_cursor_free(cursor);
	assert_memory_equal(counts, trace_summary(trace)->counts, sizeof(counts));
	assert_int_equal(trace_summary(trace)->state_events, state_events);
	assert_int_equal(trace_summary(trace)->events, events.length - state_events);
	assert_int_equal(trace_summary(trace)->bytes, file_bytes(path));
	assert_int_equal(trace_summary(trace)->start_ns, events.items[0].time);
	assert_int_equal(trace_summary(trace)->end_ns, events.items[events.length - 1].time);
	assert_true(trace_summary(trace)->complete);
	trace_close(trace);
	vec_done(&events);
	arena_done(&arena);
}

static void filters_and_places_agree_with_walking(void **state)
{
	const char *path = path_of("filtered");
	struct arena arena = { 0 };
	struct events events = make_events(&arena, 12000, 4);
	struct trace *trace;

	(void)state;
	write_events(&events, path, 600);
	qsort(events.items, events.length, sizeof(events.items[0]), by_order);
	trace = open_good(path);
	for (unsigned round = 0; round < 24; round++) {
		uint64_t first = random_u64() % events.length, last = first + random_u64() % (events.length - first);
		struct trace_filter filter = { .from_ns = events.items[first].time, .to_ns = events.items[last].time };
		bool types = round % 3, seek = round % 2;
		struct trace_cursor *cursor;
		uint64_t from_number = seek ? 1 + random_u64() % events.length : 1;

		for (unsigned i = 0; types && i < 1 + round % 5; i++)
			trace_filter_add(&filter, random_type());
		filter.unnumbered = !seek && round % 4 == 0;
		cursor = trace_cursor_new(trace, &filter);
		if (seek)
			trace_cursor_seek(cursor, from_number);
		for (uint64_t i = from_number - 1; i < events.length; i++) {
			const struct event *want = &events.items[i], *e;

			if (want->time < filter.from_ns || want->time > filter.to_ns ||
			    (types && !(filter.types[want->type / 64] >> (want->type % 64) & 1)))
				continue;
			e = trace_cursor_next(cursor);
			assert_non_null(e);
			assert_true(same_event(want, e));
			assert_int_equal(e->number, filter.unnumbered ? 0 : i + 1);
		}
		assert_null(trace_cursor_next(cursor));
		trace_cursor_free(cursor);
	}
	for (unsigned round = 0; round < 40; round++) {
		uint64_t number = 1 + random_u64() % events.length;
		const struct event *e = trace_event(trace, &arena, number);

		assert_non_null(e);
		assert_true(same_event(&events.items[number - 1], e));
		assert_int_equal(e->number, number);
	}
	assert_null(trace_event(trace, &arena, 0));
	assert_null(trace_event(trace, &arena, events.length + 1));
	trace_close(trace);
	vec_done(&events);
	arena_done(&arena);
}

static void records_of_rings_are_taken(void **state)
{
	struct { struct record head; struct event_fork fork; char tail[8]; } fork = {
		{ 5, 1, EVENT_fork, 48 }, { .child = 2, .child_pid = 2 }, "abc" };
	struct { struct record head; struct event_task task; char tail[16]; } task = {
		{ 6, 2, EVENT_task, 72 }, { .pid = 2 }, "abc\0/bin/abc\0" };
	struct { struct record head; struct event_exit exit; } torn = { { 7, 2, EVENT_exit, 16 }, { 0 } };
	const char *path = path_of("records");
	struct writer *writer = create(path, (struct writer_options){ .cpus = 1 });
	struct arena arena = { 0 };
	struct trace *trace;
	struct err err = { 0 };
	const struct event *e;

	(void)state;
	assert_int_equal(writer_add(writer, 0, &fork, sizeof(fork), NULL), 0);
	assert_int_equal(writer_add(writer, 0, &task, sizeof(task), NULL), 0);
	assert_int_equal(writer_add(writer, 0, &torn, sizeof(torn), &err), -EBADMSG);
	assert_int_equal(writer_add(writer, 1, &fork, sizeof(fork), &err), -EINVAL);
	assert_int_equal(writer_events(writer), 1);
	assert_int_equal(writer_close(writer, NULL), 0);
	trace = open_good(path);
	e = trace_event(trace, &arena, 1);
	assert_int_equal(e->tail_length, 3);
	assert_string_equal(e->tail, "abc");
	assert_int_equal(event_as(e, fork)->child, 2);
	e = trace_event(trace, &arena, 2);
	assert_int_equal(e->tail_length, 13);
	assert_memory_equal(e->tail, "abc\0/bin/abc", 13);
	assert_int_equal(trace_summary(trace)->threads, 2);
	assert_int_equal(trace_summary(trace)->processes, 2);
	trace_close(trace);
	arena_done(&arena);
}

static void threads_are_counted_by_life(void **state)
{
	const char *path = path_of("lives");
	struct writer *writer = create(path, (struct writer_options){ .cpus = 2 });
	struct event_fork fork = { .child = 7, .child_pid = 5 };
	struct event_exit ended = { 0 };
	struct event_switch away = { .next = 9 };
	struct trace *trace;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		writer_add_event(writer, &(struct event){ .time = 10 * i, .tid = 5, .type = EVENT_fork, .data = &fork }, NULL);
		writer_add_event(writer, &(struct event){ .time = 10 * i + 5, .tid = 7, .type = EVENT_exit, .data = &ended }, NULL);
		writer_add_event(writer, &(struct event){ .time = 10 * i + 6, .tid = 7, .type = EVENT_switch, .data = &away }, NULL);
		assert_int_equal(writer_flush(writer, UINT64_MAX, NULL), 0);
	}
	assert_int_equal(writer_close(writer, NULL), 0);
	trace = open_good(path);
	assert_int_equal(trace_summary(trace)->threads, 5); /* 5, 9 and three times 7 */
	assert_int_equal(trace_summary(trace)->processes, 2); /* 5 and, as nothing is told of it, 9 */
	trace_close(trace);
}

static void losses_are_told(void **state)
{
	struct trace_losses losses;
	const char *path = path_of("gaps");
	struct writer *writer = create(path, (struct writer_options){ .cpus = 4 });
	struct event_clock clock = { .realtime_ns = 5000000000000 };
	struct trace *trace;

	(void)state;
	writer_add_event(writer, &(struct event){ .time = 100, .type = EVENT_clock, .data = &clock }, NULL);
	writer_add_gap(writer, 3, 200, 300, 17, GAP_REASON_ring_full, NULL);
	writer_add_gap(writer, 1, 150, 400, 4, GAP_REASON_ring_full, NULL);
	assert_int_equal(writer_close(writer, NULL), 0);
	trace = open_good(path);
	assert_int_equal(trace_summary(trace)->lost, 21);
	assert_int_equal(trace_summary(trace)->gap_count, 2);
	assert_int_equal(trace_summary(trace)->gaps[0].cpu, 1);
	assert_int_equal(trace_summary(trace)->gaps[1].to_ns, 300);
	/* of two processors at once the time counts once; what only touches the window is none of it */
	losses = trace_losses(trace, 180, 350);
	assert_int_equal(losses.stretches, 2);
	assert_int_equal(losses.events, 21);
	assert_int_equal(losses.ns, 170);
	assert_int_equal(losses.longest_ns, 250);
	losses = trace_losses(trace, 300, 500);
	assert_int_equal(losses.stretches, 1);
	assert_int_equal(losses.events, 4);
	assert_int_equal(losses.ns, 100);
	losses = trace_losses(trace, 400, 500);
	assert_int_equal(losses.stretches, 0);
	assert_int_equal(losses.longest_ns, 0);
	assert_int_equal(trace_losses(trace, 0, 150).stretches, 0);
	assert_int_equal(trace_wall_ns(trace, 350), 5000000000250);
	assert_int_equal(trace_summary(trace)->start_wall_ns, 5000000000000);
	trace_close(trace);
}

/* ---- torn, damaged and foreign files ---- */

/* Steps through the bytes of a file: all of them when ARGUS_TEST_ALL is set. The
 * event table's are many and all alike; elsewhere a step of 7 meets each bit
 * and each field of a head in one chunk or another. */
static size_t step_from(size_t at)
{
	return getenv("ARGUS_TEST_ALL") ? 1 : at >= sizeof(struct file_head) && at < 4000 ? 397 : 7;
}

static void cut_files_keep_their_whole_chunks(void **state)
{
	const char *path = path_of("cut"), *from = path_of("uncut");
	struct arena arena = { 0 };
	struct events events = small_events(&arena);
	unsigned char *bytes;
	uint64_t before = 0;
	size_t size;

	(void)state;
	write_events(&events, from, 10);
	bytes = read_file(from, &size);
	for (size_t cut = 0; cut < size; cut += step_from(cut)) {
		struct err err = { 0 };
		struct trace *trace;
		uint64_t n;
		int status;

		write_file(path, bytes, cut);
		status = trace_open(path, &trace, &err);
		if (status) {
			assert_true(err.text[0] && before == 0);
			continue;
		}
		assert_false(trace_summary(trace)->complete);
		n = walk(trace);
		assert_true(n >= before);
		assert_int_equal(trace_summary(trace)->events, n);
		before = n;
		trace_close(trace);
	}
	assert_int_equal(before, events.length);
	free(bytes);
	vec_done(&events);
	arena_done(&arena);
}

static void flipped_bits_cost_one_chunk(void **state)
{
	const char *path = path_of("flipped"), *from = path_of("unflipped");
	struct arena arena = { 0 };
	struct events events = small_events(&arena);
	unsigned char *bytes;
	size_t size;

	(void)state;
	write_events(&events, from, 10);
	bytes = read_file(from, &size);
	for (size_t at = 0; at < size; at += step_from(at)) {
		struct err err = { 0 };
		struct trace *trace;
		uint64_t seen;

		bytes[at] ^= (unsigned char)(1u << (at % 8));
		write_file(path, bytes, size);
		bytes[at] ^= (unsigned char)(1u << (at % 8));
		if (trace_open(path, &trace, &err)) {
			assert_true(at < sizeof(struct file_head) && err.text[0]);
			continue;
		}
		/* two processors, a flush each ten events: chunks of at most ten */
		seen = walk(trace);
		assert_true(seen + 10 >= events.length);
		assert_int_equal(trace_summary(trace)->events, seen);
		if (seen < events.length)
			assert_true(trace_summary(trace)->gap_count > 0 && trace_summary(trace)->lost + seen == events.length);
		trace_close(trace);
	}
	free(bytes);
	vec_done(&events);
	arena_done(&arena);
}

#define HOLE_SEED 88172645463325252u

static void holes_are_seen_and_passed(void **state)
{
	const char *path = path_of("hole"), *from = path_of("no-hole");
	struct arena arena = { 0 };
	struct events events;
	unsigned char *bytes;
	struct trace *trace;
	size_t size;

	(void)state;
	random_state = HOLE_SEED; /* the same file whatever ran before: the hole reaches over a chunk's head */
	events = small_events(&arena);
	write_events(&events, from, 6);
	bytes = read_file(from, &size);
	memset(bytes + size / 2, 0, 2000); /* as power loss leaves it; and no index */
	write_file(path, bytes, size - 40);
	trace = open_good(path);
	assert_true(trace_summary(trace)->damaged_stretches > 0 && trace_summary(trace)->damaged_bytes >= 1000);
	assert_int_equal(trace_summary(trace)->lost + walk(trace), events.length);
	trace_close(trace);
	free(bytes);
	vec_done(&events);
	arena_done(&arena);
}

static void foreign_files_are_refused_with_words(void **state)
{
	static const struct { const char *bytes; size_t size; int status; const char *words; } foreign[] = {
		{ "", 0, -ENODATA, "empty" },
		{ "A", 1, -ENODATA, "ends within its head" },
		{ "ARGUSTRC", 8, -ENODATA, "ends within its head" },
		{ "PERFILE2 and more of it, long enough to hold a whole head of a file of ours", 75, -EBADMSG, "not a trace" },
		{ "\0\0\0\0\0\0\0\0", 8, -EBADMSG, "not a trace" },
	};
	struct trace *trace;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		const char *path = path_of("foreign");

		write_file(path, foreign[i].bytes, foreign[i].size);
		err = (struct err){ 0 };
		assert_int_equal(trace_open(path, &trace, &err), foreign[i].status);
		assert_non_null(strstr(err.text, foreign[i].words));
	}
	assert_int_equal(trace_open(path_of("nothing"), &trace, &err), -ENOENT);
	assert_int_equal(trace_open("/dev/null", &trace, &err), -EBADMSG);
	assert_int_equal(mkdir(path_of("folder"), 0700), 0);
	assert_int_equal(trace_open(path_of("folder"), &trace, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no trace of Argus in the directory"));
}

static void a_file_being_written_is_read_so_far(void **state)
{
	const char *path = path_of("growing");
	struct writer *writer = create(path, (struct writer_options){ .cpus = 1, .flush_ms = 100 });
	struct event_mark *none = NULL;
	struct trace *trace;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		writer_add_event(writer, &(struct event){ .time = 1000000 * i, .type = EVENT_mark, .data = none, .tail = "x", .tail_length = 1 }, NULL);
	assert_int_equal(writer_flush(writer, 50000000, NULL), 0);
	trace = open_good(path);
	assert_int_equal(trace_summary(trace)->events, 0);
	trace_close(trace);
	assert_int_equal(writer_flush(writer, 100000000, NULL), 0);
	trace = open_good(path);
	assert_int_equal(trace_summary(trace)->events, 10);
	assert_false(trace_summary(trace)->complete);
	assert_int_equal(walk(trace), 10);
	trace_close(trace);
	assert_int_equal(writer_close(writer, NULL), 0);
}

/* ---- places that cannot be written ---- */

static void outputs_are_never_written_through_links(void **state)
{
	struct writer_options options = { .cpus = 1 };
	const char *path = path_of("target"), *link_path = path_of("link");
	struct writer *writer;
	struct stat st;
	struct err err = { 0 };

	(void)state;
	write_file(path, "precious", 8);
	assert_int_equal(symlink(path, link_path), 0);
	assert_int_equal(writer_create(link_path, true, &options, &writer, &err), -ELOOP);
	assert_int_equal(writer_create(path, true, &options, &writer, &err), -EEXIST);
	assert_int_equal(file_bytes(path), 8);
	assert_int_equal(writer_create(directory, true, &options, &writer, &err), -EEXIST);
	assert_int_equal(writer_create("/proc/none/trace", true, &options, &writer, &err), -ENOENT);
	path = path_of("kept");
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(writer_create(path, true, &options, &writer, &err), 0);
		assert_int_equal(writer_close(writer, NULL), 0);
	}
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(path_of("kept.old"), &st), 0);
}

static void a_limit_ends_the_file_readably(void **state)
{
	const char *path = path_of("limited");
	struct writer *writer = create(path, (struct writer_options){ .cpus = 1, .max_bytes = 20000 });
	struct arena arena = { 0 };
	struct trace *trace;
	struct err err = { 0 };
	int status = 0;

	(void)state;
	for (unsigned i = 0; i < 100000 && !status; i++) {
		struct event e = random_event(&arena, EVENT_switch, i, 1);

		status = writer_add_event(writer, &e, &err);
		if (!status && i % 50 == 0)
			status = writer_flush(writer, UINT64_MAX, &err);
	}
	assert_int_equal(status, -EFBIG);
	assert_int_equal(writer_close(writer, NULL), -EFBIG);
	trace = open_good(path);
	assert_true(trace_summary(trace)->complete && trace_summary(trace)->events > 50);
	assert_int_equal(trace_summary(trace)->events, walk(trace));
	trace_close(trace);
	arena_done(&arena);
}

static void a_full_disk_keeps_what_was_written(void **state)
{
	char disk[128], path[160];
	struct writer_options options = { .cpus = 1 };
	struct writer *writer;
	struct arena arena = { 0 };
	struct trace *trace;
	struct err err = { 0 };
	int status = 0;

	(void)state;
	snprintf(disk, sizeof(disk), "%s", path_of("disk"));
	snprintf(path, sizeof(path), "%s/trace", disk);
	mkdir(disk, 0700);
	if (mount("none", disk, "tmpfs", 0, "size=64k")) {
		print_message("mounting a small disk needs root\n");
		skip();
	}
	status = writer_create(path, true, &options, &writer, &err);
	for (unsigned i = 0; i < 100000 && !status; i++) {
		struct event e = random_event(&arena, EVENT_switch, i, 1);

		status = writer_add_event(writer, &e, &err);
		if (!status && i % 50 == 0)
			status = writer_flush(writer, UINT64_MAX, &err);
	}
	assert_int_equal(status, -ENOSPC);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, "full"));
	assert_int_equal(writer_close(writer, NULL), -ENOSPC);
	trace = open_good(path);
	assert_true(trace_summary(trace)->events > 50);
	assert_int_equal(trace_summary(trace)->events, walk(trace));
	assert_int_equal(trace_summary(trace)->truncated_bytes, 0);
	trace_close(trace);
	umount2(disk, MNT_DETACH);
	arena_done(&arena);
}

/* ---- rings ---- */

/* Cut or overwritten by somebody while it is written: closing ends, with words, and what
 * came behind the cut was written. */
static void a_file_changed_while_written_is_closed(void **state)
{
	struct writer_options options = { .cpus = 2 };
	struct arena arena = { 0 };
	struct events events = small_events(&arena);

	(void)state;
	for (int way = 0; way < 3; way++) {
		static const unsigned char ones[200] = { [0 ... 199] = 0xff };
		const char *path = path_of(way ? "overwritten" : "cut");
		struct writer *writer = create(path, options);
		struct err err = { 0 };
		off_t whole;

		assert_int_equal(writer_add_event(writer, &events.items[0], NULL), 0);
		assert_int_equal(writer_flush(writer, UINT64_MAX, NULL), 0);
		whole = (off_t)writer_bytes(writer);
		/* all of it; then what stands where a chunk's head is */
		if (!way) {
			assert_int_equal(truncate(path, 0), 0);
		} else {
			int fd = open(path, O_RDWR);
			unsigned char *bytes = malloc((size_t)whole), *chunk;

			assert_int_equal(pread(fd, bytes, (size_t)whole, 0), whole);
			chunk = memmem(bytes, (size_t)whole, FORMAT_MARKER, strlen(FORMAT_MARKER));
			assert_non_null(chunk);
			/* the whole head, or the lengths in it alone */
			assert_int_equal(pwrite(fd, ones, way == 1 ? 72 : 12, chunk - bytes + (way == 1 ? 0 : 8)), way == 1 ? 72 : 12);
			free(bytes);
			close(fd);
		}
		assert_int_equal(writer_add_event(writer, &events.items[1], NULL), 0);
		assert_int_equal(writer_close(writer, &err), -EIO);
		assert_non_null(strstr(err.text, "changed by another program"));
		unlink(path);
	}
	vec_done(&events);
	arena_done(&arena);
}

static void a_ring_opens_as_one(void **state)
{
	char ring[128], path[160];
	struct arena arena = { 0 };
	struct events all = { 0 };
	struct trace_cursor *cursor;
	struct trace *trace;
	unsigned char *bytes, *chunk;
	struct chunk_head head;
	size_t at = 0, size;

	(void)state;
	snprintf(ring, sizeof(ring), "%s", path_of("ring"));
	assert_int_equal(mkdir(ring, 0700), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct writer *writer;

		snprintf(path, sizeof(path), "%s/%u.argus", ring, 9 - i);
		writer = create(path, (struct writer_options){ .cpus = 3, .recording = 77, .sequence = i, .floor_ns = 1000 * i + 50 });
		for (unsigned k = 0; k < 100; k++) {
			struct event e = random_event(&arena, EVENT_wake, 1000 * i + 10 * k, 3);

			e.number = at++;
			vec_push(&all, e);
			assert_int_equal(writer_add_event(writer, &e, NULL), 0);
		}
		assert_int_equal(writer_close(writer, NULL), 0);
	}
	snprintf(path, sizeof(path), "%s/other", ring);
	write_file(path, "not a trace", 11);
	trace = open_good(ring);
	qsort(all.items, all.length, sizeof(all.items[0]), by_order);
	assert_int_equal(trace_summary(trace)->files, 3);
	cursor = trace_cursor_new(trace, NULL);
	/* the first five lie before the floor of the oldest file */
	for (size_t i = 5; i < all.length; i++) {
		const struct event *e = trace_cursor_next(cursor);

		assert_non_null(e);
		assert_true(same_event(e, &all.items[i]));
	}
	assert_null(trace_cursor_next(cursor));
	trace_cursor_free(cursor);
	assert_int_equal(trace_summary(trace)->events, all.length - 5);
	assert_int_equal(trace_summary(trace)->counts[EVENT_wake], all.length - 5);
	assert_int_equal(trace_summary(trace)->start_ns, 50);
	trace_close(trace);
	snprintf(path, sizeof(path), "%s/9.argus", ring);
	unlink(path);
	trace = open_good(ring);
	assert_int_equal(walk(trace), 195);
	trace_close(trace);
	/* what stands for a damaged chunk below the floor was never counted */
	snprintf(path, sizeof(path), "%s/8.argus", ring);
	bytes = read_file(path, &size);
	chunk = memmem(bytes, size, FORMAT_MARKER, strlen(FORMAT_MARKER));
	memcpy(&head, chunk, sizeof(head));
	chunk[head.head_bytes + head.payload_bytes / 2] ^= 0xff;
	write_file(path, bytes, size);
	free(bytes);
	trace = open_good(ring);
	assert_int_equal(trace_summary(trace)->counts[EVENT_gap], 0);
	assert_int_equal(trace_summary(trace)->state_events, 0);
	assert_true(trace_summary(trace)->gap_count > 0);
	trace_close(trace);
	vec_done(&all);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_comes_back),
		cmocka_unit_test(filters_and_places_agree_with_walking),
		cmocka_unit_test(records_of_rings_are_taken),
		cmocka_unit_test(threads_are_counted_by_life),
		cmocka_unit_test(losses_are_told),
		cmocka_unit_test(cut_files_keep_their_whole_chunks),
		cmocka_unit_test(flipped_bits_cost_one_chunk),
		cmocka_unit_test(holes_are_seen_and_passed),
		cmocka_unit_test(foreign_files_are_refused_with_words),
		cmocka_unit_test(a_file_being_written_is_read_so_far),
		cmocka_unit_test(outputs_are_never_written_through_links),
		cmocka_unit_test(a_limit_ends_the_file_readably),
		cmocka_unit_test(a_full_disk_keeps_what_was_written),
		cmocka_unit_test(a_file_changed_while_written_is_closed),
		cmocka_unit_test(a_ring_opens_as_one),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
