#include "symbols/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbols/cfi.h"

enum {
	PAGE = 1 << UNWIND_PAGE_SHIFT,
	MAX_PADDING = 16,              /* between functions nobody executes */
};
#define MAX_SPAN (4ull << 30)          /* of a module's code, so that 32 bits do */

struct build {
	struct vec(uint32_t) pages, rows;
	struct vec(struct unwind_rule) rules;
	struct map rule_numbers;
	uint64_t base;
	uint32_t current;              /* rule in force behind the last row */
};

static uint32_t rule_number(struct build *b, struct unwind_rule rule)
{
	uint64_t key;
	bool is_new;
	memcpy(&key, &rule, sizeof(key));
	uint64_t *number = map_at(&b->rule_numbers, key, &is_new);
	if (is_new) {
		if (b->rules.length > UNWIND_RULE_MASK) {
			*number = 0;
		} else {
			*number = b->rules.length;
			vec_push(&b->rules, rule);
		}
	}
	return (uint32_t)*number;
}

/* From `address` on (not below earlier ones) the rule holds; pages in between
 * begin with the rule that was in force. */
static void build_rule(struct build *b, uint64_t address, uint32_t rule)
{
	if (rule == b->current && b->pages.length > 0)
		return;
	uint64_t page = (address - b->base) >> UNWIND_PAGE_SHIFT;
	while (b->pages.length <= page) {
		vec_push(&b->pages, (uint32_t)b->rows.length);
		vec_push(&b->rows, b->current);
	}
	uint32_t place = (uint32_t)(address & (PAGE - 1));
	uint32_t *last = &b->rows.items[b->rows.length - 1];
	if (*last >> UNWIND_ROW_SHIFT == place)
		*last = place << UNWIND_ROW_SHIFT | rule;
	else
		vec_push(&b->rows, place << UNWIND_ROW_SHIFT | rule);
	b->current = rule;
}

static void build_rows(struct build *b, const struct cfi *cfi)
{
	uint64_t end = b->base;
	for (size_t i = 0; i < cfi->functions.length; i++) {
		const struct cfi_function *f = &cfi->functions.items[i];
		if (f->start > end + MAX_PADDING)
			build_rule(b, end, 0);
		for (uint32_t r = 0; r < f->row_count; r++) {
			const struct cfi_row *row = &cfi->rows.items[f->first_row + r];
			if (f->start + row->offset >= f->end)
				break;
			build_rule(b, f->start + row->offset, rule_number(b, row->rule));
		}
		end = f->end;
	}
	build_rule(b, end, 0);
	/* the stretch behind the last change belongs to the last page */
	vec_push(&b->pages, (uint32_t)b->rows.length);
}

static void *copy_to(char **at, const void *from, size_t bytes)
{
	char *to = *at;
	if (bytes)
		memcpy(to, from, bytes);
	*at = to + ((bytes + 7) & ~(size_t)7);
	return to;
}

int unwind_table_from(const struct cfi *cfi, struct unwind_table *ret_table, struct err *err)
{
	if (cfi->functions.length == 0)
		return err_set(err, -ENODATA, "it has no call frame information");
	const struct cfi_function *first = &cfi->functions.items[0], *last = &cfi->functions.items[cfi->functions.length - 1];
	struct build b = { .base = first->start & ~(uint64_t)(PAGE - 1) };

	if (last->end - b.base > MAX_SPAN - 2 * PAGE)
		return err_set(err, -EFBIG, "its code spans more than 4 GiB");
	rule_number(&b, (struct unwind_rule){ .kind = UNWIND_NONE });
	build_rows(&b, cfi);

	struct unwind_table t = { .base = b.base, .page_count = (uint32_t)b.pages.length - 1, .row_count = (uint32_t)b.rows.length,
				  .rule_count = (uint32_t)b.rules.length, .function_count = (uint32_t)cfi->functions.length,
				  .skipped = cfi->skipped };
	t.memory = mem_alloc(b.pages.length * 4 + b.rows.length * 4 + b.rules.length * 8 +
			     cfi->functions.length * sizeof(struct unwind_function) + 64);
	char *at = t.memory;
	t.pages = copy_to(&at, b.pages.items, b.pages.length * 4);
	t.rows = copy_to(&at, b.rows.items, b.rows.length * 4);
	t.rules = copy_to(&at, b.rules.items, b.rules.length * sizeof(struct unwind_rule));
	struct unwind_function *functions = (struct unwind_function *)at;
	for (size_t i = 0; i < cfi->functions.length; i++) {
		const struct cfi_function *f = &cfi->functions.items[i];
		functions[i] = (struct unwind_function){ (uint32_t)(f->start - b.base), (uint32_t)(f->end - f->start) };
	}
	t.functions = functions;
	vec_done(&b.pages);
	vec_done(&b.rows);
	vec_done(&b.rules);
	map_done(&b.rule_numbers);
	*ret_table = t;
	return 0;
}

