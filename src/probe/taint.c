/* See taint.h. */
#include "probe/taint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "probe/flow.h"
#include "probe/imports.h"

/* registers that a function may change without keeping them, and those that carry arguments */
#define CALL_CHANGES 0x0fc7u
#define ARGUMENTS (1u << REGISTER_rdi | 1u << REGISTER_rsi | 1u << REGISTER_rdx | 1u << REGISTER_rcx | 1u << 8 | 1u << 9)
#define REPEAT_MOST (1u << 20)
#define NAME_MOST 512u

struct follow {
	struct step_run *run;
	struct step_way way;
	struct taint *taint;
	const struct taint_input *inputs;
	unsigned count;
	uint64_t places[FLOW_PLACES];      /* bytes that derive, a bit each */
	struct map memory;                 /* eight bytes' number to those of them that do */
	uint64_t values[REGISTER_count];
	uint16_t known;                    /* ... whose value is known */
	struct map flows_known;            /* address to index + 1; 0 none there */
	struct vec(struct flow) flows;
};

static uint64_t low_bits(unsigned count)
{
	return count >= 64 ? UINT64_MAX : (1ull << count) - 1;
}

/* ---- memory ---- */

static bool byte_derives(const struct follow *f, uint64_t address)
{
	const uint64_t *found = map_find(&f->memory, address >> 3);

	return found && *found >> (address & 7) & 1;
}

static void byte_set(struct follow *f, uint64_t address, bool derives)
{
	uint64_t bit = 1ull << (address & 7), *word = derives ? map_at(&f->memory, address >> 3, NULL) : map_find(&f->memory, address >> 3);

	if (word)
		*word = derives ? *word | bit : *word & ~bit;
}

static uint64_t memory_bits(const struct follow *f, uint64_t address, unsigned bytes)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < bytes && i < 64; i++)
		bits |= (uint64_t)byte_derives(f, address + i) << i;
	return bits;
}

/* ---- values ---- */

static const struct flow *flow_of(struct follow *f, uint64_t address)
{
	bool is_new;
	uint64_t *known = map_at(&f->flows_known, address, &is_new);
	const uint8_t *bytes = NULL;
	struct flow flow;

	if (is_new && flow_decode(bytes, code_bytes(&f->run->code, address, &bytes), &flow)) {
		vec_push(&f->flows, flow);
		*known = f->flows.length;
	}
	return *known ? &f->flows.items[*known - 1] : NULL;
}

/* The register's value before `at`: as it was followed, or as the next place has it. */
static bool value_of(struct follow *f, size_t at, unsigned reg, uint64_t *ret_value)
{
	*ret_value = f->values[reg];
	if (f->known & 1u << reg)
		return true;
	for (size_t i = at; i < f->way.length; i++) {
		const struct step_executed *e = &f->way.items[i];
		const struct instruction *instruction;

		if (i > at && e->gap)
			return false;
		if (e->pass != STEP_NO_PASS) {
			*ret_value = f->run->passes.items[e->pass].registers[reg];
			return true;
		}
		instruction = code_at(&f->run->code, e->address);
		if (!instruction || instruction->written & 1u << reg)
			return false;
	}
	return false;
}

static bool address_of(struct follow *f, size_t at, const struct flow_operand *operand, unsigned length, uint64_t *ret_address)
{
	uint64_t base = 0, index = 0;

	if (operand->segment != SEGMENT_none)
		return false;
	if (operand->base == REGISTER_ip)
		base = step_run_real(f->run, f->way.items[at].address) + length;
	else if (operand->base != REGISTER_none && !value_of(f, at, operand->base, &base))
		return false;
	if (operand->index != REGISTER_none && !value_of(f, at, operand->index, &index))
		return false;
	*ret_address = base + index * operand->scale + (uint64_t)operand->displacement - (operand->pushed ? operand->bytes : 0);
	return true;
}

/* ---- one instruction ---- */

struct operands {
	const struct flow *flow;
	uint64_t bits[FLOW_OPERANDS];        /* bytes that derive before it */
	uint64_t address[FLOW_OPERANDS];
	bool known[FLOW_OPERANDS];           /* address is */
	uint64_t times;                      /* of a repeated one */
	bool derives;                        /* any that is read */
	uint64_t all;                        /* bytes of those read, together */
	unsigned source;                     /* the one that is only read; FLOW_OPERANDS none */
};

