/* See tid_table.h. */
#include "trace/tid_table.h"

#include <stdlib.h>

#include "base/arena.h"

#define LOW (4u << 20) /* Linux's own bound */

void tid_table_done(struct tid_table *table)
{
	free(table->low);
	map_done(&table->high);
	*table = (struct tid_table){ 0 };
}

void tid_table_put(struct tid_table *table, uint64_t tid, uint64_t word)
{
	uint64_t *known;
	bool new;

	if (tid < LOW && word < UINT32_MAX) {
		if (!table->low)
			table->low = mem_zalloc(LOW * sizeof(*table->low));
		if (tid >= table->limit)
			table->limit = (uint32_t)tid + 1;
		table->length += !table->low[tid];
		if (word || !table->low[tid])
			table->low[tid] = (uint32_t)word + 1;
		return;
	}
	known = map_at(&table->high, tid, &new);
	table->length += new;
	if (word)
		*known = word;
}

bool tid_table_next(const struct tid_table *table, uint64_t *at, uint32_t *ret_tid, uint32_t *ret_word)
{
	const struct map_slot *slot;
	size_t place;

	for (; *at < table->limit; ++*at)
		if (table->low[*at]) {
			*ret_tid = (uint32_t)*at;
			*ret_word = table->low[(*at)++] - 1;
			return true;
		}
	if (*at < LOW)
		*at = LOW;
	place = *at - LOW;
	slot = map_next(&table->high, &place);
	*at = LOW + place;
	if (!slot)
		return false;
	*ret_tid = (uint32_t)slot->key;
	*ret_word = (uint32_t)slot->value;
	return true;
}
