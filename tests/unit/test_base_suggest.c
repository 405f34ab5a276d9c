/* src/base/suggest.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "base/suggest.h"

static unsigned distance(const char *a, const char *b)
{
	return suggest_distance(a, strlen(a), b, strlen(b));
}

static void counts_slips(void **state)
{
	(void)state;
	assert_int_equal(distance("", ""), 0);
	assert_int_equal(distance("", "abc"), 3);
	assert_int_equal(distance("record", "record"), 0);
	assert_int_equal(distance("record", "recrod"), 1);
	assert_int_equal(distance("recordd", "record"), 1);
	assert_int_equal(distance("rcord", "record"), 1);
	assert_int_equal(distance("rekord", "record"), 1);
	assert_int_equal(distance("kitten", "sitting"), 3);
	assert_int_equal(distance("ab", "ba"), 1);
	assert_int_equal(distance("0123456789012345678901234567890123456789", "0"), UINT_MAX);
}

static const char *nearest(const char *word)
{
	static const char *const names[] = { "record", "status", "start", "stop", "why", "duration", "all", NULL };
	struct suggestion near = suggest_begin(word, strlen(word));

	for (size_t i = 0; names[i]; i++)
		suggest_offer(&near, names[i]);
	return near.nearest ? near.nearest : "";
}

static void suggests_only_what_is_near(void **state)
{
	(void)state;
	assert_string_equal(nearest("recrod"), "record");
	assert_string_equal(nearest("stat"), "status");
	assert_string_equal(nearest("strt"), "start");
	assert_string_equal(nearest("wy"), "why");
	assert_string_equal(nearest("dur"), "duration");
	assert_string_equal(nearest("recording"), "record");
	assert_string_equal(nearest("a"), "");
	assert_string_equal(nearest(""), "");
	assert_string_equal(nearest("graph"), "");
	assert_string_equal(nearest("no-such-option"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_slips),
		cmocka_unit_test(suggests_only_what_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