static bool pointer_derives(const struct follow *f, const struct flow_operand *operand)
{
	return (operand->base < REGISTER_count && f->places[operand->base]) || (operand->index < REGISTER_count && f->places[operand->index]);
}

static void read_operands(struct follow *f, size_t at, unsigned length, struct operands *o)
{
	uint64_t rcx;

	o->times = o->flow->repeated && value_of(f, at, REGISTER_rcx, &rcx) && rcx < REPEAT_MOST ? rcx : 1;
	o->source = FLOW_OPERANDS;
	for (unsigned i = 0; i < o->flow->count; i++) {
		const struct flow_operand *operand = &o->flow->operands[i];
		uint64_t bits = 0;

		if (operand->kind == FLOW_register) {
			bits = f->places[operand->place] >> operand->first & low_bits(operand->bytes);
		} else if (operand->kind == FLOW_memory) {
			o->known[i] = address_of(f, at, operand, length, &o->address[i]);
			f->taint->unknown += !o->known[i];
			bits = o->known[i] ? memory_bits(f, o->address[i], operand->bytes * (o->times > 64 ? 64 : (unsigned)o->times)) : 0;
		}
		/* what is read where a derived value points derives */
		if (operand->kind != FLOW_register && !operand->pushed && !operand->popped && pointer_derives(f, operand) &&
		    (operand->read || operand->kind == FLOW_address))
			bits = low_bits(operand->bytes);
		o->bits[i] = bits;
		if (!operand->read && operand->kind != FLOW_address)
			continue;
		o->derives |= bits != 0;
		o->all |= bits;
		if (!operand->written && (operand->kind != FLOW_register || operand->place != FLOW_FLAGS))
			o->source = i;
	}
}

/* Bytes that derive behind the instruction, of an operand that it writes. */
static uint64_t result_of(const struct operands *o, unsigned at)
{
	const struct flow_operand *to = &o->flow->operands[at], *from = o->source < FLOW_OPERANDS ? &o->flow->operands[o->source] : NULL;
	uint64_t whole = low_bits(to->bytes), bits = o->derives ? whole : 0;

	switch ((enum flow_how)o->flow->how) {
	case FLOW_cleared:
		return 0;
	case FLOW_bytewise:
		return to->kind == FLOW_register && to->place == FLOW_FLAGS ? bits : o->all & whole;
	case FLOW_copied:
	case FLOW_extended:
		if (to->read)
			return o->bits[at];
		bits = from ? o->bits[o->source] & whole : 0;
		if (o->flow->how == FLOW_extended && from && from->bytes && from->bytes < 64 && bits >> (from->bytes - 1u) & 1)
			bits |= whole & ~low_bits(from->bytes);
		return bits;
	case FLOW_mixed:
		break;
	}
	return bits;
}

static void write_register(struct follow *f, const struct flow_operand *to, uint64_t bits)
{
	uint64_t changed = low_bits(to->bytes) << to->first, *place = &f->places[to->place];

	if (to->kept)
		bits |= *place >> to->first;
	/* the upper half becomes 0 */
	if (to->place < REGISTER_count && to->bytes == 4)
		changed = low_bits(8);
	*place = (*place & ~changed) | (bits << to->first & changed);
}

/* A string instruction goes on to higher addresses, as the calling convention has it between functions. */
static void write_memory(struct follow *f, const struct operands *o, unsigned at, uint64_t bits)
{
	const struct flow_operand *to = &o->flow->operands[at], *from = o->source < FLOW_OPERANDS ? &o->flow->operands[o->source] : NULL;
	bool moved = o->flow->how == FLOW_copied && from && from->kind == FLOW_memory && o->known[o->source];

	if (!o->known[at])
		return;
	for (uint64_t i = 0; i < to->bytes * o->times; i++) {
		bool derives = moved ? byte_derives(f, o->address[o->source] + i) : bits >> (i % to->bytes % 64) & 1;

		byte_set(f, o->address[at] + i, derives || (to->kept && byte_derives(f, o->address[at] + i)));
	}
}

