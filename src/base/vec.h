/* Growing arrays.
 *
 *	struct vec(uint64_t) times = { 0 };
 *	vec_push(&times, now);
 *	for (size_t i = 0; i < times.length; i++) use(times.items[i]);
 *	vec_done(&times);
 *
 * The items are malloc'ed and owned by the vector; pointers to them are valid
 * until the next push. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdlib.h>

#include "base/arena.h"

#define vec(type) { type *items; size_t length, capacity; }

#define vec_reserve(v, n) \
	do { \
		size_t vec_want = (n); \
		if (vec_want > (v)->capacity) { \
			size_t vec_new = (v)->capacity ? (v)->capacity * 2 : 16; \
			if (vec_new < vec_want) \
				vec_new = vec_want; \
			(v)->items = mem_realloc((v)->items, arena_array_bytes(sizeof(*(v)->items), vec_new)); \
			(v)->capacity = vec_new; \
		} \
	} while (0)

#define vec_push(v, item) \
	do { \
		vec_reserve((v), (v)->length + 1); \
		(v)->items[(v)->length++] = (item); \
	} while (0)

#define vec_clear(v) ((void)((v)->length = 0))

#define vec_done(v) \
	do { \
		free((v)->items); \
		(v)->items = NULL; \
		(v)->length = (v)->capacity = 0; \
	} while (0)

#endif
