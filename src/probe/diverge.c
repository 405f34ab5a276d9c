/* See diverge.h. */
#include "probe/diverge.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "probe/variable.h"

#define LOOKED_BACK 600u       /* places before the branch that are looked at */
#define SOURCES_MOST 64        /* values followed back */
#define PATH_MOST 8            /* pointers on the way to one */
#define STACK_BELOW 4096u      /* bytes of a frame around where the stack ends ... */
#define STACK_MOST (1u << 20)
/* registers that a function may change without keeping them: rax, rcx, rdx, rsi, rdi, r8 to r11 */
#define CALL_CHANGES 0x0fc7u

/* ---- where they part ---- */

/* Of a branch and the way it was gone. */
static uint64_t outcome_key(const struct step_pass *pass, bool taken)
{
	return pass->address << 1 | taken;
}

static bool is_branch(struct step_run *run, const struct step_pass *pass)
{
	const struct instruction *instruction = code_at(&run->code, pass->address);

	return instruction && instruction->kind == INSTRUCTION_branch && instruction->condition < 16;
}

static void count(struct step_run *run, struct map *counts)
{
	for (size_t i = 0; i < run->passes.length; i++)
		if (is_branch(run, &run->passes.items[i]))
			++*map_at(counts, outcome_key(&run->passes.items[i], run->passes.items[i].taken), NULL);
}

static uint64_t times(const struct map *counts, uint64_t key)
{
	const uint64_t *found = map_find(counts, key);

	return found ? *found : 0;
}

/* The branch that `one` went a way at that `other` came to, and never went: of several the
 * one that `other` came to most often, for that is what it turned about; then the first. */
static size_t find_parting(struct step_run *one, const struct map *ones, const struct map *others, uint64_t *ret_ones, uint64_t *ret_others)
{
	size_t best = SIZE_MAX;

	*ret_others = 0;
	for (size_t i = 0; i < one->passes.length; i++) {
		const struct step_pass *pass = &one->passes.items[i];
		uint64_t same = outcome_key(pass, pass->taken), opposite = outcome_key(pass, !pass->taken), came;

		if (!is_branch(one, pass) || times(others, same))
			continue;
		came = times(others, opposite);
		if (came <= *ret_others)
			continue;
		best = i;
		*ret_others = came;
		*ret_ones = times(ones, same) + times(ones, opposite);
	}
	return best;
}

static size_t last_at(const struct step_run *run, uint64_t address)
{
	for (size_t i = run->passes.length; i-- > 0;)
		if (run->passes.items[i].address == address)
			return i;
	return SIZE_MAX;
}

/* ---- where a value came from ---- */

struct slice {
	struct arena *arena;
	struct step_run *run;
	struct step_way way;
	struct variable_file *variables;
};

static struct instruction instruction_of(struct slice *s, size_t at)
{
	const struct instruction *found = code_at(&s->run->code, s->way.items[at].address);

	return found ? *found : (struct instruction){ 0 };
}

static uint16_t changes(struct slice *s, size_t at)
{
	struct instruction instruction = instruction_of(s, at);

	return instruction.written | (s->way.items[at].opaque ? CALL_CHANGES : 0);
}

/* The last instruction before `at` that changed the register; SIZE_MAX when it is not known. */
static size_t definition(struct slice *s, size_t at, unsigned reg)
{
	while (at > 0 && !s->way.items[at].gap) {
		at--;
		if (changes(s, at) & 1u << reg)
			return at;
	}
	return SIZE_MAX;
}

/* The register's value before `at`, from the nearest place whose registers are known. */
static bool value_of(struct slice *s, size_t at, unsigned reg, uint64_t *ret_value)
{
	for (size_t i = at; i < s->way.length; i++) {
		const struct step_executed *e = &s->way.items[i];

		if (i > at && e->gap)
			break;
		if (e->pass != SIZE_MAX) {
			*ret_value = s->run->passes.items[e->pass].registers[reg];
			return true;
		}
		if (changes(s, i) & 1u << reg)
			break;
	}
	for (size_t i = at; i > 0 && !s->way.items[i].gap; i--) {
		const struct step_executed *e = &s->way.items[i - 1];

		if (changes(s, i - 1) & 1u << reg)
			break;
		if (e->pass != SIZE_MAX) {
			*ret_value = s->run->passes.items[e->pass].registers[reg];
			return true;
		}
	}
	return false;
}

