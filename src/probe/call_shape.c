/* See call_shape.h.
 *
 * From the first call on the code is followed in a straight line, and of each register it is kept
 * where its value could be had at that call: in a register, or where one points to. */
#include "probe/call_shape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "probe/imports.h"

#define STEPS_MOST 64u        /* instructions from one of the calls to the next */
#define STUB_BYTES_MOST (4u << 20)
#define FUNCTIONS_MOST 64u    /* that the one asked for calls */
#define KEPT_BY_CALLS (1u << REGISTER_rbx | 1u << REGISTER_rsp | 1u << REGISTER_rbp | 0xf000u)

struct follow {
	struct code *code;
	struct shape_value values[REGISTER_count];
	struct shape_value stored[8];  /* memory that was written since: what is read there is something else */
	unsigned stored_count;
	uint32_t written;              /* registers, since the first call */
};

static int register_of(const char *name, size_t length)
{
	for (unsigned i = 0; i < REGISTER_count; i++)
		if (strlen(register_name(i)) == length && !memcmp(register_name(i), name, length))
			return (int)i;
	return -1;
}

static bool same_place(const struct shape_value *a, const struct shape_value *b)
{
	return a->reg == b->reg && a->displacement == b->displacement;
}

/* What lies where the operand points to; of what was changed meanwhile nothing is known. */
static struct shape_value value_at(const struct follow *f, const struct instruction_memory *m)
{
	struct shape_value value = { 0 };

	if (m->base >= REGISTER_count || (m->index < REGISTER_count && m->scale) || m->segment || m->bytes != 8)
		return value;
	value = f->values[m->base];
	if (!value.known || value.memory)
		return (struct shape_value){ 0 };
	value.memory = true;
	value.displacement = m->displacement;
	for (unsigned i = 0; i < f->stored_count; i++)
		if (same_place(&f->stored[i], &value))
			value.known = false;
	return value;
}

static void note_store(struct follow *f, const struct instruction_memory *m)
{
	struct shape_value value = { 0 };

	if (m->base < REGISTER_count)
		value = f->values[m->base];
	value.displacement = m->displacement;
	if (value.known && f->stored_count < sizeof(f->stored) / sizeof(f->stored[0]))
		f->stored[f->stored_count++] = value;
}

/* "mov REGISTER, REGISTER" and "mov REGISTER, [...]" are followed; whatever else is written is lost. */
static void take_plain(struct follow *f, uint64_t address, const struct instruction *in)
{
	struct shape_value value = { 0 };
	char text[INSTRUCTION_TEXT];
	const char *comma;
	int to = -1, from;

	code_text(f->code, address, text);
	comma = strchr(text, ',');
	if (!strncmp(text, "mov ", 4) && comma)
		to = register_of(text + 4, (size_t)(comma - text) - 4);
	if (to >= 0 && in->memory_count == 1 && in->memory[0].read) {
		value = value_at(f, &in->memory[0]);
	} else if (to >= 0 && !in->memory_count) {
		from = register_of(comma + 2, strlen(comma + 2));
		if (from >= 0)
			value = f->values[from];
	}
	for (unsigned i = 0; i < in->memory_count; i++)
		if (in->memory[i].written)
			note_store(f, &in->memory[i]);
	for (unsigned i = 0; i < REGISTER_count; i++)
		if (in->written >> i & 1)
			f->values[i] = (struct shape_value){ 0 };
	f->written |= in->written;
	if (to >= 0)
		f->values[to] = value;
}

static void take_call(struct follow *f)
{
	for (unsigned i = 0; i < REGISTER_count; i++)
		if (!(KEPT_BY_CALLS >> i & 1))
			f->values[i] = (struct shape_value){ 0 };
}

static void follow_begin(struct follow *f, struct code *code)
{
	*f = (struct follow){ .code = code };
	for (unsigned i = 0; i < REGISTER_count; i++)
		f->values[i] = (struct shape_value){ .known = true, .reg = (uint8_t)i };
}

