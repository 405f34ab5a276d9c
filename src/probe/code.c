/* See code.h. */
#include "probe/code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "probe/inlined.h"
#include "symbols/debug_file.h"
#include "symbols/demangle.h"

#define WINDOW_BYTES 4096u
#define FUNCTION_MOST 65536u     /* instructions of one function that are gone through */
#define FUNCTIONS_MOST 256u
#define CALL_OPCODE 0xe8u        /* of a direct call, four bytes of distance behind it */
#define CALL_BYTES 5u
#define STRAIGHT_MOST 4096u      /* instructions without a place */

void code_open(struct code *code, struct elf_file elf, const char *path)
{
	*code = (struct code){ .path = path, .elf = elf };
	arena_init(&code->arena);
	arena_init(&code->symbols.arena);
	code->has_unwind = !unwind_table_make(&code->elf, &code->unwind, NULL);
	symbol_table_add(&code->symbols, &code->elf);
	debug_file_add_symbols(&(struct debug_places){ 0 }, &code->elf, path, &code->symbols);
	symbol_table_sort(&code->symbols);
	code->window = mem_alloc(WINDOW_BYTES);
}

void code_close(struct code *code)
{
	if (!code->window)
		return;
	for (unsigned i = 1; i < CODE_FILES; i++) {
		if (code->joined[i])
			code_close(code->joined[i]);
		free(code->joined[i]);
	}
	map_done(&code->imports);
	map_done(&code->import_names);
	if (code->has_unwind)
		unwind_table_done(&code->unwind);
	symbol_table_done(&code->symbols);
	elf_file_close(&code->elf);
	map_done(&code->known);
	vec_done(&code->instructions);
	arena_done(&code->arena);
	free(code->window);
	code->window = NULL;
}

void code_join(struct code *code, unsigned number, struct elf_file elf, const char *path)
{
	code->joined[number] = mem_alloc(sizeof(*code));
	code_open(code->joined[number], elf, path);
}

const struct code *code_file(const struct code *code, uint64_t address, uint64_t *ret_linked)
{
	unsigned number = code_file_number(address);

	*ret_linked = address - code_file_base(number);
	return !number ? code : number < CODE_FILES ? code->joined[number] : NULL;
}

/* The file's bytes from the address on; how many, 0 outside of code. */
static size_t bytes_at(struct code *code, uint64_t address, const uint8_t **ret_bytes)
{
	if (address < code->window_at || address - code->window_at + INSTRUCTION_MOST > code->window_bytes) {
		code->window_bytes = 0;
		for (uint32_t i = 0; i < code->elf.segment_count; i++) {
			const Elf64_Phdr *s = &code->elf.segments[i];
			uint64_t left = s->p_filesz - (address - s->p_vaddr);

			if (s->p_type != PT_LOAD || !(s->p_flags & PF_X) || address < s->p_vaddr || address - s->p_vaddr >= s->p_filesz)
				continue;
			if (left > WINDOW_BYTES)
				left = WINDOW_BYTES;
			if (!elf_file_read(&code->elf, address - s->p_vaddr + s->p_offset, code->window, left)) {
				code->window_at = address;
				code->window_bytes = left;
			}
			break;
		}
	}
	if (!code->window_bytes)
		return 0;
	*ret_bytes = code->window + (address - code->window_at);
	return code->window_bytes - (address - code->window_at);
}

size_t code_bytes(struct code *code, uint64_t address, const uint8_t **ret_bytes)
{
	struct code *file = (struct code *)code_file(code, address, &address);
	size_t count = file ? bytes_at(file, address, ret_bytes) : 0;

	return count < INSTRUCTION_MOST ? count : INSTRUCTION_MOST;
}

