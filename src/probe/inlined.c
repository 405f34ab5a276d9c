/* See inlined.h. */
#include "probe/inlined.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "probe/variable.h"

struct search {
	struct arena *arena;
	const char *function;
	struct inlined found;
};

static bool is_called(Dwarf_Die *die, const char *function)
{
	const char *own = dwarf_diename(die), *linkage, *part = strrchr(function, ':');
	Dwarf_Attribute attribute;

	if (own && !strcmp(own, part ? part + 1 : function))
		return true;
	linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	return linkage && !strcmp(linkage, function);
}

static const char *caller_of(struct search *search, Dwarf_Die *copy)
{
	Dwarf_Die *scopes = NULL;
	int count = dwarf_getscopes_die(copy, &scopes);
	const char *caller = NULL;

	for (int i = 0; i < count && !caller; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram && dwarf_diename(&scopes[i]))
			caller = arena_strdup(search->arena, dwarf_diename(&scopes[i]));
	free(scopes);
	return caller;
}

static int take_copy(Dwarf_Die *copy, void *data)
{
	struct search *search = data;
	struct inlined *found = &search->found;
	Dwarf_Die unit_die, *unit = dwarf_diecu(copy, &unit_die, NULL, NULL);
	Dwarf_Addr address;
	Dwarf_Line *line;
	const char *path;
	int number;

	if (found->copies++ || !unit || dwarf_entrypc(copy, &address))
		return DWARF_CB_OK;
	line = dwarf_getsrc_die(unit, address);
	path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (path && !dwarf_lineno(line, &number) && number > 0) {
		const char *slash = strrchr(path, '/');

		found->source = arena_strdup(search->arena, slash ? slash + 1 : path);
		found->line = (unsigned)number;
	}
	found->caller = caller_of(search, copy);
	return DWARF_CB_OK;
}

static int take_function(Dwarf_Die *die, void *data)
{
	struct search *search = data;

	if (dwarf_func_inline(die) && is_called(die, search->function))
		dwarf_func_inline_instances(die, take_copy, search);
	return search->found.copies ? DWARF_CB_ABORT : DWARF_CB_OK;
}

bool inlined_find(struct arena *arena, const char *path, const char *function, struct inlined *ret_inlined)
{
	struct search search = { .arena = arena, .function = function };
	struct variable_file file;
	Dwarf_Off at = 0, next;
	struct elf_file elf;
	Dwarf_Die unit;
	size_t head;

	if (elf_file_open(path, &elf, NULL) || variable_file_open(&file, elf, path, path, NULL))
		return false;
	while (file.has_info && !search.found.copies && !dwarf_nextcu(file.info.dwarf, at, &next, &head, NULL, NULL, NULL)) {
		if (dwarf_offdie(file.info.dwarf, at + head, &unit))
			dwarf_getfuncs(&unit, take_function, &search, 0);
		at = next;
	}
	variable_file_close(&file);
	*ret_inlined = search.found;
	return search.found.copies && search.found.caller && search.found.source;
}
