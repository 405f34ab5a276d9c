/* src/trace/event.c: the table itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "trace/event.h"
#include "trace/names.h"

/* Each number ever given, with its name. Lines are only added: a file written
 * years ago must mean the same. */
static const struct { unsigned number; const char *name; } numbers[] = {
#include "event_numbers.def"
};

static void numbers_are_never_changed(void **state)
{
	unsigned known = 0, listed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_true(numbers[i].number > 0 && numbers[i].number < EVENT_MAX);
		assert_non_null(event_infos[numbers[i].number].name);
		assert_string_equal(event_infos[numbers[i].number].name, numbers[i].name);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(numbers[k].number, numbers[i].number);
		listed++;
	}
	for (unsigned i = 0; i < EVENT_MAX; i++)
		known += event_infos[i].name != NULL;
	/* A new event gets its line in event_numbers.def. */
	assert_int_equal(known, listed);
}

static void events_are_found_by_unique_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EVENT_MAX; i++) {
		if (!event_infos[i].name)
			continue;
		assert_ptr_equal(event_info_find(event_infos[i].name), &event_infos[i]);
		assert_int_equal(event_info_number(&event_infos[i]), i);
	}
	assert_null(event_info_find("no such event"));
	assert_int_equal(event_info_number(NULL), 0);
}

static void fields_cover_their_structs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EVENT_MAX; i++) {
		const struct event_info *info = &event_infos[i];
		unsigned bytes = 0;

		for (unsigned k = 0; k < info->field_count; k++) {
			const struct field_info *field = &info->fields[k];

			assert_int_equal(field->offset, bytes);
			assert_int_equal(field->offset % field->bytes, 0);
			bytes += field->bytes;
			assert_ptr_equal(field_info_find(info, field->name), field);
		}
		assert_int_equal((bytes + 7) & ~7u, info->bytes); /* padding only at the end */
	}
	assert_null(field_info_find(&event_infos[EVENT_switch], "nothing"));
}

static void named_values_are_found(void **state)
{
	uint64_t value;

	(void)state;
	assert_string_equal(kind_value_name(FIELD_WAIT_KIND, WAIT_KIND_futex), "futex");
	assert_null(kind_value_name(FIELD_WAIT_KIND, 200));
	assert_null(kind_value_name(FIELD_WAIT_KIND, UINT64_MAX));
	assert_null(kind_value_name(FIELD_U32, 0));
	assert_int_equal(kind_value_find(FIELD_WAKE_CAUSE, "timeout", 7, &value), 0);
	assert_int_equal(value, WAKE_CAUSE_timeout);
	assert_true(kind_value_find(FIELD_WAKE_CAUSE, "timeou", 6, &value) < 0);
	assert_true(kind_is_flags(FIELD_SWITCH_FLAGS) && kind_is_flags(FIELD_TASK_FLAGS));
	assert_false(kind_is_flags(FIELD_WAIT_KIND) || kind_is_flags(FIELD_U32) || kind_is_flags(FIELD_TEXT));
	assert_string_equal(kind_name(FIELD_HINT_KIND), "HINT_KIND");
	assert_string_equal(syscall_name(202), "futex");
	assert_null(syscall_name(400));
	assert_null(syscall_name(SYSCALL_NONE));
	assert_int_equal(syscall_find("epoll_wait", 10), 232);
	assert_string_equal(signal_name(15), "SIGTERM");
	assert_int_equal(signal_find("SIGKILL", 7), 9);
	assert_true(signal_find("SIGNONE", 7) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_never_changed),
		cmocka_unit_test(events_are_found_by_unique_names),
		cmocka_unit_test(fields_cover_their_structs),
		cmocka_unit_test(named_values_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
