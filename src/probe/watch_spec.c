/* See watch_spec.h. */
#include "probe/watch_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "probe/instruction.h"

#define FORM "[NAME=]PLACE[%%SIZE][%%access], where PLACE is an address, FILE:VARIABLE or a way from one such as " \
	     "FILE:VARIABLE->FIELD+8; docs/watch.md"

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static int read_number(struct arena *arena, const char *text, size_t length, uint64_t *ret_number)
{
	return parse_number(arena_strndup(arena, text, length), ret_number);
}

static int bad(struct err *err, const struct watch_spec *spec, const char *at, const char *what)
{
	return err_set(err, -EINVAL, "--watch %s: %s at '%s': the form is " FORM, spec->written, what, at);
}

/* "%4", "%access" at the end. */
static int read_options(struct arena *arena, const char *at, struct watch_spec *spec, struct err *err)
{
	while (*at) {
		size_t length = strcspn(at + 1, "%");
		uint64_t number;

		if (length == 6 && !strncmp(at + 1, "access", 6)) {
			spec->access = true;
		} else if (!read_number(arena, at + 1, length, &number)) {
			if (!number || number > 8)
				return err_set(err, -EINVAL, "--watch %s: a watchpoint covers 1 to 8 bytes", spec->written);
			spec->bytes = (uint32_t)number;
		} else {
			return bad(err, spec, at, "neither a size nor %access");
		}
		at += 1 + length;
	}
	return 0;
}

/* Where the part ends that names a variable or a field. */
static size_t word_length(const char *at)
{
	size_t length = 0;

	while (at[length] && !strchr(".[]+%>", at[length]) && strncmp(at + length, "->", 2))
		length++;
	return length;
}

static int add_step(struct watch_spec *spec, struct watch_step step, struct err *err)
{
	if (spec->step_count == WATCH_STEPS_MOST)
		return err_set(err, -E2BIG, "--watch %s: more than %d steps", spec->written, WATCH_STEPS_MOST);
	spec->steps[spec->step_count++] = step;
	return 0;
}

static int read_steps(struct arena *arena, const char *at, struct watch_spec *spec, struct err *err)
{
	while (*at && *at != '%') {
		bool follow = !strncmp(at, "->", 2), element = *at == '[';
		const char *from = at + (follow ? 2 : 1);
		size_t length = element ? strcspn(from, "]") : word_length(from);
		struct watch_step step = { 0 };
		uint64_t number = 0;
		int r = 0;

		if (!follow && !strchr(".[+", *at))
			return bad(err, spec, at, "no step");
		if (!length || (element && !from[length]))
			return bad(err, spec, at, "nothing");
		if (!read_number(arena, from, length, &number) && number <= INT64_MAX)
			step.number = (int64_t)number;
		else if (*at == '+' || element)
			return bad(err, spec, at, "no number");
		else
			step.field = arena_strndup(arena, from, length);
		step.kind = follow ? WATCH_follow : element ? WATCH_index : *at == '+' ? WATCH_add : WATCH_field;
		if (step.kind == WATCH_field && !step.field)
			return bad(err, spec, at, "no field");
		/* a pointer followed to a field: two steps */
		if (follow && step.field) {
			r = add_step(spec, (struct watch_step){ .kind = WATCH_follow }, err);
			step.kind = WATCH_field;
		}
		if (!r)
			r = add_step(spec, step, err);
		if (r)
			return r;
		at = from + length + element;
	}
	return read_options(arena, at, spec, err);
}

/* "rbx", "r12"; what follows it in *at. */
static bool read_register(const char **at, uint8_t *ret_register)
{
	size_t length = 0;

	while (isalnum((unsigned char)(*at)[length]))
		length++;
	for (unsigned i = 0; i < REGISTER_count; i++)
		if (strlen(register_name(i)) == length && !strncmp(register_name(i), *at, length)) {
			*ret_register = (uint8_t)i;
			*at += length;
			return true;
		}
	return false;
}

/* "r15+r12*8+16"; what follows it in *at. */
static bool read_registers(const char **at, struct watch_registers *ret_registers)
{
	struct watch_registers registers = { .index = REGISTER_none, .scale = 1 };
	const char *p = *at, *plus;

	if (!read_register(&p, &registers.base))
		return false;
	plus = p + 1;
	if (*p == '+' && read_register(&plus, &registers.index)) {
		p = plus;
		if (*p == '*') {
			if (!strchr("1248", p[1]) || !p[1])
				return false;
			registers.scale = (uint8_t)(p[1] - '0');
			p += 2;
		}
	}
	/* "->" is a step */
	if (*p == '+' || (*p == '-' && p[1] != '>')) {
		char *end;

		errno = 0;
		registers.displacement = strtoll(p, &end, 0);
		if (errno || end == p)
			return false;
		p = end;
	}
	*at = p;
	*ret_registers = registers;
	return true;
}

