/* See probe_values.h. */
#include "record/probe_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_value.h"
#include "trace/event.h"

#define MARK_ARGUMENTS 12  /* of a USDT mark */

uint16_t probe_values_register(uint8_t number)
{
	/* in the order of struct user_registers: r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, -, -, -, -, rsp */
	static const uint8_t places[REGISTER_count] = { 10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0 };

	return number < REGISTER_count ? (uint16_t)(places[number] * 8) : UINT16_MAX;
}

static void put(struct probe_fields *fields, unsigned i, const struct probe_value *value)
{
	fields->at[i].offset = probe_values_register(value->base);
	fields->at[i].bytes = value->bytes;
	fields->at[i].is_signed = value->is_signed;
	fields->at[i].steps = value->steps;
	fields->at[i].text = value->text;
	fields->at[i].text_behind = value->text_behind;
	for (unsigned step = 0; step < value->steps; step++)
		fields->at[i].displacement[step] = value->displacement[step];
}

_Static_assert(PROBE_STEPS == PROBE_VALUE_STEPS, "the program takes as many steps");

static const char *trimmed(struct arena *arena, const char *text, size_t length)
{
	while (length && *text == ' ') {
		text++;
		length--;
	}
	while (length && text[length - 1] == ' ')
		length--;
	return arena_strndup(arena, text, length);
}

static int find_at(struct arena *arena, struct variable_file *file, struct code *code, uint64_t address, const char *text,
		   struct probe_point *point, struct probe_fields *ret_fields, struct err *err)
{
	uint64_t start = 0, end;
	bool entry = code_function(code, address, &start, &end) && start == address;
	unsigned count = 0;

	*ret_fields = (struct probe_fields){ 0 };
	while (*text) {
		size_t length = strcspn(text, ",");
		struct probe_value value;
		int r;

		if (count == PROBE_FIELDS)
			return err_set(err, -E2BIG, "more than %d values", PROBE_FIELDS);
		point->values[count] = trimmed(arena, text, length);
		r = probe_value_find(arena, file, code, address, entry, point->values[count], &value, err);
		if (r)
			return r;
		put(ret_fields, count++, &value);
		text += length + (text[length] == ',');
	}
	return count ? 0 : err_set(err, -EINVAL, "write values between '(' and ')': q->length, name:string");
}

static int find_at_place(struct arena *arena, struct probe_point *point, const struct probe_place *place, const char *text,
			 struct probe_fields *ret_fields, struct err *err)
{
	struct elf_file for_code, for_types;
	struct variable_file file;
	uint64_t address = 0;
	struct code code;
	int r = elf_file_open(place->open, &for_code, err);

	if (r)
		return r;
	code_open(&code, for_code, place->file);
	r = elf_file_open(place->open, &for_types, err);
	if (!r)
		r = variable_file_open(&file, for_types, place->open, place->file, err);
	if (!r) {
		r = elf_file_address(&code.elf, place->offset, &address) ?
			find_at(arena, &file, &code, address, text, point, ret_fields, err) :
			err_set(err, -ENOENT, "%s has no code at offset 0x%" PRIx64, place->file, place->offset);
		variable_file_close(&file);
	}
	code_close(&code);
	return r;
}

int probe_values_find(struct arena *arena, struct probe_point *point, const char *text, struct err *err)
{
	struct probe_fields other;
	int r = 0;

	for (size_t i = 0; i < point->place_count && !r; i++) {
		r = find_at_place(arena, point, &point->places[i], text, i ? &other : &point->fields, err);
		if (!r && i && memcmp(&other, &point->fields, sizeof(other)))
			r = err_set(err, -ENOTSUP, "%s has %zu places of this name, and these values are not at the same place in all: probe each by its "
				    "address", point->file, point->place_count);
	}
	return r;
}

/* ---- registers ---- */

