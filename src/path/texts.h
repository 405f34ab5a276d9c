/* Texts by number, each kept once: what a fold compares and counts, long after the part
 * of the trace that it was read from has gone. Number 0 is the empty text. */
#ifndef PATH_TEXTS_H
#define PATH_TEXTS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct texts {
	struct arena arena;
	struct vec(const char *) list;
	struct map by_hash;          /* hash of the text -> number; another text of the same hash takes the next one */
};

void texts_init(struct texts *texts);
void texts_done(struct texts *texts);
uint32_t texts_add(struct texts *texts, const char *text);
static inline const char *texts_get(const struct texts *texts, uint32_t number)
{
	return texts->list.items[number];
}

#endif
