/* Files for the tests of the writer and the reader: made in a folder of their
 * own, read and changed as bytes. */
#ifndef TRACE_FILES_H
#define TRACE_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/vec.h"
#include "random_events.h"
#include "trace/format.h"
#include "trace/trace.h"
#include "trace/writer.h"

static char directory[64];

static inline const char *path_of(const char *name)
{
	static char path[4][128];
	static unsigned next;
	char *to = path[next++ % 4];

	snprintf(to, sizeof(path[0]), "%s/%s", directory, name);
	return to;
}

static inline int make_directory(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/argus-test-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static inline int remove_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

struct events vec(struct event);

static inline struct writer *create(const char *path, struct writer_options options)
{
	struct writer *writer;
	struct err err = { 0 };

	if (writer_create(path, false, &options, &writer, &err)) {
		print_error("%s\n", err.text);
		fail();
	}
	return writer;
}

static inline void write_events(const struct events *events, const char *path, unsigned flush_each)
{
	struct writer *writer = create(path, (struct writer_options){ .cpus = 8 });

	for (size_t i = 0; i < events->length; i++) {
		assert_int_equal(writer_add_event(writer, &events->items[i], NULL), 0);
		if (flush_each && i % flush_each == 0)
			assert_int_equal(writer_flush(writer, UINT64_MAX, NULL), 0);
	}
	assert_int_equal(writer_close(writer, NULL), 0);
}

static inline struct trace *open_good(const char *path)
{
	struct trace *trace;
	struct err err = { 0 };

	if (trace_open(path, &trace, &err)) {
		print_error("%s\n", err.text);
		fail();
	}
	return trace;
}

static inline uint64_t file_bytes(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static inline unsigned char *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	unsigned char *bytes = mem_alloc(*ret_size = file_bytes(path));

	assert_int_equal(fread(bytes, 1, *ret_size, file), *ret_size);
	fclose(file);
	return bytes;
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

/* Walks it all; the number of events seen that are no gaps. */
static inline uint64_t walk(const struct trace *trace)
{
	struct trace_cursor *cursor = trace_cursor_new(trace, NULL);
	const struct event *e;
	uint64_t n = 0, before = 0, number = 0;

	while ((e = trace_cursor_next(cursor))) {
		assert_true(e->time >= before);
		assert_true(e->number > number);
		before = e->time;
		number = e->number;
		n += e->type != EVENT_gap;
	}
	trace_cursor_free(cursor);
	return n;
}

static inline struct events small_events(struct arena *arena)
{
	struct events events = { 0 };

	for (unsigned i = 0; i < 60; i++) {
		struct event e = random_event(arena, i % 3 ? EVENT_switch : EVENT_fork, 1000 + i, 2);

		vec_push(&events, e);
	}
	return events;
}

#endif
