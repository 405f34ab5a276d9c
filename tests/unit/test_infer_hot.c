/* src/infer/hot.c: the contexts that took a thread's time in a window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <cmocka.h>

#include "infer/hot.h"
#include "text_trace.h"

static const char *const text =
	"1 100 task pid=100 parent=1 flags=leader \"prog\" \"/opt/prog\" \"prog\"\n"
	"1 0 module module=1 \"/opt/prog\" \"\"\n"
	"1 0 symbol module=1 address=0x1000 bytes=0x100 \"main\"\n"
	"1 0 symbol module=1 address=0x2000 bytes=0x100 \"slow\"\n"
	"1 0 symbol module=1 address=0x3000 bytes=0x100 \"fast\"\n"
	"1 0 frame node=1 parent=0 module=1 address=0x1010\n"
	"1 0 frame node=2 parent=1 module=1 address=0x2010\n"
	"1 0 frame node=3 parent=1 module=1 address=0x3010\n"
	"2 100 sample ustack=2\n"
	"3 100 sample ustack=2\n"
	"4 100 sample ustack=2\n"
	"4.1 100 sample ustack=3\n"
	"4.2 100 switch next=0 state=sleeping wait=futex syscall=futex ustack=3\n"
	"9 0 switch next=100\n"
	"9.1 100 sample ustack=3\n";

/* walk calls itself to ever new depths; match below it takes most of the time. */
static const char *const scattered =
	"1 100 task pid=100 parent=1 flags=leader \"prog\" \"/opt/prog\" \"prog\"\n"
	"1 0 module module=1 \"/opt/prog\" \"\"\n"
	"1 0 module module=2 \"/lib/libc.so.6\" \"\"\n"
	"1 0 symbol module=1 address=0x1000 bytes=0x100 \"main\"\n"
	"1 0 symbol module=1 address=0x2000 bytes=0x100 \"walk\"\n"
	"1 0 symbol module=1 address=0x3000 bytes=0x100 \"match\"\n"
	"1 0 symbol module=2 address=0x4000 bytes=0x100 \"memcmp\"\n"
	"1 0 frame node=1 parent=0 module=1 address=0x1010\n"
	"1 0 frame node=2 parent=1 module=1 address=0x2010\n"
	"1 0 frame node=3 parent=2 module=1 address=0x2010\n"
	"1 0 frame node=4 parent=3 module=1 address=0x2010\n"
	"1 0 frame node=5 parent=2 module=1 address=0x3010\n"
	"1 0 frame node=6 parent=3 module=1 address=0x3010\n"
	"1 0 frame node=7 parent=4 module=1 address=0x3010\n"
	"1 0 frame node=8 parent=7 module=2 address=0x4010\n"
	"1 0 frame node=9 parent=6 module=2 address=0x4010\n"
	"2 100 sample ustack=5\n"
	"3 100 sample ustack=5\n"
	"3.1 100 sample ustack=9\n"
	"4 100 sample ustack=9\n"
	"4.1 100 sample ustack=8\n"
	"5.2 100 sample ustack=8\n"
	"5.3 100 sample ustack=4\n";

static int ask_of(const char *lines, uint32_t tid, uint64_t from, uint64_t to, bool cpu_only, struct arena *arena,
		  struct hot *hot)
{
	struct trace *trace = text_trace_open(lines);
	struct tables *tables;
	struct names *names;
	int result;

	assert_int_equal(tables_build(trace, &tables, NULL), 0);
	assert_int_equal(names_open(trace, tables, NULL, &names, NULL), 0);
	result = hot_contexts(arena, trace, tables, names, tid, from, to, cpu_only, 5, hot, NULL);
	names_close(names);
	tables_free(tables);
	trace_close(trace);
	return result;
}

static int ask(uint32_t tid, uint64_t from, uint64_t to, bool cpu_only, struct arena *arena, struct hot *hot)
{
	return ask_of(text, tid, from, to, cpu_only, arena, hot);
}

static void functions_hold_time(void **state)
{
	const struct hot_context *c;
	struct arena arena;
	struct hot hot;

	(void)state;
	arena_init(&arena);
	/* no context of either holds half of the time, the functions do: memcmp 2 of 3.2 s,
	 * in the C library, so that its caller is to be looked at */
	assert_int_equal(ask_of(scattered, 100, 2000000000, 5300000000, true, &arena, &hot), 0);
	c = &hot.heaviest;
	assert_string_equal(c->frames[c->hot].function, "memcmp");
	assert_string_equal(c->frames[c->look_at].function, "match");
	assert_string_equal(c->frames[0].function, "main");
	assert_true(c->internal);
	assert_true(c->share > 0.5 && c->share < 0.8);
	assert_true(c->frames[0].function_ns > 3200000000 && c->frames[0].function_ns <= 3300000000);
	assert_true(c->frames[1].function_ns <= c->frames[0].function_ns);
	arena_done(&arena);
}

static void names_what_ran(void **state)
{
	struct arena arena;
	struct hot hot;

	(void)state;
	arena_init(&arena);
	assert_int_equal(ask(100, 2000000000, 9100000000, true, &arena, &hot), 0);
	assert_true(hot.count >= 1);
	assert_string_equal(hot.contexts[0].frames[hot.contexts[0].look_at].function, "slow");
	assert_true(hot.contexts[0].internal);
	/* with the waits, the futex outweighs it: its caller is to be looked at */
	assert_int_equal(ask(100, 2000000000, 9100000000, false, &arena, &hot), 0);
	assert_string_equal(hot.contexts[0].frames[hot.contexts[0].hot].function, "futex");
	assert_string_equal(hot.contexts[0].frames[hot.contexts[0].look_at].function, "fast");
	/* a window, and who is not there */
	assert_int_equal(ask(100, 2000000000, 3500000000, false, &arena, &hot), 0);
	assert_int_equal(hot.count, 1);
	assert_int_equal(ask(101, 2000000000, 9100000000, true, &arena, &hot), -ENODATA);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_what_ran),
		cmocka_unit_test(functions_hold_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
