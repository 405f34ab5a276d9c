#include "symbols/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "symbols/demangle.h"
#include "symbols/debug_file.h"
#include "symbols/module_shelf.h"
#include "symbols/names_cache.h"
#include "symbols/names_lines.h"

#define KEEP_FROM_NS 2000000u /* what is found in less is not worth a file */

/* What is kept of a module between runs. */
struct kept_names {
	bool asked;
	struct names_cache cache;
	uint64_t stamp;
	uint64_t spent_ns;                 /* on what was not there */
	struct vec(const struct name *) fresh;
};

/* A module, as far as it was asked about. */
struct module_part {
	struct module_names *names;        /* of the shelf; NULL: nobody needed its file */
	struct symbol_table told;          /* names that the trace has, by file offset */
	struct kept_names kept;
	struct names_lines *lines;
	bool lines_opened;
	struct map by_place;               /* address -> struct name * */
};

struct names {
	struct arena arena;
	const struct tables *tables;
	struct names_options options;
	struct module_shelf *shelf;
	struct debug_places places;
	struct module_part *modules;       /* by module number */
	const struct name **by_node;       /* NULL: not asked yet */
	struct sparse by_node_memory;
	struct name unknown;
	uint64_t kernel_text;              /* address of _text while recording, 0 unknown */
	uint32_t kernel_module;
};

static const char *module_name(const struct module *module)
{
	if (module->kind == MODULE_KIND_kernel)
		return "kernel";
	const char *slash = strrchr(module->path, '/');
	return slash && slash[1] ? slash + 1 : module->path;
}

static void name_init(const struct names *n, struct name *name, uint32_t module, uint64_t address)
{
	*name = n->unknown;
	name->module = module_name(&n->tables->modules[module]);
	name->path = n->tables->modules[module].path;
	name->module_number = module;
	name->address = name->function_start = address;
}

static void set_function(struct names *n, struct name *name, const char *raw, bool guessed)
{
	const char *plain = demangle(&n->arena, raw);
	name->function = plain ? plain : raw;
	name->guessed = guessed;
	name->text = guessed ? arena_printf(&n->arena, "%s~", name->function) : name->function;
}

static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *stop = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
	if (!stop)
		return "";
	*at = stop + 1;
	return text;
}

/* A single address with its line and what is inlined there, as `symbolize`
 * writes it; "name@file:line" for each inlined function. */
static void read_exact(struct names *n, const struct event_symbol *s, const char *tail, const char *end)
{
	struct name *name = arena_new(&n->arena, struct name);
	const char *function = next_text(&tail, end), *file = next_text(&tail, end), *inlined;
	struct vec(struct name_inline) inlines = { 0 };

	name_init(n, name, s->module, s->address);
	set_function(n, name, arena_strdup(&n->arena, function), false);
	name->file = arena_strdup(&n->arena, file);
	name->line = s->line;
	while (*(inlined = next_text(&tail, end))) {
		const char *at = strrchr(inlined, '@'), *colon = at ? strrchr(at, ':') : NULL;
		struct name_inline i = { .function = arena_strdup(&n->arena, inlined), .file = "" };
		if (colon) {
			i.function = arena_strndup(&n->arena, inlined, (size_t)(at - inlined));
			i.file = arena_strndup(&n->arena, at + 1, (size_t)(colon - at - 1));
			i.line = (uint32_t)strtoul(colon + 1, NULL, 10);
		}
		vec_push(&inlines, i);
	}
	if (inlines.length) {
		name->inlines = arena_memdup(&n->arena, inlines.items, inlines.length * sizeof(*inlines.items));
		name->inline_count = (uint32_t)inlines.length;
	}
	vec_done(&inlines);
	map_put(&n->modules[s->module].by_place, s->address, (uint64_t)(uintptr_t)name);
}

/* Names that the trace itself has: of the kernel, of JIT code, or written into
 * it by `symbolize`. */
static void read_symbols(struct names *n)
{
	for (size_t i = 0; i < n->tables->symbol_count; i++) {
		const struct told_symbol *told = &n->tables->symbols[i];
		const struct event_symbol *s = &told->at;
		if (s->module == 0 || s->module >= n->tables->module_count || !told->tail[0])
			continue;
		if (s->bytes == NAMES_EXACT)
			read_exact(n, s, told->tail, told->tail + told->tail_length);
		else
			symbol_table_add_kept(&n->modules[s->module].told, s->address, s->bytes, told->tail);
	}
}

