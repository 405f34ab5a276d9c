/* See probe_near.h. */
#include "record/probe_near.h"

#include "probe/near.h"
#include "record/probe_values.h"

/* The registers that the probe reads, a bit each; false where one is none that code changes by name. */
static bool registers_of(const struct probe_fields *fields, uint16_t *ret_registers, bool *ret_memory)
{
	uint16_t registers = fields->at[0].bytes ? 0 : (1u << REGISTER_rdi) | (1u << REGISTER_rsi) | (1u << REGISTER_rdx);
	bool memory = false;

	for (unsigned i = 0; i <= PROBE_TEXT; i++) {
		uint16_t bit = 0;

		if (!fields->at[i].bytes)
			continue;
		for (uint8_t number = 0; number < REGISTER_count; number++)
			if (probe_values_register(number) == fields->at[i].offset)
				bit = (uint16_t)(1u << number);
		if (!bit)
			return false;
		registers |= bit;
		memory |= fields->at[i].steps || fields->at[i].text;
	}
	*ret_registers = registers;
	*ret_memory = memory;
	return true;
}

/* False where the place is dear and there is none near by. */
static bool look_at(struct arena *arena, struct probe_point *point, struct probe_place *place, uint64_t *ret_near)
{
	const struct instruction *instruction;
	char text[INSTRUCTION_TEXT];
	uint64_t address, near;
	uint16_t registers = 0;
	struct elf_file elf;
	struct code code;
	bool memory, found = true;

	*ret_near = place->offset;
	if (elf_file_open(place->open, &elf, NULL))
		return false;
	code_open(&code, elf, place->file);
	instruction = elf_file_address(&code.elf, place->offset, &address) ? code_at(&code, address) : NULL;
	if (instruction && !instruction->emulated) {
		code_text(&code, address, text);
		point->slow = arena_strdup(arena, text);
		near = registers_of(&point->fields, &registers, &memory) ? near_find(&code, address, registers, memory) : 0;
		found = near && elf_file_offset(&code.elf, near, ret_near);
		if (found) {
			code_text(&code, near, text);
			point->near = arena_printf(arena, "%s ('%s')", code_name(&code, arena, near), text);
		}
	}
	code_close(&code);
	return found;
}

static void look_near(struct arena *arena, struct probe_point *point, bool take)
{
	uint64_t *offsets = arena_array(arena, uint64_t, point->place_count);
	bool all = true;

	for (size_t i = 0; i < point->place_count; i++)
		all &= look_at(arena, point, &point->places[i], &offsets[i]);
	if (!all)
		point->near = NULL;
	for (size_t i = 0; i < point->place_count && take && point->near; i++)
		point->places[i].offset = offsets[i];
}

void probe_near_find(struct arena *arena, const struct probe_points *points, bool take)
{
	for (size_t i = 0; i < points->count; i++) {
		struct probe_point *point = &points->items[i];

		if (!point->pack && point->kind == PROBE_KIND_function && !point->leaves)
			look_near(arena, point, take);
	}
}
