/* The JSON reader: what is well-formed is found, what is not is refused with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/json_read.h"

static bool is_whole(const char *text)
{
	struct json_reader reader;

	json_reader_init(&reader, text, strlen(text));
	return json_skip(&reader) && json_end_of_text(&reader);
}

static void members_are_found_in_order(void **state)
{
	static const char text[] = " { \"a\" : [ 1, -2.5e3, { } , [] ], \"b\\u0041\" : \"x\\n\\\"y\" } ";
	struct json_reader reader;
	char key[8], value[8];

	(void)state;
	json_reader_init(&reader, text, sizeof(text) - 1);
	assert_true(json_enter(&reader, '{'));
	assert_true(json_key(&reader, key, sizeof(key)));
	assert_string_equal(key, "a");
	assert_false(json_string(&reader, value, sizeof(value)));
	assert_true(json_skip(&reader));
	assert_true(json_key(&reader, key, sizeof(key)));
	assert_string_equal(key, "bA");
	assert_true(json_string(&reader, value, sizeof(value)));
	assert_string_equal(value, "x\n\"y");
	assert_false(json_key(&reader, key, sizeof(key)));
	assert_true(json_end_of_text(&reader));
	assert_int_equal(json_error(&reader), 0);
}

static void what_is_no_json_is_refused(void **state)
{
	static const char *const wrong[] = { "", "{", "[", "[1", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "\"", "\"\\x\"", "\"\\u00\"", "]", "[}" };
	static const char *const right[] = { "{}", "[]", "[[],{}]", "null", "\"\\ud83d\"", "[{\"a\":[{\"b\":{}}]}]" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (is_whole(wrong[i]))
			fail_msg("taken: %s", wrong[i]);
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		if (!is_whole(right[i]))
			fail_msg("refused: %s", right[i]);
}

static void too_deep_is_refused(void **state)
{
	char text[2 * JSON_READ_DEPTH + 2];

	(void)state;
	memset(text, '[', JSON_READ_DEPTH);
	memset(text + JSON_READ_DEPTH, ']', JSON_READ_DEPTH);
	text[2 * JSON_READ_DEPTH] = 0;
	assert_true(is_whole(text));
	memset(text, '[', JSON_READ_DEPTH + 1);
	assert_false(is_whole(text));
}

static void texts_that_do_not_fit_are_refused(void **state)
{
	struct json_reader reader;
	char value[4];

	(void)state;
	json_reader_init(&reader, "\n\"abcd\"", 7);
	assert_false(json_string(&reader, value, sizeof(value)));
	assert_int_equal(json_error(&reader), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_found_in_order),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(too_deep_is_refused),
		cmocka_unit_test(texts_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
