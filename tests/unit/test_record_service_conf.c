/* src/record/service_conf.c: argus.conf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "record/service_conf.h"

static int parse(const char *text, struct service_conf *conf, struct err *err)
{
	return service_conf_parse(text, strlen(text), conf, err);
}

static void test_settings(void **state)
{
	struct service_conf conf;

	(void)state;
	assert_int_equal(parse("", &conf, NULL), 0);
	assert_true(!conf.members_see_all && !conf.see_all[0] && conf.recordings == 2 && conf.recording_bytes == 1u << 30);
	assert_int_equal(parse("# nothing\n members-see = all # and a remark\nrecordings=3\r\nrecording-size = 10M\nrecording-time = 2m", &conf, NULL), 0);
	assert_true(conf.members_see_all && conf.recordings == 3 && conf.recording_bytes == 10u << 20 && conf.recording_ns == 120000000000u);
}

static void test_who_sees_all(void **state)
{
	struct service_conf conf;

	(void)state;
	assert_int_equal(parse("see-all = daemon, @root", &conf, NULL), 0);
	assert_true(service_conf_sees_all(&conf, 1, NULL, 0));
	assert_false(service_conf_sees_all(&conf, 2, NULL, 0));
	assert_false(service_conf_sees_all(&conf, 2, &(uint32_t){ 1 }, 1));
	assert_true(service_conf_sees_all(&conf, 2, &(uint32_t){ 0 }, 1));
	assert_true(service_conf_sees_all(&conf, 0, NULL, 0));
}

static void test_mistakes(void **state)
{
	static const char *const wrong[] = { "members-see", "members-see = some", "recordings = 17", "recordings = -1", "recording-size = 1k",
					     "recording-time = 0s", "other = 1", "= 1" };
	struct service_conf conf = { .recordings = 9 };
	struct err err;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		strcpy(text, "# first\n");
		strcat(text, wrong[i]);
		err = (struct err){ 0 };
		assert_int_equal(parse(text, &conf, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "line 2"));
	}
	assert_int_equal(service_conf_parse("a\0b", 3, &conf, NULL), -EBADMSG);
	assert_int_equal(conf.recordings, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_who_sees_all),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
