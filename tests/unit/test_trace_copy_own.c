/* src/trace/copy_own.c: of other users' threads a copy has outlines only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "random_events.h"
#include "trace/copy_own.h"

#define OWN_UID 1000
#define OWN 10u       /* threads: of the user, ... */
#define OTHER 20u     /* ... of another one, ... */
#define SUID 30u      /* ... of a set-user-ID program that the user has started */
#define SECRET 0xffff888012345678ull

static char folder[64], from_path[96], to_path[96];
static uint64_t now;

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/argus-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(from_path, sizeof(from_path), "%s/from", folder);
	snprintf(to_path, sizeof(to_path), "%s/to", folder);
	now = 1000;
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(from_path);
	unlink(to_path);
	return rmdir(folder);
}

static struct writer *create(const char *path)
{
	struct writer_options options = { .cpus = 1 };
	struct writer *writer;

	assert_int_equal(writer_create(path, false, &options, &writer, NULL), 0);
	return writer;
}

static void add(struct writer *writer, unsigned type, uint32_t tid, const void *data, const char *tail, size_t length)
{
	struct event e = { .time = now += 10, .type = (uint16_t)type, .tid = tid, .data = data, .tail = tail, .tail_length = (uint32_t)length };

	assert_int_equal(writer_add_event(writer, &e, NULL), 0);
}

#define ADD(writer, name, tid, ...) add(writer, EVENT_##name, tid, &(struct event_##name){ __VA_ARGS__ }, "", 0)

static void add_task(struct writer *writer, uint32_t tid, uint32_t uid, uint32_t flags)
{
	static const char texts[] = "name\0/secret/file\0command line\0/group";
	struct event_task task = { .pid = tid, .uid = uid, .flags = flags | TASK_FLAGS_leader };

	add(writer, EVENT_task, tid, &task, texts, sizeof(texts));
}

static struct trace *copy_of(struct writer *from)
{
	struct writer *to;
	struct trace *trace;

	assert_int_equal(writer_close(from, NULL), 0);
	assert_int_equal(trace_open(from_path, &trace, NULL), 0);
	to = create(to_path);
	assert_int_equal(trace_copy_own(trace, OWN_UID, to, NULL), 0);
	assert_int_equal(writer_close(to, NULL), 0);
	trace_close(trace);
	assert_int_equal(trace_open_checked(to_path, &trace, NULL), 0);
	return trace;
}

/* The only event of its type and thread, copied to `to`; false when there is none. */
static bool find(const struct trace *trace, unsigned type, uint32_t tid, void *to, char *tail)
{
	struct trace_cursor *cursor = trace_cursor_new(trace, NULL);
	unsigned count = 0;

	for (const struct event *e; (e = trace_cursor_next(cursor));) {
		if (e->type != type || e->tid != tid)
			continue;
		count++;
		if (to)
			memcpy(to, e->data, event_infos[type].bytes);
		if (tail)
			memcpy(tail, e->tail, e->tail_length + 1);
	}
	trace_cursor_free(cursor);
	assert_true(count <= 1);
	return count;
}

static struct writer *begin(void)
{
	struct writer *writer = create(from_path);

	add_task(writer, OWN, OWN_UID, 0);
	add_task(writer, OTHER, 0, 0);
	add_task(writer, SUID, OWN_UID, TASK_FLAGS_other_rights);
	return writer;
}

static void test_tasks(void **state)
{
	static const char machine[] = "hostname=h\0kernel_text=ffffffff81000000\0level=lean";
	struct writer *writer = begin();
	struct trace *trace;
	char tail[256];

	(void)state;
	add(writer, EVENT_machine, 0, NULL, machine, sizeof(machine));
	trace = copy_of(writer);
	assert_true(find(trace, EVENT_task, OWN, NULL, tail));
	assert_string_equal(tail + 5, "/secret/file");
	assert_true(find(trace, EVENT_task, OTHER, NULL, tail));
	assert_string_equal(tail, "name");
	assert_string_equal(tail + 5, "");
	assert_true(find(trace, EVENT_task, SUID, NULL, tail));
	assert_string_equal(tail + 5, "");
	assert_null(trace_machine(trace, "kernel_text"));
	assert_string_equal(trace_machine(trace, "level"), "lean");
	trace_close(trace);
}

