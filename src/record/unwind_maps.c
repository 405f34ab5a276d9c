/* See unwind_maps.h. */
#ifdef HAVE_BPF
#include "record/unwind_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ABANDONED_PAGES 16384u      /* fewer are not worth beginning anew */
#define ABANDONED_ROWS (6 * STACK_SHARD_ROWS)
#define PAGES_AT_ONCE 16u           /* of an outline: 64 KiB of code */
#define ABANDONED_SHARE 3u          /* nor is less than one of so many */

static void *map_memory(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

int unwind_maps_open(struct unwind_maps *maps, const struct unwind_maps_fds *fds, struct err *err)
{
	*maps = (struct unwind_maps){ .fds = *fds, .era = 1 };
	maps->limits.mappings = STACK_MAPPINGS_MAX;
	maps->limits.pages = STACK_PAGES_MAX;
	maps->limits.shards = STACK_SHARDS_MAX;
	maps->limits.rules = STACK_RULES_MAX;
	maps->mappings = map_memory(fds->mappings, sizeof(struct stack_mapping) * STACK_MAPPINGS_MAX);
	maps->pages = map_memory(fds->pages, sizeof(struct stack_page) * STACK_PAGES_MAX);
	maps->rules = map_memory(fds->rules, sizeof(struct unwind_rule) * STACK_RULES_MAX);
	if (!maps->mappings || !maps->pages || !maps->rules) {
		int r = -errno;
		unwind_maps_close(maps);
		return err_sys(err, r, "mapping the unwinder's tables");
	}
	for (unsigned kind = 0; kind < UNWIND_KINDS; kind++)
		maps->rules[kind] = (struct unwind_rule){ .kind = (uint8_t)kind };
	maps->rule_count = UNWIND_KINDS;
	return 0;
}

static void shards_remove(struct unwind_maps *maps)
{
	for (uint32_t i = 0; i < maps->shard_count; i++) {
		bpf_map_delete_elem(maps->fds.rows, &i);
		munmap(maps->shards[i], sizeof(struct stack_shard));
		close(maps->shard_fds[i]);
	}
	maps->shard_count = 0;
}

static void outlines_forget(struct unwind_maps *maps)
{
	for (size_t i = 0; i < maps->outlines.length; i++)
		free(maps->outlines.items[i].numbers);
	vec_clear(&maps->outlines);
	map_clear(&maps->outline_at);
	map_clear(&maps->by_file);
}

void unwind_maps_close(struct unwind_maps *maps)
{
	if (maps->mappings)
		munmap(maps->mappings, sizeof(struct stack_mapping) * STACK_MAPPINGS_MAX);
	if (maps->pages)
		munmap(maps->pages, sizeof(struct stack_page) * STACK_PAGES_MAX);
	if (maps->rules)
		munmap(maps->rules, sizeof(struct unwind_rule) * STACK_RULES_MAX);
	shards_remove(maps);
	outlines_forget(maps);
	vec_done(&maps->outlines);
	map_done(&maps->outline_at);
	map_done(&maps->by_file);
	map_done(&maps->rule_numbers);
	map_done(&maps->users);
	map_done(&maps->equal);
	*maps = (struct unwind_maps){ 0 };
}

static int shard_add(struct unwind_maps *maps)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	uint32_t at = maps->shard_count;
	if (at >= maps->limits.shards)
		return -ENOSPC;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "stack_shard", sizeof(uint32_t), sizeof(struct stack_shard), 1, &options);
	if (fd < 0)
		return fd;
	maps->shards[at] = map_memory(fd, sizeof(struct stack_shard));
	int r = maps->shards[at] ? bpf_map_update_elem(maps->fds.rows, &at, &fd, BPF_ANY) : -errno;
	if (r < 0) {
		if (maps->shards[at])
			munmap(maps->shards[at], sizeof(struct stack_shard));
		close(fd);
		return r;
	}
	maps->shard_fds[at] = fd;
	maps->shard_count++;
	return 0;
}

/* Room for the rows of one page, which are all in one shard. */
static int rows_room(struct unwind_maps *maps, uint32_t count)
{
	if (count > STACK_SHARD_ROWS)
		return -EFBIG;
	if (count > STACK_SHARD_ROWS - maps->shard_used) {
		maps->shard_now++;
		maps->shard_used = 0;
	}
	return maps->shard_now < maps->shard_count ? 0 : shard_add(maps);
}

