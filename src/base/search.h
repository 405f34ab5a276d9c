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

/* The same where the place is `near` more often than not, or soon behind it: what is far from it is hardly looked at. */
#define SEARCH_NEAR(low, high, near, middle, is_before) \
	do { \
		__typeof__(low) search_at = (near), search_step = 1; \
		while (search_at >= (low) && search_at < (high)) { \
			const __typeof__(low) middle = search_at; \
			if (is_before) \
				(low) = middle + 1; \
			else \
				(high) = middle; \
			if ((high) == middle || (high) - middle <= search_step) \
				break; \
			search_at += search_step; \
			search_step *= 2; \
		} \
		search_step = 1; \
		while ((high) - (low) > search_step && (high) > (low)) { \
			const __typeof__(low) middle = (high) - search_step; \
			if (is_before) \
				(low) = middle + 1; \
			else \
				(high) = middle; \
			if ((high) != middle) \
				break; \
			search_step *= 2; \
		} \
		SEARCH(low, high, middle, is_before); \
	} while (0)

#endif
