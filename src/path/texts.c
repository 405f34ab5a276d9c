/* Texts by number, see texts.h. */
#include "path/texts.h"

#include <string.h>

void texts_init(struct texts *texts)
{
	*texts = (struct texts){ 0 };
	arena_init(&texts->arena);
	map_init(&texts->by_hash);
	vec_push(&texts->list, "");
}

void texts_done(struct texts *texts)
{
	vec_done(&texts->list);
	map_done(&texts->by_hash);
	arena_done(&texts->arena);
}

uint32_t texts_add(struct texts *texts, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text)), *number;

	if (!text[0])
		return 0;
	for (;; hash++) {
		bool fresh = false;

		number = map_at(&texts->by_hash, hash, &fresh);
		if (fresh)
			break;
		if (!strcmp(texts_get(texts, (uint32_t)*number), text))
			return (uint32_t)*number;
	}
	*number = texts->list.length;
	vec_push(&texts->list, arena_strdup(&texts->arena, text));
	return (uint32_t)*number;
}
