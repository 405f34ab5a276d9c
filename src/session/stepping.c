/* See stepping.h. */
#include "session/stepping.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "probe/code.h"
#include "probe/watch_spec.h"
#include "record/probe_points.h"

#define PLACES_MOST 16u

/* The function that is meant, in the opened file. */
static int find_function(const struct watch_spec *place, struct code *code, uint64_t *ret_function, struct err *err)
{
	uint64_t start, end;
	int r;

	if (place->symbol) {
		r = code_find(code, place->symbol, ret_function, err);
		if (r)
			return r;
	} else {
		*ret_function = place->address;
		/* as stacks write what has no name: an offset in the file */
		if (place->by_offset && !elf_file_address(&code->elf, place->address, ret_function))
			return err_set(err, -ENOENT, "%s has nothing at offset 0x%" PRIx64, code->path, place->address);
	}
	if (!code_function(code, *ret_function, &start, &end))
		return err_set(err, -ENOENT, "0x%" PRIx64 " is in no function of %s whose start and end are known", *ret_function, code->path);
	*ret_function = start;
	return 0;
}

static int open_code(struct arena *arena, const char *file, const struct process *process, struct code *code, const char **ret_path,
		     struct err *err)
{
	const struct process_mapping *mapping = process ? process_module(process, file) : NULL;
	struct elf_file elf;
	int r;

	if (process && !mapping)
		return err_set(err, -ENOENT, "process %d has not mapped '%s'", (int)process->pid, file[0] ? file : "its program");
	if (!process && !file[0])
		return err_set(err, -EINVAL, "say of which program or library: FILE:FUNCTION or FILE+0xOFFSET");
	r = mapping ? process_open_module(process, mapping, &elf, err) : probe_points_file(arena, file, &file, err);
	if (!r && !mapping)
		r = elf_file_open(file, &elf, err);
	if (r)
		return r;
	*ret_path = mapping ? process_module_path(arena, process, mapping) : file;
	code_open(code, elf, mapping ? mapping->path : file);
	return 0;
}

static int parse(struct arena *arena, const char *text, struct watch_spec *ret_place, struct err *err)
{
	int r = watch_spec_parse(arena, text, ret_place, NULL);

	if (r || ret_place->step_count || ret_place->bytes || ret_place->access || ret_place->at_code)
		return err_set(err, -EINVAL, "'%s' is not a function: write FUNCTION, FILE:FUNCTION, FILE:0xADDRESS or FILE+0xOFFSET", text);
	return 0;
}

/* "FUNCTION,+0xOFFSET,...": what begins with a plus is in the file of the first. A comma elsewhere is part of a name. */
static int parse_all(struct arena *arena, const char *text, struct watch_spec places[PLACES_MOST], size_t *ret_count, struct err *err)
{
	size_t count = 0;
	int r = 0;

	while (!r) {
		const char *end = strstr(text, ",+0x");
		const char *one = end ? arena_strndup(arena, text, (size_t)(end - text)) : text;

		if (count == PLACES_MOST)
			return err_set(err, -E2BIG, "more than %u places to step from", PLACES_MOST);
		if (one[0] == '+' && count) {
			places[count] = places[0];
			places[count].symbol = NULL;
			places[count].by_offset = true;
			if (parse_number(one + 1, &places[count].address))
				r = err_set(err, -EINVAL, "'%s' is not an offset", one);
		} else {
			r = parse(arena, one, &places[count], err);
		}
		count++;
		if (!end)
			break;
		text = end + 1;
	}
	*ret_count = count;
	return r;
}

static bool has_address(const uint64_t *addresses, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (addresses[i] == address)
			return true;
	return false;
}

/* Behind each call of what is not stepped through its result lies in rax. */
static void add_results(struct code *code, struct code_sites *sites)
{
	size_t count = sites->addresses.length;

	for (size_t i = 0; i < count; i++) {
		const struct instruction *call = code_at(code, sites->addresses.items[i]);
		uint64_t behind = sites->addresses.items[i] + (call ? call->length : 0);

		if (!call || call->kind != INSTRUCTION_call ||
		    (call->direct && has_address(sites->functions.items, sites->functions.length, call->target)))
			continue;
		if (!has_address(sites->addresses.items, sites->addresses.length, behind) && code_at(code, behind))
			vec_push(&sites->addresses, behind);
	}
}

int stepping_find(struct arena *arena, const char *text, const struct process *process, unsigned depth, bool results,
		  struct sink *notes, struct step_wishes *wishes, struct err *err)
{
	struct watch_spec places[PLACES_MOST];
	uint64_t functions[PLACES_MOST], *offsets;
	struct code_sites sites;
	struct code code;
	size_t count = 0;
	int r = parse_all(arena, text, places, &count, err);

	if (!r)
		r = open_code(arena, places[0].file ? places[0].file : "", process, &code, &wishes->path, err);
	if (r)
		return r;
	for (size_t i = 0; i < count && !r; i++)
		r = find_function(&places[i], &code, &functions[i], err);
	if (!r) {
		code_find_sites(&code, functions, count, depth, &sites);
		if (results)
			add_results(&code, &sites);
		offsets = arena_array(arena, uint64_t, sites.addresses.length + 1);
		wishes->count = 0;
		for (size_t i = 0; i < sites.addresses.length; i++)
			if (elf_file_offset(&code.elf, sites.addresses.items[i], &offsets[wishes->count]))
				wishes->count++;
		wishes->offsets = offsets;
		sink_printf(notes, "%zu places in %zu function%s, from %s on%s\n", wishes->count, sites.functions.length,
			    sites.functions.length == 1 ? "" : "s", code_name(&code, arena, functions[0]),
			    sites.cut ? "; there is more: a smaller --depth sees less code, but all of its steps" : "");
		if (!wishes->count)
			r = err_set(err, -ENODATA, "%s has no branch, call or return", code_name(&code, arena, functions[0]));
		code_sites_done(&sites);
	}
	code_close(&code);
	return r;
}

int stepping_wishes(struct arena *arena, const struct options *given, struct sink *notes, const struct step_wishes **ret_wishes,
		    struct err *err)
{
	const char *text = options_text(given, "step", NULL);
	struct step_wishes *wishes;
	int r;

	*ret_wishes = NULL;
	if (!text)
		return 0;
	wishes = arena_new(arena, struct step_wishes);
	*wishes = (struct step_wishes){ .most = STEPPING_MOST };
	r = stepping_find(arena, text, NULL, STEPPING_DEPTH, false, notes, wishes, err);
	if (r)
		return err_prefix(err, "--step");
	*ret_wishes = wishes;
	return 0;
}
