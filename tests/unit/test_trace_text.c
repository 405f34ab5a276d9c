/* src/trace/text_*.c: the text form, both ways. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "random_events.h"

struct collected {
	struct text_target target;
	struct arena arena;
	struct event events[16];
	size_t count;
};

static int collect(struct text_target *target, const struct event *e, struct err *err)
{
	struct collected *c = (struct collected *)target;
	struct event *to = &c->events[c->count++];
	char *tail;

	(void)err;
	assert_true(c->count <= 16);
	*to = *e;
	if (e->data)
		to->data = arena_memdup(&c->arena, e->data, event_infos[e->type].bytes);
	tail = arena_alloc(&c->arena, e->tail_length + 1, 1);
	memcpy(tail, e->tail, e->tail_length);
	to->tail = tail;
	return 0;
}

/* The status of the first line that fails, 0 when all are good. */
static int parse(const char *text, struct collected *c, struct err *err)
{
	struct text_parser *parser;
	int status = 0;

	*c = (struct collected){ .target = { collect } };
	parser = text_parser_new(&c->target);
	while (!status && *text) {
		size_t length = strcspn(text, "\n");

		status = text_parser_line(parser, text, length, err);
		text += length + (text[length] == '\n');
	}
	if (!status)
		status = text_parser_end(parser, err);
	text_parser_free(parser);
	return status;
}

static void done(struct collected *c)
{
	arena_done(&c->arena);
}

static void every_event_goes_round(void **state)
{
	struct arena arena;
	struct buf line;

	(void)state;
	arena_init(&arena);
	buf_init(&line);
	for (unsigned round = 0; round < 300 * EVENT_MAX; round++) {
		struct collected c;
		struct err err = { 0 };
		struct event e;

		if (!event_infos[round % EVENT_MAX].name)
			continue;
		e = random_event(&arena, round % EVENT_MAX, random_value(), UINT16_MAX);
		buf_clear(&line);
		text_format(&line, &e);
		if (parse(buf_str(&line), &c, &err)) {
			print_error("%s: %s", err.text, buf_str(&line));
			fail();
		}
		assert_int_equal(c.count, 1);
		if (!same_event(&e, &c.events[0])) {
			print_error("%s", buf_str(&line));
			fail();
		}
		done(&c);
	}
	buf_done(&line);
	arena_done(&arena);
}

static void what_a_person_writes_is_understood(void **state)
{
	struct collected c;
	struct err err = { 0 };
	const struct event_switch *s;

	(void)state;
	assert_int_equal(parse("# a comment\n"
			       "\n"
			       "@thread ui 100\n"
			       "@thread worker of ui\n"
			       "@object queue pipe\n"
			       "  12.5 [3] @ui switch next=@worker wait=poll timeout_ns=1.5s object=@queue # waits\n"
			       "+10ms @worker wake target=@ui flags=sync|0x40 syscall=write\n"
			       "-5us 0 mark \"say \\\"hi\\\" \\x41\\n\"\n"
			       "13 7 waiting since_ns=-2s detail=0xff argument=-11\r\n"
			       "14s 7 task pid=@worker \"a\" \"\" \"b c\"\n", &c, &err), 0);
	assert_int_equal(c.count, 7);
	assert_int_equal(c.events[0].type, EVENT_task);
	assert_int_equal(c.events[0].time, 12500000000);
	assert_int_equal(c.events[1].tid, 1001);
	assert_int_equal(event_as(&c.events[1], task)->pid, 100);
	s = event_as(&c.events[2], switch);
	assert_int_equal(c.events[2].cpu, 3);
	assert_int_equal(s->next, 1001);
	assert_int_equal(s->syscall, SYSCALL_NONE);
	assert_int_equal(s->timeout_ns, 1500000000);
	assert_int_equal(object_kind(s->object), OBJECT_KIND_pipe);
	assert_int_equal(c.events[3].time, 12510000000);
	assert_int_equal(c.events[3].cpu, 0);
	assert_int_equal(event_as(&c.events[3], wake)->flags, WAKE_FLAGS_sync | 0x40);
	assert_int_equal(event_as(&c.events[3], wake)->syscall, 1);
	assert_string_equal(c.events[4].tail, "say \"hi\" A\n");
	assert_int_equal(c.events[4].time, 12509995000);
	assert_int_equal(event_as(&c.events[5], waiting)->since_ns, 11000000000);
	assert_int_equal((int32_t)event_as(&c.events[5], waiting)->argument, -11);
	assert_int_equal(event_as(&c.events[6], task)->pid, 100);
	assert_memory_equal(c.events[6].tail, "a\0\0b c", 7);
	done(&c);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct { const char *line, *words; } wrong[] = {
		{ "abc 1 switch", "column 1: expected a time" },
		{ "1.2.3 1 switch", "expected a time" },
		{ "1", "expected a thread" },
		{ "1 @nobody switch", "column 3: unknown name '@nobody'" },
		{ "1 4294967296 switch", "column 3" },
		{ "1 [70000] 1 switch", "not a processor" },
		{ "1 2", "expected an event's name" },
		{ "1 2 swich", "column 5: unknown event 'swich'" },
		{ "1 2 switch next", "expected name=value" },
		{ "1 2 switch nexd=1", "'switch' has no field 'nexd'" },
		{ "1 2 switch next=4294967296", "too large" },
		{ "1 2 switch next_prio=256", "too large" },
		{ "1 2 switch argument=2147483648", "too large" },
		{ "1 2 switch wait=nothing", "unknown name 'nothing'" },
		{ "1 2 switch syscall=opne", "unknown name" },
		{ "1 2 switch object=pipe:xyz", "not a value" },
		{ "1 2 switch object=pip:1", "unknown name" },
		{ "1 2 switch \"text\"", "takes no text" },
		{ "1 2 mark \"a\" \"b\"", "a second text" },
		{ "1 2 mark \"a", "does not end" },
		{ "1 2 mark \"\\q\"", "unknown escape" },
		{ "+1 2 switch\n-2 2 switch", "expected a time" },
		{ "99999999999 2 switch", "expected a time" },
		{ "@thread", "wants a name" },
		{ "@thread a\n@thread a", "a second thread 'a'" },
		{ "@thread a 1 of b", "unknown process" },
		{ "@thread a 1 2", "not understood" },
		{ "@object q nothing", "unknown kind" },
		{ "@other", "unknown convenience" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct collected c;
		struct err err = { 0 };

		assert_int_equal(parse(wrong[i].line, &c, &err), -EINVAL);
		if (!strstr(err.text, wrong[i].words)) {
			print_error("'%s' says: %s\n", wrong[i].line, err.text);
			fail();
		}
		done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_goes_round),
		cmocka_unit_test(what_a_person_writes_is_understood),
		cmocka_unit_test(what_is_wrong_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
