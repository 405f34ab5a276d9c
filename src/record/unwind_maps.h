/* Unwind tables laid into the maps of the unwinder in the kernel.
 *
 * Maps are mapped and filled like memory. Equal tables, of copies of a program, are
 * laid once. Of a table whose rows lie in the cache's file only those pages are laid that stacks
 * came through: of large programs that is a small part. What is once in stays until the room is used up or a third of it is
 * nobody's: then all begins anew with what is still in use (layouts_renew).
 * Not thread-safe. */
#ifndef RECORD_UNWIND_MAPS_H
#define RECORD_UNWIND_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "record/stack_maps.h"
#include "base/arena.h"
#include "base/vec.h"
#include "symbols/unwind_table.h"

struct unwind_maps_fds {
	int mappings, pages, rows, rules;
};

/* Of an outline pages are laid as stacks come through them. */
struct unwind_laid_outline {
	uint32_t first_page, page_count;
	uint32_t *numbers;         /* of its rules */
	bool whole;                /* all of its pages are laid */
};

struct unwind_maps {
	struct unwind_maps_fds fds;
	struct stack_mapping *mappings;
	struct stack_page *pages;
	struct unwind_rule *rules;
	uint32_t *shards[STACK_SHARDS_MAX];
	int shard_fds[STACK_SHARDS_MAX];
	uint32_t shard_count;
	uint32_t shard_now;        /* the one that is being filled */
	uint32_t shard_used;       /* rows taken in it */
	uint32_t page_count, row_count, rule_count;
	uint32_t abandoned_pages, abandoned_rows; /* of tables that nobody walks by any more */
	struct vec(struct unwind_laid_outline) outlines;
	struct map outline_at;     /* first page -> its place among them, + 1 */
	struct map by_file;        /* hash of the file that rows lie in -> the same */
	struct map users;          /* of the table that begins at a page */
	struct map equal;          /* hash of a table -> its first page */
	struct map rule_numbers;
	uint32_t era;              /* how often all began anew, from 1 on */
	bool full;                 /* a table found no room */
	/* as large as the maps are; tests make them smaller */
	struct { uint32_t mappings, pages, shards, rules; } limits;
};

int unwind_maps_open(struct unwind_maps *maps, const struct unwind_maps_fds *fds, struct err *err);
void unwind_maps_close(struct unwind_maps *maps);
/* -ENOSPC when there is no room. Of an outline no rows are laid. */
int unwind_maps_add(struct unwind_maps *maps, const struct unwind_table *table, uint32_t *ret_first_page, struct err *err);
/* Lays the rows of the page, and of those around it, of an outline that was added; false where it has no room or they
 * cannot be read. */
bool unwind_maps_fill(struct unwind_maps *maps, const struct unwind_table *table, uint32_t first_page, uint32_t page);
/* The same of all its pages. */
void unwind_maps_fill_all(struct unwind_maps *maps, const struct unwind_table *table, uint32_t first_page);
/* The rule for an address, `offset` from the first page of a table that was added; pending where it is not laid. */
struct unwind_rule unwind_maps_rule(const struct unwind_maps *maps, uint32_t first_page, uint32_t page_count, uint64_t offset);
/* Of a table that was added one walks less. What nobody walks by any more is had back when all
 * begins anew. */
void unwind_maps_abandon(struct unwind_maps *maps, uint32_t first_page, uint32_t page_count);
/* One more again. */
void unwind_maps_use(struct unwind_maps *maps, uint32_t first_page, uint32_t page_count);
/* Whether it is time to begin anew. */
bool unwind_maps_is_due(const struct unwind_maps *maps);
/* Forgets all tables. Nobody may walk by them any more. */
void unwind_maps_reset(struct unwind_maps *maps);
/* Memory in the kernel that tables take. */
uint64_t unwind_maps_bytes(const struct unwind_maps *maps);

#endif