bool code_may_call(struct code *code, uint64_t start, uint64_t end, uint64_t function)
{
	const uint8_t *bytes;
	int32_t relative;
	size_t count;

	for (uint64_t at = start; at < end; at += count - CALL_BYTES + 1) {
		count = bytes_at(code, at, &bytes);
		if (count < CALL_BYTES)
			return false;
		for (size_t i = 0; i + CALL_BYTES <= count && at + i < end; i++) {
			if (bytes[i] != CALL_OPCODE)
				continue;
			memcpy(&relative, bytes + i + 1, sizeof(relative));
			if (at + i + CALL_BYTES + (uint64_t)(int64_t)relative == function)
				return true;
		}
	}
	return false;
}

const struct instruction *code_at(struct code *code, uint64_t address)
{
	struct instruction instruction;
	const uint8_t *bytes;
	uint64_t *known;
	bool is_new;
	size_t count;

	known = map_at(&code->known, address, &is_new);
	if (is_new) {
		count = code_bytes(code, address, &bytes);
		if (count && instruction_decode(bytes, count, address, &instruction)) {
			vec_push(&code->instructions, instruction);
			*known = code->instructions.length;
		}
	}
	return *known ? &code->instructions.items[*known - 1] : NULL;
}

void code_text(struct code *code, uint64_t address, char text[INSTRUCTION_TEXT])
{
	const uint8_t *bytes = NULL;
	size_t count = code_bytes(code, address, &bytes);

	instruction_text(bytes, count, address & (code_file_base(1) - 1), text);
}

static bool function_in(const struct code *code, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct unwind_function *function = code->has_unwind ? unwind_table_function(&code->unwind, address) : NULL;
	const struct symbol *symbol;
	bool guessed;

	if (function) {
		*ret_start = code->unwind.base + function->start;
		*ret_end = *ret_start + function->bytes;
		return true;
	}
	symbol = symbol_table_find(&code->symbols, NULL, address, &guessed);
	if (!symbol || guessed || !symbol->bytes)
		return false;
	*ret_start = symbol->start;
	*ret_end = symbol->start + symbol->bytes;
	return true;
}

bool code_function(const struct code *code, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t linked, base;
	const struct code *file = code_file(code, address, &linked);

	if (!file || !function_in(file, linked, ret_start, ret_end))
		return false;
	base = address - linked;
	*ret_start += base;
	*ret_end += base;
	return true;
}

static const char *name_in(const struct code *code, struct arena *arena, uint64_t address)
{
	bool guessed;
	const struct symbol *symbol = symbol_table_find(&code->symbols, code->has_unwind ? &code->unwind : NULL, address, &guessed);
	uint64_t start, end;
	const char *plain;

	if (symbol && !guessed) {
		plain = demangle(arena, symbol->name);
		plain = plain ? plain : symbol->name;
		return address == symbol->start ? arena_strdup(arena, plain) : arena_printf(arena, "%s+0x%" PRIx64, plain, address - symbol->start);
	}
	if (code_function(code, address, &start, &end) && start != address)
		return arena_printf(arena, "0x%" PRIx64 "+0x%" PRIx64, start, address - start);
	return arena_printf(arena, "0x%" PRIx64, address);
}

const char *code_name(const struct code *code, struct arena *arena, uint64_t address)
{
	uint64_t linked;
	const struct code *file = code_file(code, address, &linked);
	const char *slash, *name = file ? name_in(file, arena, linked) : arena_printf(arena, "0x%" PRIx64, linked);

	for (unsigned i = 1; file && i < CODE_FILES; i++) {
		if (!code->joined[i])
			continue;
		slash = strrchr(file->path, '/');
		return arena_printf(arena, "%s:%s", slash ? slash + 1 : file->path, name);
	}
	return name;
}

/* Without taking names of C++ apart, which takes most of the time. */
static const struct symbol *find_exactly(const struct code *code, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < code->symbols.symbols.length; i++) {
		const struct symbol *symbol = &code->symbols.symbols.items[i];

		if (!strncmp(symbol->name, name, length) && (!symbol->name[length] || symbol->name[length] == '@'))
			return symbol;
	}
	return NULL;
}

