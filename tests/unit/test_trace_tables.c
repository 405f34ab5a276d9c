/* src/trace/tables.c and threads.c: who is who, by time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "text_trace.h"
#include "trace/tables.h"

static struct tables *build(const char *text, struct trace **ret_trace)
{
	struct tables *tables;

	*ret_trace = text_trace_open(text);
	assert_int_equal(tables_build(*ret_trace, &tables, NULL), 0);
	return tables;
}

static void done(struct tables *tables, struct trace *trace)
{
	tables_free(tables);
	trace_close(trace);
}

static void tells_lives_of_a_tid_apart(void **state)
{
	struct trace *trace;
	struct tables *t = build("1 10 task pid=10 parent=1 flags=leader \"sh\" \"/bin/sh\" \"sh -c x\"\n"
				 "2 10 fork child=20 child_pid=20 \"sh\"\n"
				 "3 20 exec \"/usr/bin/a-very-long-program\"\n"
				 "4 20 exit last=1\n"
				 "4.1 20 switch state=dead\n"
				 "5 10 fork child=20 child_pid=10\n"
				 "6 20 rename target=20 \"worker\"\n"
				 "7 30 wake target=20\n", &trace);
	uint32_t first = tables_thread(t, 20, 2500000000), second = tables_thread(t, 20, 5500000000), shell = tables_thread(t, 10, 0);
	struct thread_tracker tracker;

	(void)state;
	assert_int_equal(t->thread_count, 5);
	assert_true(first && second && first != second && shell);
	assert_int_equal(tables_thread(t, 20, 1), 0);
	assert_int_equal(tables_thread(t, 20, 4100000000), first);
	assert_int_equal(tables_thread(t, 99, 1), 0);
	assert_int_equal(t->threads[first].end_ns, 4000000000);
	assert_int_equal(t->threads[first].creator, shell);
	assert_int_equal(t->threads[first].parent_pid, 10);
	assert_string_equal(t->threads[first].exe, "/usr/bin/a-very-long-program");
	assert_string_equal(tables_comm(t, first, 2500000000), "sh");
	assert_string_equal(tables_comm(t, first, 3500000000), "a-very-long-pro");
	assert_int_equal(t->threads[second].pid, 10);
	assert_int_equal(t->threads[second].parent_pid, 1);
	assert_int_equal(t->threads[second].end_ns, UINT64_MAX);
	assert_string_equal(tables_comm(t, second, 5000000000), "sh");
	assert_string_equal(t->threads[second].comm, "worker");
	assert_string_equal(t->threads[tables_thread(t, 30, 7)].comm, "?");
	assert_int_equal(tables_process(t, 10, 6000000000), shell);
	thread_tracker_init(&tracker, t);
	assert_int_equal(thread_tracker_find(&tracker, 10, 1), shell);
	assert_int_equal(thread_tracker_find(&tracker, 20, 1), 0);
	assert_int_equal(thread_tracker_find(&tracker, 20, 2000000000), first);
	assert_int_equal(thread_tracker_find(&tracker, 20, 4999999999), first);
	assert_int_equal(thread_tracker_find(&tracker, 20, 5000000000), second);
	assert_int_equal(thread_tracker_find(&tracker, 4000000000, 5000000000), 0);
	thread_tracker_done(&tracker);
	done(t, trace);
}

static void a_missing_exit_is_made_up_for(void **state)
{
	struct trace *trace;
	struct tables *t = build("1 1 fork child=20 child_pid=20 \"a\"\n"
				 "5 1 fork child=20 child_pid=20 \"b\"\n"
				 "9 2 exec old_tid=3 \"/bin/x\"\n", &trace);
	uint32_t a = tables_thread(t, 20, 4000000000), b = tables_thread(t, 20, 5000000000);

	(void)state;
	assert_true(a && b && a != b);
	assert_int_equal(t->threads[a].end_ns, 5000000000);
	assert_string_equal(t->threads[a].comm, "a");
	assert_string_equal(t->threads[b].comm, "b");
	assert_int_equal(t->threads[tables_thread(t, 3, 0)].end_ns, 9000000000);
	done(t, trace);
}

static void a_found_thread_forked_a_moment_ago_is_one(void **state)
{
	struct trace *trace;
	struct tables *t = build("1 1 switch\n"
				 "2.000001 7 task pid=7 start_ns=2.0 \"child\"\n"
				 "2.000002 1 fork child=7 child_pid=7\n"
				 "3 7 switch\n", &trace);

	(void)state;
	assert_int_equal(t->thread_count, 3);
	assert_string_equal(t->threads[tables_thread(t, 7, 3000000000)].comm, "child");
	done(t, trace);
}

/* Numbers may lie anywhere, and only those that are told take memory. */
static void frames_far_apart(void **state)
{
	struct trace *trace;
	struct tables *t = build("1 0 frame node=30000000 parent=20000000 address=0x10\n"
				 "1 0 frame node=20000000 address=0x20\n"
				 "1 0 frame node=30000001 parent=20000001 address=0x30\n", &trace);
	static const uint32_t told[] = { 20000000, 20000001, 30000000, 30000001 };
	uint32_t node = 0;

	(void)state;
	assert_int_equal(t->frame_count, 30000002);
	assert_int_equal(t->node_count, 4);
	assert_int_equal(t->frames[30000000].depth, 2);
	assert_int_equal(t->frames[20000000].depth, 1);
	/* of its caller nothing is told */
	assert_int_equal(t->frames[30000001].depth, 2);
	assert_int_equal(t->frames[20000001].depth, 1);
	assert_int_equal(t->frames[25000000].depth, 0);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(tables_next_node(t, &node));
		assert_int_equal(node, told[i]);
	}
	assert_false(tables_next_node(t, &node));
	done(t, trace);
}

