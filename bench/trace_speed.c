/* How fast trace files are read and written: trace_speed FILE [ROUNDS].
 *
 * Reads the file's events through a cursor, through one that wants switches
 * only, prints them, and writes them anew. Processor time; the best of the
 * rounds counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "trace/text.h"
#include "trace/trace.h"
#include "trace/writer.h"

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t read_all(const struct trace *trace, const struct trace_filter *filter, struct buf *lines)
{
	struct trace_cursor *cursor = trace_cursor_new(trace, filter);
	const struct event *e;
	uint64_t n = 0;

	while ((e = trace_cursor_next(cursor))) {
		n++;
		if (lines) {
			text_format_line(lines, e, "name");
			if (lines->length > 1 << 18)
				buf_clear(lines);
		}
	}
	trace_cursor_free(cursor);
	return n;
}

/* The events as the recorder has them: runs of records of one processor. */
struct run {
	unsigned cpu;
	size_t from, to;
};

struct records {
	struct vec(unsigned char) bytes;
	struct vec(struct run) runs;
	uint64_t count;
};

#define RUN_BYTES (256u * 1024)

static void collect(const struct trace *trace, struct records *records)
{
	unsigned cpus = trace_summary(trace)->cpus;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		struct trace_cursor *cursor = trace_cursor_new(trace, NULL);
		const struct event *e;
		size_t from = records->bytes.length;

		while ((e = trace_cursor_next(cursor))) {
			uint32_t payload = event_infos[e->type].bytes, tail = e->tail_length > 60000 ? 60000 : e->tail_length;
			struct record head = { e->time, e->tid, e->type, (uint16_t)((sizeof(head) + payload + tail + 7) & ~7u) };

			if (e->cpu != cpu)
				continue;
			vec_reserve(&records->bytes, records->bytes.length + head.size);
			memset(records->bytes.items + records->bytes.length, 0, head.size);
			memcpy(records->bytes.items + records->bytes.length, &head, sizeof(head));
			if (payload)
				memcpy(records->bytes.items + records->bytes.length + sizeof(head), e->data, payload);
			memcpy(records->bytes.items + records->bytes.length + sizeof(head) + payload, e->tail, tail);
			records->bytes.length += head.size;
			records->count++;
			if (records->bytes.length - from >= RUN_BYTES) {
				vec_push(&records->runs, ((struct run){ cpu, from, records->bytes.length }));
				from = records->bytes.length;
			}
		}
		if (from < records->bytes.length)
			vec_push(&records->runs, ((struct run){ cpu, from, records->bytes.length }));
		trace_cursor_free(cursor);
	}
}

static uint64_t write_all(const struct records *records, unsigned cpus, const char *path, struct err *err)
{
	struct writer_options options = { .cpus = cpus };
	struct writer *writer;
	uint64_t bytes;

	if (writer_create(path, false, &options, &writer, err))
		return 0;
	for (size_t i = 0; i < records->runs.length; i++) {
		const struct run *run = &records->runs.items[i];

		if (writer_add(writer, run->cpu, records->bytes.items + run->from, run->to - run->from, err))
			return 0;
	}
	writer_flush(writer, UINT64_MAX, err);
	bytes = writer_bytes(writer);
	return writer_close(writer, err) ? 0 : bytes;
}

static void tell(const char *what, uint64_t events, double seconds)
{
	printf("%-24s %8.1f ns/event %8.2f M events/s\n", what, seconds * 1e9 / (double)events, (double)events / seconds / 1e6);
}

int main(int count, char **words)
{
	struct trace_filter switches = { 0 };
	double open_s = 1e9, read_s = 1e9, filtered_s = 1e9, print_s = 1e9, write_s = 1e9;
	struct records records = { 0 };
	struct trace *trace;
	struct err err = { 0 };
	struct buf lines;
	uint64_t events = 0, bytes = 0;
	char path[64];
	int rounds = count > 2 ? atoi(words[2]) : 5;

	if (count < 2) {
		fprintf(stderr, "usage: trace_speed FILE [ROUNDS]\n");
		return 2;
	}
	buf_init(&lines);
	snprintf(path, sizeof(path), "/tmp/trace_speed.%d", (int)getpid());
	trace_filter_add(&switches, EVENT_switch);
	for (int round = 0; round < rounds; round++) {
		double start = now_s();

#define STEP(best, ...) do { start = now_s(); __VA_ARGS__; if (now_s() - start < (best)) (best) = now_s() - start; } while (0)
		STEP(open_s, if (trace_open(words[1], &trace, &err)) return fprintf(stderr, "%s\n", err.text), 1);
		STEP(read_s, events = read_all(trace, NULL, NULL));
		STEP(filtered_s, read_all(trace, &switches, NULL));
		STEP(print_s, read_all(trace, NULL, &lines));
		if (!round)
			collect(trace, &records);
		STEP(write_s, bytes = write_all(&records, trace_summary(trace)->cpus, path, &err));
		if (!bytes)
			return fprintf(stderr, "%s\n", err.text), 1;
		unlink(path);
		trace_close(trace);
	}
	printf("open %.1f ms, %" PRIu64 " events, written anew %.2f bytes/event\n", open_s * 1e3, events, (double)bytes / (double)events);
	tell("read all", events, read_s);
	tell("read switches", events, filtered_s);
	tell("read and print", events, print_s);
	tell("write", records.count, write_s);
	buf_done(&lines);
	vec_done(&records.bytes);
	vec_done(&records.runs);
	return 0;
}