/* A module's rules by the numbers they have among all modules'. */
static int rules_add(struct unwind_maps *maps, const struct unwind_table *table, uint32_t *numbers)
{
	for (uint32_t i = 0; i < table->rule_count; i++) {
		const struct unwind_rule *rule = &table->rules[i];
		uint64_t key;
		bool is_new;
		memcpy(&key, rule, sizeof(key));
		uint64_t *number = map_at(&maps->rule_numbers, key, &is_new);
		if (is_new && rule->kind != UNWIND_RSP && rule->kind != UNWIND_RBP && rule->kind != UNWIND_DEREF_RSP &&
		    rule->kind != UNWIND_DEREF_RBP && rule->kind != UNWIND_PLT && rule->kind != UNWIND_RA_RDI) {
			*number = rule->kind < UNWIND_KINDS ? rule->kind : (unsigned)UNWIND_BAD;
		} else if (is_new) {
			if (maps->rule_count >= maps->limits.rules) {
				map_remove(&maps->rule_numbers, key);
				return -ENOSPC;
			}
			maps->rules[maps->rule_count] = *rule;
			*number = maps->rule_count++;
		}
		numbers[i] = (uint32_t)*number;
	}
	return 0;
}

static uint32_t row_with(const uint32_t *numbers, uint32_t row)
{
	return (row & ~UNWIND_RULE_MASK) | numbers[row & UNWIND_RULE_MASK];
}

static uint64_t hash_of(const struct unwind_table *table, const uint32_t *numbers)
{
	uint64_t hash = hash_u64(table->page_count);
	for (uint32_t i = 0; i < table->page_count; i++)
		hash = hash_u64(hash ^ table->pages[i]);
	for (uint32_t i = 0; i < table->row_count; i++)
		hash = hash_u64(hash ^ row_with(numbers, table->rows[i]));
	return hash;
}

static const uint32_t *rows_of(const struct unwind_maps *maps, uint64_t laid)
{
	uint32_t row = STACK_PAGE_ROW(laid);

	return maps->shards[row >> STACK_SHARD_SHIFT] + (row & (STACK_SHARD_ROWS - 1));
}

/* A hash can be made to agree. */
static bool is_laid_at(const struct unwind_maps *maps, uint32_t first_page, const struct unwind_table *table, const uint32_t *numbers)
{
	if (table->page_count > maps->page_count - first_page)
		return false;
	for (uint32_t i = 0; i < table->page_count; i++) {
		uint64_t page = maps->pages[first_page + i].rows;
		uint32_t count = STACK_PAGE_COUNT(page);
		const uint32_t *laid = count ? rows_of(maps, page) : NULL, *rows = table->rows + table->pages[i];
		if (count != table->pages[i + 1] - table->pages[i])
			return false;
		for (uint32_t k = 0; k < count; k++)
			if (laid[k] != row_with(numbers, rows[k]))
				return false;
	}
	return true;
}

static uint32_t rows_in(const struct unwind_maps *maps, uint32_t first_page, uint32_t page_count)
{
	uint32_t rows = 0;
	for (uint32_t i = 0; i < page_count; i++)
		rows += STACK_PAGE_COUNT(maps->pages[first_page + i].rows);
	return rows;
}

void unwind_maps_use(struct unwind_maps *maps, uint32_t first_page, uint32_t page_count)
{
	uint64_t *users = page_count ? map_at(&maps->users, first_page, NULL) : NULL;
	if (!users || (*users)++ > 0)
		return;
	maps->abandoned_pages -= page_count;
	maps->abandoned_rows -= rows_in(maps, first_page, page_count);
}

static int lay_page(struct unwind_maps *maps, uint32_t page, const uint32_t *rows, uint32_t count, const uint32_t *numbers)
{
	int r = rows_room(maps, count);
	if (r < 0)
		return r;
	uint32_t at = maps->shard_used, *to = maps->shards[maps->shard_now] + at;
	for (uint32_t i = 0; i < count; i++)
		to[i] = row_with(numbers, rows[i]);
	/* the rows before the word that leads to them */
	__atomic_store_n(&maps->pages[page].rows, (uint64_t)count << 32 | maps->shard_now << STACK_SHARD_SHIFT | at, __ATOMIC_RELEASE);
	maps->shard_used += count;
	return 0;
}