int names_open(const struct trace *trace, const struct tables *tables, const struct names_options *options,
	       struct names **ret_names, struct err *err)
{
	(void)err;
	struct names *n = mem_zalloc(sizeof(*n));
	n->tables = tables;
	if (options)
		n->options = *options;
	n->shelf = n->options.shelf ? n->options.shelf : module_shelf_new();
	n->places = (struct debug_places){ module_shelf_opener(n->shelf), n->options.symfs };
	n->modules = mem_zalloc((tables->module_count + 1) * sizeof(*n->modules));
	sparse_reach(&n->by_node_memory, ((size_t)tables->frame_count + 1) * sizeof(*n->by_node));
	n->by_node = n->by_node_memory.memory;
	n->unknown = (struct name){ .function = "", .text = "?", .module = "", .path = "", .file = "" };
	for (uint32_t i = 1; i < tables->module_count; i++)
		if (tables->modules[i].kind == MODULE_KIND_kernel)
			n->kernel_module = i;
	read_symbols(n);
	for (uint32_t i = 0; i < tables->module_count; i++)
		symbol_table_sort(&n->modules[i].told);
	const char *text = trace_machine(trace, "kernel_text");
	if (text)
		n->kernel_text = strtoull(text, NULL, 16);
	*ret_names = n;
	return 0;
}

/* Nor what a server that does not answer just now has not said. */
static bool worth_keeping(const struct name *name)
{
	return name->function[0] || !debug_file_remote();
}

static void keep_names(struct names *n, uint32_t module)
{
	struct kept_names *k = &n->modules[module].kept;
	if (k->spent_ns > KEEP_FROM_NS)
		names_cache_save(n->tables->modules[module].build_id, k->stamp, &k->cache, k->fresh.items, k->fresh.length);
	vec_done(&k->fresh);
	names_cache_done(&k->cache);
}

void names_close(struct names *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->tables->module_count; i++) {
		keep_names(n, i);
		map_done(&n->modules[i].by_place);
		names_lines_close(n->modules[i].lines);
		symbol_table_done(&n->modules[i].told);
	}
	free(n->modules);
	sparse_done(&n->by_node_memory);
	if (n->options.shelf)
		module_shelf_put_back(n->shelf);
	else
		module_shelf_free(n->shelf);
	arena_done(&n->arena);
	free(n);
}

static struct module_names *file_of(struct names *n, uint32_t module)
{
	struct module_part *part = &n->modules[module];

	if (!part->names)
		part->names = module_shelf_take(n->shelf, &n->tables->modules[module]);
	return part->names;
}

static uint64_t function_start(struct module_names *m, uint64_t offset)
{
	uint64_t address, start = offset;
	const struct unwind_function *f;
	if (module_names_address(m, offset, &address) && (f = unwind_table_function(&m->unwind, address)))
		module_names_offset(m, m->unwind.base + f->start, &start);
	return start;
}

static void find_lines(struct names *n, struct module_names *m, uint64_t address, struct name *name)
{
	struct module_part *part = &n->modules[name->module_number];
	char debug[4096] = "";
	if (!m->have_file || m->file.fd < 0)
		return;
	if (!part->lines_opened) {
		part->lines_opened = true;
		if (!debug_file_find(&n->places, &m->file, m->path, true, debug, sizeof(debug)))
			debug[0] = 0;
		part->lines = names_lines_open(n->places.opener, m->path, debug);
	}
	if (part->lines)
		names_lines_find(part->lines, &n->arena, address, name);
}

static void set_place(struct names *n, struct name *name)
{
	name->text = arena_printf(&n->arena, "%s+0x%" PRIx64, name->module[0] ? name->module : "?", name->address);
}

/* A name found by an earlier run; the module's file is here and the right one. */
static bool find_kept(struct names *n, uint32_t module, uint64_t offset, struct name *name)
{
	struct kept_names *k = &n->modules[module].kept;
	struct module_names *m = file_of(n, module);
	bool guessed;

	if (!k->asked) {
		k->asked = true;
		module_names_open(m, &n->places);
		if (m->have_file && m->file.fd >= 0 && m->module->build_id[0]) {
			k->stamp = module_names_stamp(m, &n->places, n->options.lines) | 1;
			names_cache_load(m->module->build_id, k->stamp, &k->cache);
		}
	}
	if (!names_cache_find(&k->cache, &n->arena, offset, name))
		return false;
	const struct symbol *told = name->function[0] ? NULL : symbol_table_find(&n->modules[module].told, NULL, offset, &guessed);
	if (told) {
		set_function(n, name, told->name, guessed);
		name->function_start = told->start;
	} else if (name->function[0]) {
		name->text = name->guessed ? arena_printf(&n->arena, "%s~", name->function) : name->function;
	} else {
		set_place(n, name);
	}
	return true;
}

/* What comes with an interpreter, not with the program that it runs. */
bool names_script_is_standard(const char *path)
{
	return !strncmp(path, "<frozen ", 8) || (strstr(path, "/lib/python3") && !strstr(path, "-packages/"));
}

/* A place in a source file that an interpreter runs. */
static const struct name *resolve_script(struct names *n, uint32_t module, uint64_t address)
{
	struct name *name = arena_new(&n->arena, struct name);
	bool guessed;
	const struct symbol *told = symbol_table_find(&n->modules[module].told, NULL, address, &guessed);

	name_init(n, name, module, address);
	name->file = name->path;
	name->line = (uint32_t)(address & ((1u << NAMES_SCRIPT_LINE_BITS) - 1));
	name->function_start = address - name->line;
	name->script = true;
	name->standard = names_script_is_standard(name->path);
	if (told) {
		/* as its authors wrote it: there is nothing to demangle */
		name->function = name->text = told->name;
	} else {
		name->text = name->module;
	}
	return name;
}

