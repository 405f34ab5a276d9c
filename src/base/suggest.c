/* See suggest.h. */
#include "base/suggest.h"

#include <limits.h>
#include <string.h>

#define LENGTH_MOST 32

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned suggest_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	/* the last three rows of the table; row[j]: a's first i letters into b's first j */
	unsigned rows[3][LENGTH_MOST + 1];

	if (a_length > LENGTH_MOST || b_length > LENGTH_MOST)
		return UINT_MAX;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], above2[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

struct suggestion suggest_begin(const char *word, size_t length)
{
	return (struct suggestion){ .word = word, .length = length, .distance = UINT_MAX };
}

void suggest_offer(struct suggestion *s, const char *name)
{
	size_t length = strlen(name);
	unsigned distance;

	/* the beginning of a name, or a name and more behind it, is one mistake */
	if (s->length >= 2 && length >= 2 && !strncmp(s->word, name, length < s->length ? length : s->length))
		distance = 1;
	else
		distance = suggest_distance(s->word, s->length, name, length);
	/* a third of the letters may be wrong: more, and it is another word */
	if (distance < s->distance && distance <= (s->length + 1) / 3) {
		s->distance = distance;
		s->nearest = name;
	}
}