static bool calls(const struct instruction *in, uint64_t function)
{
	return function && in->kind == INSTRUCTION_call && in->direct && in->target == function;
}

/* Or jumps there, at the end of the function. */
static bool goes_to(const struct instruction *in, uint64_t function)
{
	return calls(in, function) || (function && in->kind == INSTRUCTION_jump && in->direct && in->target == function);
}

/* "call r14", "call [rbx]". */
static void note_call_back(struct follow *f, uint64_t address, const struct instruction *in, struct call_shape *shape)
{
	/* r8 and r9 have no names of their own */
	static const uint8_t registers[SHAPE_ARGUMENTS] = { REGISTER_rdi, REGISTER_rsi, REGISTER_rdx, REGISTER_rcx, 8, 9 };
	char text[INSTRUCTION_TEXT];
	int at;

	for (unsigned i = 0; i < SHAPE_ARGUMENTS; i++)
		shape->arguments[i] = f->values[registers[i]];
	if (in->memory_count == 1) {
		shape->target = value_at(f, &in->memory[0]);
		if (in->memory[0].base < REGISTER_count)
			shape->object = f->values[in->memory[0].base];
		return;
	}
	code_text(f->code, address, text);
	at = strncmp(text, "call ", 5) ? -1 : register_of(text + 5, strlen(text + 5));
	if (at >= 0)
		shape->target = f->values[at];
}

static void note_kept(const struct follow *f, struct shape_value *value)
{
	value->kept = value->known && !value->memory && (KEPT_BY_CALLS >> value->reg & 1) && !(f->written >> value->reg & 1);
}

static void note_behind(const struct follow *f, uint64_t address, struct call_shape *shape)
{
	shape->behind = address;
	for (unsigned i = 0; i < SHAPE_ARGUMENTS; i++)
		note_kept(f, &shape->arguments[i]);
	note_kept(f, &shape->target);
	note_kept(f, &shape->object);
}

/* Whether the way from the first call at the address leads over a call back to the second. */
static bool follow_from(struct code *code, uint64_t address, uint64_t first, uint64_t second, struct call_shape *ret_shape)
{
	const struct instruction *in = code_at(code, address);
	struct follow f;
	bool called = false;

	*ret_shape = (struct call_shape){ .before = address };
	follow_begin(&f, code);
	take_call(&f);
	address += in->length;
	for (unsigned steps = 0; steps < STEPS_MOST * (called ? 2 : 1) && (in = code_at(code, address)); steps++) {
		struct instruction now = *in;
		uint64_t next = address + now.length;

		if (called && !calls(&now, first) && goes_to(&now, second)) {
			note_behind(&f, address, ret_shape);
			return true;
		}
		switch ((enum instruction_kind)now.kind) {
		case INSTRUCTION_return:
		case INSTRUCTION_system:
			return false;
		case INSTRUCTION_jump:
			if (!now.direct)
				return false;
			next = now.target;
			break;
		case INSTRUCTION_branch:
			break;
		case INSTRUCTION_call:
			if (calls(&now, first) || (!called && calls(&now, second)))
				return false;
			if (!now.direct && !called) {
				note_call_back(&f, address, &now, ret_shape);
				called = true;
			}
			take_call(&f);
			if (called && !second) {
				note_behind(&f, next, ret_shape);
				return true;
			}
			break;
		case INSTRUCTION_plain:
			take_plain(&f, address, &now);
			break;
		}
		address = next;
	}
	return false;
}

static void add_shape(struct call_shapes *shapes, const struct call_shape *shape)
{
	for (size_t i = 0; i < shapes->length; i++)
		if (shapes->items[i].before == shape->before)
			return;
	vec_push(shapes, *shape);
}

struct reached vec(uint64_t);

