/* See stepping.h. */
#include "session/stepping.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "probe/code.h"
#include "probe/imports.h"
#include "probe/near.h"
#include "probe/watch_spec.h"
#include "record/probe_points.h"

#define PLACES_MOST 16u
/* rdi, rsi, rdx, rcx, r8, r9 */
#define ARGUMENTS 0x03c6u

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

/* The file: as the process has mapped it, or from the file system. */
static int find_file(struct arena *arena, const char *file, const struct process *process, const char **ret_path, struct elf_file *ret_elf,
		     const char **ret_name, struct err *err)
{
	const struct process_mapping *mapping = process ? process_module(process, file) : NULL;
	int r;

	if (process && !mapping)
		return err_set(err, -ENOENT, "process %d has not mapped '%s'", (int)process->pid, file[0] ? file : "its program");
	if (!process && !file[0])
		return err_set(err, -EINVAL, "say of which program or library: FILE:FUNCTION or FILE+0xOFFSET");
	r = mapping ? process_open_module(process, mapping, ret_elf, err) : probe_points_file(arena, file, &file, err);
	if (!r && !mapping)
		r = elf_file_open(file, ret_elf, err);
	if (r)
		return r;
	*ret_path = mapping ? process_module_path(arena, process, mapping) : file;
	*ret_name = mapping ? mapping->path : file;
	return 0;
}

static int open_code(struct arena *arena, const char *file, const struct process *process, struct code *code, const char **ret_path,
		     struct err *err)
{
	struct elf_file elf;
	const char *name;
	int r = find_file(arena, file, process, ret_path, &elf, &name, err);

	if (!r)
		code_open(code, elf, name);
	return r;
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

/* Where a direct call leads, also by a stub. */
static uint64_t call_target(struct code *code, const struct instruction *call)
{
	uint64_t target = call->target;
	const uint64_t *function = map_find(&code->imports, code_import_word(code, target));

	return function ? *function : target;
}

static bool is_stepped(struct code *code, const struct code_sites *sites, const struct instruction *found)
{
	struct instruction call = *found;

	return call.direct && has_address(sites->functions.items, sites->functions.length, call_target(code, &call));
}

/* How many instructions it is to the next place, either way, and what else the program that is run there asks. */
static uint64_t cookie_of(struct code *code, const struct code_sites *sites, uint64_t address)
{
	struct instruction at = *code_at(code, address);
	unsigned straight = 1, taken = 1;

	if (at.kind == INSTRUCTION_branch)
		taken += code_straight(code, sites, at.target);
	if (at.kind == INSTRUCTION_call && is_stepped(code, sites, &at))
		straight += code_straight(code, sites, call_target(code, &at));
	if (at.kind != INSTRUCTION_return && at.kind != INSTRUCTION_jump)
		straight += code_straight(code, sites, address + at.length);
	return (uint64_t)(at.kind == INSTRUCTION_branch ? at.condition : STEP_CONDITIONS) << STEP_PLACE_CONDITION |
	       (uint64_t)straight << STEP_PLACE_STRAIGHT | (uint64_t)taken << STEP_PLACE_TAKEN |
	       (at.kind == INSTRUCTION_call ? STEP_PLACE_stack : at.kind == INSTRUCTION_return ? STEP_PLACE_returns : 0);
}

/* Behind each call of what is not stepped through its result lies in rax. */
static void add_results(struct code *code, struct code_sites *sites)
{
	size_t count = sites->addresses.length;

	for (size_t i = 0; i < count; i++) {
		const struct instruction *call = code_at(code, sites->addresses.items[i]);
		uint64_t behind = sites->addresses.items[i] + (call ? call->length : 0);

		if (!call || call->kind != INSTRUCTION_call || is_stepped(code, sites, call))
			continue;
		if (!has_address(sites->addresses.items, sites->addresses.length, behind) && code_at(code, behind))
			vec_push(&sites->addresses, behind);
	}
}

/* The named files' code joined to the first's, and which of their functions are called from where. */
static int join_files(struct arena *arena, const struct stepping *stepping, struct code *code, const char *paths[CODE_FILES], struct err *err)
{
	const struct process *process = stepping->process;
	uint64_t biases[CODE_FILES] = { 0 };
	const char *file;

	for (size_t n = 0; stepping->into && (file = options_nth(stepping->into, "into", n)); n++) {
		struct elf_file elf;
		const char *path;
		int r;

		if (n + 1 == CODE_FILES)
			return err_set(err, -E2BIG, "--into takes at most %u files", CODE_FILES - 1);
		r = find_file(arena, file, process, &paths[n + 1], &elf, &path, err);
		if (r)
			return err_prefix(err, "--into");
		for (size_t i = 0; i <= n; i++)
			if (!strcmp(path, i ? code->joined[i]->path : code->path)) {
				elf_file_close(&elf);
				return err_set(err, -EINVAL, "--into '%s': %s is stepped through already", file, path);
			}
		code_join(code, (unsigned)n + 1, elf, path);
	}
	for (unsigned i = 0; process && code->joined[1] && i < CODE_FILES && paths[i]; i++) {
		const struct code *one = i ? code->joined[i] : code;
		const struct process_mapping *mapping = process_module(process, one->path);

		if (!mapping || !process_bias(process, mapping, &one->elf, &biases[i]))
			return err_set(err, -ENOENT, "where process %d has mapped %s cannot be told", (int)process->pid, one->path);
	}
	if (code->joined[1])
		imports_find(code, process, biases);
	return 0;
}

/* Where a function's stack and arguments are still as it was entered with them: its beginning, or near by where a trap is cheap. */
static uint64_t entry_of(struct code *code, uint64_t function)
{
	const struct instruction *first = code_at(code, function);
	uint64_t near = first && !first->emulated ? near_find(code, function, ARGUMENTS, false) : 0;

	return near ? near : function;
}

/* The functions' beginnings are places, too. */
static void add_entries(struct code *code, const uint64_t *functions, size_t count, struct code_sites *sites, struct map *entries)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t entry = entry_of(code, functions[i]);

