/* See join_side.h. */
#include "graph/join_side.h"

#include <string.h>

#include "base/search.h"

#define KEPT_EMPTY 64          /* places that an empty side keeps */

void side_clear(struct side *side)
{
	vec_clear(&side->items);
	side->first = 0;
	side->total = side->dropped = side->count = side->overlapped = side->position = 0;
}

void side_recount(struct side *side)
{
	side->dropped = side->count - side_count(side);
	side->total = side->dropped;
	for (size_t i = 0; i < side_count(side); i++) {
		side_at(side, i)->length = 1;
		side_at(side, i)->total = ++side->total;
	}
}

void side_add(struct side *side, const struct join_message *m, uint64_t length)
{
	side->total += length;
	side->count++;
	side->position = m->position;
	if (side_count(side) && m->begin_ns <= side_at(side, side_count(side) - 1)->end_ns)
		side->overlapped = side->count;
	vec_push(&side->items, ((struct moved){ .begin_ns = m->begin_ns, .end_ns = m->end_ns, .token = m->token, .object = m->object,
						.total = side->total, .length = length, .bytes = m->bytes, .peer = m->peer }));
}

void side_drop(struct side *side, size_t count)
{
	if (!count)
		return;
	side->first += count;
	side->dropped = side->items.items[side->first - 1].total;
	if (side->first == side->items.length && side->items.capacity > KEPT_EMPTY) {
		/* Most channels are quiet most of the time. */
		vec_done(&side->items);
		side->first = 0;
		return;
	}
	if (side->first < 256 || side->first < side->items.length / 2)
		return;
	memmove(side->items.items, side->items.items + side->first, side_count(side) * sizeof(*side->items.items));
	side->items.length -= side->first;
	side->first = 0;
}

size_t side_over(const struct side *side, size_t count)
{
	uint64_t begin_ns = UINT64_MAX;

	for (size_t i = count; i < side_count(side); i++)
		begin_ns = minimum(begin_ns, side_at(side, i)->begin_ns);
	while (count && side_at(side, count - 1)->end_ns >= begin_ns)
		count--;
	return count;
}

uint64_t side_ended(const struct side *side, uint64_t time_ns)
{
	size_t low = 0, high = side_count(side);

	SEARCH(low, high, middle, side_at(side, middle)->end_ns < time_ns);
	return low ? side_at(side, low - 1)->total : side->dropped;
}

bool side_busy(const struct side *side, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = side_count(side); i-- > 0; ) {
		const struct moved *moved = side_at(side, i);

		if (moved->begin_ns <= to_ns && moved->end_ns >= from_ns)
			return true;
		/* ends are in order, begins are not: look a little further only */
		if (moved->end_ns < from_ns)
			return false;
	}
	return false;
}

/* Places of the items in the order of their begins: nearly that of their ends. */
static void order_by_begin(const struct side *side, size_t count, uint32_t *order, uint32_t *other)
{
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	/* Merges runs; most are in order already and only looked at. */
	for (size_t width = 1; width < count; width *= 2)
		for (size_t from = 0; from + width < count; from += 2 * width) {
			size_t middle = from + width, to = from + 2 * width < count ? from + 2 * width : count, a = from, b = middle, n = from;

			if (side_at(side, order[middle - 1])->begin_ns <= side_at(side, order[middle])->begin_ns)
				continue;
			while (n < to)
				if (b == to || (a < middle && side_at(side, order[a])->begin_ns <= side_at(side, order[b])->begin_ns))
					other[n++] = order[a++];
				else
					other[n++] = order[b++];
			memcpy(order + from, other + from, (to - from) * sizeof(*order));
		}
}

size_t side_place(struct joins *joins, const struct side *side, int64_t before, uint64_t until_ns, struct join_placed *placed)
{
	size_t count = side_count(side), ended = 0, begun = 0;
	uint64_t sum = side->dropped, least = UINT64_MAX;
	uint32_t *order;

	while (count && side_at(side, count - 1)->begin_ns > until_ns)
		count--;
	if (!count)
		return 0;
	vec_reserve(&joins->order, 2 * count);
	order = joins->order.items;
	order_by_begin(side, count, order, order + count);
	for (size_t i = 0; i < count; i++) {
		for (; ended < count && side_at(side, ended)->end_ns < side_at(side, order[i])->begin_ns; ended++)
			sum = side_at(side, ended)->total;
		placed[order[i]].least = place(before, sum);
	}
	sum = side->dropped;
	for (size_t i = 0; i < count; i++) {
		const struct moved *moved = side_at(side, i);

		for (; begun < count && side_at(side, order[begun])->begin_ns < moved->end_ns; begun++)
			sum += side_at(side, order[begun])->length;
		/* What took no time by the clock began and ended at once. */
		placed[i].most = place(before, maximum(moved->begin_ns < moved->end_ns ? sum - moved->length : sum, moved->total - moved->length));
		placed[i].end = placed[i].most + moved->length;
	}
	for (size_t i = count; i-- > 0; )
		placed[i].least_behind = least = minimum(placed[i].least, least);
	return count;
}
