/* See near.h. A place that something jumps to, from the function or a part of it that lies elsewhere, is passed more
 * often than what stands before it; where a jump's ways are a table, nothing is sure. */
#include "probe/near.h"

#include "probe/leaves.h"

#define FAR_MOST 16u           /* instructions away */
#define PARTS_MOST 16u
#define FUNCTION_MOST 65536u   /* instructions that are looked through */

struct search {
	struct code *code;
	uint64_t parts[PARTS_MOST];  /* begins of the function and of what belongs to it */
	size_t part_count;
	struct vec(uint64_t) line;   /* the function's instructions */
	struct map targets;          /* of its jumps */
	bool unsure;
};

static void take_target(struct search *s, uint64_t target)
{
	uint64_t start, end;
	bool is_new;

	map_at(&s->targets, target, &is_new);
	if (!code_function(s->code, target, &start, &end) || leaves_to(s->code, target))
		return;
	for (size_t i = 0; i < s->part_count; i++)
		if (s->parts[i] == start)
			return;
	if (s->part_count == PARTS_MOST)
		s->unsure = true;
	else
		s->parts[s->part_count++] = start;
}

static void look_through(struct search *s, uint64_t part, bool first)
{
	const struct instruction *in;
	uint64_t start, end;
	size_t count = 0;

	s->unsure |= !code_function(s->code, part, &start, &end);
	for (uint64_t at = s->unsure ? 0 : start; !s->unsure && at < end; at += in->length) {
		in = code_at(s->code, at);
		if (!in || ++count > FUNCTION_MOST) {
			s->unsure = true;
			return;
		}
		if (first)
			vec_push(&s->line, at);
		if (in->kind != INSTRUCTION_jump && in->kind != INSTRUCTION_branch)
			continue;
		if (in->direct)
			take_target(s, in->target);
		else
			s->unsure = true;
	}
}

/* Whether the thread goes on behind the instruction, with everything that is asked for as it was. A push writes
 * what lies beyond the stack's end only. */
static bool keeps(const struct instruction *in, uint16_t registers, bool memory)
{
	if (in->kind != INSTRUCTION_plain || (in->written & registers))
		return false;
	for (unsigned i = 0; i < in->memory_count && memory; i++)
		if (in->memory[i].written)
			return false;
	return true;
}

static uint64_t find_in_line(struct search *s, size_t index, uint16_t registers, bool memory)
{
	bool ahead = true, back = true;
	size_t count = s->line.length;

	for (size_t far = 1; far <= FAR_MOST && (ahead || back); far++) {
		/* what is gone over on the way: the one before the next place, or the place before */
		ahead = ahead && index + far < count && keeps(code_at(s->code, s->line.items[index + far - 1]), registers, memory) &&
			!map_find(&s->targets, s->line.items[index + far]);
		if (ahead && code_at(s->code, s->line.items[index + far])->emulated)
			return s->line.items[index + far];
		back = back && far <= index && keeps(code_at(s->code, s->line.items[index - far]), registers, memory) &&
		       !map_find(&s->targets, s->line.items[index - far + 1]);
		if (back && code_at(s->code, s->line.items[index - far])->emulated)
			return s->line.items[index - far];
	}
	return 0;
}

uint64_t near_find(struct code *code, uint64_t address, uint16_t registers, bool memory)
{
	struct search s = { .code = code };
	uint64_t start, end, found = 0;

	if (!code->has_unwind || !code_function(code, address, &start, &end))
		return 0;
	s.parts[s.part_count++] = start;
	for (size_t i = 0; i < s.part_count && !s.unsure; i++)
		look_through(&s, s.parts[i], !i);
	for (size_t i = 0; i < s.line.length && !s.unsure; i++)
		if (s.line.items[i] == address)
			found = find_in_line(&s, i, registers, memory);
	vec_done(&s.line);
	map_done(&s.targets);
	return found;
}