		if (!code_at(code, entry))
			continue;
		*map_at(entries, entry, NULL) = 1;
		if (!has_address(sites->addresses.items, sites->addresses.length, entry))
			vec_push(&sites->addresses, entry);
	}
}

struct places {
	struct code *code;
	const struct code_sites *sites;
	const char **paths;
	struct map entries;
	uint64_t starts[PLACES_MOST], ends[PLACES_MOST]; /* of the functions that one is to come to */
	size_t count;
};

static uint64_t place_cookie(const struct places *places, uint64_t address)
{
	uint64_t cookie = cookie_of(places->code, places->sites, address);

	for (size_t i = 0; i < places->count; i++)
		if (address >= places->starts[i] && address < places->ends[i])
			cookie |= STEP_PLACE_starts | (map_find(&places->entries, address) ? STEP_PLACE_enters : 0);
	return map_find(&places->entries, address) ? cookie | STEP_PLACE_stack : cookie;
}

static void wish_places(struct arena *arena, const struct places *places, struct step_wishes *wishes)
{
	struct step_file *files = arena_array(arena, struct step_file, CODE_FILES);
	const struct code_sites *sites = places->sites;
	const struct code *code = places->code;

	for (unsigned number = 0; number < CODE_FILES; number++) {
		uint64_t linked, *offsets = arena_array(arena, uint64_t, sites->addresses.length + 1);
		uint64_t *cookies = arena_array(arena, uint64_t, sites->addresses.length + 1);
		size_t count = 0;

		for (size_t i = 0; i < sites->addresses.length; i++) {
			const struct code *file = code_file(code, sites->addresses.items[i], &linked);

			if (code_file_number(sites->addresses.items[i]) == number && elf_file_offset(&file->elf, linked, &offsets[count]))
				cookies[count++] = place_cookie(places, sites->addresses.items[i]);
		}
		if (count)
			files[wishes->file_count++] = (struct step_file){ places->paths[number], offsets, cookies, count };
	}
	wishes->files = files;
}

int stepping_find(struct arena *arena, const struct stepping *stepping, struct sink *notes, struct step_wishes *wishes, struct err *err)
{
	struct watch_spec places[PLACES_MOST];
	uint64_t functions[PLACES_MOST];
	const char *paths[CODE_FILES] = { 0 };
	struct code_sites sites;
	struct code code;
	size_t count = 0;
	int r = parse_all(arena, stepping->text, places, &count, err);

	if (!r)
		r = open_code(arena, places[0].file ? places[0].file : "", stepping->process, &code, &paths[0], err);
	if (r)
		return r;
	for (size_t i = 0; i < count && !r; i++)
		r = find_function(&places[i], &code, &functions[i], err);
	if (!r)
		r = join_files(arena, stepping, &code, paths, err);
	if (!r) {
		struct places all = { .code = &code, .sites = &sites, .paths = paths, .count = stepping->first ? 1 : count };

		code_find_sites(&code, functions, count, stepping->depth, &sites);
		if (stepping->results)
			add_results(&code, &sites);
		if (sites.addresses.length)
			add_entries(&code, functions, count, &sites, &all.entries);
		code_sites_sort(&sites);
		for (size_t i = 0; i < all.count; i++)
			code_function(&code, functions[i], &all.starts[i], &all.ends[i]);
		wish_places(arena, &all, wishes);
		map_done(&all.entries);
		sink_printf(notes, "%zu places in %zu function%s, from %s on%s\n", sites.addresses.length, sites.functions.length,
			    sites.functions.length == 1 ? "" : "s", code_name(&code, arena, functions[0]),
			    sites.cut ? "; there is more: a smaller --depth sees less code, but all of its steps" : "");
		if (!wishes->file_count)
			r = err_set(err, -ENODATA, "%s has no branch, call or return", code_name(&code, arena, functions[0]));
		code_sites_done(&sites);
	}
	code_close(&code);
	return r;
}

const char *stepping_options(struct arena *arena, const struct options *given)
{
	const char *text = arena_printf(arena, "step --depth=%" PRIu64, options_number(given, "depth", STEPPING_DEPTH)), *file;

	for (size_t n = 0; (file = options_nth(given, "into", n)); n++)
		text = arena_printf(arena, "%s --into=%s", text, file);
	return text;
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
	if (!strcmp(options_text(given, "stacks", ""), "none"))
		return err_set(err, -EINVAL, "--step needs stacks: with --stacks none it is not recorded which file lies where");
	wishes = arena_new(arena, struct step_wishes);
	*wishes = (struct step_wishes){ .wish.most = STEPPING_MOST };
	r = stepping_find(arena, &(struct stepping){ .text = text, .into = given, .depth = (unsigned)options_number(given, "depth", STEPPING_DEPTH) },
			  notes, wishes, err);
	if (r)
		return err_prefix(err, "--step");
	*ret_wishes = wishes;
	return 0;
}
