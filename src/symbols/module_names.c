#include "symbols/module_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "symbols/debug_file.h"
#include "symbols/unwind_cache.h"

enum { VDSO_MAX_BYTES = 16384, TEXTS_PIECE = 65536 };

static void complain(struct module_names *m, const char *path, const char *what)
{
	struct buf text = { 0 };
	buf_escaped(&text, path, strlen(path), NULL);
	snprintf(m->complaint, sizeof(m->complaint), "%.300s: %s", buf_str(&text), what);
	buf_done(&text);
}

/* Without build-ids only the file's identity on this machine can tell. */
static bool same_file(const struct module *module, int fd)
{
	struct stat st;
	return module->inode == 0 || (file_opener_stat(fd, &st) == 0 && st.st_ino == module->inode);
}

static bool try_path(struct module_names *m, const struct debug_places *places, const char *path, bool foreign)
{
	struct elf_file file;
	char build_id[65];

	int r = elf_file_open_by(places->opener, path, &file, NULL);
	if (r == -ETIMEDOUT)
		complain(m, path, "its file system does not answer; its functions have no names but what the trace brings");
	if (r < 0)
		return false;
	elf_file_build_id_text(&file, build_id);
	bool right = m->module->build_id[0] ? strcmp(build_id, m->module->build_id) == 0 : foreign || same_file(m->module, file.fd);
	if (!right) {
		complain(m, path, m->module->build_id[0] ? "is another build than the recorded one (its build-id differs); not used" :
							   "was replaced since the recording; not used");
		elf_file_close(&file);
		return false;
	}
	m->file = file;
	m->path = arena_strdup(&m->symbols.arena, path);
	m->have_file = true;
	m->complaint[0] = 0;
	return true;
}

static bool try_vdso(struct module_names *m)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	char build_id[65];
	if (!image || elf_file_open_memory(image, VDSO_MAX_BYTES / 2, "vdso", &m->file, NULL) < 0)
		return false;
	elf_file_build_id_text(&m->file, build_id);
	if (strcmp(build_id, m->module->build_id) == 0) {
		m->path = arena_strdup(&m->symbols.arena, "[vdso]");
		m->have_file = true;
		return true;
	}
	elf_file_close(&m->file);
	return false;
}

static void find_file(struct module_names *m, const struct debug_places *places)
{
	const struct module *module = m->module;
	const char *symfs = places->symfs;
	char path[4096];

	if (module->kind == MODULE_KIND_vdso) {
		if (!try_vdso(m))
			complain(m, "[vdso]", "is that of another kernel than the running one");
		return;
	}
	if (module->kind != MODULE_KIND_file || !module->path[0])
		return;
	if (symfs) {
		snprintf(path, sizeof(path), "%s/%s", symfs, module->path);
		if (try_path(m, places, path, true))
			return;
		const char *base = strrchr(module->path, '/');
		snprintf(path, sizeof(path), "%s/%s", symfs, base ? base + 1 : module->path);
		if (try_path(m, places, path, true))
			return;
	}
	if (try_path(m, places, module->path, false))
		return;
	/* a debug file has the same symbols and often the functions' bounds */
	if (module->build_id[0] && debug_file_by_build_id(places, module->build_id, true, path, sizeof(path)) && try_path(m, places, path, true))
		return;
	if (!m->complaint[0])
		complain(m, module->path, "not found; its functions have no names but what the trace brings");
}

void module_names_open(struct module_names *m, const struct debug_places *places)
{
	if (m->opened)
		return;
	m->opened = true;
	find_file(m, places);
}

void module_names_bounds(struct module_names *m, const struct debug_places *places)
{
	if (m->bounded)
		return;
	m->bounded = true;
	module_names_open(m, places);
	if (m->have_file && unwind_cache_bounds(&m->file, &m->unwind, NULL) < 0)
		m->unwind = (struct unwind_table){ 0 };
}

/* `fd`: of the file, negative none. */
static uint64_t mix_file(uint64_t stamp, const char *path, int fd)
{
	struct stat st;
	stamp = hash_u64(stamp ^ hash_bytes(path, strlen(path)));
	if (fd >= 0 && file_opener_stat(fd, &st) == 0) {
		uint64_t words[] = { st.st_dev, st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec };
		stamp = hash_u64(stamp ^ hash_bytes(words, sizeof(words)));
	}
	return stamp;
}

uint64_t module_names_stamp(const struct module_names *m, const struct debug_places *places, bool lines)
{
	char debug[4096];
	if (!m->have_file || m->file.fd < 0 || !debug_file_find(places, &m->file, m->path, false, debug, sizeof(debug)))
		debug[0] = 0;
	int fd = debug[0] ? file_opener_open(places->opener, debug, NULL) : -1;
	uint64_t stamp = mix_file(mix_file(lines + 2u * debug_file_remote(), m->path, m->have_file ? m->file.fd : -1), debug, fd);
	if (fd >= 0)
		close(fd);
	return stamp;
}

