/* See diverge.h. */
#include "probe/diverge.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "probe/imports.h"
#include "probe/variable.h"

#define TURN_MOST 256u         /* places of one turn of a loop */
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

/* How often a branch was gone this way, and the longest that it was in a row while the thread turned in one loop. */
struct outcome {
	uint64_t times;
	uint64_t row, row_since_ns;          /* of the one that goes on */
	uint64_t longest, longest_ns;
	size_t longest_last;                 /* pass */
};

struct outcomes {
	struct map places;                   /* outcome_key to index + 1 in items */
	struct vec(struct outcome) items;
};

static struct outcome *outcome_of(struct outcomes *outcomes, uint64_t key)
{
	const uint64_t *place = map_find(&outcomes->places, key);

	return place ? &outcomes->items.items[*place] : NULL;
}

static struct outcome *outcome_add(struct outcomes *outcomes, uint64_t key)
{
	bool is_new;
	uint64_t *place = map_at(&outcomes->places, key, &is_new);

	if (is_new) {
		*place = outcomes->items.length;
		vec_push(&outcomes->items, ((struct outcome){ 0 }));
	}
	return &outcomes->items.items[*place];
}

static void outcomes_find(struct step_run *run, struct outcomes *ret_outcomes)
{
	struct outcomes outcomes = { 0 };
	struct map last = { 0 };             /* address of a branch to its last pass + 1 */

	for (size_t i = 0; i < run->passes.length; i++) {
		const struct step_pass *pass = &run->passes.items[i];
		struct outcome *outcome;
		uint64_t *before;

		if (!is_branch(run, pass))
			continue;
		outcome = outcome_add(&outcomes, outcome_key(pass, pass->taken));
		before = map_at(&last, pass->address, NULL);
		if (!*before || i + 1 - *before > TURN_MOST || run->passes.items[*before - 1].taken != pass->taken) {
			outcome->row = 0;
			outcome->row_since_ns = pass->time;
		}
		*before = i + 1;
		outcome->times++;
		outcome->row++;
		if (outcome->row == 1 ? !outcome->longest : pass->time - outcome->row_since_ns >= outcome->longest_ns) {
			outcome->longest = outcome->row;
			outcome->longest_ns = pass->time - outcome->row_since_ns;
			outcome->longest_last = i;
		}
	}
	map_done(&last);
	*ret_outcomes = outcomes;
}

static void outcomes_done(struct outcomes *outcomes)
{
	map_done(&outcomes->places);
	vec_done(&outcomes->items);
}

static uint64_t times(struct outcomes *outcomes, uint64_t key)
{
	const struct outcome *found = outcome_of(outcomes, key);

	return found ? found->times : 0;
}

/* The branch that `base` went a way at, and `buggy` did not for longest while it turned there:
 * best one that it never went. Of several the one that it turned at most often, then the first. */
static bool find_parting(struct step_run *base, struct outcomes *bases, struct outcomes *buggies, struct diverge *diverge)
{
	const struct outcome *best = NULL;
	uint64_t longest_ns = 0;
	bool never = false;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < base->passes.length; i++) {
			const struct step_pass *pass = &base->passes.items[i];
			struct outcome *turned = is_branch(base, pass) ? outcome_of(buggies, outcome_key(pass, !pass->taken)) : NULL;
			uint64_t left = times(buggies, outcome_key(pass, pass->taken));

			if (!turned || (round && turned->longest_ns < longest_ns - longest_ns / 5))
				continue;
			if (turned->longest_ns > longest_ns)
				longest_ns = turned->longest_ns;
			if (!round || (best && (never != !left ? never : turned->longest <= best->longest)))
				continue;
			best = turned;
			never = !left;
			diverge->base_pass = i;
			diverge->buggy_pass = turned->longest_last;
			diverge->buggy_times = turned->times + left;
			diverge->buggy_left = left;
			diverge->buggy_row = turned->longest;
			diverge->buggy_row_ns = turned->longest_ns;
			diverge->base_times = times(bases, outcome_key(pass, false)) + times(bases, outcome_key(pass, true));
		}
	return best != NULL;
}

/* Where the good run left it after most turns: there is most to look back at. */
static size_t find_leaving(struct step_run *base, const struct step_pass *branch)
{
	size_t best = SIZE_MAX;
	uint64_t row = 0, most = 0;

	for (size_t i = 0; i < base->passes.length; i++) {
		const struct step_pass *pass = &base->passes.items[i];

		if (pass->address != branch->address)
			continue;
		if (pass->taken != branch->taken) {
			row++;
			continue;
		}
		if (best == SIZE_MAX || row > most) {
			best = i;
			most = row;
		}
		row = 0;
	}
	return best;
}

