/* The reader on arbitrary bytes. The first byte chooses: a whole file as it is;
 * or heads and payloads of chunks, put into a file with right checksums, as
 * random bytes hardly ever pass those. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "trace/crc32c.h"
#include "trace/describe.h"
#include "trace/format.h"
#include "trace/tables.h"
#include "trace/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_file_head(struct buf *file)
{
	struct file_head head = { .magic = FORMAT_MAGIC, .version = FORMAT_VERSION };
	unsigned char *table = mem_alloc(DESCRIBE_ROOM);
	size_t bytes = (size_t)(describe_put(table) - table);

	head.head_bytes = (uint32_t)(sizeof(head) + bytes);
	head.crc = crc32c(crc32c(0, &head, sizeof(head)), table, bytes);
	buf_add(file, &head, sizeof(head));
	buf_add(file, table, bytes);
	free(table);
}

static uint64_t take(const uint8_t **data, size_t *size, size_t bytes)
{
	uint64_t value = 0;

	bytes = bytes < *size ? bytes : *size;
	memcpy(&value, *data, bytes);
	*data += bytes;
	*size -= bytes;
	return value;
}

/* One chunk of: events, processor, times, lengths of the head's rest and of the payload. */
static void add_chunk(struct buf *file, const uint8_t **data, size_t *size)
{
	struct chunk_head head = { .marker = FORMAT_MARKER, .flags = CHUNK_STORED };
	size_t rest, payload, at = file->length;

	head.count = (uint32_t)take(data, size, 2);
	head.cpu = (uint16_t)take(data, size, 1);
	head.first_ns = take(data, size, 4);
	head.last_ns = head.first_ns + take(data, size, 4);
	head.stream_before = take(data, size, 1);
	rest = take(data, size, 2);
	payload = take(data, size, 2);
	rest = rest < *size ? rest : *size;
	payload = payload < *size - rest ? payload : *size - rest;
	head.head_bytes = (uint32_t)(sizeof(head) + rest);
	head.payload_bytes = head.raw_bytes = (uint32_t)payload;
	head.payload_crc = crc32c(0, *data + rest, payload);
	buf_add(file, &head, sizeof(head));
	buf_add(file, *data, rest + payload);
	head.head_crc = crc32c(0, file->data + at + 12, head.head_bytes - 12);
	memcpy(file->data + at, &head, sizeof(head));
	*data += rest + payload;
	*size -= rest + payload;
}

static void read_trace(const char *path)
{
	struct trace_filter filter = { .from_ns = 100, .to_ns = 100000 };
	struct trace_cursor *cursor;
	struct tables *tables;
	struct trace *trace;
	struct buf text;
	const struct event *e;
	uint64_t number = 0, time = 0, events = 0, damaged;

	if (trace_open(path, &trace, NULL))
		return;
	buf_init(&text);
	cursor = trace_cursor_new(trace, NULL);
	while ((e = trace_cursor_next(cursor))) {
		if (e->number <= number || e->time < time || e->type >= EVENT_MAX)
			abort();
		number = e->number;
		time = e->time;
		events += !(event_infos[e->type].categories & (STATE | META));
		buf_clear(&text);
		text_format(&text, e);
	}
	damaged = trace_cursor_damaged(cursor) + trace_cursor_unknown(cursor);
	trace_cursor_free(cursor);
	/* What the heads promise is what comes, but for what is damaged or not known. */
	if (!damaged && events != trace_summary(trace)->events)
		abort();
	trace_filter_add(&filter, EVENT_switch);
	trace_filter_add(&filter, EVENT_task);
	cursor = trace_cursor_new(trace, &filter);
	trace_cursor_seek(cursor, number / 2);
	while (trace_cursor_next(cursor))
		;
	trace_cursor_free(cursor);
	if (!tables_build(trace, &tables, NULL))
		tables_free(tables);
	buf_done(&text);
	trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct buf file;
	char path[64];

	if (fd < 0 || !size)
		return 0;
	buf_init(&file);
	if (data[0] & 1) {
		data++;
		size--;
		add_file_head(&file);
		while (size)
			add_chunk(&file, &data, &size);
	} else {
		buf_add(&file, data + 1, size - 1);
	}
	if (write(fd, file.data, file.length) == (ssize_t)file.length) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		read_trace(path);
	}
	close(fd);
	buf_done(&file);
	return 0;
}
