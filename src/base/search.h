/* Binary search in what is sorted, where neither bsearch's callback nor its lack of
 * a place for what is not there will do.
 *
 *	size_t low = 0, high = count;
 *	SEARCH(low, high, middle, items[middle].time < time);
 *	(low and high are now the first index whose time is not before) */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#define SEARCH(low, high, middle, is_before) \
	while ((low) < (high)) { \
		const __typeof__(low) middle = (low) + ((high) - (low)) / 2; \
		if (is_before) \
			(low) = middle + 1; \
		else \
			(high) = middle; \
	}

#endif