static uint64_t computed(const struct flow_value *value, uint64_t left, uint64_t right)
{
	uint64_t operand = value->right == REGISTER_none ? (uint64_t)value->constant : right, mask = low_bits(value->bytes * 8u), result = 0;

	switch ((enum flow_operation)value->operation) {
	case FLOW_sum:
		right *= value->scale;
		result = left + (value->subtracted ? -right : right) + (uint64_t)value->constant;
		break;
	case FLOW_and:
		result = left & operand;
		break;
	case FLOW_or:
		result = left | operand;
		break;
	case FLOW_xor:
		result = left ^ operand;
		break;
	case FLOW_left:
		result = left << (operand & (value->bytes * 8u - 1));
		break;
	case FLOW_right:
		result = (left & mask) >> (operand & (value->bytes * 8u - 1));
		break;
	}
	return result & mask;
}

static bool operand_value(struct follow *f, size_t at, unsigned reg, unsigned length, uint64_t *ret_value)
{
	*ret_value = reg == REGISTER_ip ? step_run_real(f->run, f->way.items[at].address) + length : 0;
	return reg >= REGISTER_count || value_of(f, at, reg, ret_value);
}

/* The registers' values behind it. */
static void follow_values(struct follow *f, size_t at, const struct flow_value *value, const struct instruction *instruction)
{
	uint64_t left = 0, right = 0;
	bool same = value->operation == FLOW_xor && value->left == value->right;
	bool known = value->to < REGISTER_count && (same || (operand_value(f, at, value->left, instruction->length, &left) &&
							     operand_value(f, at, value->right, instruction->length, &right)));

	f->known &= (uint16_t)~instruction->written;
	if (known) {
		f->values[value->to] = computed(value, left, right);
		f->known |= (uint16_t)(1u << value->to);
	}
}

static void execute(struct follow *f, size_t at)
{
	const struct instruction *found = code_at(&f->run->code, f->way.items[at].address);
	const struct flow *flow = found ? flow_of(f, f->way.items[at].address) : NULL;
	struct operands o = { .flow = flow };
	struct instruction instruction;
	bool moves;

	if (!flow)
		return;
	instruction = *found;
	moves = instruction.kind == INSTRUCTION_call || instruction.kind == INSTRUCTION_return;
	read_operands(f, at, instruction.length, &o);
	if (f->way.items[at].pass != STEP_NO_PASS && instruction.kind != INSTRUCTION_plain && instruction.kind != INSTRUCTION_return)
		f->taint->marks[f->way.items[at].pass].decides = o.derives;
	for (unsigned i = 0; i < flow->count; i++) {
		const struct flow_operand *to = &flow->operands[i];
		uint64_t bits = to->written && !moves ? result_of(&o, i) : 0;

		if (!to->written)
			continue;
		if (to->kind == FLOW_memory)
			write_memory(f, &o, i, bits);
		else if (to->place != REGISTER_rsp)
			write_register(f, to, bits);
	}
	follow_values(f, at, &flow->value, &instruction);
}

/* What is known of functions that are not stepped through. */
static const struct known_function {
	const char *name;
	bool copies;    /* rdx bytes from where rsi points to where rdi points, and returns a pointer to these */
	bool fills;     /* ... of rsi's lowest byte */
} known_functions[] = {
	{ "memcpy", true, false }, { "memmove", true, false }, { "mempcpy", true, false }, { "__memcpy_chk", true, false },
	{ "__memmove_chk", true, false }, { "__mempcpy_chk", true, false }, { "memset", false, true }, { "__memset_chk", false, true },
	/* read only */
	{ "memcmp", false, false }, { "bcmp", false, false }, { "memchr", false, false }, { "memrchr", false, false }, { "memmem", false, false },
	{ "strlen", false, false }, { "strnlen", false, false }, { "strcmp", false, false }, { "strncmp", false, false },
	{ "strcasecmp", false, false }, { "strncasecmp", false, false }, { "strchr", false, false }, { "strrchr", false, false },
	{ "strchrnul", false, false }, { "strstr", false, false }, { "strspn", false, false }, { "strcspn", false, false },
	{ "strpbrk", false, false }, { "abs", false, false }, { "labs", false, false }, { "toupper", false, false }, { "tolower", false, false },
};