/* Read piece by piece: the names of a large program are many megabytes. */
static bool section_holds(const struct elf_file *file, const char *section_name, const char *text)
{
	const Elf64_Shdr *section = elf_file_section(file, section_name);
	size_t length = strlen(text), kept = 0;
	bool holds = false;
	char *piece;

	if (!section || section->sh_flags & SHF_COMPRESSED)
		return section != NULL;
	piece = mem_alloc(TEXTS_PIECE + length);
	for (uint64_t at = 0; at < section->sh_size && !holds; ) {
		size_t bytes = section->sh_size - at < TEXTS_PIECE ? (size_t)(section->sh_size - at) : TEXTS_PIECE;

		if (elf_file_read(file, section->sh_offset + at, piece + kept, bytes) < 0)
			break;
		holds = memmem(piece, kept + bytes, text, length) != NULL;
		at += bytes;
		bytes += kept;
		kept = bytes < length ? bytes : length - 1;
		memmove(piece, piece + bytes - kept, kept);
	}
	free(piece);
	return holds;
}

bool module_names_may_hold(struct module_names *m, const struct debug_places *places, const char *text)
{
	uint64_t key = hash_bytes(text, strlen(text));
	bool holds;

	module_names_open(m, places);
	if (!m->have_file || m->file.fd < 0)
		return true;
	for (unsigned i = 0; i < m->held_count; i++)
		if (m->held[i].key == key)
			return m->held[i].holds;
	holds = section_holds(&m->file, ".dynstr", text) || section_holds(&m->file, ".strtab", text);
	if (m->held_count < MODULE_NAMES_HELD) {
		m->held[m->held_count].key = key;
		m->held[m->held_count++].holds = holds;
	}
	return holds;
}

void module_names_load(struct module_names *m, const struct debug_places *places)
{
	if (m->loaded)
		return;
	m->loaded = true;
	module_names_bounds(m, places);
	if (m->have_file && !elf_file_section(&m->file, ".symtab"))
		debug_file_add_symbols(places, &m->file, m->path, &m->symbols);
	if (m->have_file && (m->symbols.symbols.length || !symbol_index_read(&m->index, &m->file)))
		symbol_table_add(&m->symbols, &m->file);
	symbol_table_sort(&m->symbols);
}

bool module_names_find(const struct module_names *m, struct arena *arena, uint64_t address, uint64_t *ret_start, const char **ret_name,
		       bool *ret_guessed)
{
	const struct unwind_table *unwind = m->unwind.function_count ? &m->unwind : NULL;
	const struct symbol *symbol;

	if (m->index.symbols.length)
		return symbol_index_find(&m->index, &m->file, arena, unwind, address, ret_start, ret_name, ret_guessed);
	symbol = symbol_table_find(&m->symbols, unwind, address, ret_guessed);
	if (!symbol)
		return false;
	*ret_start = symbol->start;
	*ret_name = symbol->name;
	return true;
}

void module_names_done(struct module_names *m)
{
	if (m->have_file)
		elf_file_close(&m->file);
	unwind_table_done(&m->unwind);
	symbol_index_done(&m->index);
	symbol_table_done(&m->symbols);
}

/* A debug file keeps the segments but not their contents; most say nothing any more
 * of where the code lies in the program's file. The trace does. */
static bool is_debug_file(const struct elf_file *file)
{
	for (uint32_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *p = &file->segments[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && p->p_memsz)
			return p->p_filesz == 0;
	}
	return false;
}

struct code_part { uint64_t offset, bytes, address; };

/* The next part of what the trace says of the code; false at the end. */
static bool next_part(const char **at, struct code_part *ret_part)
{
	uint64_t words[3];
	for (int i = 0; i < 3; i++) {
		char *end;
		words[i] = strtoull(*at, &end, 16);
		if (end == *at)
			return false;
		*at = end;
	}
	*ret_part = (struct code_part){ words[0], words[1], words[2] };
	return true;
}

bool module_names_address(const struct module_names *m, uint64_t offset, uint64_t *ret_address)
{
	if (!m->have_file) {
		*ret_address = offset;
		return true;
	}
	if (!is_debug_file(&m->file))
		return elf_file_address(&m->file, offset, ret_address);
	const char *at = m->module->code;
	for (struct code_part part; next_part(&at, &part);)
		if (offset >= part.offset && offset - part.offset < part.bytes) {
			*ret_address = offset - part.offset + part.address;
			return true;
		}
	return false;
}

bool module_names_offset(const struct module_names *m, uint64_t address, uint64_t *ret_offset)
{
	if (!m->have_file) {
		*ret_offset = address;
		return true;
	}
	if (!is_debug_file(&m->file))
		return elf_file_offset(&m->file, address, ret_offset);
	const char *at = m->module->code;
	for (struct code_part part; next_part(&at, &part);)
		if (address >= part.address && address - part.address < part.bytes) {
			*ret_offset = address - part.address + part.offset;
			return true;
		}
	return false;
}
