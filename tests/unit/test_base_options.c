/* src/base/options.c and json.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/options.h"

static const struct option_spec specs[] = {
	{ "json", 'j', OPTION_FLAG, NULL, "as JSON" },
	{ "all", 'a', OPTION_FLAG, NULL, "all" },
	{ "out", 'o', OPTION_TEXT, "FILE", "file" },
	{ "size", 0, OPTION_BYTES, "SIZE", "size" },
	{ "for", 'd', OPTION_DURATION, "TIME", "how long" },
	{ "pid", 'p', OPTION_NUMBER, "PID", "process" },
	{ NULL, 0, OPTION_FLAG, NULL, NULL },
};

static int parse(struct arena *arena, bool command, struct options *o, struct err *err, const char *line)
{
	char *words[32];
	int count = 0;

	for (char *word = strtok(arena_strdup(arena, line), " "); word; word = strtok(NULL, " "))
		words[count++] = word;
	return options_parse(arena, specs, command, count, words, o, err);
}

static void takes_options_anywhere(void **state)
{
	struct arena arena;
	struct options o;

	(void)state;
	arena_init(&arena);
	assert_int_equal(parse(&arena, false, &o, NULL, "f --json -o x --size=64M -d 500ms -p12 g -p 13 -- -z"), 0);
	assert_int_equal(o.argument_count, 3);
	assert_string_equal(o.arguments[2], "-z");
	assert_true(options_has(&o, "json") && !options_has(&o, "all"));
	assert_string_equal(options_text(&o, "out", NULL), "x");
	assert_int_equal(options_number(&o, "size", 0), 64 << 20);
	assert_int_equal(options_number(&o, "for", 0), 500000000);
	assert_int_equal(options_number(&o, "pid", 0), 13);
	assert_string_equal(options_nth(&o, "pid", 0), "12");
	assert_null(options_nth(&o, "pid", 2));
	assert_int_equal(parse(&arena, true, &o, NULL, "-ja -o x cmd -a --json"), 0);
	assert_int_equal(o.argument_count, 3);
	assert_int_equal(o.value_count, 3);
	arena_done(&arena);
}

static void names_the_wrong_word(void **state)
{
	static const struct { const char *line, *word; } wrong[] = {
		{ "--nix", "'--nix'" }, { "-x", "'-x'" }, { "--json=1", "no value" }, { "-o", "FILE" },
		{ "--size 12Q", "12Q" }, { "-p -1", "-1" }, { "-d 1e99", "1e99" }, { "-p 99999999999999999999", "9999" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct arena arena;
		struct options o;
		struct err err = { 0 };

		arena_init(&arena);
		assert_int_equal(parse(&arena, false, &o, &err, wrong[i].line), -EINVAL);
		assert_non_null(strstr(err.text, wrong[i].word));
		arena_done(&arena);
	}
}

static void writes_valid_json(void **state)
{
	struct buf buf;
	struct json json;

	(void)state;
	buf_init(&buf);
	json_init(&json, &buf);
	json_object(&json, NULL);
	json_text(&json, "a\"b", "x\n\x01\xff\xc3\xa4");
	json_array(&json, "n");
	json_u64(&json, NULL, UINT64_MAX);
	json_i64(&json, NULL, -1);
	json_double(&json, NULL, NAN);
	json_end(&json);
	json_text(&json, "z", NULL);
	json_end(&json);
	assert_string_equal(buf_str(&buf), "{\"a\\\"b\":\"x\\n\\u0001\xef\xbf\xbd\xc3\xa4\","
					   "\"n\":[18446744073709551615,-1,null],\"z\":null}\n");
	buf_done(&buf);
}

static void keeps_bounds_and_rules(void **state)
{
	static const struct option_spec bounded[] = {
		{ "number", 'n', OPTION_NUMBER, "N", "number", .least = 2, .most = 10 },
		{ "size", 0, OPTION_BYTES, "SIZE", "size", .least = 1 << 20, .most = 64 << 20 },
		{ "time", 0, OPTION_DURATION, "TIME", "time", .least = 1500000 },
		{ "flag", 0, OPTION_FLAG, NULL, "flag" },
		{ NULL, 0, OPTION_FLAG, NULL, NULL },
	};
	static const struct option_rule rules[] = {
		{ .one_of = "number size" }, { .option = "flag", .without = "time number" }, { .one_of = NULL },
	};
	static const struct { const char *line, *words; } wrong[] = {
		{ "-n 1", "--number takes from 2 to 10, not '1'" },
		{ "-n11", "--number takes from 2 to 10, not '11'" },
		{ "--size 1G", "--size takes from 1M to 64M, not '1G'" },
		{ "--time 1ms", "--time takes at least 1500us, not '1ms'" },
		{ "-n 2 --size 2M", "--number and --size exclude each other" },
		{ "--size 2M -n 2", "--number and --size exclude each other" },
		{ "--flag", "--flag means nothing without --time or --number" },
		{ "-n 2 -n 3 --flag", NULL },
		{ "--time 2ms --flag --size 64M", NULL },
	};
	struct options o;
	struct arena arena;

	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *words[32];
		int count = 0, r;
		struct err err = { 0 };

		for (char *word = strtok(arena_strdup(&arena, wrong[i].line), " "); word; word = strtok(NULL, " "))
			words[count++] = word;
		r = options_parse(&arena, bounded, false, count, words, &o, &err);
		if (!r)
			r = options_check(&o, rules, &err);
		assert_int_equal(r, wrong[i].words ? -EINVAL : 0);
		if (wrong[i].words)
			assert_string_equal(err.text, wrong[i].words);
	}
	arena_done(&arena);
}

/* Whatever the width, no word is lost and none runs into the next one. */
static void keeps_words_apart(void **state)
{
	static const char help[] = "a line of help whose words are of all lengths, from a to extraordinarily, and which is long enough";
	static const struct option_spec one[] = { { "option", 'o', OPTION_FLAG, NULL, help }, { NULL } };

	(void)state;
	for (int width = 0; width < 130; width++) {
		char words[sizeof(help) + 200] = "";
		struct buf buf;

		buf_init(&buf);
		options_describe(&buf, one, width);
		for (char *word = strtok((char *)buf_str(&buf), " \n"); word; word = strtok(NULL, " \n")) {
			strcat(words, *words ? " " : "");
			strcat(words, word);
		}
		assert_string_equal(words + strlen("-o, --option "), help);
		buf_done(&buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_bounds_and_rules),
		cmocka_unit_test(takes_options_anywhere),
		cmocka_unit_test(names_the_wrong_word),
		cmocka_unit_test(writes_valid_json),
		cmocka_unit_test(keeps_words_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