int code_find(struct code *code, const char *name, uint64_t *ret_start, struct err *err)
{
	const struct symbol *exact = find_exactly(code, name);
	struct suggestion near = suggest_begin(name, strlen(name));
	const char *like = NULL;
	struct inlined inlined;

	if (exact) {
		*ret_start = exact->start;
		return 0;
	}
	for (size_t i = 0; i < code->symbols.symbols.length; i++) {
		const struct symbol *symbol = &code->symbols.symbols.items[i];
		struct arena_mark mark = arena_mark(&code->arena);
		const char *plain = symbol->name[0] == '_' && symbol->name[1] == 'Z' ? demangle(&code->arena, symbol->name) : NULL;
		bool called = plain && (!strcmp(plain, name) || (!strncmp(plain, name, strlen(name)) && plain[strlen(name)] == '('));

		arena_rewind(&code->arena, mark);
		if (called) {
			*ret_start = symbol->start;
			return 0;
		}
		suggest_offer(&near, symbol->name);
		if (!like && strcasestr(symbol->name, name))
			like = symbol->name;
	}
	if (inlined_find(&code->arena, code->path, name, &inlined))
		return err_set(err, -ENOENT, "'%s' of %s is inlined into its callers: step '%s', which holds a copy of it", name, code->path, inlined.caller);
	if (near.nearest || like)
		return err_set(err, -ENOENT, "%s has no function '%s', but '%s'", code->path, name, near.nearest ? near.nearest : like);
	return err_set(err, -ENOENT, "%s has no function '%s': it may be inlined, be in a library, or have no symbol (then give an address: 0x...)",
		       code->path, name);
}

int code_begins(struct code *code, uint64_t address, uint64_t *ret_before, uint64_t *ret_behind)
{
	uint64_t at, end;

	if (!code_function(code, address, &at, &end))
		return -ENOENT;
	*ret_before = at;
	while (at < address && at < end) {
		const struct instruction *instruction = code_at(code, at);

		if (!instruction)
			return -ENOENT;
		*ret_before = at;
		at += instruction->length;
	}
	*ret_behind = at;
	return at == address && code_at(code, at) ? 1 : 0;
}

uint64_t code_import_word(struct code *code, uint64_t address)
{
	const struct instruction *found = code_at(code, address);

	/* endbr64 */
	if (found && found->kind == INSTRUCTION_plain && !found->written && !found->memory_count && !found->stack_written)
		found = code_at(code, address += found->length);
	if (!found || found->direct || (found->kind != INSTRUCTION_jump && found->kind != INSTRUCTION_call) || found->memory_count != 1 ||
	    found->memory[0].base != REGISTER_ip)
		return 0;
	return address + found->length + (uint64_t)found->memory[0].displacement;
}

/* ---- places where ways part ---- */

struct walk {
	struct code *code;
	struct code_sites *sites;
	struct map seen;                 /* instructions gone through */
	struct vec(uint64_t) open;       /* ... to be gone through, of this function */
	struct vec(uint64_t) calls;      /* functions that it calls */
	uint64_t start, end;
};

static bool is_site(const struct instruction *instruction)
{
	switch ((enum instruction_kind)instruction->kind) {
	case INSTRUCTION_branch:
	case INSTRUCTION_call:
	case INSTRUCTION_return:
		return true;
	case INSTRUCTION_jump:
		return !instruction->direct;
	case INSTRUCTION_plain:
	case INSTRUCTION_system:
		break;
	}
	return false;
}

static void go_on_at(struct walk *walk, uint64_t address)
{
	if (address >= walk->start && address < walk->end)
		vec_push(&walk->open, address);
	else
		vec_push(&walk->calls, address); /* a jump out of the function is a call at its end */
}

/* In another file, by a stub or by the word in memory. */
static bool go_to_import(struct walk *walk, uint64_t address, const struct instruction *instruction)
{
	const uint64_t *function;

	if (instruction->kind != INSTRUCTION_call && instruction->kind != INSTRUCTION_jump)
		return false;
	function = map_find(&walk->code->imports, code_import_word(walk->code, instruction->direct ? instruction->target : address));
	if (function)
		vec_push(&walk->calls, *function);
	return function;
}