static uint64_t linked_address(struct slice *s, size_t at, const struct instruction_memory *memory)
{
	return s->way.items[at].address + instruction_of(s, at).length + (uint64_t)memory->displacement;
}

static uint64_t address_of(struct slice *s, size_t at, const struct instruction_memory *memory)
{
	uint64_t base = 0, index = 0;

	if (memory->segment != SEGMENT_none)
		return 0;
	if (memory->base == REGISTER_ip)
		return linked_address(s, at, memory) + s->run->bias;
	if (memory->base != REGISTER_none && !value_of(s, at, memory->base, &base))
		return 0;
	if (memory->index != REGISTER_none && !value_of(s, at, memory->index, &index))
		return 0;
	return base + index * memory->scale + (uint64_t)memory->displacement;
}

/* What the thread keeps on its stack; rbp may as well be a register as any other. */
static bool is_stack(struct slice *s, size_t at, const struct instruction_memory *memory)
{
	uint64_t address, top;

	if (memory->index != REGISTER_none)
		return false;
	if (memory->base != REGISTER_rbp)
		return memory->base == REGISTER_rsp;
	address = address_of(s, at, memory);
	return !address || !value_of(s, at, REGISTER_rsp, &top) || (address >= top - STACK_BELOW && address - top + STACK_BELOW < STACK_MOST);
}

/* A plain load: nothing but memory and what addresses it goes into the register. */
static bool is_load(const struct instruction *instruction)
{
	const struct instruction_memory *memory = &instruction->memory[0];
	uint16_t address = (uint16_t)((memory->base < 16 ? 1u << memory->base : 0) | (memory->index < 16 ? 1u << memory->index : 0));

	return instruction->kind == INSTRUCTION_plain && instruction->memory_count == 1 && memory->read && !memory->written &&
	       !(instruction->read & ~address);
}

/* Where the thread put what it reads again from its stack: the register that it put there. */
static bool stored_from(struct slice *s, size_t at, const struct instruction_memory *memory, size_t *ret_at, unsigned *ret_reg)
{
	uint64_t wanted = address_of(s, at, memory);

	while (wanted && at > 0 && !s->way.items[at].gap) {
		struct instruction instruction = instruction_of(s, --at);
		const struct instruction_memory *m = &instruction.memory[0];
		uint16_t sources;

		if (instruction.memory_count != 1 || !m->written || !is_stack(s, at, m) || address_of(s, at, m) != wanted)
			continue;
		sources = instruction.read & (uint16_t)~(1u << m->base);
		if (m->read || !sources || sources & (sources - 1))
			return false;
		*ret_at = at;
		*ret_reg = (unsigned)__builtin_ctz(sources);
		return true;
	}
	return false;
}

/* In the data of the file that was stepped through. */
static bool is_static(const struct slice *s, uint64_t address)
{
	const struct elf_file *elf = &s->run->code.elf;

	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_memsz)
			return true;
	}
	return false;
}

static bool name_static(struct slice *s, uint64_t address, struct buf *path)
{
	uint64_t offset = 0;
	const char *name = variable_at(s->arena, s->variables, address, &offset);

	if (name)
		buf_printf(path, offset ? "%s:%s+%" PRIu64 : "%s:%s", s->run->code.path, name, offset);
	else
		buf_printf(path, "%s:0x%" PRIx64, s->run->code.path, address);
	return true;
}

