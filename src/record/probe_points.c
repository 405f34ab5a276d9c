/* See probe_points.h. */
#include "record/probe_points.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/options.h"
#include "base/programs.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "probe/code.h"
#include "probe/inlined.h"
#include "probe/leaves.h"
#include "probe/source_line.h"
#include "record/probe_values.h"
#include "record/proc_maps.h"
#include "symbols/debug_file.h"
#include "symbols/demangle.h"
#include "trace/event.h"

#define NAME_MOST 64

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* ---- files ---- */

static bool is_there(const char *path, int how)
{
	return !access(path, how);
}

/* "libc" and "libc.so" mean libc.so.6; of several versions the first in the
 * alphabet is taken. */
static const char *in_libraries(struct arena *arena, const char *name)
{
	static const char *const folders[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
					       "/usr/lib", "/usr/local/lib" };
	static const char *const endings[] = { "", ".so.[0-9]*", ".[0-9]*", ".so" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		for (size_t j = 0; j < sizeof(endings) / sizeof(*endings); j++) {
			const char *path = NULL;
			glob_t found;

			if ((j == 0 || j == 2) && !strstr(name, ".so"))
				continue;
			if (!glob(arena_printf(arena, "%s/%s%s", folders[i], name, endings[j]), 0, NULL, &found)) {
				path = arena_strdup(arena, found.gl_pathv[0]);
				globfree(&found);
			}
			if (path)
				return path;
		}
	return NULL;
}

int probe_points_file(struct arena *arena, const char *name, const char **ret_path, struct err *err)
{
	bool library = !strncmp(name, "lib", 3) || strstr(name, ".so");
	char here[PATH_MAX];
	const char *path;

	if (strchr(name, '/')) {
		if (!is_there(name, R_OK))
			return err_sys(err, -errno, "opening '%s'", name);
		*ret_path = name[0] == '/' || !getcwd(here, sizeof(here)) ? name : arena_printf(arena, "%s/%s", here, name);
		return 0;
	}
	if (strpbrk(name, "*?[\\"))
		return err_set(err, -EINVAL, "'%s' is not the name of a program or library", name);
	path = library ? in_libraries(arena, name) : program_in_path(arena, name);
	if (!path)
		path = library ? program_in_path(arena, name) : in_libraries(arena, name);
	if (!path)
		return err_set(err, -ENOENT, "there is neither a program '%s' in PATH nor a library of this name: give its path", name);
	*ret_path = path;
	return 0;
}

/* ---- functions ---- */

struct search {
	struct arena *arena;
	const char *function;
	const char *part;       /* of the function's name, that a mangled name must hold; "" none is known */
	struct vec(struct probe_place) places;
	bool stripped;          /* some file has only the symbols that it exports */
	bool chosen;            /* an indirect function is called so */
	bool label;             /* something else than a function is called so */
	bool offers;            /* look for what is called nearly so */
	const char *like;       /* a function whose name is nearly the one */
	unsigned far;           /* how far it is from it */
};

/* The last word of a readable name, which its mangled form holds too. */
static const char *last_word(struct arena *arena, const char *function)
{
	size_t end = strcspn(function, "("), start;

	if (strpbrk(function, "<>") || strstr(function, "operator"))
		return "";
	for (start = end; start && (isalnum((unsigned char)function[start - 1]) || function[start - 1] == '_'); start--)
		;
	return arena_strndup(arena, function + start, end - start);
}

static bool is_called(const struct search *search, const char *symbol)
{
	const char *function = search->function;
	size_t length = strcspn(symbol, "@"), plain_length;
	const char *plain;

	if (strlen(function) == length && !memcmp(symbol, function, length))
		return true;
	plain = symbol[0] == '_' && strstr(symbol, search->part) ? demangle(search->arena, symbol) : NULL;
	if (!plain)
		return false;
	/* with or without its parameters */
	plain_length = strcspn(plain, "(");
	return !strcmp(plain, function) || (strlen(function) == plain_length && !memcmp(plain, function, plain_length));
}

/* The nearest name, else one that holds what was written. */
static void offer(struct search *search, const char *name)
{
	unsigned far = suggest_distance(name, strlen(name), search->function, strlen(search->function));

	if (far > (strlen(search->function) + 1) / 3)
		far = strcasestr(name, search->function) ? UINT_MAX - 1 : UINT_MAX;
	if (far < search->far) {
		search->far = far;
		search->like = arena_strdup(search->arena, name);
	}
}

static void take_symbol(struct search *search, const struct elf_file *file, const char *path, const char *shown,
			const struct symbol *symbol)
{
	uint64_t offset;

	if (!is_called(search, symbol->name)) {
		if (search->offers && symbol->kind == SYMBOL_function)
			offer(search, symbol->name);
		return;
	}
	search->chosen |= symbol->kind == SYMBOL_indirect;
	search->label |= symbol->kind == SYMBOL_label;
	if (symbol->kind != SYMBOL_function || !elf_file_offset(file, symbol->start, &offset))
		return;
	for (size_t i = 0; i < search->places.length; i++)
		if (search->places.items[i].offset == offset && !strcmp(search->places.items[i].open, path))
			return;
	if (search->places.length < PROBE_PLACES_MOST)
		vec_push(&search->places, ((struct probe_place){ shown, path, offset }));
}

static int search_file(struct search *search, const char *path, const char *shown, struct err *err)
{
	struct symbol_table table = { 0 };
	struct arena_mark mark;
	struct elf_file file;
	size_t exported;
	int r = elf_file_open(path, &file, err);

	if (r)
		return r;
	arena_init(&table.arena);
	symbol_table_add(&table, &file);
	exported = elf_file_section(&file, ".symtab") ? SIZE_MAX : table.symbols.length;
	debug_file_add_symbols(&(struct debug_places){ NULL, NULL }, &file, shown, &table);
	search->stripped |= exported == table.symbols.length;
	for (size_t i = 0; i < table.symbols.length; i++) {
		const char *had = search->like;

		mark = arena_mark(search->arena);
		take_symbol(search, &file, path, shown, &table.symbols.items[i]);
		if (had == search->like)
			arena_rewind(search->arena, mark); /* readable names */
	}
	symbol_table_done(&table);
	elf_file_close(&file);
	return 0;
}

static int explain_nothing(const struct search *search, const char *where, struct err *err)
{
	struct inlined inlined;

	if (search->chosen)
		return err_set(err, -EINVAL, "'%s' of %s is one of several functions, chosen when a program starts: "
			       "probe the one that is chosen", search->function, where);
	if (where[0] == '/' && inlined_find(search->arena, where, search->function, &inlined))
		return err_set(err, -ENOENT, "'%s' of %s is inlined into its callers: probe a line of it, %s:%u, or '%s', which holds a copy of it",
			       search->function, where, inlined.source, inlined.line, inlined.caller);
	if (search->label)
		return err_set(err, -EINVAL, "'%s' of %s is not a function, as far as its symbols tell", search->function, where);
	if (search->like)
		return err_set(err, -ENOENT, "%s has no function '%s', but '%s'", where, search->function, search->like);
	if (search->stripped)
		return err_set(err, -ENOENT, "%s exports no function '%s', and its other symbols are stripped: install its debug symbols",
			       where, search->function);
	return err_set(err, -ENOENT, "%s has no function '%s': it may be inlined (then probe a line of it, FILE:SOURCE:LINE), or be in a library", where,
		       search->function);
}

struct mapped {
	struct search *search;
	struct map paths;
};

static void take_mapping(void *data, const struct module_source *source)
{
	struct mapped *mapped = data;
	struct arena *arena = mapped->search->arena;
	bool new;

	if (source->path[0] != '/')
		return;
	map_at(&mapped->paths, hash_bytes(source->path, strlen(source->path)), &new);
	if (!new)
		return;
	/* the file itself: the process may be in a container, or the path have another file by now; what cannot be read is passed over */
	(void)search_file(mapped->search, arena_printf(arena, "/proc/%d/map_files/%lx-%lx", (int)source->pid, (unsigned long)source->start,
						       (unsigned long)source->end), arena_strdup(arena, source->path), NULL);
}

/* Wherever the point's process, or the file, has it. */
static int search_where(struct search *search, struct probe_point *point, const char *where, struct err *err)
{
	struct mapped mapped = { .search = search };
	int r;

	if (!point->pid)
		return search_file(search, where, where, err);
	r = proc_maps_read(point->pid, take_mapping, &mapped);
	map_done(&mapped.paths);
	if (r == -ENOENT)
		return err_set(err, -ESRCH, "there is no process %d", (int)point->pid);
	return r ? err_sys(err, r, "reading the mappings of process %d", (int)point->pid) : 0;
}

static int find_function(struct arena *arena, struct probe_point *point, const char *where, struct err *err)
{
	struct search search = { .arena = arena, .function = point->function,
				 .part = last_word(arena, point->function), .far = UINT_MAX };
	uint64_t number;
	int r = 0;

	if (!parse_number(where, &number)) {
		if (!number || number > INT_MAX)
			return err_set(err, -EINVAL, "'%s' is not a process", where);
		point->pid = (pid_t)number;
		where = arena_printf(arena, "process %s", where);
	} else {
		r = probe_points_file(arena, where, &where, err);
	}
	if (!r)
		r = search_where(&search, point, where, err);
	if (!r && !search.places.length) {
		search.offers = true;
		r = search_where(&search, point, where, err);
		if (!r)
			r = explain_nothing(&search, where, err);
	}
	if (!r) {
		point->places = arena_memdup(arena, search.places.items, search.places.length * sizeof(*point->places));
		point->place_count = search.places.length;
		point->file = point->places[0].file;
	}
	vec_done(&search.places);
	return r;
}

/* ---- places in functions ---- */

struct opened_code {
	const char *path;      /* by which it was reached */
	struct code code;
};

/* Probes of one file stand together: the last one is kept. */
int probe_points_code(struct arena *arena, struct probe_points *points, const char *open, const char *file, struct code **ret_code,
		      struct err *err)
{
	struct opened_code *opened = points->opened;
	struct elf_file elf;
	int r;

	if (!opened || strcmp(opened->path, open) != 0) {
		probe_points_close(points);
		r = elf_file_open(open, &elf, err);
		if (r)
			return r;
		opened = points->opened = arena_new(arena, struct opened_code);
		opened->path = arena_strdup(arena, open);
		code_open(&opened->code, elf, arena_strdup(arena, file));
	}
	*ret_code = &opened->code;
	return 0;
}

void probe_points_close(struct probe_points *points)
{
	if (points->opened)
		code_close(&points->opened->code);
	points->opened = NULL;
}

static int check_place(struct arena *arena, struct probe_points *points, struct probe_point *point, const struct probe_place *place,
		       uint64_t behind, uint64_t *ret_offset, struct err *err)
{
	uint64_t address, before = 0, next = 0;
	char text[INSTRUCTION_TEXT];
	struct code *code;
	int r = probe_points_code(arena, points, place->open, place->file, &code, err);

	if (r)
		return r;
	if (!elf_file_address(&code->elf, place->offset, &address))
		return err_set(err, -ENOENT, "%s has no code at offset 0x%llx", place->file, (unsigned long long)place->offset);
	address += behind;
	r = code_begins(code, address, &before, &next);
	if (r < 0) {
		r = err_set(err, -ENOENT, "0x%llx is in no function of %s whose start and end are known", (unsigned long long)address, place->file);
	} else if (!r) {
		r = err_set(err, -EINVAL, "0x%llx of %s is inside of an instruction: one begins at 0x%llx, the next at 0x%llx",
			    (unsigned long long)address, place->file, (unsigned long long)before, (unsigned long long)next);
	} else {
		r = 0;
		if (!code_at(code, address)->emulated) {
			code_text(code, address, text);
			point->slow = arena_strdup(arena, text);
		}
		if (!elf_file_offset(&code->elf, address, ret_offset))
			r = err_set(err, -ENOENT, "0x%llx is not in %s", (unsigned long long)address, place->file);
	}
	return r;
}

/* All places, so many bytes further on. */
static int move_places(struct arena *arena, struct probe_points *points, struct probe_point *point, uint64_t behind, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < point->place_count && !r; i++)
		r = check_place(arena, points, point, &point->places[i], behind, &point->places[i].offset, err);
	return r;
}

