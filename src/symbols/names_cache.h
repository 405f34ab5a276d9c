/* Names of a module's addresses kept between runs (cache_file.h): the second
 * look at a trace reads no symbols and no debug information.
 *
 * A file's name is the build-id; the stamp inside says from which files, in
 * which state, the names came, so that new debug information is noticed. */
#ifndef SYMBOLS_NAMES_CACHE_H
#define SYMBOLS_NAMES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/names.h"

struct names_cache_entry;
struct names_cache_inline;

/* A cache file that holds together. */
struct names_cache {
	const struct names_cache_entry *entries; /* sorted by address */
	const struct names_cache_inline *inlines;
	const char *text;
	uint32_t count, inline_count, text_bytes;
	void *mapped;
	size_t mapped_bytes;
};

/* False when the bytes do not hold together or are of another stamp; they must stay as long as the result. */
bool names_cache_read(const void *data, size_t bytes, const char *build_id, uint64_t stamp, struct names_cache *ret_cache);
/* Fills in what is known of a place: function, guessed, file, line, start, inlined functions. */
bool names_cache_find(const struct names_cache *cache, struct arena *arena, uint64_t address, struct name *name);

bool names_cache_load(const char *build_id, uint64_t stamp, struct names_cache *ret_cache);
/* Keeps these names and those of `before` (NULL none). */
void names_cache_save(const char *build_id, uint64_t stamp, const struct names_cache *before, const struct name *const *names,
		      size_t count);
/* Accepts what was never loaded. */
void names_cache_done(struct names_cache *cache);

#endif
