#include "symbols/names_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbols/cache_file.h"

#define CACHE_MAGIC 0x31306d6e75677261ull /* "argunm01" */
#define CACHE_MOST_BYTES (64u << 20)
#define CACHE_MOST_NAMES 200000u

struct cache_head {
	uint64_t magic;
	uint64_t checksum;         /* of all behind it */
	uint64_t stamp;
	char build_id[64];
	uint32_t count, inline_count, text_bytes, reserved;
};

/* Texts are places in the text. */
struct names_cache_entry {
	uint64_t address, start;
	uint32_t function, file, line;
	uint32_t first_inline;
	uint32_t inlines : 16, guessed : 1, reserved : 15;
	uint32_t reserved_too;
};

struct names_cache_inline {
	uint32_t function, file, line;
};

static bool sound(const struct names_cache *c)
{
	/* the last text ends, and so do all before it */
	if (c->text_bytes == 0 || c->text[c->text_bytes - 1] != 0)
		return false;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct names_cache_entry *e = &c->entries[i];
		if (e->function >= c->text_bytes || e->file >= c->text_bytes || e->inlines > c->inline_count ||
		    e->first_inline > c->inline_count - e->inlines || (i > 0 && e->address <= c->entries[i - 1].address))
			return false;
	}
	for (uint32_t i = 0; i < c->inline_count; i++)
		if (c->inlines[i].function >= c->text_bytes || c->inlines[i].file >= c->text_bytes)
			return false;
	return true;
}