/* FILE:FUNCTION%leave: each of the function's places becomes those where it is left. */
static int leave_places(struct arena *arena, struct probe_points *points, struct probe_point *point, struct err *err)
{
	struct vec(struct probe_place) places = { 0 };
	int r = 0;

	for (size_t i = 0; i < point->place_count && !r; i++) {
		struct probe_place place = point->places[i];
		uint64_t leaves[LEAVES_MOST], address;
		struct code *code;
		size_t count = 0;

		r = probe_points_code(arena, points, place.open, place.file, &code, err);
		if (r)
			break;
		if (elf_file_address(&code->elf, place.offset, &address))
			count = leaves_find(code, address, leaves);
		for (size_t k = 0; k < count && places.length < PROBE_PLACES_MOST; k++) {
			if (!code_at(code, leaves[k])->emulated)
				point->slow = "ret";
			if (elf_file_offset(&code->elf, leaves[k], &place.offset))
				vec_push(&places, place);
		}
		if (!count)
			r = err_set(err, -ENOTSUP, "where '%s' is left is not sure: take %%return", point->function);
	}
	point->places = arena_memdup(arena, places.items, places.length * sizeof(*point->places));
	point->place_count = places.length;
	vec_done(&places);
	return r;
}

/* FILE:0xADDRESS, or FILE+0xOFFSET in the file */
static int find_address(struct arena *arena, struct probe_points *points, struct probe_point *point, const char *name, uint64_t address,
			bool in_file, struct err *err)
{
	struct probe_place *place = arena_new(arena, struct probe_place);
	struct elf_file elf;
	int r = probe_points_file(arena, name, &name, err);

	if (!r)
		r = elf_file_open(name, &elf, err);
	if (r)
		return r;
	*place = (struct probe_place){ .file = name, .open = name, .offset = address };
	if (!in_file && !elf_file_offset(&elf, address, &place->offset))
		r = err_set(err, -ENOENT, "0x%llx is not in %s", (unsigned long long)address, name);
	elf_file_close(&elf);
	point->file = name;
	point->places = place;
	point->place_count = 1;
	return r ? r : move_places(arena, points, point, 0, err);
}