/* Where the registers begin; NULL when the place is none of code. */
static const char *find_registers(const char *at)
{
	const char *end = at + strcspn(at, "%"), *found = NULL;
	struct watch_registers registers;

	for (; at < end; at++) {
		const char *behind = at + 1;

		if (*at == '@' && read_registers(&behind, &registers))
			found = at;
	}
	return found;
}

/* The colon between file and variable, not one of "ns::name"; NULL when there is none. */
static const char *find_colon(const char *at)
{
	for (; *at && *at != '%'; at++) {
		if (*at != ':')
			continue;
		if (at[1] != ':')
			return at;
		at++;
	}
	return NULL;
}

static int read_place(struct arena *arena, const char *at, struct watch_spec *spec, struct err *err)
{
	const char *registers = find_registers(at), *colon, *plus;
	const char *behind = registers ? registers + 1 : NULL;
	size_t length;
	int r;

	if (registers) {
		spec->at_code = true;
		(void)read_registers(&behind, &spec->registers);
		at = arena_strndup(arena, at, (size_t)(registers - at));
	}
	colon = find_colon(at);

	if (colon) {
		if (colon == at || !colon[1])
			return bad(err, spec, at, "no file or no variable");
		spec->file = arena_strndup(arena, at, (size_t)(colon - at));
		at = colon + 1;
	} else if ((plus = strstr(at, "+0x")) && (memchr(at, '/', (size_t)(plus - at)) || strstr(at, ".so"))) {
		/* FILE+0xADDRESS, as answers write places without a name */
		spec->file = arena_strndup(arena, at, (size_t)(plus - at));
		at = plus + 1;
		spec->by_offset = true;
	}
	length = word_length(at);
	if (!length)
		return bad(err, spec, at, "no variable");
	if (read_number(arena, at, length, &spec->address)) {
		if (isdigit((unsigned char)at[0]))
			return bad(err, spec, at, "no number");
		if (!isalpha((unsigned char)at[0]) && !strchr("_$~", at[0]))
			return bad(err, spec, at, "no variable");
		spec->symbol = arena_strndup(arena, at, length);
	}
	if (!registers)
		return read_steps(arena, at + length, spec, err);
	if (!spec->file)
		return bad(err, spec, at, "no FILE before the code");
	/* FUNCTION+N */
	r = read_steps(arena, at + length, spec, err);
	if (r || spec->bytes || spec->access || spec->step_count > 1 || (spec->step_count && (spec->steps[0].kind != WATCH_add || !spec->symbol)))
		return r ? r : bad(err, spec, at, "no place of code");
	spec->behind = spec->step_count ? (uint64_t)spec->steps[0].number : 0;
	spec->step_count = 0;
	return read_steps(arena, behind, spec, err);
}

/* The last word of the place, as a name. */
static const char *name_of(struct arena *arena, const struct watch_spec *spec)
{
	const char *from = spec->symbol && !spec->at_code ? spec->symbol : NULL;
	char *name;

	for (size_t i = 0; i < spec->step_count; i++)
		if (spec->steps[i].field)
			from = spec->steps[i].field;
	if (!from)
		return arena_printf(arena, "at-%llx", (unsigned long long)spec->address);
	name = arena_strndup(arena, from, strnlen(from, WATCH_NAME_MOST));
	for (char *at = name; *at; at++)
		if (!is_name_char(*at))
			*at = '_';
	return name;
}

int watch_spec_parse(struct arena *arena, const char *text, struct watch_spec *ret_spec, struct err *err)
{
	struct watch_spec spec = { .written = arena_strdup(arena, text) };
	size_t length = 0;
	int r;

	while (is_name_char(text[length]))
		length++;
	if (length && text[length] == '=') {
		if (length > WATCH_NAME_MOST)
			return err_set(err, -EINVAL, "--watch %s: a name has at most %d characters", text, WATCH_NAME_MOST);
		spec.name = arena_strndup(arena, text, length);
		text += length + 1;
	}
	r = read_place(arena, text, &spec, err);
	if (r)
		return r;
	if (!spec.name)
		spec.name = name_of(arena, &spec);
	*ret_spec = spec;
	return 0;
}