static void look_through(struct code *code, uint64_t start, uint64_t end, uint64_t first, uint64_t second, struct call_shapes *shapes,
			 struct reached *calls_to)
{
	const struct instruction *found;

	for (uint64_t at = start; at < end && (found = code_at(code, at)); ) {
		struct instruction in = *found;
		struct call_shape shape;

		if (calls(&in, first) && follow_from(code, at, first, second, &shape))
			add_shape(shapes, &shape);
		else if (calls_to && in.direct && (in.kind == INSTRUCTION_call || in.kind == INSTRUCTION_jump) &&
			 (in.target < start || in.target >= end) && calls_to->length < FUNCTIONS_MOST)
			vec_push(calls_to, in.target);
		at += in.length;
	}
}

static void look_through_all(struct code *code, uint64_t first, uint64_t second, struct call_shapes *shapes)
{
	const struct unwind_table *table = &code->unwind;

	for (uint32_t i = 0; code->has_unwind && i < table->function_count; i++) {
		uint64_t start = table->base + table->functions[i].start, end = start + table->functions[i].bytes;

		if (code_may_call(code, start, end, first))
			look_through(code, start, end, first, second, shapes, NULL);
	}
}

uint64_t call_shape_function(struct code *code, const char *name)
{
	uint64_t start;

	if (!name[0])
		return 0;
	/* a library may call its own functions by stubs, too */
	for (uint32_t i = 0; i < code->elf.section_count; i++) {
		const Elf64_Shdr *section = &code->elf.sections[i];
		const char *called = elf_file_section_name(&code->elf, section);

		/* the stubs' tables; each stub has sixteen bytes, or eight */
		if (strncmp(called, ".plt", 4) != 0 || !(section->sh_flags & SHF_EXECINSTR))
			continue;
		for (uint64_t at = 0; at < section->sh_size && at < STUB_BYTES_MOST; at += 8) {
			const char *found = imports_name(code, section->sh_addr + at);

			if (found && !strcmp(found, name))
				return section->sh_addr + at;
		}
	}
	return code_find(code, name, &start, NULL) ? 0 : start;
}

/* Each call of something by its address: `before` is that call itself. */
static void look_for_any(struct code *code, uint64_t start, uint64_t end, struct call_shapes *shapes)
{
	const struct instruction *found;

	for (uint64_t at = start; at < end && (found = code_at(code, at)); ) {
		struct instruction in = *found;
		struct call_shape shape = { .before = at };
		struct follow f;

		if (in.kind == INSTRUCTION_call && !in.direct) {
			follow_begin(&f, code);
			note_call_back(&f, at, &in, &shape);
			take_call(&f);
			note_behind(&f, at + in.length, &shape);
			add_shape(shapes, &shape);
		}
		at += in.length;
	}
}

void call_shapes_find(struct code *code, uint64_t function, uint64_t first, uint64_t second, struct call_shapes *shapes)
{
	struct reached called = { 0 };
	uint64_t start, end;

	*shapes = (struct call_shapes){ 0 };
	if (!first) {
		if (!second && code_function(code, function, &start, &end))
			look_for_any(code, start, end, shapes);
		return;
	}
	if (!function) {
		look_through_all(code, first, second, shapes);
		return;
	}
	if (code_function(code, function, &start, &end))
		look_through(code, start, end, first, second, shapes, &called);
	for (size_t i = 0; i < called.length; i++)
		if (code_function(code, called.items[i], &start, &end))
			look_through(code, start, end, first, second, shapes, NULL);
	vec_done(&called);
}

const char *shape_value_text(struct arena *arena, const struct shape_value *value, bool behind)
{
	if (!value->known || (behind && !value->kept))
		return NULL;
	if (!value->memory)
		return register_name(value->reg);
	return value->displacement < 0 ? arena_printf(arena, "[%s-%" PRId64 "]", register_name(value->reg), -value->displacement)
				       : arena_printf(arena, "[%s+%" PRId64 "]", register_name(value->reg), value->displacement);
}