static int lay(struct unwind_maps *maps, const struct unwind_table *table, const uint32_t *numbers)
{
	int r = 0;
	for (uint32_t page = 0; page < table->page_count && !r; page++) {
		uint32_t from = table->pages[page];
		r = lay_page(maps, maps->page_count + page, table->rows + from, table->pages[page + 1] - from, numbers);
	}
	return r;
}

/* ---- outlines ---- */

/* By its inode and time of change, which only who owns the cache could choose. */
static uint64_t hash_of_file(const struct unwind_table *table)
{
	struct stat st;
	if (fstat(table->file - 1, &st) < 0)
		return 0;
	return hash_u64(hash_u64(hash_u64(st.st_dev) ^ st.st_ino) ^ (uint64_t)(st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec)) | 1;
}

static int add_outline(struct unwind_maps *maps, const struct unwind_table *table, uint32_t *ret_first_page)
{
	uint64_t file = hash_of_file(table);
	const uint64_t *known = file ? map_find(&maps->by_file, file) : NULL;
	if (known && maps->outlines.items[*known - 1].page_count == table->page_count) {
		*ret_first_page = maps->outlines.items[*known - 1].first_page;
		unwind_maps_use(maps, *ret_first_page, table->page_count);
		return 0;
	}
	if (table->page_count > maps->limits.pages - maps->page_count)
		return -ENOSPC;
	struct unwind_laid_outline outline = { .first_page = maps->page_count, .page_count = table->page_count,
					       .numbers = mem_alloc(table->rule_count * sizeof(uint32_t)) };
	int r = rules_add(maps, table, outline.numbers);
	if (r < 0) {
		free(outline.numbers);
		return r;
	}
	memset(maps->pages + outline.first_page, 0, outline.page_count * sizeof(struct stack_page));
	vec_push(&maps->outlines, outline);
	map_put(&maps->outline_at, outline.first_page, maps->outlines.length);
	if (file)
		map_put(&maps->by_file, file, maps->outlines.length);
	map_put(&maps->users, outline.first_page, 1);
	maps->page_count += outline.page_count;
	*ret_first_page = outline.first_page;
	return 0;
}

static bool read_rows(const struct unwind_table *table, uint32_t from, uint32_t to, uint32_t *rows)
{
	size_t bytes = (size_t)(to - from) * sizeof(*rows);
	return pread(table->file - 1, rows, bytes, (off_t)(table->rows_at + (uint64_t)from * sizeof(*rows))) == (ssize_t)bytes;
}

bool unwind_maps_fill(struct unwind_maps *maps, const struct unwind_table *table, uint32_t first_page, uint32_t page)
{
	/* where there is nothing to read stacks end, and are not copied for ever */
	static const uint32_t bad = UNWIND_BAD, as_it_is[UNWIND_KINDS] = { [UNWIND_BAD] = UNWIND_BAD };
	const uint64_t *at = map_find(&maps->outline_at, first_page);
	if (!at || !table->file || page >= table->page_count)
		return false;
	uint32_t from = page & ~(PAGES_AT_ONCE - 1), to = from + PAGES_AT_ONCE < table->page_count ? from + PAGES_AT_ONCE : table->page_count;
	uint32_t *rows = mem_alloc((size_t)(table->pages[to] - table->pages[from]) * sizeof(*rows));
	bool is_read = read_rows(table, table->pages[from], table->pages[to], rows);
	int r = 0;
	for (uint32_t i = from; i < to && !r; i++) {
		const uint32_t *of_page = rows + (table->pages[i] - table->pages[from]);
		uint32_t count = table->pages[i + 1] - table->pages[i];
		if (maps->pages[first_page + i].rows)
			continue;
		if (is_read && unwind_rows_sound(of_page, count, table->rule_count))
			r = lay_page(maps, first_page + i, of_page, count, maps->outlines.items[*at - 1].numbers);
		else
			r = lay_page(maps, first_page + i, &bad, count = 1, as_it_is);
		maps->row_count += r ? 0 : count;
	}
	free(rows);
	if (r < 0)
		maps->full = true;
	return !r;
}

void unwind_maps_fill_all(struct unwind_maps *maps, const struct unwind_table *table, uint32_t first_page)
{
	const uint64_t *at = map_find(&maps->outline_at, first_page);
	struct unwind_laid_outline *outline = at ? &maps->outlines.items[*at - 1] : NULL;
	bool filled = true;
	if (!outline || outline->whole)
		return;
	for (uint32_t page = 0; page < table->page_count && filled; page += PAGES_AT_ONCE)
		filled = unwind_maps_fill(maps, table, first_page, page);
	outline->whole = filled;
}

