/* See watch_find.h. */
#include "probe/watch_find.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "probe/code.h"
#include "probe/variable.h"

#define BYTES_UNKNOWN 4u   /* of what has neither type nor size: an int's, as most flags are */
#define MODULES_MOST 512u  /* looked into where no file is named */

struct search {
	struct arena *arena;
	const struct watch_spec *spec;
	const struct process *process;
	const struct process_mapping *mapping; /* of the file, NULL none */
	struct variable_file file;
	bool open;                             /* the file is */
	struct variable variable;
	uint64_t bias;
};

static int fail(const struct watch_spec *spec, struct err *err)
{
	return err_prefix(err, "--watch %s", spec->written);
}

static void close_file(struct search *search)
{
	if (search->open)
		variable_file_close(&search->file);
	search->open = false;
}

static int open_file(struct search *search, const struct process_mapping *mapping, struct err *err)
{
	struct elf_file elf;
	int r = process_open_module(search->process, mapping, &elf, err);

	if (r)
		return r;
	search->mapping = mapping;
	r = variable_file_open(&search->file, elf, process_module_path(search->arena, search->process, mapping), mapping->path, err);
	search->open = !r;
	if (!r && !process_bias(search->process, mapping, &search->file.elf, &search->bias))
		r = err_set(err, -EINVAL, "process %d has mapped %s in a way that is not understood", (int)search->process->pid, mapping->path);
	return r;
}

/* In the named file, or by its address in it. */
static int find_in_file(struct search *search, struct err *err)
{
	const struct watch_spec *spec = search->spec;
	const struct process_mapping *mapping = process_module(search->process, spec->file);
	int r;

	if (!mapping)
		return err_set(err, -ENOENT, "process %d has not mapped '%s'", (int)search->process->pid, spec->file);
	r = open_file(search, mapping, err);
	if (!r && spec->symbol)
		r = variable_find(search->arena, &search->file, spec->symbol, &search->variable, err);
	else if (!r)
		search->variable = (struct variable){ .address = spec->address };
	return r;
}

/* Wherever it is, the program first. */
static int find_anywhere(struct search *search, struct err *err)
{
	const struct process *process = search->process;
	const struct process_mapping *program = process_module(process, "");
	struct err first = { 0 }, other;
	uint64_t seen[MODULES_MOST];
	size_t count = 0;
	int r = -ENOENT;

	if (program) {
		r = open_file(search, program, &first);
		if (!r)
			r = variable_find(search->arena, &search->file, search->spec->symbol, &search->variable, &first);
		seen[count++] = program->inode;
	}
	for (size_t i = 0; r == -ENOENT && i < process->count && count < MODULES_MOST; i++) {
		const struct process_mapping *mapping = &process->mappings[i];
		bool known = mapping->path[0] != '/' || !mapping->inode;

		for (size_t j = 0; j < count && !known; j++)
			known = seen[j] == mapping->inode;
		if (known || !(mapping->protection & PROT_EXEC))
			continue;
		seen[count++] = mapping->inode;
		close_file(search);
		r = open_file(search, mapping, &other);
		r = r ? -ENOENT : variable_find(search->arena, &search->file, search->spec->symbol, &search->variable, &other);
		if (r && r != -ENOENT)
			first = other;
	}
	return r ? (first.code ? err_set(err, r, "%s", first.text) :
				 err_set(err, r, "process %d has no variable '%s'", (int)process->pid, search->spec->symbol)) : 0;
}

static int read_pointer(struct search *search, uint64_t *address, const char *place, struct err *err)
{
	uint64_t to = 0;
	int r = process_read(search->process->pid, *address, &to, sizeof(to));

	if (r)
		return err_set(err, r, "%s, at 0x%" PRIx64 ", cannot be read in process %d", place, *address, (int)search->process->pid);
	if (!to)
		return err_set(err, -EINVAL, "the pointer %s, at 0x%" PRIx64 " of process %d, is NULL now: watch it itself, or wait until it is set",
			       place, *address, (int)search->process->pid);
	*address = to;
	return 0;
}

/* One step on the way; `place` is what has been gone so far, in words. */
static int take_step(struct search *search, const struct watch_step *step, struct variable *variable, uint64_t *address, struct buf *place,
		     struct err *err)
{
	uint64_t offset = 0;
	int r = 0;

