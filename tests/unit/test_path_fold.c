/* The folded path: links of a kind are one line, in whatever parts they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "path/fold.h"

static const struct role_name nobody = { 0, 0 };

static struct fold_key key_of(struct fold *fold, const char *who, const char *function, const char *what, uint8_t doing)
{
	uint32_t name = texts_add(&fold->texts, who);

	return (struct fold_key){ { name, name }, texts_add(&fold->texts, function), texts_add(&fold->texts, what), doing };
}

static uint32_t row_of(struct fold *fold, const struct fold_key *key)
{
	return fold_row(fold, 0, key->who, key->function, key->doing == CLASS_RUN);
}

static void test_links_are_counted(void **state)
{
	struct fold fold;
	struct fold_key sync, rest;
	uint32_t node, other;

	(void)state;
	fold_init(&fold);
	sync = key_of(&fold, "worker", "commit", "fsync", CLASS_WAIT);
	rest = key_of(&fold, "worker", "idle", "sleeping", CLASS_WAIT);
	node = fold_child(&fold, 0, &sync);
	other = fold_child(&fold, 0, &rest);
	/* The later part first; its first link goes on from the one before. */
	fold_add(&fold, row_of(&fold, &sync), node, 0, 1, 100, 130);
	fold_add(&fold, row_of(&fold, &rest), other, 0, 1, 130, 140);
	fold_add(&fold, row_of(&fold, &sync), node, 0, 1, 140, 150);
	fold_add(&fold, row_of(&fold, &sync), node, 0, 2, 150, 160);
	fold_part_end(&fold);
	fold_add(&fold, row_of(&fold, &rest), other, 0, 1, 0, 50);
	fold_add(&fold, row_of(&fold, &sync), node, 0, 1, 50, 100);
	fold_part_end(&fold);
	fold_finish(&fold);
	assert_int_equal(fold.total_ns, 160);
	assert_int_equal(fold.rows.length, 2);
	assert_int_equal(fold.rows.items[0].function, sync.function);
	assert_int_equal(fold.rows.items[0].ns, 100);
	assert_int_equal(fold.rows.items[0].count, 3);
	assert_int_equal(fold.rows.items[0].longest_ns, 80);
	assert_int_equal(fold.rows.items[0].median_ns, 10);
	assert_int_equal(fold.rows.items[1].count, 2);
	fold_done(&fold);
}

static void test_a_queue_is_one_node(void **state)
{
	struct fold fold;
	struct fold_key lock, run;
	uint32_t outer, inner;

	(void)state;
	fold_init(&fold);
	lock = key_of(&fold, "worker", "commit", "journal_lock", CLASS_WAIT);
	run = key_of(&fold, "worker", "commit", "computing", CLASS_RUN);
	outer = fold_child(&fold, 0, &lock);
	inner = fold_child(&fold, outer, &run);
	assert_int_equal(fold_child(&fold, outer, &lock), outer);
	assert_int_equal(fold_child(&fold, inner, &lock), outer);
	assert_int_not_equal(inner, outer);
	fold_add(&fold, row_of(&fold, &run), inner, outer, 1, 0, 10);
	fold_part_end(&fold);
	fold_finish(&fold);
	assert_int_equal(fold.nodes.items[outer].own_ns, 0);
	assert_int_equal(fold.nodes.items[outer].total_ns, 10);
	assert_int_equal(fold.rows.items[0].vias.length, 1);
	assert_int_equal(fold.rows.items[0].vias.items[0].wait.what, lock.what);
	fold_done(&fold);
}

/* Ten samples: six in `hash`, three in `parse`, one in `tidy`, which is too little for a line. */
static void test_samples_divide(void **state)
{
	struct fold fold;
	struct fold_key run;
	uint32_t node, row, main_function, functions[3];
	static const char *const names[] = { "hash", "parse", "tidy" };
	static const unsigned counts[] = { 6, 3, 1 };

	(void)state;
	fold_init(&fold);
	run = key_of(&fold, "tool", "", "computing", CLASS_RUN);
	node = fold_child(&fold, 0, &run);
	row = row_of(&fold, &run);
	main_function = texts_add(&fold.texts, "main");
	fold_add(&fold, row, node, 0, 1, 0, 1000);
	for (unsigned i = 0; i < 3; i++) {
		functions[i] = texts_add(&fold.texts, names[i]);
		for (unsigned k = 0; k < counts[i]; k++)
			fold_sample(&fold, row, node, (uint32_t[]){ functions[i], main_function }, 2);
	}
	fold_part_end(&fold);
	fold_finish(&fold);
	assert_int_equal(fold.rows.length, 3);
	assert_int_equal(fold.rows.items[0].function, functions[0]);
	assert_int_equal(fold.rows.items[0].ns, 600);
	assert_true(fold.rows.items[0].by_samples);
	assert_int_equal(fold.rows.items[1].function, functions[1]);
	assert_int_equal(fold.rows.items[1].ns, 300);
	assert_int_equal(fold.rows.items[2].function, main_function);
	assert_int_equal(fold.rows.items[2].ns, 100);
	assert_int_equal(fold.rows.items[0].longest_ns, 600);
	fold_done(&fold);
}