static const struct known_function *known_function(struct follow *f, uint64_t address)
{
	const struct instruction *call = code_at(&f->run->code, address);
	const char *name = call && call->kind == INSTRUCTION_call ? imports_name(&f->run->code, call->direct ? call->target : address) : NULL;

	for (size_t i = 0; name && i < sizeof(known_functions) / sizeof(known_functions[0]); i++)
		if (!strcmp(name, known_functions[i].name))
			return &known_functions[i];
	return NULL;
}

/* Upwards or downwards, as the two may overlap. */
static void copy_memory(struct follow *f, uint64_t to, uint64_t from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++) {
		uint64_t at = to <= from ? i : bytes - 1 - i;

		byte_set(f, to + at, byte_derives(f, from + at));
	}
}

/* What it did to memory, as far as that is known. */
static void change_memory(struct follow *f, const struct known_function *known, const struct step_pass *pass)
{
	uint64_t to = pass->registers[REGISTER_rdi], bytes = pass->registers[REGISTER_rdx];

	if (known->copies)
		copy_memory(f, to, pass->registers[REGISTER_rsi], bytes);
	for (uint64_t i = 0; known->fills && i < bytes; i++)
		byte_set(f, to + i, f->places[REGISTER_rsi] & 1);
}

/* A call of what was not stepped through is over. */
static void pass_over(struct follow *f, const struct step_pass *pass, const struct taint_mark *mark)
{
	const struct known_function *known = known_function(f, pass->address);
	bool given = (mark->derived | mark->behind) & ARGUMENTS, moves = known && (known->copies || known->fills);
	uint64_t result = given ? low_bits(8) : 0;

	if (moves && pass->registers[REGISTER_rdx] > REPEAT_MOST) {
		known = NULL;
	} else if (moves) {
		change_memory(f, known, pass);
		result = f->places[REGISTER_rdi];
	}
	f->taint->outside += given && !known;
	for (unsigned i = 0; i < REGISTER_count; i++)
		if (CALL_CHANGES & 1u << i)
			f->places[i] = i == REGISTER_rax ? result : 0;
	memset(&f->places[FLOW_VECTOR], 0, FLOW_VECTORS * sizeof(f->places[0]));
	if (given && !known)
		f->places[FLOW_VECTOR] = low_bits(16);
	f->places[FLOW_FLAGS] = 0;
	f->known &= (uint16_t)~CALL_CHANGES;
}

/* ---- the way ---- */

static void enter(struct follow *f, size_t at)
{
	for (unsigned i = 0; i < f->count; i++) {
		const struct taint_input *input = &f->inputs[i];
		uint64_t value;

		if (input->function != f->way.items[at].address)
			continue;
		f->taint->entered += !i;
		if (!input->bytes)
			f->places[input->place] = low_bits(8);
		else if (value_of(f, at, input->place, &value))
			for (uint32_t b = 0; b < input->bytes; b++)
				byte_set(f, value + b, true);
		else
			f->taint->unknown++;
	}
}

static void mark_pass(struct follow *f, size_t number)
{
	const struct step_pass *pass = &f->run->passes.items[number];
	struct taint_mark *mark = &f->taint->marks[number];

	memcpy(f->values, pass->registers, sizeof(f->values));
	f->known = UINT16_MAX;
	for (unsigned i = 0; i < REGISTER_count; i++) {
		if (f->places[i])
			mark->derived |= (uint16_t)(1u << i);
		if (memory_bits(f, pass->registers[i], 8))
			mark->behind |= (uint16_t)(1u << i);
	}
}