/* A file without section headers still has .eh_frame_hdr as a segment, which
 * points to .eh_frame; that ends where the file's part of its segment does. */
static bool eh_frame_by_segment(const struct elf_file *file, Elf64_Shdr *ret_section)
{
	for (uint32_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *p = &file->segments[i];
		uint8_t head[8];
		int32_t relative;
		uint64_t offset;
		if (p->p_type != PT_GNU_EH_FRAME || elf_file_read(file, p->p_offset, head, sizeof(head)) < 0 || head[0] != 1 ||
		    head[1] != 0x1b /* pcrel | sdata4 */)
			continue;
		memcpy(&relative, head + 4, 4);
		uint64_t address = p->p_vaddr + 4 + (uint64_t)(int64_t)relative;
		if (!elf_file_offset(file, address, &offset))
			continue;
		for (uint32_t s = 0; s < file->segment_count; s++) {
			const Elf64_Phdr *load = &file->segments[s];
			if (load->p_type == PT_LOAD && address >= load->p_vaddr && address - load->p_vaddr < load->p_filesz) {
				*ret_section = (Elf64_Shdr){ .sh_offset = offset, .sh_addr = address,
							     .sh_size = load->p_filesz - (address - load->p_vaddr) };
				return true;
			}
		}
	}
	return false;
}

static void add_section(const struct elf_file *file, const Elf64_Shdr *section, int debug_frame, struct cfi *cfi)
{
	void *data;
	size_t bytes;
	if (elf_file_copy_section(file, section, &data, &bytes, NULL) < 0)
		return;
	const Elf64_Shdr *text = elf_file_section(file, ".text"), *got = elf_file_section(file, ".got");
	struct cfi_section s = { .data = data, .bytes = bytes, .address = section->sh_addr, .debug_frame = debug_frame,
				 .text_address = text ? text->sh_addr : 0, .data_address = got ? got->sh_addr : 0 };
	cfi_parse(&s, cfi);
	free(data);
}

/* What lies in no segment with code would only make the table large. */
static void keep_code(const struct elf_file *file, struct cfi *cfi)
{
	size_t kept = 0;
	for (size_t i = 0; i < cfi->functions.length; i++) {
		const struct cfi_function *f = &cfi->functions.items[i];
		bool code = false;
		for (uint32_t s = 0; s < file->segment_count && !code; s++) {
			const Elf64_Phdr *p = &file->segments[s];
			code = p->p_type == PT_LOAD && (p->p_flags & PF_X) && f->start >= p->p_vaddr &&
			       f->start - p->p_vaddr < p->p_memsz && f->end - f->start <= p->p_memsz - (f->start - p->p_vaddr);
		}
		if (code)
			cfi->functions.items[kept++] = *f;
		else
			cfi->skipped++;
	}
	cfi->functions.length = kept;
}