	switch (step->kind) {
	case WATCH_add:
		offset = (uint64_t)step->number;
		variable->typed = false;
		variable->bytes = 0;
		buf_printf(place, "+%" PRId64, step->number);
		break;
	case WATCH_follow:
		r = variable_follow(variable, err);
		if (!r)
			r = read_pointer(search, address, buf_str(place), err);
		offset = (uint64_t)step->number;
		if (step->number)
			variable->typed = false;
		buf_printf(place, "->");
		if (step->number || !variable->typed)
			buf_printf(place, "%" PRId64, step->number);
		break;
	case WATCH_field:
		r = variable_field(variable, step->field, &offset, err);
		buf_printf(place, "%s%s", place->length > 2 && place->data[place->length - 1] == '>' ? "" : ".", step->field);
		break;
	case WATCH_index:
		r = variable_element(variable, step->number, &offset, err);
		buf_printf(place, "[%" PRId64 "]", step->number);
		break;
	}
	*address += offset;
	return r;
}

static int take_size(const struct search *search, const struct variable *variable, struct watch_place *place, struct err *err)
{
	uint64_t bytes = search->spec->bytes;
	size_t steps = search->spec->step_count;

	if (!bytes)
		bytes = variable->bytes ? variable->bytes : BYTES_UNKNOWN;
	/* a number of bytes was written, not a field: its type is not known */
	if (!search->spec->bytes && bytes > 8 && steps && search->spec->steps[steps - 1].kind == WATCH_follow)
		bytes = BYTES_UNKNOWN;
	if (bytes > 8)
		return err_set(err, -EINVAL, "%s has %" PRIu64 " bytes, a watchpoint covers at most 8: say which, as %s+8%%4", place->place, bytes,
			       search->spec->written);
	/* without a size that anybody told, none that takes more than one watchpoint */
	while (!search->spec->bytes && !variable->bytes && bytes > 1 && place->address % bytes)
		bytes /= 2;
	place->bytes = (uint32_t)bytes;
	return 0;
}

static void put_registers(const struct watch_registers *registers, struct buf *words)
{
	buf_text(words, register_name(registers->base));
	if (registers->index != REGISTER_none)
		buf_printf(words, "+%s*%u", register_name(registers->index), registers->scale);
	if (registers->displacement)
		buf_printf(words, "%+" PRId64, registers->displacement);
}

/* From where the variable lies all steps of the way. */
static int walk_way(struct search *search, uint64_t address, pid_t tid, struct watch_place *ret_place, struct err *err)
{
	const struct watch_spec *spec = search->spec;
	struct variable variable = search->variable;
	struct watch_place place = { .spec = spec, .pid = search->process->pid, .tid = tid };
	struct buf words;
	int r = 0;

	buf_init(&words);
	if (spec->at_code)
		put_registers(&spec->registers, &words);
	else if (spec->symbol)
		buf_text(&words, spec->symbol);
	else
		buf_printf(&words, "0x%" PRIx64, spec->address);
	for (size_t i = 0; i < spec->step_count && !r; i++)
		r = take_step(search, &spec->steps[i], &variable, &address, &words, err);
	place.address = address;
	place.place = arena_strdup(search->arena, buf_str(&words));
	place.file = search->mapping ? arena_strdup(search->arena, search->mapping->path) : "";
	if (spec->at_code)
		place.place = arena_printf(search->arena, "%s of a thread", place.place);
	else if (tid)
		place.place = arena_printf(search->arena, "%s of thread %d", place.place, (int)tid);
	buf_done(&words);
	if (!r)
		r = take_size(search, &variable, &place, err);
	place.memory = process_shared_memory(search->process, place.address);
	if (!r && process_read(place.pid, place.address, &place.value, place.bytes))
		r = err_set(err, -EFAULT, "process %d has no memory at 0x%" PRIx64, (int)place.pid, place.address);
	if (!r)
		*ret_place = place;
	return r;
}

/* Of a thread-local variable: in each thread that has it by now. */
static int find_own(struct search *search, const struct watch_threads *threads, struct watch_place *places, size_t most, size_t *ret_count,
		    struct err *err)
{
	const struct process_mapping *program = process_module(search->process, "");
	const struct watch_thread *list;
	struct thread_block block;
	size_t count, found = 0;
	uint64_t address;
	int r;

