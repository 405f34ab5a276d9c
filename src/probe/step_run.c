/* See step_run.h. */
#include "probe/step_run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "trace/tables.h"
#include "trace/trace.h"

#define BETWEEN_MOST 4096u    /* instructions between two places */
#define CALLS_MOST 1024u      /* deep */

bool step_condition_holds(unsigned condition, uint64_t flags)
{
	bool carry = flags & 1, parity = flags & 4, zero = flags & 0x40, sign = flags & 0x80, overflow = flags & 0x800, holds = false;

	switch (condition >> 1) {
	case 0: holds = overflow; break;
	case 1: holds = carry; break;
	case 2: holds = zero; break;
	case 3: holds = carry || zero; break;
	case 4: holds = sign; break;
	case 5: holds = parity; break;
	case 6: holds = sign != overflow; break;
	case 7: holds = zero || sign != overflow; break;
	default: break;
	}
	return holds != (condition & 1);
}

/* ---- reading ---- */

struct stepped {
	uint32_t tid;
	uint64_t passes, first_ns;
};

struct stepped_list {
	struct vec(struct stepped) items;
};

static void find_stepped(const struct trace *trace, struct stepped_list *list)
{
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	const struct event *e;
	struct map places = { 0 };

	trace_filter_add(&filter, EVENT_step);
	cursor = trace_cursor_new(trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		bool is_new;
		uint64_t *place = map_at(&places, e->tid, &is_new);

		if (is_new) {
			*place = list->items.length;
			vec_push(&list->items, ((struct stepped){ e->tid, 0, e->time }));
		}
		list->items.items[*place].passes++;
	}
	trace_cursor_free(cursor);
	map_done(&places);
}

/* Whether the thread has the same part in its process as the other one, as far as names tell. */
static bool has_part_of(const struct tables *tables, const struct stepped *stepped, const struct step_run *like)
{
	uint32_t thread = tables_thread(tables, stepped->tid, stepped->first_ns);

	return (tables->threads[thread].pid == stepped->tid) == (like->pid == like->tid) &&
	       !strcmp(tables_comm(tables, thread, stepped->first_ns), like->comm);
}

/* Who passed most, of those with the same part as `like` has where there are any; 0 nobody. */
static uint32_t choose_thread(const struct trace *trace, const struct tables *tables, const struct step_run *like)
{
	struct stepped_list list = { 0 };
	const struct stepped *best = NULL;
	bool best_like = false;
	uint32_t tid;

	find_stepped(trace, &list);
	for (size_t i = 0; i < list.items.length; i++) {
		const struct stepped *stepped = &list.items.items[i];
		bool is_like = like && has_part_of(tables, stepped, like);

		if (best && (best_like != is_like ? best_like : best->passes >= stepped->passes))
			continue;
		best = stepped;
		best_like = is_like;
	}
	tid = best ? best->tid : 0;
	vec_done(&list.items);
	return tid;
}

/* The last mapping of the process that is known to hold the address. */
static bool mapping_of(const struct trace *trace, uint32_t pid, uint64_t address, struct event_mapping *ret_mapping)
{
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	const struct event *e;
	bool found = false;

	trace_filter_add(&filter, EVENT_mapping);
	cursor = trace_cursor_new(trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		const struct event_mapping *at = e->data ? event_as(e, mapping) : NULL;

		if (!at || e->tid != pid || address < at->start || address - at->start >= at->bytes)
			continue;
		*ret_mapping = *at;
		found = true;
	}
	trace_cursor_free(cursor);
	return found;
}

/* A file that was stepped through, as it was mapped. */
struct stepped_file {
	struct event_mapping mapping;
	const struct module *module;
	uint64_t ip;                     /* of a step in it */
	unsigned number;                 /* in the run's code */
};

struct stepped_files {
	struct stepped_file items[CODE_FILES];
	unsigned count;
};

static struct stepped_file *file_at(struct stepped_files *files, uint64_t ip)
{
	for (unsigned i = 0; i < files->count; i++)
		if (ip >= files->items[i].mapping.start && ip - files->items[i].mapping.start < files->items[i].mapping.bytes)
			return &files->items[i];
	return NULL;
}