/* Others' switches and wake-ups stay where they say when a thread of the user's ran. */
static void test_outlines(void **state)
{
	struct writer *writer = begin();
	struct event_switch s;
	struct event_wake w;
	struct trace *trace;

	(void)state;
	ADD(writer, switch, OWN, .next = OTHER, .object = 7, .syscall = 1, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_read);
	ADD(writer, wake, OTHER, .target = OWN, .object = 7, .syscall = 2, .cause = 1);
	ADD(writer, wake, SUID, .target = OTHER, .object = 7, .syscall = 2);
	ADD(writer, switch, OTHER, .next = OWN, .object = 9, .detail = 11, .argument = 3, .syscall = 3, .state = TASK_STATE_sleeping,
	    .wait = WAIT_KIND_read, .hint = 4);
	ADD(writer, switch, SUID, .next = OTHER, .state = TASK_STATE_sleeping);
	trace = copy_of(writer);
	assert_true(find(trace, EVENT_switch, OWN, &s, NULL));
	assert_int_equal(s.object, 7);
	assert_int_equal(s.wait, WAIT_KIND_read);
	assert_true(find(trace, EVENT_switch, OTHER, &s, NULL));
	assert_int_equal(s.next, OWN);
	assert_int_equal(s.state, TASK_STATE_sleeping);
	assert_true(!s.object && !s.detail && !s.argument && !s.hint && s.syscall == SYSCALL_NONE && s.wait == WAIT_KIND_other);
	assert_true(find(trace, EVENT_wake, OTHER, &w, NULL));
	assert_true(!w.object && w.syscall == SYSCALL_NONE && w.cause == 1);
	assert_false(find(trace, EVENT_wake, SUID, NULL, NULL));
	assert_false(find(trace, EVENT_switch, SUID, NULL, NULL));
	trace_close(trace);
}

static void test_own_alone(void **state)
{
	static const unsigned types[] = { EVENT_syscall, EVENT_message, EVENT_descriptor, EVENT_mapping, EVENT_waiting, EVENT_sample, EVENT_exec };
	struct writer *writer = begin();
	struct trace *trace;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (uint32_t tid = OWN; tid <= SUID; tid += 10)
			add(writer, types[i], tid, (uint64_t[32]){ 0 }, "", 0);
	trace = copy_of(writer);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_true(find(trace, types[i], OWN, NULL, NULL));
		assert_false(find(trace, types[i], OTHER, NULL, NULL));
		assert_false(find(trace, types[i], SUID, NULL, NULL));
	}
	trace_close(trace);
}

/* A thread's number may come to another user's; children are whose their parent is. */
static void test_lives(void **state)
{
	struct writer *writer = begin();
	struct trace *trace;

	(void)state;
	ADD(writer, fork, OWN, .child = 11, .child_pid = 11);
	ADD(writer, sample, 11, .period_ns = 1);
	ADD(writer, exit, 11, .last = 1);
	ADD(writer, call_end, 11, .number = 1);
	ADD(writer, fork, OTHER, .child = 12, .child_pid = 12);
	ADD(writer, sample, 12, .period_ns = 1);
	trace = copy_of(writer);
	assert_true(find(trace, EVENT_sample, 11, NULL, NULL));
	assert_true(find(trace, EVENT_exit, 11, NULL, NULL));
	assert_false(find(trace, EVENT_call_end, 11, NULL, NULL));
	assert_false(find(trace, EVENT_fork, OTHER, NULL, NULL));
	assert_false(find(trace, EVENT_sample, 12, NULL, NULL));
	trace_close(trace);
}