static int make(const struct elf_file *file, bool bounds_only, struct unwind_table *ret_table, struct err *err)
{
	struct cfi cfi = { .bounds_only = bounds_only };
	Elf64_Shdr by_segment;
	const Elf64_Shdr *eh_frame = elf_file_section(file, ".eh_frame"), *debug_frame = elf_file_section(file, ".debug_frame");
	int r;

	if (!eh_frame && eh_frame_by_segment(file, &by_segment))
		eh_frame = &by_segment;
	if (eh_frame)
		add_section(file, eh_frame, 0, &cfi);
	if (debug_frame)
		add_section(file, debug_frame, 1, &cfi);
	cfi_sort(&cfi);
	keep_code(file, &cfi);
	r = unwind_table_from(&cfi, ret_table, err);
	cfi_done(&cfi);
	return r;
}

int unwind_table_make(const struct elf_file *file, struct unwind_table *ret_table, struct err *err)
{
	return make(file, false, ret_table, err);
}

int unwind_table_bounds(const struct elf_file *file, struct unwind_table *ret_table, struct err *err)
{
	return make(file, true, ret_table, err);
}

void unwind_table_done(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->memory);
	if (table->mapped)
		munmap(table->mapped, table->mapped_bytes);
	if (table->file)
		close(table->file - 1);
	*table = (struct unwind_table){ 0 };
}

struct unwind_rule unwind_table_rule(const struct unwind_table *table, uint64_t address)
{
	uint64_t page = (address - table->base) >> UNWIND_PAGE_SHIFT;
	if (address < table->base || page >= table->page_count)
		return (struct unwind_rule){ .kind = UNWIND_NONE };
	const uint32_t *row = table->rows + table->pages[page];
	uint32_t count = table->pages[page + 1] - table->pages[page];
	uint32_t key = (uint32_t)(address & (PAGE - 1)) << UNWIND_ROW_SHIFT | UNWIND_RULE_MASK;
	while (count > 1) {
		uint32_t half = count / 2;
		if (row[half] <= key)
			row += half;
		count -= half;
	}
	return table->rules[*row & UNWIND_RULE_MASK];
}

const struct unwind_function *unwind_table_function(const struct unwind_table *table, uint64_t address)
{
	if (address < table->base)
		return NULL;
	uint64_t offset = address - table->base;
	uint32_t low = 0, high = table->function_count;
	SEARCH(low, high, middle, table->functions[middle].start <= offset);
	if (low == 0 || offset - table->functions[low - 1].start >= table->functions[low - 1].bytes)
		return NULL;
	return &table->functions[low - 1];
}

size_t unwind_table_bytes(const struct unwind_table *table)
{
	return ((size_t)table->page_count + 1) * 4 + (size_t)table->row_count * 4 + (size_t)table->rule_count * 8;
}

/* ---- as bytes ---- */

struct packed_head {
	uint64_t base, skipped;
	uint32_t page_count, row_count, rule_count, function_count;
};

struct packed_sizes {
	uint64_t rules, functions, pages, rows, all;
};

static struct packed_sizes packed_sizes(const struct packed_head *head)
{
	struct packed_sizes s = { .rules = (uint64_t)head->rule_count * sizeof(struct unwind_rule),
				  .functions = (uint64_t)head->function_count * sizeof(struct unwind_function),
				  .pages = ((uint64_t)head->page_count + 1) * sizeof(uint32_t),
				  .rows = (uint64_t)head->row_count * sizeof(uint32_t) };
	s.all = sizeof(*head) + s.rules + s.functions + s.pages + s.rows;
	return s;
}

static struct packed_head packed_head(const struct unwind_table *t)
{
	return (struct packed_head){ t->base, t->skipped, t->page_count, t->row_count, t->rule_count, t->function_count };
}

size_t unwind_table_packed_bytes(const struct unwind_table *table)
{
	struct packed_head head = packed_head(table);
	return (size_t)packed_sizes(&head).all;
}

/* All but the rows; returns how many bytes that are. */
static size_t pack_outline(const struct unwind_table *t, void *to)
{
	struct packed_head head = packed_head(t);
	struct packed_sizes s = packed_sizes(&head);
	char *at = to;

	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	memcpy(at, t->rules, s.rules);
	if (s.functions)
		memcpy(at + s.rules, t->functions, s.functions);
	memcpy(at + s.rules + s.functions, t->pages, s.pages);
	return (size_t)(s.all - s.rows);
}

