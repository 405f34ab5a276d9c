/* See modules.h. */
#include "infer/modules.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/elf_file.h"
#include "symbols/file_opener.h"

#define MAX_NEEDED 4096  /* libraries of one program */
#define MAX_DYNAMIC (1u << 20)

struct linked {
	const char *program;
	const char *file;                /* file name of what the program's path leads to */
	struct vec(const char *) names;  /* file names of what it needs, itself left out */
};

struct modules {
	struct arena *arena;
	const struct tables *tables;
	struct file_opener *opener;
	struct vec(struct linked) programs;
};

struct modules *modules_new(struct arena *arena, const struct tables *tables)
{
	struct modules *modules = mem_zalloc(sizeof(*modules));

	modules->arena = arena;
	modules->tables = tables;
	modules->opener = file_opener_new();
	return modules;
}

void modules_free(struct modules *modules)
{
	if (!modules)
		return;
	for (size_t i = 0; i < modules->programs.length; i++)
		vec_done(&modules->programs.items[i].names);
	vec_done(&modules->programs);
	file_opener_free(modules->opener);
	free(modules);
}

static bool has(const struct linked *linked, const char *name)
{
	for (size_t i = 0; i < linked->names.length; i++)
		if (!strcmp(linked->names.items[i], name))
			return true;
	return false;
}

/* libz.so.1 may be the name of libz.so.1.2.13: the file's name as the loader
 * was asked for it, or with more of a version behind it. */
static bool stands_for(const char *needed, const char *file)
{
	size_t length = strlen(needed);

	return !strncmp(needed, file, length) && (!file[length] || file[length] == '.');
}

/* Adds what the file at the path needs. */
static void read_needed(struct modules *modules, struct linked *linked, const char *path)
{
	const Elf64_Shdr *dynamic, *texts;
	void *entries = NULL, *strings = NULL;
	size_t entry_bytes = 0, string_bytes = 0;
	struct elf_file file;

	if (elf_file_open_by(modules->opener, path, &file, NULL))
		return;
	dynamic = elf_file_section(&file, ".dynamic");
	texts = elf_file_section(&file, ".dynstr");
	if (dynamic && texts && dynamic->sh_size <= MAX_DYNAMIC &&
	    !elf_file_copy_section(&file, dynamic, &entries, &entry_bytes, NULL) &&
	    !elf_file_copy_section(&file, texts, &strings, &string_bytes, NULL)) {
		const Elf64_Dyn *entry = entries;

		for (size_t i = 0; i < entry_bytes / sizeof(*entry) && entry[i].d_tag != DT_NULL; i++) {
			const char *name = (char *)strings + entry[i].d_un.d_val;

			if (entry[i].d_tag != DT_NEEDED || entry[i].d_un.d_val >= string_bytes ||
			    !memchr(name, 0, string_bytes - entry[i].d_un.d_val))
				continue;
			name = path_file_name(name);
			if (linked->names.length < MAX_NEEDED && !has(linked, name))
				vec_push(&linked->names, arena_strdup(modules->arena, name));
		}
	}
	free(entries);
	free(strings);
	elf_file_close(&file);
}

static const struct linked *linked_of(struct modules *modules, const char *program)
{
	struct linked added = { .program = program };
	char *real;

	for (size_t i = 0; i < modules->programs.length; i++)
		if (!strcmp(modules->programs.items[i].program, program))
			return &modules->programs.items[i];
	added.program = arena_strdup(modules->arena, program);
	/* A link's name is another than that of the file that is mapped. */
	real = program[0] == '/' ? file_opener_real_path(modules->opener, program) : NULL;
	added.file = arena_strdup(modules->arena, path_file_name(real ? real : program));
	free(real);
	if (program[0] == '/')
		read_needed(modules, &added, program);
	/* The list grows as it is walked: libraries of libraries. */
	for (size_t i = 0; modules->tables && i < added.names.length; i++)
		for (uint32_t m = 1; m < modules->tables->module_count; m++) {
			const char *path = modules->tables->modules[m].path;

			if (path[0] == '/' && stands_for(added.names.items[i], path_file_name(path))) {
				read_needed(modules, &added, path);
				break;
			}
		}
	vec_push(&modules->programs, added);
	return &modules->programs.items[modules->programs.length - 1];
}

static bool is_runtime(const char *module)
{
	static const char *const names[] = {
		"libc.so", "ld-linux", "libpthread.so", "libm.so", "libdl.so", "librt.so", "ld-musl", "libc.musl",
		"linux-vdso", "[vdso]", "vdso", "libgcc_s.so",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(module, names[i], strlen(names[i])))
			return true;
	return false;
}

enum place modules_place(struct modules *modules, const char *program, const struct function *function)
{
	const struct linked *linked;

	if (function->place != PLACE_unknown)
		return function->place;
	if (!function->module[0])
		return PLACE_unknown;
	if (is_runtime(function->module))
		return PLACE_runtime;
	if (!strcmp(function->path, program) || !strcmp(function->module, path_file_name(program)))
		return PLACE_program;
	linked = linked_of(modules, program);
	if (!strcmp(function->module, linked->file))
		return PLACE_program;
	for (size_t i = 0; i < linked->names.length; i++)
		if (stands_for(linked->names.items[i], function->module))
			return PLACE_library;
	/* Without the program's own list nothing says that it is a plug-in. */
	return linked->names.length ? PLACE_plugin : PLACE_library;
}

const char *place_name(enum place place)
{
	switch (place) {
	case PLACE_unknown: break;
	case PLACE_program: return "program";
	case PLACE_plugin: return "plug-in";
	case PLACE_library: return "library";
	case PLACE_runtime: return "C library";
	case PLACE_kernel: return "kernel";
	case PLACE_system_call: return "system call";
	}
	return "unknown";
}