/* FILE:SOURCE:LINE, all copies of the line. */
static int find_line(struct arena *arena, struct probe_points *points, struct probe_point *point, const char *name, const char *source, unsigned line,
		     struct err *err)
{
	uint64_t addresses[SOURCE_LINE_PLACES_MOST];
	struct elf_file elf;
	size_t count;
	int r = probe_points_file(arena, name, &name, err);

	if (!r)
		r = source_line_find(name, source, line, addresses, &count, err);
	if (!r)
		r = elf_file_open(name, &elf, err);
	if (r)
		return r;
	point->file = name;
	point->places = arena_array(arena, struct probe_place, count);
	for (size_t i = 0; i < count && point->place_count < PROBE_PLACES_MOST; i++) {
		struct probe_place *place = &point->places[point->place_count];

		*place = (struct probe_place){ .file = name, .open = name };
		if (elf_file_offset(&elf, addresses[i], &place->offset))
			point->place_count++;
	}
	elf_file_close(&elf);
	return move_places(arena, points, point, 0, err);
}

/* "SOURCE:LINE", of which the colon is cut off; false when it is none. */
static bool cut_line(char *text, unsigned *ret_line)
{
	char *colon = strrchr(text, ':');
	uint64_t line;

	if (!colon || colon == text || colon[-1] == ':' || parse_number(colon + 1, &line) || !line || line > UINT32_MAX)
		return false;
	*colon = 0;
	*ret_line = (unsigned)line;
	return true;
}

