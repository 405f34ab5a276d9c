/* Python's frames in stacks: what the kernel reported about them becomes nodes between those of
 * the C functions among which they stand.
 *
 * A call of the function that runs Python code is a frame of C that stands for one or more
 * of Python's, which the interpreter marks; they take its place. Where the two do not match
 * (a thread that was interrupted just as a call began, a stack that was cut) they are matched
 * from the outermost where both are whole, else from the innermost. */
#ifdef HAVE_BPF
#include <string.h>

#include "base/buf.h"
#include "record/stacks_internal.h"

#define FRAMES_MOST (STACK_FRAMES_MAX + PYTHON_FRAMES_MAX)

static uint32_t reserve_module(void *data)
{
	struct stacks *s = data;
	return modules_reserve(&s->modules);
}

static void tell_file(struct stacks *s, const struct python_file *file)
{
	struct event_module e = { .module = file->module, .kind = MODULE_KIND_script };
	struct buf tail = { 0 };
	buf_add(&tail, file->path, strlen(file->path) + 1);
	buf_add(&tail, "\0", 2);
	stacks_emit(s, EVENT_module, 0, &e, tail.data, tail.length, stacks_now_ns());
	buf_done(&tail);
}

static void tell_new(struct stacks *s)
{
	struct python_texts *t = &s->python;
	for (; t->files_told < t->files.length; t->files_told++)
		tell_file(s, &t->files.items[t->files_told]);
	for (; t->functions_told < t->functions.length; t->functions_told++) {
		const struct python_function *f = &t->functions.items[t->functions_told];
		struct event_symbol e = { .address = (uint64_t)f->number << PYTHON_LINE_BITS, .bytes = 1u << PYTHON_LINE_BITS,
					  .module = f->module, .line = f->line };
		stacks_emit(s, EVENT_symbol, 0, &e, f->name, strlen(f->name) + 1, stacks_now_ns());
	}
}

void stacks_tell_python(struct stacks *s)
{
	s->python.files_told = s->python.functions_told = 0;
	tell_new(s);
}

void stacks_take_python_code(struct stacks *s, const struct python_code_message *m, size_t bytes)
{
	if (python_texts_full(&s->python)) {
		python_texts_forget(&s->python);
		memset(s->python_told, 0, sizeof(*s->python_told) << PYTHON_TOLD_SHIFT);
	}
	python_texts_take(&s->python, m, bytes, reserve_module, s);
	tell_new(s);
}

struct joined {
	struct stack_node nodes[FRAMES_MOST]; /* innermost first */
	uint32_t count;
};

static void join_add(struct joined *j, struct stack_node node)
{
	if (j->count < FRAMES_MOST)
		j->nodes[j->count++] = node;
}

/* Adds Python's frames of one call of the function that runs them. */
static void join_call(struct joined *j, const struct stacks *s, uint32_t version, const struct python_message *m, uint32_t *at)
{
	const struct python_frame *frames = (const struct python_frame *)(m + 1);
	while (*at < m->count) {
		const struct python_frame *f = &frames[(*at)++];
		struct stack_node node = { 0 };
		uint32_t module;
		if (python_texts_frame(&s->python, version, m->layout, f, &module, &node.address))
			node.module = module & 0xffffff;
		else
			node.address = f->code & ~PYTHON_ENTRY;
		join_add(j, node);
		if (f->code & PYTHON_ENTRY)
			break;
	}
}

/* The frames of C of the stack at a place, innermost first; their number. */
static uint32_t frames_of_c(const struct stacks *s, uint32_t node, struct stack_node nodes[STACK_FRAMES_MAX])
{
	uint32_t count = 0;
	for (; node && count < STACK_FRAMES_MAX; node = s->tree.nodes[node].parent)
		nodes[count++] = s->tree.nodes[node];
	return count;
}

static uint32_t calls_of(const struct python_message *m)
{
	const struct python_frame *frames = (const struct python_frame *)(m + 1);
	uint32_t calls = 0;
	for (uint32_t i = 0; i < m->count; i++)
		calls += frames[i].code >> 63;
	/* of a list that was cut the last call is not over */
	return calls + (m->count && !(frames[m->count - 1].code >> 63));
}

static bool is_inner(const struct python_build *build, const struct layout_mapping *python, const struct stack_node *node)
{
	return node->module == python->module->number && node->address - build->inner.start < build->inner.end - build->inner.start;
}

bool stacks_take_python(struct stacks *s, const struct python_message *m, uint32_t base, uint32_t *ret_node)
{
	const struct layout *layout = layout_of(&s->layouts, m->layout);
	const struct layout_mapping *python = layout ? layout_python(layout) : NULL;
	struct stack_node c[STACK_FRAMES_MAX];
	struct joined joined = { .count = 0 };
	uint32_t count = frames_of_c(s, base, c), calls = calls_of(m), runs = 0, at = 0, parent = 0;

	if (!count)
		return false;
	*ret_node = base;
	if (!python)
		return true;
	const struct python_build *build = &python->module->python;
	for (uint32_t i = 0; i < count; i++)
		runs += c[i].module == python->module->number && python_build_runs(build, c[i].address);
	/* PHP runs in one thread, and its frames are the process's; Perl may have come to its end */
	if (!runs && python_version_offsets(build->version)->language != SCRIPT_PYTHON)
		return true;
	uint32_t status = c[count - 1].status, passed = status == 0 && !m->cut && runs > calls ? runs - calls : 0;
	for (uint32_t i = 0; i < count; i++) {
		bool is_run = c[i].module == python->module->number && python_build_runs(build, c[i].address);
		/* what the function that stands for the next ones calls for them */
		if (i + 1 < count && passed == 0 && at < m->count && is_inner(build, python, &c[i]) && c[i + 1].module == c[i].module &&
		    python_build_runs(build, c[i + 1].address))
			continue;
		if (!is_run || passed > 0 || at == m->count)
			join_add(&joined, c[i]);
		else
			join_call(&joined, s, build->version, m, &at);
		passed -= is_run && passed > 0;
	}
	while (at < m->count)
		join_call(&joined, s, build->version, m, &at);
	if (status == 0 && m->cut)
		status = STACK_STATUS_script_cut;
	for (uint32_t i = joined.count; i-- > 0;) {
		bool is_new;
		struct stack_node node = { .address = joined.nodes[i].address, .module = joined.nodes[i].module, .parent = parent,
					   .status = parent ? 0 : status & 0xff };
		parent = stack_tree_node(&s->tree, &node, &is_new);
		if (!parent)
			break;
		if (is_new)
			stacks_emit_node(s, parent, m->time_ns);
	}
	*ret_node = parent;
	return true;
}
#endif