/* ---- tables ---- */

int unwind_maps_add(struct unwind_maps *maps, const struct unwind_table *table, uint32_t *ret_first_page, struct err *err)
{
	/* no one module may take the others' room */
	if (table->page_count > maps->limits.pages / 4)
		return err_set(err, -EFBIG, "its code spans more than %u MiB", maps->limits.pages / 4 >> 8);
	if (!table->rows) {
		int added = add_outline(maps, table, ret_first_page);
		maps->full |= added == -ENOSPC;
		return added < 0 ? err_sys(err, added, "no room for more unwind tables") : 0;
	}
	uint32_t *numbers = mem_alloc(table->rule_count * sizeof(*numbers));
	int r = rules_add(maps, table, numbers);
	uint64_t hash = r ? 0 : hash_of(table, numbers), *equal = r ? NULL : map_find(&maps->equal, hash);
	bool is_laid = equal && table->page_count && is_laid_at(maps, (uint32_t)*equal, table, numbers);
	if (is_laid) {
		*ret_first_page = (uint32_t)*equal;
		unwind_maps_use(maps, *ret_first_page, table->page_count);
	} else if (!r) {
		r = table->page_count > maps->limits.pages - maps->page_count ? -ENOSPC : lay(maps, table, numbers);
	}
	free(numbers);
	if (r == -ENOSPC)
		maps->full = true;
	if (r < 0)
		return err_sys(err, r, "no room for more unwind tables");
	if (is_laid)
		return 0;
	*ret_first_page = maps->page_count;
	if (!table->page_count)
		return 0;
	map_put(&maps->users, maps->page_count, 1);
	map_put(&maps->equal, hash, maps->page_count);
	maps->page_count += table->page_count;
	maps->row_count += table->row_count;
	return 0;
}

struct unwind_rule unwind_maps_rule(const struct unwind_maps *maps, uint32_t first_page, uint32_t page_count, uint64_t offset)
{
	if (offset >> UNWIND_PAGE_SHIFT >= page_count)
		return (struct unwind_rule){ .kind = UNWIND_NONE };
	uint64_t laid = maps->pages[first_page + (offset >> UNWIND_PAGE_SHIFT)].rows;
	if (!laid)
		return (struct unwind_rule){ .kind = UNWIND_PENDING };
	const uint32_t *row = rows_of(maps, laid);
	uint32_t key = (uint32_t)(offset & ((1u << UNWIND_PAGE_SHIFT) - 1)) << UNWIND_ROW_SHIFT | UNWIND_RULE_MASK;
	for (uint32_t count = STACK_PAGE_COUNT(laid); count > 1; count -= count / 2)
		if (row[count / 2] <= key)
			row += count / 2;
	return maps->rules[*row & UNWIND_RULE_MASK];
}

void unwind_maps_abandon(struct unwind_maps *maps, uint32_t first_page, uint32_t page_count)
{
	uint64_t *users = page_count ? map_find(&maps->users, first_page) : NULL;
	if (!users || !*users || --*users > 0)
		return;
	maps->abandoned_pages += page_count;
	maps->abandoned_rows += rows_in(maps, first_page, page_count);
}

bool unwind_maps_is_due(const struct unwind_maps *maps)
{
	return maps->full || (maps->abandoned_pages >= ABANDONED_PAGES && maps->abandoned_pages > maps->page_count / ABANDONED_SHARE) ||
	       (maps->abandoned_rows >= ABANDONED_ROWS && maps->abandoned_rows > maps->row_count / ABANDONED_SHARE);
}

void unwind_maps_reset(struct unwind_maps *maps)
{
	maps->abandoned_pages = maps->abandoned_rows = 0;
	maps->page_count = maps->row_count = maps->shard_now = maps->shard_used = 0;
	maps->rule_count = UNWIND_KINDS;
	outlines_forget(maps);
	map_clear(&maps->rule_numbers);
	map_clear(&maps->users);
	map_clear(&maps->equal);
	/* as many as are needed come back */
	shards_remove(maps);
	maps->full = false;
	maps->era++;
}

uint64_t unwind_maps_bytes(const struct unwind_maps *maps)
{
	return maps->shard_count * sizeof(struct stack_shard) + maps->page_count * sizeof(struct stack_page) +
	       maps->rule_count * sizeof(struct unwind_rule);
}
#endif