/* "FUNCTION+N": N, which is cut off; 0 without one. */
static uint64_t cut_offset(char *function)
{
	char *plus = strrchr(function, '+');
	uint64_t behind = 0;

	if (plus && plus != function && !parse_number(plus + 1, &behind))
		*plus = 0;
	return behind;
}

/* ---- the text ---- */

/* What stands before the '=', where that is a name; else none. */
static const char *read_name(struct arena *arena, const char **text)
{
	size_t length = 0;
	const char *name;

	while (is_name_char((*text)[length]))
		length++;
	if (!length || (*text)[length] != '=')
		return NULL;
	name = arena_strndup(arena, *text, length);
	*text += length + 1;
	return name;
}

/* The last part of what is probed, as a name. */
static const char *name_of(struct arena *arena, const struct probe_point *point)
{
	const char *from = point->mark ? point->mark : point->function;
	char *name = arena_strndup(arena, from, strcspn(from, "("));

	if (name[0] >= '0' && name[0] <= '9')
		name = arena_printf(arena, "at_%s", name);

	for (char *at = name; *at; at++)
		if (!is_name_char(*at))
			*at = '_';
	return point->kind == PROBE_KIND_return ? arena_printf(arena, "%s-return", name) : name;
}

/* "FIRST:SECOND", neither empty. */
static int read_pair(struct arena *arena, const char *text, struct probe_point *point, const char *form, struct err *err)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1] || strchr(colon + 1, ':'))
		return err_set(err, -EINVAL, "the form is %s", form);
	point->provider = arena_strndup(arena, text, (size_t)(colon - text));
	point->mark = arena_strdup(arena, colon + 1);
	point->function = arena_strdup(arena, text);
	return 0;
}