static void frames_cannot_go_in_circles(void **state)
{
	struct trace *trace;
	struct tables *t = build("1 0 frame node=1 address=0x10\n"
				 "1 0 frame node=2 parent=1 address=0x20 module=3\n"
				 "1 0 frame node=4 parent=5\n1 0 frame node=5 parent=6\n1 0 frame node=6 parent=4\n"
				 "1 0 frame node=7 parent=4000000000\n"
				 "1 0 frame node=4000000000 parent=1\n"
				 "1 0 frame node=9 parent=8\n"
				 "1 0 module module=3 kind=jit \"/lib/x.so\" \"abcd\"\n", &trace);

	(void)state;
	assert_int_equal(t->frame_count, 10);
	assert_int_equal(t->frames[2].depth, 2);
	assert_int_equal(t->frames[4].depth, 3);
	assert_int_equal(t->frames[5].depth, 2);
	assert_int_equal(t->frames[6].depth, 1);
	assert_int_equal(t->frames[6].parent, 0);
	assert_int_equal(t->frames[7].depth, 1);
	assert_int_equal(t->frames[9].depth, 2);
	assert_int_equal(t->node_count, 8);
	assert_int_equal(t->module_count, 4);
	assert_string_equal(t->modules[3].path, "/lib/x.so");
	assert_string_equal(t->modules[3].build_id, "abcd");
	assert_string_equal(t->modules[1].path, "");
	done(t, trace);
}

static const char two_files[] =
	"1 0 snapshot reason=start\n1 10 task pid=10 \"first\"\n1.1 0 snapshot end=1 reason=start\n"
	"2 10 fork child=20 child_pid=20 \"gone\"\n3 20 exit last=1\n"
	"10 0 frame node=1 address=0x10\n"
	"10 0 snapshot reason=file\n10 10 task pid=10 \"renamed\"\n10.1 0 snapshot end=1 reason=file\n"
	"12 10 fork child=30 child_pid=30\n"
	"13 40 switch state=sleeping\n14 40 rename target=40 \"told late\"\n"
	"20 0 snapshot reason=file\n20 10 task pid=10 \"last\"\n20.1 0 snapshot end=1 reason=file\n"
	"21 10 fork child=50 child_pid=50\n";

static void a_window_begins_with_the_head_before_it(void **state)
{
	struct trace *trace = text_trace_open(two_files);
	struct tables *t;

	(void)state;
	assert_int_equal(tables_build_window(trace, TABLES_ALL, 12500000000, 13500000000, &t, NULL), 0);
	assert_int_equal(tables_thread(t, 20, 2500000000), 0);
	assert_string_equal(tables_comm(t, tables_thread(t, 10, 12500000000), 12500000000), "renamed");
	assert_true(tables_thread(t, 30, 13000000000));
	assert_string_equal(tables_comm(t, tables_thread(t, 40, 13000000000), 13000000000), "told late");
	assert_int_equal(tables_thread(t, 50, 22000000000), 0);
	assert_int_equal(t->frame_count, 2);
	tables_free(t);
	/* within a head that is not whole yet the one before counts; without an end all that follows is read */
	assert_int_equal(tables_build_window(trace, TABLES_THREADS, 10050000000, 0, &t, NULL), 0);
	assert_string_equal(tables_comm(t, tables_thread(t, 20, 2500000000), 2500000000), "gone");
	assert_true(tables_thread(t, 50, 22000000000));
	assert_int_equal(t->frame_count, 1);
	tables_free(t);
	trace_close(trace);
}

static void of_parts_the_rest_is_empty(void **state)
{
	struct trace *trace = text_trace_open("1 10 task pid=10 \"a\"\n1 10 descriptor fd=3 object=pipe:1\n1 0 frame node=1 address=0x10\n");
	struct tables *t;

	(void)state;
	assert_int_equal(tables_build_parts(trace, TABLES_STACKS, &t, NULL), 0);
	assert_int_equal(t->thread_count, 1);
	assert_int_equal(t->frame_count, 2);
	assert_int_equal(t->descriptor_count, 0);
	tables_free(t);
	assert_int_equal(tables_build_parts(trace, TABLES_DESCRIPTORS | TABLES_THREADS, &t, NULL), 0);
	assert_int_equal(t->thread_count, 2);
	assert_int_equal(t->frame_count, 1);
	assert_int_equal(t->descriptor_count, 1);
	tables_free(t);
	trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_lives_of_a_tid_apart),
		cmocka_unit_test(a_missing_exit_is_made_up_for),
		cmocka_unit_test(a_found_thread_forked_a_moment_ago_is_one),
		cmocka_unit_test(frames_cannot_go_in_circles),
		cmocka_unit_test(frames_far_apart),
		cmocka_unit_test(a_window_begins_with_the_head_before_it),
		cmocka_unit_test(of_parts_the_rest_is_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
