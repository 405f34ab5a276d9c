/* "Did you mean ...?": of the names offered, the one that a mistyped word is nearest to. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

struct suggestion {
	const char *word;      /* as typed */
	size_t length;         /* of the word; what follows is not part of it */
	const char *nearest;   /* NULL: none of the names is near */
	unsigned distance;
};

struct suggestion suggest_begin(const char *word, size_t length);
/* The name must stay where it is. */
void suggest_offer(struct suggestion *suggestion, const char *name);

/* Letters to insert, remove, replace or swap with their neighbour to turn one word into
 * the other; words longer than 32 count as far apart. */
unsigned suggest_distance(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
