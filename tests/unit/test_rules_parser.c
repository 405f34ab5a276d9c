/* The language of rules: what it takes, and what it says of the rest. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rules/rules.h"
#include "trace/event.h"

static unsigned find(const char *name, size_t length)
{
	return length == 4 && !memcmp(name, "wake", 4) ? 1 : length == 4 && !memcmp(name, "work", 4) ? 6 : 2;
}

static int add(struct rules *rules, const char *text, struct err *err)
{
	return rules_add_text(rules, "t", text, strlen(text), find, err);
}

static void test_default_parses(void **state)
{
	struct rules *rules = rules_new();
	struct err err = { 0 };

	(void)state;
	if (rules_add_default(rules, find, &err))
		fail_msg("%s", err.text);
	assert_true(rules_count(rules) > 20);
	rules_free(rules);
}

static void test_packs_parse(void **state)
{
	struct rules *rules = rules_new();
	struct err err = { 0 };
	unsigned probes = 0;

	(void)state;
	for (size_t i = 0; i < rules_pack_count; i++)
		if (rules_add_pack(rules, rules_packs[i].name, find, &err))
			fail_msg("%s", err.text);
	for (size_t i = 0; i < rules_count(rules); i++)
		if (rules_at(rules, i)->kind == RULE_probe) {
			assert_non_null(strchr(rules_at(rules, i)->target, ':'));
			probes++;
		}
	assert_true(probes > 0);
	assert_int_equal(rules_add_pack(rules, "nothing", find, &err), -ENOENT);
	rules_free(rules);
}

static void expect(const char *text, const char *words)
{
	struct rules *rules = rules_new();
	struct err err = { 0 };

	assert_int_equal(add(rules, "peers a none;", &err), 0);
	assert_true(add(rules, text, &err) < 0);
	assert_string_equal(err.text, words);
	assert_int_equal(rules_count(rules), 1);
	rules_free(rules);
}

static void test_errors_say_where(void **state)
{
	(void)state;
	expect("peers b any;\nboundary x after nothing;", "t:2:18: no event is called 'nothing'");
	expect("boundary x after switch where foo == 1;", "t:1:31: event switch has no field 'foo'");
	expect("boundary x after switch where state == 1 and\n (state != 2;", "t:2:13: ')' is wanted here");
	expect("boundary x after switch where state == \"S\";", "t:1:40: a number or a name of its values is wanted here");
	expect("wake x drop where thread.comm < \"a\";", "t:1:31: '<' does not fit a text");
	expect("wake x confidence 100;", "t:1:19: a confidence is 1 to 99 per cent");
	expect("probe a at 5;", "t:1:12: a text in double quotes is wanted here");
	expect("probe a \"x\";", "t:1:9: 'at' is wanted here");
	expect("bogus;", "t:1:1: a statement is wanted here (boundary, peers, edge, wake, cut, keep, join, idle, flag, probe)");
	expect("edge e as work from probe a key arg1 to probe b key arg4;", "t:1:53: event probe has no field 'arg4'");
	expect("edge e as work from probe key a to probe b key arg1;", "t:1:31: event probe has no field 'a'");
	expect("edge e as work from probe a key name to probe b key name;", "t:1:33: a text cannot be a key");
	expect("boundary x before wake a;", "t:1:24: ';' is wanted here");
	expect("boundary x before wake where name == \"a\";", "t:1:30: event wake has no field 'name'");
	expect("cut edge 0 -> 5;", "t:1:16: events are numbered from 1");
	expect("idle x where comm == \"a", "t:1:22: text without closing quote");
	expect("edge e as work from work_queue key work to work_start key work, function;",
	       "t:1:73: both ends need the same number of keys");
	expect("peers q receive where bytes > 99999999999999999999;", "t:1:31: number too large");
}

static bool holds(const char *condition, const struct event_switch *s, const struct rule_facts *facts)
{
	struct rules *rules = rules_new();
	struct err err = { 0 };
	char text[400] = "boundary x after switch where ";
	struct rule_scene scene = { .data = s, .thread = facts };
	bool result;

	strcat(strcat(text, condition), ";");
	if (add(rules, text, &err))
		fail_msg("%s", err.text);
	result = condition_holds(&rules_at(rules, 0)->where, &scene);
	rules_free(rules);
	return result;
}

static void test_conditions(void **state)
{
	struct event_switch s = { .state = TASK_STATE_sleeping, .argument = (uint32_t)-3, .flags = SWITCH_FLAGS_io_wait,
				  .timeout_ns = 2000000 };
	struct rule_facts facts = { .comm = "nginx", .callout = 2 };

	(void)state;
	assert_true(holds("state != running", &s, &facts));
	assert_false(holds("not (state != running)", &s, &facts));
	assert_true(holds("argument < 0 and argument == -3", &s, &facts));
	assert_true(holds("flags has io_wait and not (flags has preempted)", &s, &facts));
	assert_true(holds("state == running or (thread.callout > 1 and thread.comm == \"nginx\")", &s, &facts));
	assert_false(holds("not (state == running or thread.callout >= 2)", &s, &facts));
	assert_true(holds("thread.comm ~ \"ng*\" and timeout_ns >= 2ms and timeout_ns <= 2ms", &s, &facts));
	assert_false(holds("target.wait == futex", &s, &facts));
	assert_true(holds("state == running or state == blocked or state == sleeping and timeout_ns > 1", &s, &facts));
}

static void test_corrections(void **state)
{
	struct rules *rules = rules_new();
	struct err err = { 0 };

	(void)state;
	assert_int_equal(add(rules, "cut edge 3->4; keep edge 5 -> 6; join 7 -> 8 as work; boundary at 9; idle wait 10;"
				    "cut no-x wake where from.comm == \"x\"; flag done at 0x10; # end", &err), 0);
	assert_int_equal(rules_count(rules), 7);
	assert_int_equal(rules_at(rules, 0)->kind, RULE_cut_edge);
	assert_int_equal(rules_at(rules, 1)->to_event, 6);
	assert_int_equal(rules_at(rules, 2)->mechanism, 6);
	assert_int_equal(rules_at(rules, 6)->address, 16);
	assert_string_equal(rules_at(rules, 5)->text, "cut no-x wake where from.comm == \"x\"");
	rules_free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_parses),
		cmocka_unit_test(test_packs_parse), cmocka_unit_test(test_errors_say_where),
		cmocka_unit_test(test_conditions), cmocka_unit_test(test_corrections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
