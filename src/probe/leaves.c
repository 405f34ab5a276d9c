/* See leaves.h. What compilers move out of a function because it is seldom run is a function of its own
 * to the unwind table; it begins in the midst of a frame, which tells it from a function that is called. */
#include "probe/leaves.h"

#include <stdlib.h>

#define PARTS_MOST 16u

struct search {
	struct code *code;
	uint64_t parts[PARTS_MOST];  /* begins of the function and of what belongs to it */
	size_t part_count;
	uint64_t *leaves;
	size_t count;
	bool unsure;
};

static void add_part(struct search *s, uint64_t start)
{
	for (size_t i = 0; i < s->part_count; i++)
		if (s->parts[i] == start)
			return;
	if (s->part_count == PARTS_MOST)
		s->unsure = true;
	else
		s->parts[s->part_count++] = start;
}

static void add_leave(struct search *s, uint64_t address)
{
	if (s->count == LEAVES_MOST)
		s->unsure = true;
	else
		s->leaves[s->count++] = address;
}

/* At a called function's first instruction, and where its frame has gone, the return address lies on top
 * of the stack. */
static bool is_called(const struct code *code, uint64_t target)
{
	struct unwind_rule rule = unwind_table_rule(&code->unwind, target);

	return rule.kind == UNWIND_RSP && rule.offset == 8;
}

/* A function of another file. */
static bool is_plt(const struct code *code, uint64_t target)
{
	return unwind_table_rule(&code->unwind, target).kind == UNWIND_PLT;
}

bool leaves_to(const struct code *code, uint64_t target)
{
	uint64_t start, end;

	return is_plt(code, target) || (code_function(code, target, &start, &end) && start == target && is_called(code, target));
}

static void take_jump(struct search *s, uint64_t address, const struct instruction *in, uint64_t start, uint64_t end)
{
	uint64_t to_start, to_end;

	if (!in->direct) {
		/* while the frame stands, a table of the function's own ways; behind that it may be a call */
		s->unsure |= in->kind == INSTRUCTION_jump && is_called(s->code, address);
		return;
	}
	if (in->target >= start && in->target < end)
		return;
	if (!code_function(s->code, in->target, &to_start, &to_end)) {
		s->unsure = true;
		return;
	}
	for (size_t i = 0; i < s->part_count; i++)
		if (s->parts[i] == to_start)
			return;
	if (leaves_to(s->code, in->target))
		add_leave(s, address);
	else
		add_part(s, to_start);
}

static void look_through(struct search *s, uint64_t part)
{
	const struct instruction *found;
	uint64_t start, end;

	if (!code_function(s->code, part, &start, &end)) {
		s->unsure = true;
		return;
	}
	for (uint64_t at = start; at < end && !s->unsure; ) {
		struct instruction in;

		found = code_at(s->code, at);
		if (!found) {
			s->unsure = true;
			return;
		}
		in = *found;
		if (in.kind == INSTRUCTION_return)
			add_leave(s, at);
		else if (in.kind == INSTRUCTION_jump || in.kind == INSTRUCTION_branch)
			take_jump(s, at, &in, start, end);
		at += in.length;
	}
}

static int by_address(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b;
}

size_t leaves_find(struct code *code, uint64_t function, uint64_t leaves[LEAVES_MOST])
{
	struct search s = { .code = code, .leaves = leaves };

	if (!code->has_unwind)
		return 0;
	add_part(&s, function);
	for (size_t i = 0; i < s.part_count && !s.unsure; i++)
		look_through(&s, s.parts[i]);
	if (s.unsure)
		return 0;
	qsort(leaves, s.count, sizeof(leaves[0]), by_address);
	return s.count;
}
