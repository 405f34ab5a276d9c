/* What the slowest requests went through, see tails.h. */
#include "path/tails.h"

#include <math.h>
#include <string.h>

size_t tails_fold(struct critical *critical, const struct requests *requests, size_t first, size_t end, size_t most)
{
	size_t count = end - first, step = count > most ? count / most : 1, added = 0;

	for (size_t i = first; i < end && added < most; i += step) {
		const struct request *r = &requests->list.items[i];

		if (r->end_ns <= r->start_ns)
			continue;
		critical_add(critical, r->thread, r->start_ns, r->end_ns);
		fold_part_end(critical->fold);
		added++;
	}
	return added;
}

static bool same_text(const struct fold *a, uint32_t x, const struct fold *b, uint32_t y)
{
	return !strcmp(texts_get(&a->texts, x), texts_get(&b->texts, y));
}

static bool same_row(const struct fold *a, const struct fold_row *x, const struct fold *b, const struct fold_row *y)
{
	return same_text(a, x->function, b, y->function) && same_text(a, x->who.thread, b, y->who.thread) &&
	       same_text(a, x->who.program, b, y->who.program) && same_text(a, x->lock, b, y->lock);
}

static int by_difference(const void *a, const void *b)
{
	const struct tail_line *x = a, *y = b;
	double m = x->slow_ns - x->middle_ns, n = y->slow_ns - y->middle_ns;

	return m > n ? -1 : m < n;
}

void tails_compare(struct tails *t)
{
	for (size_t i = 0; i < t->slow.rows.length; i++) {
		const struct fold_row *row = &t->slow.rows.items[i];
		struct tail_line line = { .slow = row, .slow_ns = (double)row->ns / (double)t->slow_count };

		for (size_t k = 0; k < t->middle.rows.length && !line.middle; k++)
			if (same_row(&t->slow, row, &t->middle, &t->middle.rows.items[k]))
				line.middle = &t->middle.rows.items[k];
		if (line.middle)
			line.middle_ns = (double)line.middle->ns / (double)t->middle_count;
		vec_push(&t->lines, line);
	}
	for (size_t k = 0; k < t->middle.rows.length; k++) {
		const struct fold_row *row = &t->middle.rows.items[k];
		bool there = false;

		for (size_t i = 0; i < t->lines.length && !there; i++)
			there = t->lines.items[i].middle == row;
		if (!there)
			vec_push(&t->lines, ((struct tail_line){ .middle = row, .middle_ns = (double)row->ns / (double)t->middle_count }));
	}
	if (t->lines.length)
		qsort(t->lines.items, t->lines.length, sizeof(*t->lines.items), by_difference);
}

void tails_done(struct tails *tails)
{
	fold_done(&tails->slow);
	fold_done(&tails->middle);
	vec_done(&tails->lines);
}