/* The way to the operand from something static, as --watch takes it. */
static bool name_memory(struct slice *s, size_t at, const struct instruction_memory *memory, struct buf *path, int depth)
{
	unsigned reg = memory->base;
	uint64_t address;
	size_t from = at;

	if (memory->segment != SEGMENT_none || memory->index != REGISTER_none || depth > PATH_MOST)
		return false;
	if (reg == REGISTER_ip)
		return name_static(s, linked_address(s, at, memory), path);
	/* a register that was made to point to a variable before the loop */
	address = address_of(s, at, memory);
	if (address && is_static(s, address - s->run->bias))
		return name_static(s, address - s->run->bias, path);
	if (reg == REGISTER_none || memory->displacement < 0)
		return false;
	for (int i = 0; i < SOURCES_MOST; i++) {
		struct instruction instruction;

		from = definition(s, from, reg);
		if (from == SIZE_MAX || s->way.items[from].opaque)
			return false;
		instruction = instruction_of(s, from);
		if (is_load(&instruction)) {
			if (is_stack(s, from, &instruction.memory[0])) {
				if (!stored_from(s, from, &instruction.memory[0], &from, &reg))
					return false;
				continue;
			}
			if (!name_memory(s, from, &instruction.memory[0], path, depth + 1))
				return false;
			buf_printf(path, "->%" PRId64, memory->displacement);
			return true;
		}
		/* from another register */
		if (instruction.memory_count || instruction.kind != INSTRUCTION_plain || !instruction.read ||
		    instruction.read & (instruction.read - 1) || instruction.read == 1u << reg)
			return false;
		reg = (unsigned)__builtin_ctz(instruction.read);
	}
	return false;
}

static void add_origin(struct diverge *diverge, const struct diverge_origin *origin)
{
	for (size_t i = 0; i < diverge->origin_count; i++)
		if (diverge->origins[i].at == origin->at)
			return;
	if (diverge->origin_count < DIVERGE_ORIGINS_MOST)
		diverge->origins[diverge->origin_count++] = *origin;
}

static void add_memory(struct slice *s, size_t at, const struct instruction_memory *memory, struct diverge *diverge)
{
	struct diverge_origin origin = { .kind = DIVERGE_memory, .at = s->way.items[at].address, .bytes = memory->bytes ? memory->bytes : 8,
					 .buggy_address = address_of(s, at, memory) };
	struct buf path;

	if (origin.bytes > 8)
		origin.bytes = 8;
	buf_init(&path);
	if (name_memory(s, at, memory, &path, 0))
		origin.spec = arena_printf(s->arena, "%s%%%u", buf_str(&path), origin.bytes);
	buf_done(&path);
	add_origin(diverge, &origin);
}

static void add_result(struct slice *s, size_t at, struct diverge *diverge)
{
	struct instruction call = instruction_of(s, at);
	struct diverge_origin origin = { .kind = DIVERGE_result, .at = s->way.items[at].address };

	origin.callee = call.direct ? code_name(&s->run->code, s->arena, call.target) : "";
	add_origin(diverge, &origin);
}

/* Follows the registers' values back to memory, results of calls, or the unknown. */
static void follow(struct slice *s, size_t at, uint16_t registers, struct diverge *diverge)
{
	struct { size_t at; unsigned reg; } open[SOURCES_MOST];
	size_t count_open = 0;
	int steps = 0;

	for (unsigned reg = 0; reg < REGISTER_count; reg++)
		if (registers & 1u << reg && count_open < SOURCES_MOST)
			open[count_open].at = at, open[count_open++].reg = reg;
	while (count_open && ++steps < SOURCES_MOST) {
		unsigned reg = open[--count_open].reg, stored_reg;
		size_t from = definition(s, open[count_open].at, reg), stored;
		struct instruction instruction;

		if (from == SIZE_MAX) {
			add_origin(diverge, &(struct diverge_origin){ .kind = DIVERGE_unknown, .at = s->way.items[open[count_open].at].address });
			continue;
		}
		if (s->way.items[from].opaque) {
			if (reg == REGISTER_rax)
				add_result(s, from, diverge);
			continue;
		}
		instruction = instruction_of(s, from);
		if (instruction.memory_count && instruction.memory[0].read) {
			if (!is_stack(s, from, &instruction.memory[0]))
				add_memory(s, from, &instruction.memory[0], diverge);
			else if (stored_from(s, from, &instruction.memory[0], &stored, &stored_reg) && count_open < SOURCES_MOST)
				open[count_open].at = stored, open[count_open++].reg = stored_reg;
			else
				add_memory(s, from, &instruction.memory[0], diverge);
			continue;
		}
		for (unsigned other = 0; other < REGISTER_count; other++)
			if (instruction.read & 1u << other && other != REGISTER_rsp && count_open < SOURCES_MOST)
				open[count_open].at = from, open[count_open++].reg = other;
	}
}

