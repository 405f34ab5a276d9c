/* src/session/command.c: what holds over all commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "session/command.h"

static const struct option_spec *find(const struct command *command, const char *name, size_t length)
{
	for (const struct option_spec *o = command->options; o->name; o++)
		if (strlen(o->name) == length && !strncmp(o->name, name, length))
			return o;
	return NULL;
}

/* A letter stands for one option everywhere, and that option has it everywhere. */
static void letters_mean_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++)
		for (const struct option_spec *a = commands[i]->options; a->name; a++)
			for (size_t k = 0; commands[k]; k++)
				for (const struct option_spec *b = commands[k]->options; b->name; b++) {
					bool same_name = !strcmp(a->name, b->name), same_letter = a->letter == b->letter;

					if (same_name ? !same_letter : a->letter && same_letter)
						fail_msg("%s --%s -%c, %s --%s -%c", commands[i]->name, a->name, a->letter ? a->letter : ' ',
							 commands[k]->name, b->name, b->letter ? b->letter : ' ');
				}
}

/* Sizes and durations are so wherever their option is; no option is there twice. */
static void names_mean_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++)
		for (const struct option_spec *a = commands[i]->options; a->name; a++) {
			assert_true((a->kind == OPTION_FLAG) == !a->value);
			assert_non_null(a->help);
			assert_string_not_equal(a->name, "help");
			assert_int_not_equal(a->letter, 'h');
			for (const struct option_spec *b = a + 1; b->name; b++)
				if (!strcmp(a->name, b->name) || (a->letter && a->letter == b->letter))
					fail_msg("%s has --%s twice", commands[i]->name, a->name);
			for (size_t k = 0; commands[k]; k++) {
				const struct option_spec *b = find(commands[k], a->name, strlen(a->name));

				if (b && (a->kind == OPTION_DURATION || a->kind == OPTION_BYTES) && a->kind != b->kind)
					fail_msg("%s and %s differ in --%s", commands[i]->name, commands[k]->name, a->name);
			}
		}
}

static void assert_known(const struct command *command, const char *list)
{
	while (list && *list) {
		size_t length = strcspn(list, " ");

		if (!find(command, list, length))
			fail_msg("a rule of %s knows a --%.*s", command->name, (int)length, list);
		list += length + (list[length] == ' ');
	}
}

static void rules_name_options(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++)
		for (const struct option_rule *rule = commands[i]->rules; rule && (rule->one_of || rule->option); rule++) {
			assert_known(commands[i], rule->one_of);
			assert_known(commands[i], rule->option);
			assert_known(commands[i], rule->without);
			assert_true(rule->one_of || rule->without);
		}
}

static void names_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		assert_ptr_equal(command_find(commands[i]->name), commands[i]);
		assert_true(strlen(commands[i]->name) <= 12);
		assert_true(strlen(commands[i]->summary) <= 110);
		assert_int_not_equal(commands[i]->summary[strlen(commands[i]->summary) - 1], '.');
		for (const char *line = commands[i]->help; line && *line; line = strchr(line, '\n') + 1) {
			assert_non_null(strchr(line, '\n'));
			assert_true(strcspn(line, "\n") <= 112);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_mean_the_same),
		cmocka_unit_test(names_mean_the_same),
		cmocka_unit_test(rules_name_options),
		cmocka_unit_test(names_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