static int read_target(struct arena *arena, struct probe_points *points, const char *text, struct probe_point *point, struct err *err)
{
	static const char tracepoint[] = "tracepoint:", usdt[] = "usdt:", returns[] = "%return", leave[] = "%leave";
	const char *colon, *plus, *file;
	uint64_t behind, address;
	char *function;
	unsigned line;
	size_t length;
	bool leaves;
	int r;

	if (!strncmp(text, tracepoint, sizeof(tracepoint) - 1)) {
		point->kind = PROBE_KIND_tracepoint;
		return read_pair(arena, text + sizeof(tracepoint) - 1, point, "[NAME=]tracepoint:CATEGORY:NAME", err);
	}
	if (!strncmp(text, usdt, sizeof(usdt) - 1)) {
		text += sizeof(usdt) - 1;
		colon = strchr(text, ':');
		point->kind = PROBE_KIND_usdt;
		r = read_pair(arena, colon ? colon + 1 : "", point, "[NAME=]usdt:FILE:PROVIDER:MARK", err);
		return r ? r : probe_points_file(arena, arena_strndup(arena, text, (size_t)(colon - text)), &point->file, err);
	}
	colon = strchr(text, ':');
	plus = strrchr(text, '+');
	if (!colon && plus && plus != text && !parse_number(plus + 1, &address)) {
		point->function = arena_strdup(arena, plus + 1);
		return find_address(arena, points, point, arena_strndup(arena, text, (size_t)(plus - text)), address, true, err);
	}
	if (!colon || colon == text || !colon[1])
		return err_set(err, -EINVAL, "the form is [NAME=]FILE:FUNCTION, FILE:FUNCTION%%return, FILE:FUNCTION+N, "
			       "FILE:SOURCE:LINE, FILE:0xADDRESS or FILE+0xOFFSET, where FILE is a program, "
			       "a library or the number of a process");
	file = arena_strndup(arena, text, (size_t)(colon - text));
	length = strlen(colon + 1);
	if (length > sizeof(returns) - 1 && !strcmp(colon + 1 + length - (sizeof(returns) - 1), returns)) {
		point->kind = PROBE_KIND_return;
		length -= sizeof(returns) - 1;
	}
	leaves = length > sizeof(leave) - 1 && !strcmp(colon + 1 + length - (sizeof(leave) - 1), leave);
	if (leaves)
		length -= sizeof(leave) - 1;
	function = arena_strndup(arena, colon + 1, length);
	point->function = arena_strdup(arena, function);
	if (cut_line(function, &line))
		return point->kind == PROBE_KIND_return ? err_set(err, -EINVAL, "only a function returns, no line in it") :
							  find_line(arena, points, point, file, function, line, err);
	if (!parse_number(function, &address)) {
		if (point->kind == PROBE_KIND_return)
			return err_set(err, -EINVAL, "only a function returns, no place in it");
		return find_address(arena, points, point, file, address, false, err);
	}
	behind = cut_offset(function);
	if (behind && point->kind == PROBE_KIND_return)
		return err_set(err, -EINVAL, "only a function returns, no place in it");
	if (behind) {
		const char *whole = point->function;

		point->function = function;
		r = find_function(arena, point, file, err);
		point->function = whole;
		return r ? r : move_places(arena, points, point, behind, err);
	}
	r = find_function(arena, point, file, err);
	if (r || !leaves)
		return r;
	r = leave_places(arena, points, point, err);
	point->leaves = true;
	point->function = arena_printf(arena, "%s%s", point->function, leave);
	return r;
}

