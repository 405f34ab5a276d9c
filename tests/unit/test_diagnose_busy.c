/* src/diagnose/busy.c: where a thread's processor time went, and what is asked for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "diagnose/busy.h"
#include "text_trace.h"

/* Seconds 2 to 4 without a sample: system calls show slow. Then samples: 25 in fast, below it memcpy. */
static const char *const text =
	"1 100 task pid=100 parent=1 flags=leader \"prog\" \"/opt/prog\" \"prog\"\n"
	"1 0 module module=1 \"/opt/prog\" \"\"\n"
	"1 0 module module=2 \"/lib/libc.so.6\" \"\"\n"
	"1 0 symbol module=1 address=0x1000 bytes=0x100 \"main\"\n"
	"1 0 symbol module=1 address=0x2000 bytes=0x100 \"slow\"\n"
	"1 0 symbol module=1 address=0x3000 bytes=0x100 \"fast\"\n"
	"1 0 symbol module=2 address=0x4000 bytes=0x100 \"memcpy\"\n"
	"1 0 symbol module=2 address=0x5000 bytes=0x100 \"sbrk\"\n"
	"1 0 frame node=1 parent=0 module=1 address=0x1010\n"
	"1 0 frame node=2 parent=1 module=1 address=0x2010\n"
	"1 0 frame node=3 parent=1 module=1 address=0x3010\n"
	"1 0 frame node=4 parent=3 module=2 address=0x4010\n"
	"1 0 frame node=5 parent=2 module=2 address=0x5010\n"
	"1.9 [0] 0 switch next=100\n"
	"1.95 [0] 100 syscall number=sched_yield duration_ns=1us\n"
	"1.96 [0] 100 syscall number=getpid duration_ns=1us\n"
	"1.97 [0] 100 syscall number=sched_yield duration_ns=1us\n"
	"1.97 [1] 101 syscall number=sched_yield duration_ns=1us\n"
	"2 [0] 100 syscall number=brk duration_ns=1us ustack=5\n"
	"3 [0] 100 syscall number=brk duration_ns=1us ustack=5\n"
	"4 [0] 100 syscall number=brk duration_ns=1us ustack=5\n";

struct fixture {
	struct trace *trace;
	struct tables *tables;
	struct names *names;
	struct scene *scene;
	struct busies *busies;
	struct arena arena;
	char *lines;
};

static int open_all(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	size_t length = strlen(text), used = length;

	f->lines = malloc(length + 25 * 64 + 64);
	memcpy(f->lines, text, length + 1);
	for (unsigned i = 0; i < 25; i++)
		used += (size_t)snprintf(f->lines + used, 64, "%u.%02u [0] 100 sample period_ns=10ms ustack=4\n", 5 + i / 20,
					 i % 20 * 5);
	snprintf(f->lines + used, 64, "7 [0] 100 switch next=0\n");
	f->trace = text_trace_open(f->lines);
	arena_init(&f->arena);
	if (tables_build(f->trace, &f->tables, NULL) || names_open(f->trace, f->tables, NULL, &f->names, NULL) ||
	    scene_build(f->trace, f->tables, &f->scene, NULL))
		return -1;
	f->busies = busies_new(f->scene, f->names);
	*state = f;
	return 0;
}

static int close_all(void **state)
{
	struct fixture *f = *state;

	busies_free(f->busies);
	scene_free(f->scene);
	names_close(f->names);
	tables_free(f->tables);
	trace_close(f->trace);
	arena_done(&f->arena);
	free(f->lines);
	free(f);
	return 0;
}

#define SECOND 1000000000u

static struct busy ask(struct fixture *f, uint64_t from_ns, uint64_t to_ns, enum busy_effort effort)
{
	struct busy busy;

	busy_find(&f->arena, f->busies, tables_thread(f->tables, 100, 2ull * SECOND), from_ns, to_ns, effort, &busy);
	return busy;
}

static void calls_tell_without_samples(void **state)
{
	struct fixture *f = *state;
	struct busy busy = ask(f, 2ull * SECOND, 4ull * SECOND, BUSY_SAMPLES);

	assert_int_equal(busy.depth, 0);
	busy = ask(f, 2ull * SECOND, 4ull * SECOND, BUSY_LINK);
	assert_true(busy.depth >= 2);
	assert_string_equal(busy.path[0].text, "main");
	assert_string_equal(busy.path[busy.look_at].text, "slow");
	assert_string_equal(busy.path[busy.look_at].module, "prog");
	assert_int_equal(busy.first_event, 0);
}

static void what_was_inferred_is_kept(void **state)
{
	struct fixture *f = *state;
	struct busy first = ask(f, 2ull * SECOND, 4ull * SECOND, BUSY_VERDICT);
	struct busy again = ask(f, 2ull * SECOND, 4ull * SECOND, BUSY_VERDICT);
	struct busy near = ask(f, 2ull * SECOND + SECOND / 50, 4ull * SECOND, BUSY_SAMPLES);
	struct busy other = ask(f, 2ull * SECOND, 3ull * SECOND, BUSY_VERDICT);

	assert_true(first.depth > 0);
	assert_ptr_equal(first.path, again.path);
	assert_ptr_equal(first.path, near.path);
	assert_ptr_not_equal(first.path, other.path);
}

static void samples_tell_links(void **state)
{
	struct fixture *f = *state;
	struct busy busy = ask(f, 5ull * SECOND, 7ull * SECOND, BUSY_LINK);

	/* Samples know no place: the C library's own frame. */
	assert_string_equal(busy.path[busy.look_at].text, "memcpy");
	assert_true(busy.first_event && busy.last_event > busy.first_event);
	busy = ask(f, 5ull * SECOND, 7ull * SECOND, BUSY_VERDICT);
	assert_string_equal(busy.path[busy.hot].text, "memcpy");
	assert_string_equal(busy.path[busy.look_at].text, "fast");
}

static void counts_yields(void **state)
{
	struct fixture *f = *state;
	uint32_t thread = tables_thread(f->tables, 100, 2ull * SECOND);

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(scene_yields(f->scene, thread, SECOND, 2ull * SECOND), 2);
		assert_int_equal(scene_yields(f->scene, thread, SECOND + 960000000, 2ull * SECOND), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_tell_without_samples, open_all, close_all),
		cmocka_unit_test_setup_teardown(what_was_inferred_is_kept, open_all, close_all),
		cmocka_unit_test_setup_teardown(samples_tell_links, open_all, close_all),
		cmocka_unit_test_setup_teardown(counts_yields, open_all, close_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