bool names_cache_read(const void *data, size_t bytes, const char *build_id, uint64_t stamp, struct names_cache *ret_cache)
{
	struct cache_head head;
	if (bytes < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	if (head.magic != CACHE_MAGIC || head.stamp != stamp || strncmp(head.build_id, build_id, sizeof(head.build_id)) != 0)
		return false;
	uint64_t entries = (uint64_t)head.count * sizeof(struct names_cache_entry),
		 inlines = (uint64_t)head.inline_count * sizeof(struct names_cache_inline);
	if (bytes - sizeof(head) != entries + inlines + head.text_bytes ||
	    !cache_file_intact(data, bytes))
		return false;
	const char *at = (const char *)data + sizeof(head);
	struct names_cache c = { .entries = (const void *)at, .inlines = (const void *)(at + entries), .text = at + entries + inlines,
				 .count = head.count, .inline_count = head.inline_count, .text_bytes = head.text_bytes };
	if (!sound(&c))
		return false;
	*ret_cache = c;
	return true;
}

static void name_of(const struct names_cache *c, const struct names_cache_entry *e, struct arena *arena, struct name *name)
{
	name->function = c->text + e->function;
	name->guessed = e->guessed;
	name->file = c->text + e->file;
	name->line = e->line;
	name->function_start = e->start;
	name->inline_count = e->inlines;
	if (e->inlines) {
		struct name_inline *inlines = arena_array(arena, struct name_inline, e->inlines);
		for (uint32_t i = 0; i < e->inlines; i++) {
			const struct names_cache_inline *from = &c->inlines[e->first_inline + i];
			inlines[i] = (struct name_inline){ c->text + from->function, c->text + from->file, from->line };
		}
		name->inlines = inlines;
	}
}

bool names_cache_find(const struct names_cache *c, struct arena *arena, uint64_t address, struct name *name)
{
	uint32_t low = 0, high = c->count;
	SEARCH(low, high, middle, c->entries[middle].address < address);
	if (low == c->count || c->entries[low].address != address)
		return false;
	name_of(c, &c->entries[low], arena, name);
	return true;
}

static bool path_of(const char *build_id, char *path, size_t bytes)
{
	char name[80];
	/* it becomes a file's name */
	if (!build_id[0] || strlen(build_id) > 64 || strspn(build_id, "0123456789abcdef") != strlen(build_id))
		return false;
	snprintf(name, sizeof(name), "%s.names", build_id);
	return cache_file_path(name, path, bytes) == 0;
}

bool names_cache_load(const char *build_id, uint64_t stamp, struct names_cache *ret_cache)
{
	char path[4100];
	size_t bytes;
	void *data = path_of(build_id, path, sizeof(path)) ? cache_file_map(path, CACHE_MOST_BYTES, &bytes) : NULL;
	if (!data)
		return false;
	if (!names_cache_read(data, bytes, build_id, stamp, ret_cache)) {
		munmap(data, bytes);
		return false;
	}
	ret_cache->mapped = data;
	ret_cache->mapped_bytes = bytes;
	return true;
}

void names_cache_done(struct names_cache *c)
{
	if (c->mapped)
		munmap(c->mapped, c->mapped_bytes);
	*c = (struct names_cache){ 0 };
}

struct saving {
	struct arena arena;
	struct map texts;          /* hash -> place in the text + 1 */
	struct vec(char) text;
	struct vec(struct names_cache_entry) entries;
	struct vec(struct names_cache_inline) inlines;
};

static uint32_t keep_text(struct saving *s, const char *text)
{
	size_t length = strlen(text) + 1;
	uint64_t *at = map_at(&s->texts, hash_bytes(text, length), NULL);
	if (*at && strcmp(s->text.items + *at - 1, text) == 0)
		return (uint32_t)(*at - 1);
	*at = s->text.length + 1;
	for (size_t i = 0; i < length; i++)
		vec_push(&s->text, text[i]);
	return (uint32_t)(*at - 1);
}

static void keep(struct saving *s, const struct name *name)
{
	struct names_cache_entry e = { .address = name->address, .start = name->function_start, .line = name->line,
				       .first_inline = (uint32_t)s->inlines.length, .guessed = name->guessed };
	e.inlines = name->inline_count & 0xffff;
	e.function = keep_text(s, name->function);
	e.file = keep_text(s, name->file);
	for (uint32_t i = 0; i < e.inlines; i++) {
		const struct name_inline *from = &name->inlines[i];
		struct names_cache_inline to = { .function = keep_text(s, from->function), .file = keep_text(s, from->file), .line = from->line };
		vec_push(&s->inlines, to);
	}
	vec_push(&s->entries, e);
}

static int by_address(const void *a, const void *b)
{
	const struct names_cache_entry *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void write_file(struct saving *s, const char *path, const char *build_id, uint64_t stamp)
{
	size_t entries = s->entries.length * sizeof(s->entries.items[0]), inlines = s->inlines.length * sizeof(s->inlines.items[0]);
	struct cache_head head = { .magic = CACHE_MAGIC, .stamp = stamp, .count = (uint32_t)s->entries.length,
				   .inline_count = (uint32_t)s->inlines.length, .text_bytes = (uint32_t)s->text.length };
	size_t bytes = sizeof(head) + entries + inlines + s->text.length;
	if (bytes > CACHE_MOST_BYTES)
		return;
	char *data = mem_zalloc(bytes), *at = data + sizeof(head);
	memcpy(head.build_id, build_id, strnlen(build_id, sizeof(head.build_id)));
	memcpy(at, s->entries.items, entries);
	if (inlines)
		memcpy(at + entries, s->inlines.items, inlines);
	memcpy(at + entries + inlines, s->text.items, s->text.length);
	memcpy(data, &head, sizeof(head));
	cache_file_keep(path, data, bytes);
	free(data);
}

void names_cache_save(const char *build_id, uint64_t stamp, const struct names_cache *before, const struct name *const *names,
		      size_t count)
{
	struct saving s = { 0 };
	char path[4100];

	if (count == 0 || !path_of(build_id, path, sizeof(path)))
		return;
	/* what has grown too large begins anew */
	if (before && before->count + count <= CACHE_MOST_NAMES)
		for (uint32_t i = 0; i < before->count; i++) {
			struct name name = { .address = before->entries[i].address };
			name_of(before, &before->entries[i], &s.arena, &name);
			keep(&s, &name);
		}
	for (size_t i = 0; i < count && i < CACHE_MOST_NAMES; i++)
		keep(&s, names[i]);
	qsort(s.entries.items, s.entries.length, sizeof(s.entries.items[0]), by_address);
	write_file(&s, path, build_id, stamp);
	vec_done(&s.text);
	vec_done(&s.entries);
	vec_done(&s.inlines);
	map_done(&s.texts);
	arena_done(&s.arena);
}