static int check_name(const struct probe_points *points, const char *name, struct err *err)
{
	if (strlen(name) > NAME_MOST || !(isalpha((unsigned char)name[0]) || name[0] == '_'))
		return err_set(err, -EINVAL, "a name begins with a letter and has at most %d of letters, digits, '_' and '-': write "
			       "NAME=... before it", NAME_MOST);
	for (size_t i = 0; i < points->count && !points->same_names; i++)
		if (!strcmp(points->items[i].name, name))
			return err_set(err, -EEXIST, "there is a probe '%s' already: write another NAME=... before it", name);
	return 0;
}

/* "TARGET(VALUES)": where the '(' of the values is; NULL without any. */
static const char *values_of(const char *text)
{
	size_t length = strlen(text), depth = 0;

	if (!length || text[length - 1] != ')')
		return NULL;
	for (size_t at = length; at-- > 0;) {
		depth += text[at] == ')';
		if (text[at] == '(' && !--depth)
			return text + at;
	}
	return NULL;
}

/* As a function with its parameters, as C++ names them; else as one with values. */
static int read_with_values(struct arena *arena, struct probe_points *points, const char *text, struct probe_point *point, struct err *err)
{
	const char *values = values_of(text);
	struct probe_point whole = *point;
	struct err as_name = { 0 };
	int r;

	if (!values)
		return read_target(arena, points, text, point, err);
	r = read_target(arena, points, text, &whole, &as_name);
	if (!r) {
		*point = whole;
		return 0;
	}
	r = read_target(arena, points, arena_strndup(arena, text, (size_t)(values - text)), point, err);
	if (!r && point->kind != PROBE_KIND_function)
		return err_set(err, -EINVAL, "values in () are for functions' beginnings and places in them");
	return r ? r : probe_values_find(arena, point, arena_strndup(arena, values + 1, strlen(values) - 2), err);
}

int probe_points_add(struct arena *arena, struct probe_points *points, const char *text, struct err *err)
{
	struct probe_point point = { .written = text, .file = "" }, *items;
	const char *at = text, *fields = strstr(text, "%fields=");
	int r;

	if (points->count == PROBES_MOST)
		return err_set(err, -E2BIG, "more than %u probes", PROBES_MOST);
	point.name = read_name(arena, &at);
	if (!fields)
		fields = strstr(text, "%text=");
	if (fields)
		at = arena_strndup(arena, at, (size_t)(fields - at));
	r = read_with_values(arena, points, at, &point, err);
	if (!r && fields)
		r = probe_values_read(fields, &point, err);
	if (!r && !point.name)
		point.name = name_of(arena, &point);
	if (!r)
		r = check_name(points, point.name, err);
	if (r)
		return err_prefix(err, "--probe %s", text);
	items = arena_array(arena, struct probe_point, points->count + 1);
	if (points->count)
		memcpy(items, points->items, points->count * sizeof(*items));
	items[points->count] = point;
	points->items = items;
	points->count++;
	return 0;
}