static const struct name *resolve(struct names *n, uint32_t module, uint64_t offset)
{
	if (n->tables->modules[module].kind == MODULE_KIND_script)
		return resolve_script(n, module, offset);
	struct module_names *m = file_of(n, module);
	struct name *name = arena_new(&n->arena, struct name);
	const struct symbol *told;
	const char *function = NULL;
	uint64_t address, start, function_at;
	bool guessed = false, found = false;

	name_init(n, name, module, offset);
	if (find_kept(n, module, offset, name))
		return name;
	uint64_t before = clock_now_ns();
	module_names_load(m, &n->places);
	name->function_start = function_start(m, offset);
	if (m->have_file && module_names_address(m, offset, &address)) {
		found = module_names_find(m, &n->arena, address, &function_at, &function, &guessed);
		if (n->options.lines)
			find_lines(n, m, address, name);
	}
	if (found) {
		set_function(n, name, function, guessed);
		if (name->function_start == offset && module_names_offset(m, function_at, &start))
			name->function_start = start;
	}
	/* what comes from the trace is not taken for others' */
	struct kept_names *k = &n->modules[module].kept;
	k->spent_ns += clock_now_ns() - before;
	if (k->stamp && worth_keeping(name)) {
		const struct name *fresh = found ? name : arena_memdup(&n->arena, name, sizeof(*name));
		vec_push(&k->fresh, fresh);
	}
	if (found)
		return name;
	if ((told = symbol_table_find(&n->modules[module].told, NULL, offset, &guessed))) {
		set_function(n, name, told->name, guessed);
		name->function_start = told->start;
	} else {
		set_place(n, name);
	}
	return name;
}

bool names_source(struct names *n, uint32_t node, const char **ret_file, uint32_t *ret_line)
{
	struct name name = *names_frame(n, node);
	struct module_names *m;
	uint64_t address;

	if (!name.module_number)
		return false;
	m = file_of(n, name.module_number);
	if (!name.line && !name.script) {
		module_names_load(m, &n->places);
		if (!m->have_file || !module_names_address(m, name.address, &address))
			return false;
		find_lines(n, m, address, &name);
	}
	*ret_file = name.file;
	*ret_line = name.line;
	return name.line && name.file[0];
}

const struct name *names_place(struct names *n, uint32_t module, uint64_t address)
{
	if (module >= n->tables->module_count)
		module = 0;
	if (module == 0) {
		struct name *name = arena_new(&n->arena, struct name);
		*name = n->unknown;
		name->address = name->function_start = address;
		name->text = arena_printf(&n->arena, "0x%" PRIx64, address);
		return name;
	}
	bool is_new;
	uint64_t *known = map_at(&n->modules[module].by_place, address, &is_new);
	if (is_new) {
		const struct name *name = resolve(n, module, address);
		map_put(&n->modules[module].by_place, address, (uint64_t)(uintptr_t)name);
		return name;
	}
	return (const struct name *)(uintptr_t)*known;
}

const struct name *names_frame(struct names *n, uint32_t node)
{
	if (node == 0 || node >= n->tables->frame_count)
		return &n->unknown;
	const struct frame *frame = &n->tables->frames[node];
	if (!n->by_node[node])
		n->by_node[node] = names_place(n, frame->module, frame->address);
	return n->by_node[node];
}

bool names_may_hold(struct names *n, uint32_t node, const char *text)
{
	const struct frame *f = node < n->tables->frame_count ? &n->tables->frames[node] : NULL;
	uint32_t module = f && f->module < n->tables->module_count ? f->module : 0;

	if (!module)
		return false;
	/* what the trace or an earlier run told costs nothing */
	if (n->by_node[node] || n->tables->modules[module].kind != MODULE_KIND_file || n->modules[module].told.symbols.length)
		return true;
	return module_names_may_hold(file_of(n, module), &n->places, text);
}

uint64_t names_function_start(struct names *n, uint32_t node)
{
	if (node == 0 || node >= n->tables->frame_count)
		return 0;
	const struct frame *f = &n->tables->frames[node];
	if (f->module == 0 || f->module >= n->tables->module_count)
		return f->address;
	if (n->tables->modules[f->module].kind == MODULE_KIND_script)
		return f->address >> NAMES_SCRIPT_LINE_BITS << NAMES_SCRIPT_LINE_BITS;
	module_names_bounds(file_of(n, f->module), &n->places);
	return function_start(file_of(n, f->module), f->address);
}

const struct name *names_kernel(struct names *n, uint64_t kernel_address)
{
	if (!n->kernel_text || !n->kernel_module || kernel_address < n->kernel_text)
		return names_place(n, 0, kernel_address);
	return names_place(n, n->kernel_module, kernel_address - n->kernel_text);
}

const char *names_complaint(const struct names *n, uint32_t index)
{
	for (uint32_t i = 1; i < n->tables->module_count; i++)
		if (n->modules[i].names && n->modules[i].names->complaint[0] && index-- == 0)
			return n->modules[i].names->complaint;
	return NULL;
}