/* A register's place in struct user_registers; -1: there is none of this name. */
static int register_place(const char *name, size_t length)
{
	static const char *const names[] = { "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi",
					     "rdi", "", "rip", "", "", "rsp" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (length && strlen(names[i]) == length && !memcmp(names[i], name, length))
			return (int)i * 8;
	return -1;
}

/* "r15", "rsi+24", "[rsp+48]", "[rdi:4]", "[[rdi]-8]": of memory so many bytes, at the end of so many reads. What follows it;
 * NULL where it is none. */
static const char *read_register(const char *text, struct probe_fields *fields, unsigned index)
{
	unsigned steps = (unsigned)strspn(text, "[");
	const char *name = text + steps;
	size_t length = strcspn(name, ",+-:]%");
	int place = register_place(name, length);
	long bytes = 8;

	if (place < 0 || steps > PROBE_STEPS)
		return NULL;
	text = name + length;
	for (unsigned step = 0; step < steps || !step; step++) {
		long displacement = *text == '+' || *text == '-' ? strtol(text, (char **)&text, 0) : 0;

		if (step + 1 == steps && *text == ':')
			bytes = strtol(text + 1, (char **)&text, 10);
		if (displacement < INT16_MIN || displacement > INT16_MAX || (steps && *text++ != ']'))
			return NULL;
		fields->at[index].displacement[step] = (int)displacement;
	}
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return NULL;
	fields->at[index].offset = (uint16_t)place;
	fields->at[index].bytes = (uint8_t)bytes;
	fields->at[index].steps = (uint8_t)steps;
	return text;
}

/* "arg5": an argument of a mark, from 1; what follows it, NULL where it is none. */
static const char *read_argument(const char *text, struct probe_fields *fields, unsigned index)
{
	char *end;
	unsigned long number = strncmp(text, "arg", 3) || text[3] < '1' || text[3] > '9' ? 0 : strtoul(text + 3, &end, 10);

	if (!number || number > MARK_ARGUMENTS)
		return NULL;
	fields->at[index].argument = (uint8_t)number;
	fields->at[index].bytes = 8;
	return end;
}

int probe_values_read(const char *text, struct probe_point *point, struct err *err)
{
	static const char asked[] = "%fields=", named[] = "%text=";
	const char *(*read)(const char *text, struct probe_fields *fields, unsigned index) =
		point->kind == PROBE_KIND_usdt ? read_argument : read_register;
	struct probe_fields fields = { 0 };

	if (point->kind != PROBE_KIND_function && point->kind != PROBE_KIND_usdt)
		return err_set(err, -EINVAL, "%%fields= and %%text= are for functions' beginnings, places in them and marks");
	if (point->values[0])
		return err_set(err, -EINVAL, "beside values in () there is no %%fields= or %%text=: write a text as NAME:string");
	if (!strncmp(text, asked, sizeof(asked) - 1)) {
		text += sizeof(asked) - 1;
		for (unsigned i = 0; i < PROBE_FIELDS && text; i++) {
			text = read(text, &fields, i);
			if (!text || *text != ',')
				break;
			text = i + 1 < PROBE_FIELDS ? text + 1 : NULL;
		}
	}
	if (text && !strncmp(text, named, sizeof(named) - 1)) {
		text = read(text + sizeof(named) - 1, &fields, PROBE_TEXT);
		fields.at[PROBE_TEXT].text = 1;
	}
	point->fields = fields;
	if (text && !*text)
		return 0;
	return point->kind == PROBE_KIND_usdt ?
		err_set(err, -EINVAL, "at a mark %%fields= takes up to %d of its arguments, arg1 to arg%d, and %%text= one that points to a text",
			PROBE_FIELDS, MARK_ARGUMENTS) :
		err_set(err, -EINVAL, "%%fields= takes up to %d registers or places in memory, r15,[rsp+48],[rdi:4],[[rdi]-8], and %%text= one that points to "
			"a text", PROBE_FIELDS);
}