/* What set the flags of the branch at the end of the way, and where that came from. */
static void explain(struct slice *s, struct diverge *diverge)
{
	size_t at = s->way.length - 1;
	uint32_t wanted = instruction_of(s, at).flags_read;
	struct instruction setter;
	uint16_t address = 0;

	do {
		if (!at || s->way.items[at].gap)
			return;
		setter = instruction_of(s, --at);
	} while (!(setter.flags_written & wanted));
	diverge->condition_at = s->way.items[at].address;
	if (setter.memory_count && setter.memory[0].read) {
		add_memory(s, at, &setter.memory[0], diverge);
		for (unsigned i = 0; i < 2; i++) {
			unsigned reg = i ? setter.memory[0].index : setter.memory[0].base;

			address |= reg < REGISTER_count ? (uint16_t)(1u << reg) : 0;
		}
	}
	follow(s, at, setter.read & (uint16_t)~address, diverge);
}

/* ---- both ---- */

static void explain_run(struct arena *arena, struct step_run *run, size_t pass, struct variable_file *variables, struct diverge *diverge)
{
	struct slice s = { .arena = arena, .run = run, .variables = variables };

	step_way_find(run, pass > LOOKED_BACK ? pass - LOOKED_BACK : 0, pass, &s.way);
	explain(&s, diverge);
	step_way_done(&s.way);
}

static void join_addresses(struct diverge *diverge, const struct diverge *base)
{
	for (size_t i = 0; i < diverge->origin_count; i++)
		for (size_t j = 0; j < base->origin_count; j++)
			if (base->origins[j].at == diverge->origins[i].at)
				diverge->origins[i].base_address = base->origins[j].buggy_address;
}

/* What can be named in any run first, then what has an address. */
static unsigned rank(const struct diverge_origin *origin)
{
	return origin->kind == DIVERGE_memory ? (origin->spec ? 0 : origin->buggy_address ? 1 : 2) : origin->kind == DIVERGE_result ? 3 : 4;
}

static void order(struct diverge *diverge)
{
	for (size_t i = 1; i < diverge->origin_count; i++)
		for (size_t j = i; j > 0 && rank(&diverge->origins[j]) < rank(&diverge->origins[j - 1]); j--) {
			struct diverge_origin other = diverge->origins[j];

			diverge->origins[j] = diverge->origins[j - 1];
			diverge->origins[j - 1] = other;
		}
}

int diverge_find(struct arena *arena, struct step_run *base, struct step_run *buggy, struct diverge *ret_diverge, struct err *err)
{
	struct map bases = { 0 }, buggies = { 0 };
	struct diverge diverge = { 0 }, other = { 0 };
	struct variable_file variables;
	struct elf_file elf;
	int r;

	if (memcmp(base->code.elf.build_id, buggy->code.elf.build_id, sizeof(base->code.elf.build_id)) ||
	    (!base->code.elf.build_id_bytes && strcmp(base->code.path, buggy->code.path)))
		return err_set(err, -EINVAL, "the two runs are of different files: %s and %s", base->code.path, buggy->code.path);
	count(base, &bases);
	count(buggy, &buggies);
	diverge.base_pass = find_parting(base, &bases, &buggies, &diverge.base_times, &diverge.buggy_times);
	map_done(&bases);
	map_done(&buggies);
	if (diverge.base_pass == SIZE_MAX)
		return err_set(err, -ENODATA, "the runs never part: the good one went no way at any branch that the other did not go too; step "
			       "until it is out of the loop, or step deeper (--depth)");
	diverge.buggy_pass = last_at(buggy, base->passes.items[diverge.base_pass].address);
	r = elf_file_open(buggy->code.path, &elf, err);
	if (!r)
		r = variable_file_open(&variables, elf, buggy->code.path, buggy->code.path, err);
	if (r)
		return r;
	explain_run(arena, buggy, diverge.buggy_pass, &variables, &diverge);
	explain_run(arena, base, diverge.base_pass, &variables, &other);
	variable_file_close(&variables);
	join_addresses(&diverge, &other);
	order(&diverge);
	*ret_diverge = diverge;
	return 0;
}
