/* src/trace/predict.h, as the writer and the reader use it: a socket's channel,
 * descriptor and position are told by its number and the bytes moved, and come
 * back as they were, whatever the reader knows of the fields that tell them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random_events.h"
#include "trace/crc32c.h"
#include "trace/format.h"
#include "trace/trace.h"
#include "trace/writer.h"

#define SOCKETS 40u
#define MESSAGES 30000u

static struct event_message messages[MESSAGES];
static char path[] = "/tmp/argus-predict-XXXXXX";

static void make_messages(void)
{
	uint64_t channels[SOCKETS][2];
	uint32_t positions[SOCKETS][2];

	for (unsigned i = 0; i < SOCKETS; i++)
		for (unsigned way = 0; way < 2; way++) {
			channels[i][way] = random_u64();
			positions[i][way] = (uint32_t)random_u64(); /* some wrap */
		}
	for (unsigned i = 0; i < MESSAGES; i++) {
		unsigned socket = (unsigned)(random_u64() % SOCKETS), way = (unsigned)(random_u64() % 2);
		struct event_message *m = &messages[i];

		*m = (struct event_message){
			.object = socket * 0x123456789abcu, .channel = channels[socket][way], .position = positions[socket][way],
			.bytes = way ? 1u << 18 : 100, .argument = 7 + socket, .number = 1, .flags = way ? MESSAGE_FLAGS_receive : 0,
		};
		positions[socket][way] += m->bytes;
	}
}

static void write_messages(void)
{
	struct writer_options options = { .cpus = 1 };
	struct writer *writer;

	assert_int_equal(writer_create(path, false, &options, &writer, NULL), 0);
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct event e = { .time = 1000 + 10 * i, .tid = 5, .type = EVENT_message, .data = &messages[i] };

		assert_int_equal(writer_add_event(writer, &e, NULL), 0);
	}
	assert_int_equal(writer_close(writer, NULL), 0);
}

/* A field by another name is one that the reader does not have. */
static void rename_field(const char *from, const char *to)
{
	static unsigned char bytes[1 << 17];
	FILE *file = fopen(path, "r+");
	struct file_head head;
	unsigned char *at, *end;
	size_t n = fread(bytes, 1, sizeof(bytes), file);

	memcpy(&head, bytes, sizeof(head));
	assert_true(n >= head.head_bytes);
	at = memmem(bytes + sizeof(head), head.head_bytes - sizeof(head), "message", 7);
	end = bytes + head.head_bytes;
	assert_non_null(at);
	at = memmem(at, (size_t)(end - at), from, strlen(from));
	assert_non_null(at);
	memcpy(at, to, strlen(to));
	memset(bytes + offsetof(struct file_head, crc), 0, 4);
	head.crc = crc32c(0, bytes, head.head_bytes);
	memcpy(bytes, &head, sizeof(head));
	rewind(file);
	fwrite(bytes, 1, head.head_bytes, file);
	fclose(file);
}

static void check_messages(bool has_object)
{
	struct trace_cursor *cursor;
	struct trace *trace;

	assert_int_equal(trace_open(path, &trace, NULL), 0);
	cursor = trace_cursor_new(trace, NULL);
	for (unsigned i = 0; i < MESSAGES; i++) {
		const struct event *e = trace_cursor_next(cursor);
		struct event_message want = messages[i];

		assert_non_null(e);
		if (!has_object)
			want.object = 0;
		assert_memory_equal(e->data, &want, sizeof(want));
	}
	assert_null(trace_cursor_next(cursor));
	assert_int_equal(trace_cursor_damaged(cursor), 0);
	trace_cursor_free(cursor);
	trace_close(trace);
}

static void told_fields_come_back_and_cost_little(void **state)
{
	struct stat status;

	(void)state;
	write_messages();
	check_messages(true);
	assert_int_equal(stat(path, &status), 0);
	/* which socket and which way; positions alone would be three bytes */
	assert_true(status.st_size < 2 * MESSAGES);
}

static void the_telling_field_may_be_unknown(void **state)
{
	(void)state;
	write_messages();
	rename_field("object", "tcejbo");
	check_messages(false);
}

/* What does not follow is coded as it is. */
static void values_without_order_come_back(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MESSAGES; i++)
		messages[i].channel = messages[i].position = random_u64();
	write_messages();
	check_messages(true);
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	make_messages();
	return fd < 0 || close(fd) || unlink(path);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_fields_come_back_and_cost_little),
		cmocka_unit_test(the_telling_field_may_be_unknown),
		cmocka_unit_test(values_without_order_come_back),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