/* Modules and frames stay where something of the user's speaks of them. */
static void test_stacks(void **state)
{
	struct writer *writer = begin();
	struct event_frame frame;
	struct trace *trace;
	unsigned frames = 0, modules = 0;
	struct trace_cursor *cursor;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		struct event_module module = { .module = i };
		char texts[] = "/path\0id\0code";

		add(writer, EVENT_module, 0, &module, texts, sizeof(texts));
	}
	ADD(writer, frame, 0, .node = 1, .module = 1, .address = 1);
	ADD(writer, frame, 0, .node = 2, .parent = 1, .module = 2, .address = SECRET);
	ADD(writer, frame, 0, .node = 3, .parent = 1, .module = 3, .address = 3);
	ADD(writer, sample, OWN, .ustack = 2);
	ADD(writer, sample, OTHER, .ustack = 3);
	trace = copy_of(writer);
	cursor = trace_cursor_new(trace, NULL);
	for (const struct event *e; (e = trace_cursor_next(cursor));) {
		frames += e->type == EVENT_frame;
		modules += e->type == EVENT_module;
		if (e->type == EVENT_frame) {
			frame = *event_as(e, frame);
			assert_true(frame.node != 3 && frame.address != SECRET);
		}
		if (e->type == EVENT_module)
			assert_int_not_equal(event_as(e, module)->module, 3);
	}
	trace_cursor_free(cursor);
	assert_int_equal(frames, 2);
	assert_int_equal(modules, 2);
	trace_close(trace);
}

/* Requests are joined by numbers that tell nothing. */
static void test_kernel_addresses(void **state)
{
	struct writer *writer = begin();
	struct event_block_issue issue;
	struct event_block_complete complete;
	struct trace *trace;

	(void)state;
	ADD(writer, block_issue, OWN, .request = SECRET);
	ADD(writer, block_issue, OTHER, .request = SECRET + 64);
	ADD(writer, block_complete, OTHER, .request = SECRET);
	ADD(writer, block_complete, SUID, .request = SECRET + 64);
	trace = copy_of(writer);
	assert_true(find(trace, EVENT_block_issue, OWN, &issue, NULL));
	assert_true(find(trace, EVENT_block_complete, OTHER, &complete, NULL));
	assert_true(issue.request == complete.request && issue.request != SECRET);
	assert_false(find(trace, EVENT_block_issue, OTHER, NULL, NULL));
	assert_false(find(trace, EVENT_block_complete, SUID, NULL, NULL));
	trace_close(trace);
}

/* Of whatever kind: nothing of a stranger's thread but what an outline may have. */
static void test_all_types(void **state)
{
	static const unsigned outlined[] = { EVENT_task, EVENT_switch, EVENT_wake, EVENT_signal, EVENT_rename, EVENT_throttle, EVENT_block_complete,
					     EVENT_fuse_end, EVENT_uring_complete, EVENT_timer_fire, EVENT_mark, EVENT_cgroup, EVENT_freeze,
					     EVENT_probe_point, EVENT_probe_switch, EVENT_watch_point, EVENT_module, EVENT_symbol, EVENT_frame };
	struct writer *writer = begin();
	struct trace_cursor *cursor;
	struct trace *trace;
	struct arena arena;

	(void)state;
	arena_init(&arena);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned type = random_type();
		struct event e;

		if (event_infos[type].categories & META || type == EVENT_task || type == EVENT_fork)
			continue;
		e = random_event(&arena, type, now += 10, 1);
		e.tid = i % 3 ? OTHER : OWN;
		assert_int_equal(writer_add_event(writer, &e, NULL), 0);
	}
	trace = copy_of(writer);
	cursor = trace_cursor_new(trace, NULL);
	for (const struct event *e; (e = trace_cursor_next(cursor));) {
		bool may = e->tid != OTHER || event_infos[e->type].categories & META;

		for (size_t i = 0; i < sizeof(outlined) / sizeof(outlined[0]); i++)
			may |= e->type == outlined[i];
		assert_true(may);
	}
	trace_cursor_free(cursor);
	trace_close(trace);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tasks, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_outlines, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_own_alone, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_lives, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_stacks, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_kernel_addresses, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_all_types, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
