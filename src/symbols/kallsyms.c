#include "symbols/kallsyms.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/search.h"
#include "base/vec.h"

#define KALLSYMS_BYTES_MAX (256u << 20)
#define NAME_BYTES_MAX 1024u
#define LAST_REACHES 4096u         /* bytes: nothing tells where the last function ends */

struct line {
	uint64_t address;
	char type;
	const char *name;          /* with the module behind a tab where it is in one */
	size_t length;
};

static bool parse_hex(const char **at, const char *end, uint64_t *ret_value)
{
	const char *from = *at;
	uint64_t value = 0;

	for (; *at < end && isxdigit((unsigned char)**at); ++*at) {
		unsigned char c = (unsigned char)**at;

		value = value << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	*ret_value = value;
	return *at > from && *at - from <= 16;
}

/* "ffffffff81000000 T _text" */
static bool parse_line(const char *at, const char *end, struct line *ret_line)
{
	uint64_t address;

	if (!parse_hex(&at, end, &address) || !address || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	*ret_line = (struct line){ .address = address, .type = (char)tolower((unsigned char)at[1]), .name = at + 3,
				   .length = (size_t)(end - at - 3) };
	return true;
}

static bool is_function(const struct line *line)
{
	return line->type == 't' || line->type == 'w';
}

static const char *line_end(const char *at, const char *end)
{
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	return stop ? stop : end;
}

/* Where the functions' addresses begin, and _text. */
static uint64_t find_lowest(const char *text, const char *end, uint64_t *ret_text)
{
	uint64_t lowest = UINT64_MAX;
	struct line line;

	for (const char *at = text; at < end; at = line_end(at, end) + 1) {
		if (!parse_line(at, line_end(at, end), &line))
			continue;
		if (line.length == 5 && memcmp(line.name, "_text", 5) == 0)
			*ret_text = line.address;
		if (is_function(&line) && line.address < lowest)
			lowest = line.address;
	}
	return lowest;
}

static void add_name(struct buf *names, const struct line *line)
{
	size_t length = line->length < NAME_BYTES_MAX ? line->length : NAME_BYTES_MAX, at = names->length;

	buf_add(names, line->name, length);
	buf_char(names, 0);
	char *tab = memchr(names->data + at, '\t', length);
	if (tab)
		*tab = ' ';
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Of several names of one address the first by the alphabet is kept. */
static void drop_aliases(struct kallsyms *k)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->count; i++) {
		if (kept == 0 || k->symbols[i] >> 32 != k->symbols[kept - 1] >> 32)
			k->symbols[kept++] = k->symbols[i];
		else if (strcmp(k->names + (uint32_t)k->symbols[i], k->names + (uint32_t)k->symbols[kept - 1]) < 0)
			k->symbols[kept - 1] = k->symbols[i];
	}
	k->count = kept;
}

void kallsyms_parse(const char *text, size_t length, struct kallsyms *ret_kallsyms)
{
	struct kallsyms k = { 0 };
	const char *end = text + length;
	struct vec(uint64_t) symbols = { 0 };
	struct buf names = { 0 };
	bool sorted = true;
	struct line line;

	k.base = find_lowest(text, end, &k.text);
	for (const char *at = text; at < end; at = line_end(at, end) + 1) {
		if (!parse_line(at, line_end(at, end), &line) || !is_function(&line) || line.address - k.base > UINT32_MAX)
			continue;
		uint64_t symbol = (line.address - k.base) << 32 | names.length;
		sorted &= symbols.length == 0 || symbols.items[symbols.length - 1] < symbol;
		vec_push(&symbols, symbol);
		add_name(&names, &line);
	}
	if (!sorted)
		qsort(symbols.items, symbols.length, sizeof(symbols.items[0]), by_value);
	k.count = symbols.length;
	k.symbols = symbols.items;
	k.names = names.data;
	drop_aliases(&k);
	/* they grew by doubling */
	if (k.count) {
		k.symbols = mem_realloc(k.symbols, k.count * sizeof(*k.symbols));
		k.names = mem_realloc(k.names, names.length);
	}
	*ret_kallsyms = k;
}

int kallsyms_read(struct kallsyms *ret_kallsyms, struct err *err)
{
	struct buf text = { 0 };
	char chunk[65536];
	ssize_t got = 0;
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, -errno, "cannot read /proc/kallsyms");
	while (text.length < KALLSYMS_BYTES_MAX && (got = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(&text, chunk, (size_t)got);
	int r = got < 0 ? -errno : 0;
	close(fd);
	if (r == 0)
		kallsyms_parse(buf_str(&text), text.length, ret_kallsyms);
	buf_done(&text);
	return r < 0 ? err_sys(err, r, "cannot read /proc/kallsyms") : 0;
}

uint64_t kallsyms_text(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	uint64_t text = 0, address;
	char name[8];

	/* it follows the processors' own variables, before all functions */
	while (file && !text && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %*c %7s", &address, name) == 2 && !strcmp(name, "_text"))
			text = address;
	if (file)
		fclose(file);
	return text;
}

bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kernel_symbol *ret_symbol)
{
	uint64_t offset = address - k->base;
	size_t low = 0, high = k->count;

	if (address < k->base || offset > UINT32_MAX)
		return false;
	SEARCH(low, high, middle, k->symbols[middle] >> 32 <= offset);
	if (low == 0)
		return false;
	uint64_t start = k->symbols[low - 1] >> 32;
	if (low == k->count && offset - start >= LAST_REACHES)
		return false;
	*ret_symbol = (struct kernel_symbol){ .start = k->base + start, .bytes = low < k->count ? (k->symbols[low] >> 32) - start : 0,
					      .name = k->names + (uint32_t)k->symbols[low - 1] };
	return true;
}

void kallsyms_done(struct kallsyms *k)
{
	free(k->symbols);
	free(k->names);
	*k = (struct kallsyms){ 0 };
}