static int add_file(const struct trace *trace, const struct tables *tables, const struct step_run *run, uint64_t ip,
		    struct stepped_files *files, struct err *err)
{
	struct stepped_file file = { .ip = ip, .number = CODE_FILES };

	if (files->count == CODE_FILES)
		return err_set(err, -E2BIG, "%s: thread %u was stepped through more than %u files", run->path, run->tid, CODE_FILES);
	if (!mapping_of(trace, run->pid, ip, &file.mapping) || file.mapping.module >= tables->module_count)
		return err_set(err, -ENOENT, "%s does not tell what lies at 0x%" PRIx64, run->path, ip);
	file.module = &tables->modules[file.mapping.module];
	files->items[files->count++] = file;
	return 0;
}

static bool has_number(const struct stepped_files *files, unsigned number)
{
	for (unsigned i = 0; i < files->count; i++)
		if (files->items[i].number == number)
			return true;
	return false;
}

/* As they came, but where `like` has the same file, as there. */
static void number_files(struct stepped_files *files, const struct step_run *like)
{
	for (unsigned i = 0; i < files->count; i++)
		for (unsigned n = 0; like && n < CODE_FILES; n++) {
			const struct code *code = n ? like->code.joined[n] : &like->code;

			if (code && !strcmp(code->path, files->items[i].module->path) && !has_number(files, n))
				files->items[i].number = n;
		}
	for (unsigned i = 0; i < files->count; i++)
		for (unsigned n = 0; n < CODE_FILES && files->items[i].number == CODE_FILES; n++)
			if (!has_number(files, n))
				files->items[i].number = n;
}

static int open_file(struct arena *arena, const struct stepped_file *file, struct step_run *run, struct err *err)
{
	const struct module *module = file->module;
	const char *path = arena_strdup(arena, module->path);
	char build_id[65];
	struct elf_file elf;
	uint64_t address, ip = file->ip;
	int r = elf_file_open(path, &elf, err);

	if (r)
		return r;
	elf_file_build_id_text(&elf, build_id);
	if (module->build_id[0] && strcmp(build_id, module->build_id))
		r = err_set(err, -ESTALE, "%s is another build than the one that was stepped through", path);
	else if (!elf_file_address(&elf, ip - file->mapping.start + file->mapping.offset, &address))
		r = err_set(err, -EPROTO, "0x%" PRIx64 " is not code of %s", ip, path);
	if (r) {
		elf_file_close(&elf);
		return r;
	}
	run->biases[file->number] = ip - (address + code_file_base(file->number));
	if (file->number)
		code_join(&run->code, file->number, elf, path);
	else
		code_open(&run->code, elf, path);
	return 0;
}

static int open_files(struct arena *arena, const struct stepped_files *files, struct step_run *run, struct err *err)
{
	int r = 0;

	/* the first before those that are joined to it */
	for (unsigned n = 0; n < CODE_FILES; n++)
		for (unsigned i = 0; i < files->count && !r; i++)
			if (files->items[i].number == n)
				r = open_file(arena, &files->items[i], run, err);
	if (!r && !run->code.window)
		r = err_set(err, -EINVAL, "%s holds no steps in the file of the other run", run->path);
	return r;
}

/* With the address where it lay. */
static void take_pass(struct step_run *run, const struct event *e)
{
	const struct event_step *at = event_as(e, step);
	struct step_pass pass = {
		.address = at->ip, .flags = at->flags, .time = e->time, .number = e->number, .ustack = at->ustack,
		.registers = { at->rax, at->rcx, at->rdx, at->rbx, at->rsp, at->rbp, at->rsi, at->rdi, at->r8, at->r9, at->r10, at->r11,
			       at->r12, at->r13, at->r14, at->r15 },
	};

	vec_push(&run->passes, pass);
}