static void take_instruction(struct walk *walk, uint64_t address, const struct instruction *instruction)
{
	bool imported = go_to_import(walk, address, instruction);

	if (is_site(instruction)) {
		if (walk->sites->addresses.length >= CODE_SITES_MOST) {
			walk->sites->cut = true;
			return;
		}
		vec_push(&walk->sites->addresses, address);
	}
	if (instruction->direct && instruction->kind == INSTRUCTION_call && !imported)
		vec_push(&walk->calls, instruction->target);
	else if (instruction->direct && !imported)
		go_on_at(walk, instruction->target);
	if (instruction->kind != INSTRUCTION_jump && instruction->kind != INSTRUCTION_return)
		go_on_at(walk, address + instruction->length);
}

static bool walk_function(struct walk *walk, uint64_t function)
{
	size_t steps = 0;

	if (!code_function(walk->code, function, &walk->start, &walk->end))
		return false;
	for (size_t i = 0; i < walk->sites->functions.length; i++)
		if (walk->sites->functions.items[i] == walk->start)
			return false;
	vec_push(&walk->sites->functions, walk->start);
	vec_clear(&walk->open);
	vec_push(&walk->open, walk->start);
	while (walk->open.length && ++steps < FUNCTION_MOST && !walk->sites->cut) {
		uint64_t address = walk->open.items[--walk->open.length];
		const struct instruction *found;
		struct instruction instruction;
		bool is_new;

		map_at(&walk->seen, address, &is_new);
		found = is_new ? code_at(walk->code, address) : NULL;
		if (!found)
			continue;
		instruction = *found;
		take_instruction(walk, address, &instruction);
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b;
}

void code_sites_sort(struct code_sites *sites)
{
	if (sites->addresses.length)
		qsort(sites->addresses.items, sites->addresses.length, sizeof(uint64_t), by_address);
}

void code_find_sites(struct code *code, const uint64_t *functions, size_t count, unsigned depth, struct code_sites *ret_sites)
{
	struct vec(uint64_t) now = { 0 };
	struct walk walk = { .code = code, .sites = ret_sites };

	*ret_sites = (struct code_sites){ 0 };
	for (size_t i = 0; i < count; i++)
		vec_push(&now, functions[i]);
	for (unsigned level = 0; level <= depth && now.length && !ret_sites->cut; level++) {
		vec_clear(&walk.calls);
		for (size_t i = 0; i < now.length && ret_sites->functions.length < FUNCTIONS_MOST; i++)
			walk_function(&walk, now.items[i]);
		vec_clear(&now);
		for (size_t i = 0; i < walk.calls.length; i++)
			vec_push(&now, walk.calls.items[i]);
	}
	code_sites_sort(ret_sites);
	vec_done(&now);
	vec_done(&walk.open);
	vec_done(&walk.calls);
	map_done(&walk.seen);
}

bool code_is_site(const struct code_sites *sites, uint64_t address)
{
	return sites->addresses.length &&
	       bsearch(&address, sites->addresses.items, sites->addresses.length, sizeof(uint64_t), by_address);
}

unsigned code_straight(struct code *code, const struct code_sites *sites, uint64_t address)
{
	unsigned count = 0;

	while (count < STRAIGHT_MOST && !code_is_site(sites, address)) {
		const struct instruction *found = code_at(code, address);

		if (!found || (found->kind != INSTRUCTION_plain && !(found->kind == INSTRUCTION_jump && found->direct)))
			break;
		address = found->kind == INSTRUCTION_jump ? found->target : address + found->length;
		count++;
	}
	return count;
}

void code_sites_done(struct code_sites *sites)
{
	vec_done(&sites->addresses);
	vec_done(&sites->functions);
}