/* ---- where a value came from ---- */

struct slice {
	struct arena *arena;
	struct step_run *run;
	struct step_way way;
	struct variable_file *variables;
	const struct code *variables_of; /* the file with the branch */
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
		if (e->pass != STEP_NO_PASS) {
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
		if (e->pass != STEP_NO_PASS) {
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
		return step_run_real(s->run, linked_address(s, at, memory));
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

static bool is_data(const struct elf_file *elf, uint64_t address)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_memsz)
			return true;
	}
	return false;
}

/* In the data of a file that was stepped through; its address in the run's code. */
static bool is_static(const struct slice *s, uint64_t real, uint64_t *ret_address)
{
	for (unsigned n = 0; n < CODE_FILES; n++) {
		uint64_t linked;
		const struct code *file = code_file(&s->run->code, code_file_base(n), &linked);

		*ret_address = real - s->run->biases[n];
		if (file && is_data(&file->elf, *ret_address - code_file_base(n)))
			return true;
	}
	return false;
}

static bool name_static(struct slice *s, uint64_t address, struct buf *path)
{
	uint64_t offset = 0, linked;
	const struct code *file = code_file(&s->run->code, address, &linked);
	const char *name = file == s->variables_of ? variable_at(s->arena, s->variables, linked, &offset) : NULL;

	if (name)
		buf_printf(path, offset ? "%s:%s+%" PRIu64 : "%s:%s", file->path, name, offset);
	else
		buf_printf(path, "%s:0x%" PRIx64, file->path, linked);
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
	if (address && is_static(s, address, &address))
		return name_static(s, address, path);
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

/* Where the kernel carries it out itself, if the registers are still the same there: at the branch, else where the memory is read. */
static uint64_t code_for(struct slice *s, size_t at, const struct instruction_memory *memory)
{
	size_t branch = s->way.length - 1;
	uint16_t needed = (uint16_t)((memory->base < REGISTER_count ? 1u << memory->base : 0) |
				     (memory->index < REGISTER_count ? 1u << memory->index : 0));

	for (size_t i = at; i < branch; i++)
		if (changes(s, i) & needed || s->way.items[i + 1].gap)
			return s->way.items[at].address;
	return s->way.items[branch].address;
}

/* By the registers that lead to the operand, where a thread comes to the code. */
static bool name_by_registers(struct slice *s, size_t at, const struct instruction_memory *memory, struct buf *path)
{
	uint64_t offset, linked;
	const struct code *file = code_file(&s->run->code, code_for(s, at, memory), &linked);

	if (memory->segment != SEGMENT_none || memory->base >= REGISTER_count || !elf_file_offset(&file->elf, linked, &offset))
		return false;
	buf_printf(path, "%s+0x%" PRIx64 "@%s", file->path, offset, register_name(memory->base));
	if (memory->index < REGISTER_count)
		buf_printf(path, "+%s*%u", register_name(memory->index), memory->scale ? memory->scale : 1);
	if (memory->displacement)
		buf_printf(path, "%+" PRId64, memory->displacement);
	return true;
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
	origin.in_any_run = name_memory(s, at, memory, &path, 0);
	if (!origin.in_any_run)
		buf_clear(&path);
	if (origin.in_any_run || name_by_registers(s, at, memory, &path))
		origin.spec = arena_printf(s->arena, "%s%%%u", buf_str(&path), origin.bytes);
	buf_done(&path);
	add_origin(diverge, &origin);
}

static void add_result(struct slice *s, size_t at, struct diverge *diverge)
{
	struct instruction call = instruction_of(s, at);
	struct diverge_origin origin = { .kind = DIVERGE_result, .at = s->way.items[at].address };

	origin.callee = imports_name(&s->run->code, call.direct ? call.target : origin.at);
	origin.imported = origin.callee != NULL;
	if (!origin.callee)
		origin.callee = call.direct ? code_name(&s->run->code, s->arena, call.target) : "";
	origin.callee = arena_strdup(s->arena, origin.callee);
	add_origin(diverge, &origin);
}

/* Registers whose values before an instruction are still to be followed. */
struct sources {
	struct { size_t at; unsigned reg; } items[SOURCES_MOST];
	size_t count;
};

static void add_source(struct sources *sources, size_t at, unsigned reg)
{
	if (sources->count < SOURCES_MOST)
		sources->items[sources->count].at = at, sources->items[sources->count++].reg = reg;
}

/* What the instruction's result is made of. */
static void take_operands(struct slice *s, size_t at, const struct instruction *instruction, struct sources *sources, struct diverge *diverge)
{
	const struct instruction_memory *memory = &instruction->memory[0];
	uint16_t rest = instruction->read & (uint16_t)~(1u << REGISTER_rsp);
	unsigned stored_reg;
	size_t stored;

	if (instruction->memory_count && memory->read) {
		rest &= (uint16_t)~((memory->base < REGISTER_count ? 1u << memory->base : 0) | (memory->index < REGISTER_count ? 1u << memory->index : 0));
		if (is_stack(s, at, memory) && stored_from(s, at, memory, &stored, &stored_reg))
			add_source(sources, stored, stored_reg);
		else
			add_memory(s, at, memory, diverge);
	}
	for (unsigned reg = 0; reg < REGISTER_count; reg++)
		if (rest & 1u << reg)
			add_source(sources, at, reg);
}

/* The last instruction before `at` that set one of the flags; SIZE_MAX when it is not known. */
static size_t flags_setter(struct slice *s, size_t at, uint32_t wanted)
{
	while (at > 0 && !s->way.items[at].gap)
		if (instruction_of(s, --at).flags_written & wanted)
			return at;
	return SIZE_MAX;
}

/* Follows values back to memory, results of calls, or the unknown. */
static void follow(struct slice *s, struct sources *sources, struct diverge *diverge)
{
	for (int steps = 0; sources->count && steps < SOURCES_MOST; steps++) {
		size_t at = sources->items[--sources->count].at, from, setter;
		unsigned reg = sources->items[sources->count].reg;
		struct instruction instruction;

		from = definition(s, at, reg);
		if (from == SIZE_MAX) {
			add_origin(diverge, &(struct diverge_origin){ .kind = DIVERGE_unknown, .at = s->way.items[at].address });
			continue;
		}
		if (s->way.items[from].opaque) {
			if (reg == REGISTER_rax)
				add_result(s, from, diverge);
			continue;
		}
		instruction = instruction_of(s, from);
		take_operands(s, from, &instruction, sources, diverge);
		/* set, or moved, by a condition */
		setter = instruction.flags_read ? flags_setter(s, from, instruction.flags_read) : SIZE_MAX;
		if (setter != SIZE_MAX) {
			instruction = instruction_of(s, setter);
			take_operands(s, setter, &instruction, sources, diverge);
		}
	}
}

/* What set the flags of the branch at the end of the way, and where that came from. */
static void explain(struct slice *s, struct diverge *diverge)
{
	size_t at = s->way.length - 1;
	struct sources sources = { 0 };
	struct instruction setter;

	at = flags_setter(s, at, instruction_of(s, at).flags_read);
	if (at == SIZE_MAX)
		return;
	setter = instruction_of(s, at);
	diverge->condition_at = s->way.items[at].address;
	take_operands(s, at, &setter, &sources, diverge);
	follow(s, &sources, diverge);
}

/* ---- both ---- */

static void explain_run(struct arena *arena, struct step_run *run, size_t pass, struct variable_file *variables, struct diverge *diverge)
{
	struct slice s = { .arena = arena, .run = run, .variables = variables };
	uint64_t linked;

	s.variables_of = code_file(&run->code, run->passes.items[pass].address, &linked);
	step_way_find(run, pass > LOOKED_BACK ? pass - LOOKED_BACK : 0, pass, false, &s.way);
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
	if (origin->kind == DIVERGE_memory)
		return origin->in_any_run ? 0 : origin->spec ? 1 : origin->buggy_address ? 2 : 3;
	return origin->kind == DIVERGE_result ? 4 : 5;
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
	struct outcomes bases, buggies;
	struct diverge diverge = { 0 }, other = { 0 };
	bool parts;
	struct variable_file variables;
	const struct code *file;
	struct elf_file elf;
	uint64_t linked;
	int r;

	if (memcmp(base->code.elf.build_id, buggy->code.elf.build_id, sizeof(base->code.elf.build_id)) ||
	    (!base->code.elf.build_id_bytes && strcmp(base->code.path, buggy->code.path)))
		return err_set(err, -EINVAL, "the two runs are of different files: %s and %s", base->code.path, buggy->code.path);
	outcomes_find(base, &bases);
	outcomes_find(buggy, &buggies);
	parts = find_parting(base, &bases, &buggies, &diverge);
	outcomes_done(&bases);
	outcomes_done(&buggies);
	if (!parts)
		return err_set(err, -ENODATA, "the runs never part: the good one went no way at any branch that the other did not go too; step "
			       "until it is out of the loop, or step deeper (--depth)");
	diverge.base_pass = find_leaving(base, &base->passes.items[diverge.base_pass]);
	file = code_file(&buggy->code, buggy->passes.items[diverge.buggy_pass].address, &linked);
	r = elf_file_open(file->path, &elf, err);
	if (!r)
		r = variable_file_open(&variables, elf, file->path, file->path, err);
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