static void test_many_durations(void **state)
{
	struct fold fold;
	struct fold_key sync;
	uint32_t node, row;
	uint64_t at = 0;

	(void)state;
	fold_init(&fold);
	sync = key_of(&fold, "worker", "commit", "fsync", CLASS_WAIT);
	node = fold_child(&fold, 0, &sync);
	row = fold_row(&fold, 0, nobody, sync.function, false);
	for (uint64_t i = 1; i <= 100000; i++) {
		fold_add(&fold, row, node, 0, i, at, at + i);
		at += i;
	}
	fold_part_end(&fold);
	fold_finish(&fold);
	assert_int_equal(fold.rows.items[0].count, 100000);
	assert_int_equal(fold.rows.items[0].longest_ns, 100000);
	assert_in_range(fold.rows.items[0].median_ns, 49000, 51000);
	fold_done(&fold);
}

/* Some stretches, samples among them, that depend on the number of the part. */
static void add_part(struct fold *fold, unsigned part)
{
	static const char *const names[] = { "worker", "reader", "writer", "commit", "parse", "hash", "idle" };
	uint64_t at = 100000 - part * 1000;

	for (unsigned i = 0; i < 40; i++) {
		unsigned a = (i * 7 + part * 3) % 7, b = (i * part + 1) % 7, c = (i / 3 + part) % 7;
		struct fold_key wait = key_of(fold, names[a], names[b], "fsync", CLASS_WAIT);
		struct fold_key run = key_of(fold, names[b], names[c], "computing", CLASS_RUN);
		uint32_t outer = fold_child(fold, 0, &wait), node = fold_child(fold, outer, &run), row = row_of(fold, &run);
		uint32_t functions[2] = { texts_add(&fold->texts, names[c]), texts_add(&fold->texts, names[a]) };

		map_put(&fold->pids, a, 1);
		fold_queue(fold, wait.what)->waits += a;
		fold_add(fold, row, node, i % 4 ? outer : 0, i / 5, at, at + 10 + i % 15);
		if (i % 2)
			fold_sample(fold, row, node, functions, 2);
		at += 10 + i % 15;
	}
}

/* Parts that are folded for themselves come to the same as if they were folded one behind the other. */
static void test_parts_are_joined(void **state)
{
	struct fold whole, joined;

	(void)state;
	fold_init(&whole);
	fold_init(&joined);
	line_begin(&whole.line, 90000, 101000, 50);
	line_begin(&joined.line, 90000, 101000, 50);
	for (unsigned i = 1; i < 6; i++) {
		struct fold part;

		add_part(&whole, i);
		fold_init_part(&part, &joined);
		add_part(&part, i);
		fold_join(&joined, &part);
		fold_done(&part);
		fold_part_end(&whole);
		fold_part_end(&joined);
	}
	fold_finish(&whole);
	fold_finish(&joined);
	assert_int_equal(whole.total_ns, joined.total_ns);
	assert_int_equal(whole.links_seen, joined.links_seen);
	assert_int_equal(whole.pids.length, joined.pids.length);
	assert_int_equal(whole.queues.items[0].waits, joined.queues.items[0].waits);
	assert_int_equal(whole.texts.list.length, joined.texts.list.length);
	for (uint32_t i = 0; i < whole.texts.list.length; i++)
		assert_string_equal(texts_get(&whole.texts, i), texts_get(&joined.texts, i));
	assert_int_equal(whole.nodes.length, joined.nodes.length);
	assert_memory_equal(whole.nodes.items, joined.nodes.items, whole.nodes.length * sizeof(*whole.nodes.items));
	assert_int_equal(whole.stacks.length, joined.stacks.length);
	assert_memory_equal(whole.stacks.items, joined.stacks.items, whole.stacks.length * sizeof(*whole.stacks.items));
	assert_memory_equal(whole.line.cells, joined.line.cells, whole.line.cell_count * sizeof(*whole.line.cells));
	assert_int_equal(whole.rows.length, joined.rows.length);
	for (size_t i = 0; i < whole.rows.length; i++) {
		const struct fold_row *a = &whole.rows.items[i], *b = &joined.rows.items[i];

		assert_int_equal(a->function, b->function);
		assert_int_equal(a->ns, b->ns);
		assert_int_equal(a->count, b->count);
		assert_int_equal(a->median_ns, b->median_ns);
		assert_int_equal(a->longest_ns, b->longest_ns);
		assert_int_equal(a->doings.length, b->doings.length);
		assert_int_equal(a->doings.items[0].count, b->doings.items[0].count);
		assert_int_equal(a->vias.length, b->vias.length);
	}
	fold_done(&whole);
	fold_done(&joined);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_are_counted),
		cmocka_unit_test(test_a_queue_is_one_node),
		cmocka_unit_test(test_samples_divide),
		cmocka_unit_test(test_many_durations),
		cmocka_unit_test(test_parts_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
