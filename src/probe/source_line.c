/* See source_line.h. */
#include "probe/source_line.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/variable.h"

struct search {
	const char *source;
	unsigned line;
	uint64_t *addresses;
	size_t count;
	bool has_source;
	unsigned before, behind;  /* the nearest lines that have code; 0 none */
	Dwarf_Die unit;
};

static bool is_source(const char *path, const char *source)
{
	size_t length = path ? strlen(path) : 0, wanted = strlen(source);

	return length >= wanted && !strcmp(path + length - wanted, source) && (length == wanted || path[length - wanted - 1] == '/');
}

/* The begin of the innermost function, or of what was inlined, around the address; the address itself where there is none. */
static uint64_t scope_of(struct search *search, uint64_t address)
{
	Dwarf_Die *scopes = NULL;
	int count = dwarf_getscopes(&search->unit, address, &scopes);
	uint64_t scope = address;

	for (int i = 0; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			if (dwarf_entrypc(&scopes[i], &scope))
				scope = address;
			break;
		}
	}
	free(scopes);
	return scope;
}

/* Of one function the lowest address counts. */
static void take_address(struct search *search, uint64_t address)
{
	uint64_t scope = scope_of(search, address);

	for (size_t i = 0; i < search->count; i++) {
		if (scope_of(search, search->addresses[i]) != scope)
			continue;
		if (address < search->addresses[i])
			search->addresses[i] = address;
		return;
	}
	if (search->count < SOURCE_LINE_PLACES_MOST)
		search->addresses[search->count++] = address;
}

static void take_line(struct search *search, Dwarf_Line *line)
{
	bool statement = false, end = false;
	Dwarf_Addr address;
	int number = 0;

	if (!is_source(dwarf_linesrc(line, NULL, NULL), search->source) || dwarf_lineno(line, &number) || number <= 0)
		return;
	search->has_source = true;
	if (dwarf_lineendsequence(line, &end) || end || dwarf_linebeginstatement(line, &statement) || !statement || dwarf_lineaddr(line, &address))
		return;
	if ((unsigned)number == search->line)
		take_address(search, address);
	else if ((unsigned)number < search->line && (unsigned)number > search->before)
		search->before = (unsigned)number;
	else if ((unsigned)number > search->line && (!search->behind || (unsigned)number < search->behind))
		search->behind = (unsigned)number;
}

static void walk(struct search *search, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	Dwarf_Lines *lines;
	size_t head, count;

	while (!dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL)) {
		if (dwarf_offdie(dwarf, at + head, &search->unit) && !dwarf_getsrclines(&search->unit, &lines, &count))
			for (size_t i = 0; i < count; i++)
				take_line(search, dwarf_onesrcline(lines, i));
		at = next;
	}
}

static int by_address(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b;
}

static int explain(const struct search *search, const char *path, struct err *err)
{
	if (!search->has_source)
		return err_set(err, -ENOENT, "%s was not made of '%s', as far as its debug information tells", path, search->source);
	if (search->before && search->behind)
		return err_set(err, -ENOENT, "line %u of %s has no code in %s; lines %u and %u have", search->line, search->source, path,
			       search->before, search->behind);
	return err_set(err, -ENOENT, "line %u of %s has no code in %s; line %u has", search->line, search->source, path,
		       search->before ? search->before : search->behind);
}

int source_line_find(const char *path, const char *source, unsigned line, uint64_t ret_addresses[SOURCE_LINE_PLACES_MOST], size_t *ret_count,
		     struct err *err)
{
	struct search search = { .source = source, .line = line, .addresses = ret_addresses };
	struct variable_file file;
	struct elf_file elf;
	int r = elf_file_open(path, &elf, err);

	if (!r)
		r = variable_file_open(&file, elf, path, path, err);
	if (r)
		return r;
	if (!file.has_info)
		r = err_set(err, -ENOENT, "%s has no debug information: install it, or give a function or an address", path);
	else
		walk(&search, file.info.dwarf);
	variable_file_close(&file);
	if (!r && !search.count)
		r = explain(&search, path, err);
	if (r)
		return r;
	qsort(ret_addresses, search.count, sizeof(*ret_addresses), by_address);
	*ret_count = search.count;
	return 0;
}