/* Addresses as in the run's code. What is no code of it is left out. */
static void link_passes(struct step_run *run, struct stepped_files *files)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->passes.length; i++) {
		struct step_pass *pass = &run->passes.items[i];
		const struct stepped_file *file = file_at(files, pass->address);
		const struct instruction *instruction;

		pass->address -= run->biases[file->number];
		instruction = code_at(&run->code, pass->address);
		if (!instruction)
			continue;
		pass->taken = instruction->kind == INSTRUCTION_branch && instruction->condition < 16 &&
			      step_condition_holds(instruction->condition, pass->flags);
		run->passes.items[kept++] = *pass;
	}
	run->passes.length = kept;
}

static int read_passes(struct arena *arena, const struct trace *trace, const struct tables *tables, const struct step_run *like,
		       struct step_run *run, struct err *err)
{
	struct stepped_files files = { 0 };
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	const struct event *e;
	int r = 0;

	trace_filter_add(&filter, EVENT_step);
	cursor = trace_cursor_new(trace, &filter);
	while (!r && (e = trace_cursor_next(cursor))) {
		if (e->tid != run->tid || !e->data)
			continue;
		if (!files.count) {
			uint32_t thread = tables_thread(tables, e->tid, e->time);

			run->pid = tables->threads[thread].pid;
			run->comm = arena_strdup(arena, tables_comm(tables, thread, e->time));
		}
		if (!file_at(&files, event_as(e, step)->ip))
			r = add_file(trace, tables, run, event_as(e, step)->ip, &files, err);
		if (!r)
			take_pass(run, e);
	}
	trace_cursor_free(cursor);
	if (!r && run->passes.length >= STEP_NO_PASS)
		r = err_set(err, -E2BIG, "%s holds more than %u steps of one thread", run->path, STEP_NO_PASS - 1);
	number_files(&files, like);
	if (!r && files.count)
		r = open_files(arena, &files, run, err);
	if (!r)
		link_passes(run, &files);
	return r;
}

int step_run_read(struct arena *arena, const char *path, uint32_t tid, const struct step_run *like, struct step_run *ret_run,
		  struct err *err)
{
	struct step_run run = { .path = path, .comm = "" };
	struct tables *tables = NULL;
	struct trace *trace;
	int r = trace_open(path, &trace, err);

	if (r)
		return r;
	r = tables_build(trace, &tables, err);
	if (!r)
		run.tid = tid ? tid : choose_thread(trace, tables, like);
	if (!r && !run.tid)
		r = err_set(err, -ENODATA, "%s holds no steps: no thread came to the places, or it was not made by `argus step`", path);
	if (!r)
		r = read_passes(arena, trace, tables, like, &run, err);
	if (!r && !run.passes.length)
		r = err_set(err, -ENODATA, "%s holds no steps of thread %u", path, run.tid);
	tables_free(tables);
	trace_close(trace);
	if (r) {
		step_run_done(&run);
		return r;
	}
	*ret_run = run;
	return 0;
}

void step_run_done(struct step_run *run)
{
	code_close(&run->code);
	vec_done(&run->passes);
}

/* ---- what lay between ---- */

/* Goes straight on from `from` to the place `to`; adds what lies between and tells whether it came there. */
static bool go(struct step_run *run, uint64_t from, uint64_t to, struct step_way *way)
{
	size_t before = way ? way->length : 0;

	for (unsigned i = 0; i < BETWEEN_MOST; i++) {
		const struct instruction *instruction;

		if (from == to)
			return true;
		instruction = code_at(&run->code, from);
		if (!instruction || instruction->kind == INSTRUCTION_branch || instruction->kind == INSTRUCTION_call ||
		    instruction->kind == INSTRUCTION_return || (instruction->kind == INSTRUCTION_jump && !instruction->direct))
			break;
		if (way)
			vec_push(way, ((struct step_executed){ .address = from, .pass = STEP_NO_PASS }));
		from = instruction->kind == INSTRUCTION_jump ? instruction->target : from + instruction->length;
	}
	if (way)
		way->length = before;
	return false;
}

struct calls {
	uint64_t back[CALLS_MOST];   /* where those that are under way return to */
	size_t count;
};

