/* src/diagnose/leads.c: which thread stands for its process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "diagnose/leads.h"
#include "scene_of_text.h"

#define THREADS \
	"1 [0] 10 task pid=10 flags=leader \"vm\"\n" \
	"1 [0] 11 task pid=10 \"main\"\n" \
	"1 [0] 12 task pid=10 \"other\"\n" \
	"1.0 [0] 0 switch next=10\n"
#define JOINS " switch next=11 state=sleeping wait=futex object=futex:9 hint=11 hint_kind=thread_exit syscall=futex\n"
#define END "9 [0] 0 mark \"end\"\n"

static uint32_t leader(const char *text)
{
	struct scene_of_text s;
	uint32_t found = 0;

	scene_of_text_open(&s, text);
	for (uint32_t tid = 10; tid <= 12; tid++) {
		if (!leads_process(s.scene, scene_of_text_thread(&s, tid)))
			continue;
		assert_int_equal(found, 0);
		found = tid;
	}
	scene_of_text_close(&s);
	return found;
}

static void the_first_thread_leads(void **state)
{
	(void)state;
	assert_int_equal(leader(THREADS "1.1 [0] 10 switch next=11 state=sleeping wait=poll syscall=poll\n" END), 10);
}

static void whose_end_a_launcher_awaits_leads(void **state)
{
	(void)state;
	assert_int_equal(leader(THREADS "1.1 [0] 10" JOINS END), 11);
	/* that had done something else for long before */
	assert_int_equal(leader(THREADS "5 [0] 10" JOINS END), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_thread_leads),
		cmocka_unit_test(whose_end_a_launcher_awaits_leads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
