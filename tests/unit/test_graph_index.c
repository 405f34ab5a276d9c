/* The index beside a trace: used when it fits, refused when anything has changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "trace/writer.h"

#define EVENTS 120000 /* smaller traces have no index */

static char folder[] = "/tmp/argus-test-XXXXXX";
static char path[64], index_path[80];

static void write_trace(uint64_t start)
{
	struct writer_options options = { .cpus = 1 };
	struct writer *writer;
	struct err err = { 0 };

	if (writer_create(path, false, &options, &writer, &err))
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < EVENTS / 3; i++) {
		struct event_switch out = { .state = TASK_STATE_sleeping, .wait = WAIT_KIND_futex, .object = 7, .next = 20 };
		struct event_wake wake = { .target = 10, .cause = WAKE_CAUSE_thread };
		struct event_switch back = { .next = 10 };
		uint64_t t = start + i * 1000ull;
		const struct event events[] = {
			{ .time = t, .tid = 10, .type = EVENT_switch, .data = &out, .tail = "" },
			{ .time = t + 100, .tid = 20, .type = EVENT_wake, .data = &wake, .tail = "" },
			{ .time = t + 200, .tid = 20, .type = EVENT_switch, .data = &back, .tail = "" },
		};

		for (unsigned j = 0; j < 3; j++)
			if (writer_add_event(writer, &events[j], &err))
				fail_msg("%s", err.text);
	}
	if (writer_close(writer, &err))
		fail_msg("%s", err.text);
}

static bool build(bool *ret_from_index, uint64_t *ret_waits)
{
	struct trace *trace;
	struct graph *graph;
	struct err err = { 0 };

	if (trace_open(path, &trace, &err) || graph_build(trace, NULL, NULL, &graph, &err))
		fail_msg("%s", err.text);
	*ret_from_index = graph_stats(graph)->from_index;
	*ret_waits = 0;
	for (uint32_t thread = 0; thread < graph_thread_count(graph); thread++) {
		struct graph_waits walk = graph_waits_of(graph, thread, 0, UINT64_MAX);

		for (struct graph_wait wait; graph_waits_next(&walk, &wait); )
			*ret_waits += wait.result == RESULT_woken && wait.object == 7;
	}
	graph_free(graph);
	trace_close(trace);
	return true;
}

static void expect(bool from_index)
{
	uint64_t waits;
	bool was;

	build(&was, &waits);
	assert_int_equal(was, from_index);
	assert_int_equal(waits, EVENTS / 3);
}

static void change_byte(long at)
{
	FILE *file = fopen(index_path, "r+");
	int c;

	assert_non_null(file);
	assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	c = fgetc(file);
	assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
	fputc(c ^ 0x40, file);
	fclose(file);
}

static void test_index(void **state)
{
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/t.argus", folder);
	snprintf(index_path, sizeof(index_path), "%s.graph", path);
	write_trace(1000000);
	expect(false);
	assert_int_equal(stat(index_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	expect(true);
	change_byte(8192); /* in the rows */
	expect(false);
	expect(true);
	change_byte(100); /* in the head */
	expect(false);
	change_byte(-3);
	expect(false);
	assert_int_equal(truncate(index_path, 5000), 0);
	expect(false);
	expect(true);
	write_trace(2000000); /* another trace under the same name */
	expect(false);
	/* A link is not followed. */
	assert_int_equal(unlink(index_path), 0);
	assert_int_equal(symlink("/etc/passwd", index_path), 0);
	expect(false);
	expect(true);
	unlink(index_path);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_index) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
