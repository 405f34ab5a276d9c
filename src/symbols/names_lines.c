#include "symbols/names_lines.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/arena.h"
#include "symbols/debug_info.h"
#include "symbols/demangle.h"

enum {
	MAX_INLINED = 64,
	MAX_DEPTH = 64,            /* of scopes in a function */
	MAX_DIES = 200000,         /* looked at for one address */
};

struct names_lines {
	struct debug_info info;
};

struct names_lines *names_lines_open(struct file_opener *opener, const char *path, const char *debug_path)
{
	struct names_lines *l = mem_zalloc(sizeof(*l));
	if (debug_info_open(&l->info, opener, path, debug_path))
		return l;
	free(l);
	return NULL;
}

void names_lines_close(struct names_lines *l)
{
	if (!l)
		return;
	debug_info_close(&l->info);
	free(l);
}

static const char *die_name(struct arena *arena, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	if (!linkage)
		linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
	const char *plain = linkage ? demangle(arena, linkage) : NULL;
	if (plain)
		return plain;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
	return arena_strdup(arena, name ? name : linkage ? linkage : "?");
}

static const char *call_file(struct arena *arena, Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t count;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &number) != 0 || dwarf_getsrcfiles(unit, &files, &count) != 0)
		return "";
	const char *file = dwarf_filesrc(files, (size_t)number, NULL, NULL);
	return file ? arena_strdup(arena, file) : "";
}

static uint32_t call_line(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	return dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &number) == 0 ? (uint32_t)number : 0;
}

struct scopes {
	Dwarf_Die inlined[MAX_INLINED];    /* outermost first */
	uint32_t count, looked_at;
	bool in_function;
};

/* Follows the scopes that hold the address down from `die`. */
static void scopes_find(struct scopes *s, Dwarf_Die *die, uint64_t address, int depth)
{
	Dwarf_Die child;
	if (depth > MAX_DEPTH || dwarf_child(die, &child) != 0)
		return;
	do {
		if (++s->looked_at > MAX_DIES)
			return;
		int tag = dwarf_tag(&child);
		bool function = tag == DW_TAG_subprogram, inlined = tag == DW_TAG_inlined_subroutine;
		if (!s->in_function && (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
					tag == DW_TAG_module)) {
			scopes_find(s, &child, address, depth + 1);
			if (s->in_function)
				return;
			continue;
		}
		if ((!function && !inlined && tag != DW_TAG_lexical_block) || dwarf_haspc(&child, address) <= 0)
			continue;
		if (inlined && s->count < MAX_INLINED)
			s->inlined[s->count++] = child;
		s->in_function = true;
		scopes_find(s, &child, address, depth + 1);
		return;
	} while (dwarf_siblingof(&child, &child) == 0);
}

void names_lines_find(struct names_lines *l, struct arena *arena, uint64_t address, struct name *name)
{
	Dwarf_Die unit;
	if (!debug_info_unit(&l->info, address, &unit))
		return;
	const char *file = "";
	int number = 0;
	Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
	if (line) {
		const char *source = dwarf_linesrc(line, NULL, NULL);
		file = source ? arena_strdup(arena, source) : "";
		dwarf_lineno(line, &number);
	}
	struct scopes *s = mem_zalloc(sizeof(*s));
	scopes_find(s, &unit, address, 0);
	/* the line belongs to the innermost; each one's caller has the line of its call */
	if (s->count) {
		struct name_inline *inlines = arena_array(arena, struct name_inline, s->count);
		for (uint32_t i = 0; i < s->count; i++) {
			Dwarf_Die *die = &s->inlined[s->count - 1 - i];
			inlines[i] = (struct name_inline){ .function = die_name(arena, die), .file = file, .line = (uint32_t)number };
			file = call_file(arena, &unit, die);
			number = (int)call_line(die);
		}
		name->inlines = inlines;
		name->inline_count = s->count;
	}
	name->file = file;
	name->line = number > 0 ? (uint32_t)number : 0;
	free(s);
}