/* Where the stack ended as the function was entered, from where it ends at its first place. */
static void know_stack(struct follow *f, size_t at)
{
	uint64_t moved = 0;

	for (; at < f->way.length && f->way.items[at].pass == STEP_NO_PASS; at++) {
		const struct instruction *instruction = code_at(&f->run->code, f->way.items[at].address);
		const struct flow *flow = flow_of(f, f->way.items[at].address);

		if (!instruction || !flow)
			return;
		if (!(instruction->written & 1u << REGISTER_rsp))
			continue;
		if (flow->value.to != REGISTER_rsp || flow->value.left != REGISTER_rsp || flow->value.right != REGISTER_none ||
		    flow->value.operation != FLOW_sum)
			return;
		moved += (uint64_t)flow->value.constant;
	}
	if (at < f->way.length) {
		f->values[REGISTER_rsp] = f->run->passes.items[f->way.items[at].pass].registers[REGISTER_rsp] - moved;
		f->known |= 1u << REGISTER_rsp;
	}
}

void taint_find(struct step_run *run, const struct taint_input *inputs, unsigned count, struct taint *ret_taint)
{
	struct taint taint = { .marks = mem_zalloc(run->passes.length * sizeof(*taint.marks)) };
	struct follow f = { .run = run, .taint = &taint, .inputs = inputs, .count = count };

	step_way_find(run, 0, run->passes.length - 1, true, &f.way);
	for (size_t i = 0; i < f.way.length; i++) {
		const struct step_executed *e = &f.way.items[i];

		if (e->gap)
			f.known = 0;
		taint.gaps += e->gap && !e->entered;
		/* nothing of the caller's is known */
		if (e->entered) {
			memset(f.places, 0, sizeof(f.places));
			know_stack(&f, i);
		}
		enter(&f, i);
		if (e->pass != STEP_NO_PASS)
			mark_pass(&f, e->pass);
		if (e->pass != STEP_NO_PASS && e->opaque)
			pass_over(&f, &run->passes.items[e->pass], &taint.marks[e->pass]);
		else
			execute(&f, i);
	}
	map_done(&f.memory);
	map_done(&f.flows_known);
	vec_done(&f.flows);
	step_way_done(&f.way);
	*ret_taint = taint;
}

void taint_done(struct taint *taint)
{
	free(taint->marks);
}

/* ---- what is asked for ---- */

static int parse_one(struct code *code, char *text, struct taint_input *ret_input, struct err *err)
{
	struct taint_input input = { .place = REGISTER_none };
	char *last = strrchr(text, ':'), *reg = last;
	uint64_t bytes;

	if (last && !parse_number(last + 1, &bytes)) {
		*last = 0;
		reg = strrchr(text, ':');
		if (!bytes || bytes > TAINT_BYTES_MOST)
			return err_set(err, -EINVAL, "--taint follows 1 to %u bytes, not '%s'", TAINT_BYTES_MOST, last + 1);
		input.bytes = (uint32_t)bytes;
	}
	for (unsigned i = 0; reg && i < REGISTER_count; i++)
		if (!strcmp(reg + 1, register_name(i)))
			input.place = (uint8_t)i;
	if (!reg || reg == text || input.place == REGISTER_none)
		return err_set(err, -EINVAL, "--taint takes FUNCTION:REGISTER, or FUNCTION:REGISTER:BYTES of the memory it points to, not '%s'", text);
	*reg = 0;
	*ret_input = input;
	if (!strncmp(text, "0x", 2)) {
		char *end;

		ret_input->function = strtoull(text, &end, 16);
		return *end ? err_set(err, -EINVAL, "'%s' is no address", text) : 0;
	}
	return code_find(code, text, &ret_input->function, err);
}

int taint_parse(struct code *code, const char *text, struct taint_input inputs[TAINT_INPUTS], unsigned *ret_count, struct err *err)
{
	char copy[NAME_MOST], *at = copy, *one;
	unsigned count = 0;
	int r = 0;

	if (strlen(text) >= sizeof(copy))
		return err_set(err, -EINVAL, "--taint: more than %u characters", NAME_MOST - 1);
	memcpy(copy, text, strlen(text) + 1);
	while (!r && (one = strsep(&at, ","))) {
		if (count == TAINT_INPUTS)
			return err_set(err, -EINVAL, "--taint follows at most %u inputs at once", TAINT_INPUTS);
		r = parse_one(code, one, &inputs[count++], err);
	}
	*ret_count = count;
	return r;
}
