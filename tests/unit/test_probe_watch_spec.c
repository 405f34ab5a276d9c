/* What a person writes after --watch. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/instruction.h"
#include "probe/watch_spec.h"

static struct arena arena;

static struct watch_spec parse(const char *text)
{
	struct watch_spec spec = { 0 };
	struct err err = { 0 };

	if (watch_spec_parse(&arena, text, &spec, &err))
		fail_msg("%s", err.text);
	return spec;
}

static void places(void **state)
{
	struct watch_spec spec;

	(void)state;
	spec = parse("0x404040");
	assert_null(spec.file);
	assert_null(spec.symbol);
	assert_int_equal(spec.address, 0x404040);
	assert_string_equal(spec.name, "at-404040");
	spec = parse("done=/usr/bin/pool:finished+4%2%access");
	assert_string_equal(spec.name, "done");
	assert_string_equal(spec.file, "/usr/bin/pool");
	assert_string_equal(spec.symbol, "finished");
	assert_int_equal(spec.steps[0].kind, WATCH_add);
	assert_int_equal(spec.steps[0].number, 4);
	assert_int_equal(spec.bytes, 2);
	assert_true(spec.access);
	spec = parse("app:app::Queue::instance");
	assert_string_equal(spec.file, "app");
	assert_string_equal(spec.symbol, "app::Queue::instance");
	spec = parse("app::Queue::instance");
	assert_null(spec.file);
	spec = parse("libfoo.so.1:0x4010");
	assert_string_equal(spec.file, "libfoo.so.1");
	assert_null(spec.symbol);
	assert_int_equal(spec.address, 0x4010);
	spec = parse("/usr/lib/libfoo.so.1+0x4010%8");
	assert_string_equal(spec.file, "/usr/lib/libfoo.so.1");
	assert_int_equal(spec.address, 0x4010);
	assert_int_equal(spec.bytes, 8);
}

/* Where registers tell the place. */
static void registers(void **state)
{
	struct watch_spec spec;

	(void)state;
	spec = parse("/usr/lib/libfoo.so.1+0x237f8c@rbx+r15*8%8");
	assert_true(spec.at_code && spec.by_offset);
	assert_string_equal(spec.file, "/usr/lib/libfoo.so.1");
	assert_int_equal(spec.address, 0x237f8c);
	assert_int_equal(spec.registers.base, REGISTER_rbx);
	assert_int_equal(spec.registers.index, 15);
	assert_int_equal(spec.registers.scale, 8);
	assert_int_equal(spec.registers.displacement, 0);
	assert_int_equal(spec.step_count, 0);
	assert_int_equal(spec.bytes, 8);
	spec = parse("flag=/home/a@b/pool:queue::put+16@rdi-0x10->24%access");
	assert_string_equal(spec.name, "flag");
	assert_string_equal(spec.file, "/home/a@b/pool");
	assert_string_equal(spec.symbol, "queue::put");
	assert_int_equal(spec.behind, 16);
	assert_int_equal(spec.registers.base, REGISTER_rdi);
	assert_int_equal(spec.registers.index, REGISTER_none);
	assert_int_equal(spec.registers.displacement, -16);
	assert_int_equal(spec.step_count, 1);
	assert_int_equal(spec.steps[0].kind, WATCH_follow);
	assert_int_equal(spec.steps[0].number, 24);
	assert_true(spec.access);
	assert_int_equal(watch_spec_parse(&arena, "pool:f->8@rdi", &spec, NULL), -EINVAL);
	assert_int_equal(watch_spec_parse(&arena, "pool:f%8@rdi", &spec, NULL), -EINVAL);
	assert_int_equal(watch_spec_parse(&arena, "f@rdi", &spec, NULL), -EINVAL);
	assert_int_equal(watch_spec_parse(&arena, "pool:f@rdi+rsi*3", &spec, NULL), -EINVAL);
	assert_int_equal(watch_spec_parse(&arena, "pool:f@xmm0", &spec, NULL), 0); /* a symbol's name */
	assert_false(spec.at_code);
}

static void ways(void **state)
{
	struct watch_spec spec = parse("libfoo.so:instance->queue.jobs[3]->16+8");

	(void)state;
	assert_int_equal(spec.step_count, 6);
	assert_int_equal(spec.steps[0].kind, WATCH_follow);
	assert_string_equal(spec.steps[1].field, "queue");
	assert_string_equal(spec.steps[2].field, "jobs");
	assert_int_equal(spec.steps[3].kind, WATCH_index);
	assert_int_equal(spec.steps[3].number, 3);
	assert_int_equal(spec.steps[4].kind, WATCH_follow);
	assert_int_equal(spec.steps[4].number, 16);
	assert_int_equal(spec.steps[5].number, 8);
	assert_string_equal(spec.name, "jobs");
}

static void refused(void **state)
{
	static const char *const texts[] = { "", "=", "x=", "a:", ":b", "a:b%9", "a:b%0", "a:b%", "a:b%read", "a:b->", "a:b[", "a:b[]", "a:b[x]",
					     "a:b+x", "0xzz", "1x", "a:b.5", "a:b]", "a:b>c", "a:b+99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct watch_spec spec;
		struct err err = { 0 };

		if (watch_spec_parse(&arena, texts[i], &spec, &err) != -EINVAL)
			fail_msg("taken: %s", texts[i]);
		assert_non_null(strstr(err.text, "--watch"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(places), cmocka_unit_test(registers), cmocka_unit_test(ways), cmocka_unit_test(refused) };
	int failed;

	arena_init(&arena);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_done(&arena);
	return failed;
}
