/* See wait_details.h. */
#include "diagnose/wait_details.h"

#include <stdlib.h>

#include "base/search.h"

#define ITEMS_A_PLACE 4u

void wait_details_free(struct wait_details *details)
{
	if (!details)
		return;
	vec_done(&details->items);
	free(details->first);
	free(details);
}

/* Where the event's place begins. */
static uint32_t place_of(const struct wait_details *details, uint64_t event)
{
	return (uint32_t)((event - details->items.items[details->apart].event) >> details->shift);
}

void wait_details_index(struct wait_details *details)
{
	const struct wait_detail *items = details->items.items;
	size_t count = details->items.length, at = details->apart;
	uint32_t places;

	if (at == count)
		return;
	while ((items[count - 1].event - items[at].event) >> details->shift > (count - at) / ITEMS_A_PLACE)
		details->shift++;
	places = place_of(details, items[count - 1].event) + 1;
	details->first = mem_alloc(((size_t)places + 1) * sizeof(*details->first));
	for (uint32_t place = 0; place < places; place++) {
		while (place_of(details, items[at].event) < place)
			at++;
		details->first[place] = (uint32_t)at;
	}
	details->first[places] = (uint32_t)count;
}

void wait_details_prefetch(const struct wait_details *details, uint64_t event)
{
	const struct wait_detail *items = details->items.items;
	size_t count = details->items.length;

	if (details->apart < count && event >= items[details->apart].event && event <= items[count - 1].event)
		__builtin_prefetch(&items[details->first[place_of(details, event)] + ITEMS_A_PLACE / 2]);
}

const struct wait_detail *wait_details_find(const struct wait_details *details, uint64_t event)
{
	const struct wait_detail *items = details->items.items;
	size_t count = details->items.length;
	uint32_t low = 0, high = (uint32_t)details->apart, end;

	if (!count || event > items[count - 1].event)
		return NULL;
	if (details->apart < count && event >= items[details->apart].event) {
		low = details->first[place_of(details, event)];
		high = details->first[place_of(details, event) + 1];
	}
	end = high;
	SEARCH(low, high, middle, items[middle].event < event);
	return low < end && items[low].event == event ? &items[low] : NULL;
}