void unwind_table_pack(const struct unwind_table *t, void *to)
{
	size_t outline = pack_outline(t, to);

	memcpy((char *)to + outline, t->rows, (size_t)t->row_count * sizeof(uint32_t));
}

bool unwind_rows_sound(const uint32_t *rows, uint32_t count, uint32_t rule_count)
{
	if (!count || rows[0] >> UNWIND_ROW_SHIFT != 0)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if ((rows[i] & UNWIND_RULE_MASK) >= rule_count || (i && rows[i] >> UNWIND_ROW_SHIFT <= rows[i - 1] >> UNWIND_ROW_SHIFT))
			return false;
	return true;
}

/* Each page has rows, as many as it has bytes at most; rules are known. */
static bool outline_sound(const struct unwind_table *t)
{
	if (t->pages[0] != 0 || t->pages[t->page_count] != t->row_count)
		return false;
	for (uint32_t p = 0; p < t->page_count; p++)
		if (t->pages[p + 1] <= t->pages[p] || t->pages[p + 1] - t->pages[p] > 1u << UNWIND_PAGE_SHIFT)
			return false;
	for (uint32_t i = 0; i < t->rule_count; i++)
		if (t->rules[i].kind > UNWIND_BAD || t->rules[i].rbp > UNWIND_RBP_LOST)
			return false;
	return true;
}

/* And functions do not overlap: what the searches rely on. */
static bool table_sound(const struct unwind_table *t)
{
	if (!outline_sound(t))
		return false;
	for (uint32_t p = 0; p < t->page_count; p++)
		if (!unwind_rows_sound(t->rows + t->pages[p], t->pages[p + 1] - t->pages[p], t->rule_count))
			return false;
	for (uint32_t i = 1; i < t->function_count; i++)
		if (t->functions[i].start < (uint64_t)t->functions[i - 1].start + t->functions[i - 1].bytes)
			return false;
	return true;
}

/* The parts up to the rows; false when there are none. */
static bool unpack(const void *data, size_t bytes, struct unwind_table *ret_table, struct packed_sizes *ret_sizes)
{
	struct packed_head head;

	if (bytes < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	struct packed_sizes s = packed_sizes(&head);
	if (head.page_count == 0 || head.rule_count == 0 || bytes < s.all - s.rows)
		return false;
	const char *at = (const char *)data + sizeof(head);
	*ret_table = (struct unwind_table){ .base = head.base, .skipped = head.skipped, .page_count = head.page_count,
					    .row_count = head.row_count, .rule_count = head.rule_count, .function_count = head.function_count,
					    .rules = (const void *)at, .functions = (const void *)(at + s.rules),
					    .pages = (const void *)(at + s.rules + s.functions) };
	*ret_sizes = s;
	return true;
}

bool unwind_table_unpack(const void *data, size_t bytes, struct unwind_table *ret_table)
{
	struct unwind_table t;
	struct packed_sizes s;

	if (!unpack(data, bytes, &t, &s) || bytes != s.all)
		return false;
	t.rows = (const void *)((const char *)data + s.all - s.rows);
	if (!table_sound(&t))
		return false;
	*ret_table = t;
	return true;
}

/* ---- without rows ---- */

static struct unwind_table outline_of(const struct unwind_table *table)
{
	struct unwind_table outline = *table;

	outline.function_count = 0;
	return outline;
}

size_t unwind_outline_packed_bytes(const struct unwind_table *table)
{
	struct unwind_table outline = outline_of(table);
	struct packed_head head = packed_head(&outline);
	struct packed_sizes s = packed_sizes(&head);

	return (size_t)(s.all - s.rows);
}

void unwind_outline_pack(const struct unwind_table *table, void *to)
{
	struct unwind_table outline = outline_of(table);

	pack_outline(&outline, to);
}

bool unwind_outline_unpack(const void *data, size_t bytes, struct unwind_table *ret_table)
{
	struct unwind_table t;
	struct packed_sizes s;

	if (!unpack(data, bytes, &t, &s) || bytes != s.all - s.rows || t.function_count || !outline_sound(&t))
		return false;
	*ret_table = t;
	return true;
}