/* Whether the function of `next` was called with the stack as it was at `pass`; true also where that is not known. */
static bool has_stack_of(const struct step_run *run, const struct step_pass *pass, const struct step_pass *next)
{
	uint64_t linked, top = pass->registers[REGISTER_rsp];
	const struct code *file = code_file(&run->code, next->address, &linked);
	struct unwind_rule rule = file->has_unwind ? unwind_table_rule(&file->unwind, linked) : (struct unwind_rule){ 0 };

	switch (rule.kind) {
	case UNWIND_RSP:
		return next->registers[REGISTER_rsp] + (uint64_t)rule.offset == top;
	case UNWIND_RBP:
		return next->registers[REGISTER_rbp] + (uint64_t)rule.offset == top;
	default:
		return true;
	}
}

/* Whether the call leads to `next`: straight, or by a word in memory, which may lead anywhere. */
static bool enters(struct step_run *run, const struct step_pass *pass, const struct instruction *call, const struct step_pass *next,
		   struct step_way *way)
{
	uint64_t start, end;

	if (call->direct && go(run, call->target, next->address, way))
		return true;
	return (!call->direct || code_import_word(&run->code, call->target)) && has_stack_of(run, pass, next) &&
	       code_function(&run->code, next->address, &start, &end) && go(run, start, next->address, way);
}

static bool go_from(struct step_run *run, const struct step_pass *pass, const struct step_pass *next, struct calls *calls, struct step_way *way)
{
	const struct instruction *found = code_at(&run->code, pass->address);
	struct instruction instruction;
	uint64_t behind;

	if (!found)
		return false;
	instruction = *found;
	behind = pass->address + instruction.length;
	switch ((enum instruction_kind)instruction.kind) {
	case INSTRUCTION_branch:
		return go(run, pass->taken ? instruction.target : behind, next->address, way) ||
		       (instruction.condition >= 16 && go(run, instruction.target, next->address, way));
	case INSTRUCTION_call:
		/* into what was stepped through, or over what was not */
		if (next->registers[REGISTER_rsp] < pass->registers[REGISTER_rsp] && calls->count < CALLS_MOST &&
		    enters(run, pass, &instruction, next, way)) {
			calls->back[calls->count++] = behind;
			return true;
		}
		way->items[way->length - 1].opaque = true;
		return go(run, behind, next->address, way);
	case INSTRUCTION_return:
		if (!calls->count)
			return false;
		return go(run, calls->back[--calls->count], next->address, way);
	/* behind a call that was not stepped through: where its result was taken */
	case INSTRUCTION_jump:
		return instruction.direct && go(run, instruction.target, next->address, way);
	case INSTRUCTION_plain:
		return go(run, behind, next->address, way);
	case INSTRUCTION_system:
		break;
	}
	return false;
}

/* The pass, behind its function from its beginning on when the way there is straight and ends there. */
static bool enter(struct step_run *run, size_t pass, struct step_way *way)
{
	uint64_t start, end, address = run->passes.items[pass].address;
	size_t length = way->length;

	if (!code_function(&run->code, address, &start, &end) || !go(run, start, address, way))
		return false;
	vec_push(way, ((struct step_executed){ .address = address, .pass = (uint32_t)pass }));
	way->items[length].gap = way->items[length].entered = true;
	return true;
}

void step_way_find(struct step_run *run, size_t first, size_t last, bool entries, struct step_way *ret_way)
{
	struct calls *calls = mem_zalloc(sizeof(*calls));
	struct step_way way = { 0 };

	for (size_t i = first; i <= last && i < run->passes.length; i++) {
		const struct step_pass *before = i > first ? &run->passes.items[i - 1] : NULL;
		bool gap = before && !go_from(run, before, &run->passes.items[i], calls, &way);
		const struct instruction *instruction = gap ? code_at(&run->code, before->address) : NULL;

		if (entries && (!before || (instruction && instruction->kind == INSTRUCTION_return)) && enter(run, i, &way))
			continue;
		vec_push(&way, ((struct step_executed){ .address = run->passes.items[i].address, .pass = (uint32_t)i, .gap = gap }));
	}
	free(calls);
	*ret_way = way;
}

void step_way_done(struct step_way *way)
{
	vec_done(way);
}