	if (!threads)
		return err_set(err, -ENOTSUP, "'%s' is a thread-local variable", search->spec->symbol);
	r = thread_block_find(search->process, &search->file.elf, search->bias,
			      program && program->inode == search->mapping->inode && program->device == search->mapping->device, &block, err);
	if (!r)
		r = threads->list(threads->data, search->process->pid, &list, &count, err);
	if (r)
		return r;
	for (size_t i = 0; i < count && found < most; i++) {
		r = thread_block_of(&block, &list[i], &address, err);
		if (!r)
			r = walk_way(search, address + search->variable.address, list[i].tid, &places[found], err);
		/* what one of them lacks the others may have */
		found += !r;
	}
	*ret_count = found;
	return found ? 0 : r ? r : err_set(err, -EAGAIN, "no thread of process %d has it", (int)search->process->pid);
}

int watch_find(struct arena *arena, const struct watch_spec *spec, const struct process *process, const struct watch_threads *threads,
	       struct watch_place *places, size_t most, size_t *ret_count, struct err *err)
{
	struct search search = { .arena = arena, .spec = spec, .process = process };
	int r = 0;

	if (spec->file)
		r = find_in_file(&search, err);
	else if (spec->symbol)
		r = find_anywhere(&search, err);
	else
		search.variable = (struct variable){ .address = spec->address };
	if (!r && search.variable.is_thread_local) {
		r = find_own(&search, threads, places, most, ret_count, err);
	} else if (!r) {
		r = walk_way(&search, search.variable.address + search.bias, 0, places, err);
		*ret_count = 1;
	}
	close_file(&search);
	return r ? fail(spec, err) : 0;
}

int watch_find_from(struct arena *arena, const struct watch_spec *spec, const struct process *process, uint64_t address,
		    struct watch_place *ret_place, struct err *err)
{
	struct search search = { .arena = arena, .spec = spec, .process = process, .mapping = process_module(process, spec->file) };

	return walk_way(&search, address, 0, ret_place, err) ? fail(spec, err) : 0;
}

int watch_find_variable(struct arena *arena, const struct watch_spec *spec, const char *path, struct err *err)
{
	struct variable_file file;
	struct variable variable;
	struct elf_file elf;
	int r = elf_file_open(path, &elf, err);

	if (!r)
		r = variable_file_open(&file, elf, path, path, err);
	if (!r) {
		r = variable_find(arena, &file, spec->symbol, &variable, err);
		variable_file_close(&file);
	}
	return r ? fail(spec, err) : 0;
}

static int find_code(struct code *code, const struct watch_spec *spec, uint64_t *ret_offset, struct err *err)
{
	uint64_t address = spec->address, before, next;
	int r = spec->symbol ? code_find(code, spec->symbol, &address, err) : 0;

	if (r)
		return r;
	address += spec->behind;
	if (spec->by_offset && !elf_file_address(&code->elf, spec->address, &address))
		return err_set(err, -ENOENT, "%s has nothing at offset 0x%" PRIx64, code->path, spec->address);
	r = code_begins(code, address, &before, &next);
	if (r < 0)
		return err_set(err, -ENOENT, "0x%" PRIx64 " is in no function of %s whose start and end are known", address, code->path);
	if (!r)
		return err_set(err, -EINVAL, "0x%" PRIx64 " of %s is inside of an instruction: one begins at 0x%" PRIx64 ", the next at 0x%" PRIx64,
			       address, code->path, before, next);
	if (!elf_file_offset(&code->elf, address, ret_offset))
		return err_set(err, -ENOENT, "0x%" PRIx64 " is not in %s", address, code->path);
	return 0;
}

int watch_find_code(struct arena *arena, const struct watch_spec *spec, const char *path, uint64_t *ret_offset, struct err *err)
{
	struct elf_file elf;
	struct code code;
	int r = elf_file_open(path, &elf, err);

	if (r)
		return fail(spec, err);
	code_open(&code, elf, arena_strdup(arena, path));
	r = find_code(&code, spec, ret_offset, err);
	code_close(&code);
	return r ? fail(spec, err) : 0;
}

size_t watch_pieces(uint64_t address, uint32_t bytes, uint64_t ret_addresses[WATCH_PIECES_MOST], uint32_t ret_bytes[WATCH_PIECES_MOST])
{
	size_t count = 0;

	while (bytes && count < WATCH_PIECES_MOST) {
		uint32_t piece = 8;

		while (piece > bytes || address % piece)
			piece /= 2;
		ret_addresses[count] = address;
		ret_bytes[count++] = piece;
		address += piece;
		bytes -= piece;
	}
	return count;
}
