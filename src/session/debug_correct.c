/* The interactive session: what the person corrects, and what becomes of the answer. */
#include "session/debug.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "trace/text.h"

void debug_answer_again(struct debug *debug, struct buf *out)
{
	const char *before = debug->diagnosis ? debug->diagnosis->text : NULL;

	debug->hangs_known = false;
	if (!before) {
		buf_text(out, "`why` takes it into account\n");
		return;
	}
	debug_answer(debug, NULL);
	if (!strcmp(before, debug->diagnosis->text))
		buf_text(out, "The answer stays as it was.\n");
	else
		buf_printf(out, "The answer is now: %s\n", debug->diagnosis->text);
}

/* Nothing, too: what was taken back must go. */
static int lay_over(struct debug *debug, struct err *err)
{
	debug->session.judgement_changed = knowledge_judges(&debug->knowledge);
	return knowledge_apply(&debug->knowledge, debug->session.scene, err);
}

static int learn(struct debug *debug, const char *statement, struct buf *out, struct err *err)
{
	struct err undone;
	int r = knowledge_add(&debug->knowledge, statement, err);

	if (r)
		return r;
	r = lay_over(debug, err);
	if (r) {
		/* What cannot be applied is not kept. */
		knowledge_undo(&debug->knowledge, &undone);
		lay_over(debug, &undone);
		return r;
	}
	debug_answer_again(debug, out);
	return 0;
}

int debug_correct(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	bool boundary = words->items[0][0] == 'b', join = words->items[0][0] == 'j';
	uint64_t from, to = 0;
	int r;

	if (words->count != (boundary ? 2u : 3u))
		return debug_usage(words, err);
	r = debug_number(words->items[1], &from, err);
	if (!r && !boundary)
		r = debug_number(words->items[2], &to, err);
	if (r)
		return r;
	if (boundary)
		return learn(debug, arena_printf(&debug->arena, "boundary at %" PRIu64 ";", from), out, err);
	return learn(debug, arena_printf(&debug->arena, "%s%s %" PRIu64 " -> %" PRIu64 ";", words->items[0],
					 join ? "" : " edge", from, to), out, err);
}

/* Whether what was asked about is among the hangs that are left. */
static bool is_hang(const struct debug *debug)
{
	for (size_t i = 0; i < debug->hang_count; i++)
		if (debug->hangs[i].thread == debug->request.thread && debug->hangs[i].start_ns < debug->request.to_ns &&
		    debug->request.from_ns < debug->hangs[i].end_ns)
			return true;
	return false;
}

int debug_idle(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	uint64_t event;
	size_t before;
	int r;

	if (words->count != 2)
		return debug_usage(words, err);
	if (debug_number(words->items[1], &event, err))
		return -EINVAL;
	debug_find_hangs(debug);
	before = debug->hang_count;
	r = learn(debug, arena_printf(&debug->arena, "idle wait %" PRIu64 ";", event), out, err);
	if (r)
		return r;
	debug_find_hangs(debug);
	buf_printf(out, "Hangs: %zu, before %zu.%s\n", debug->hang_count, before,
		   debug->diagnosis && !is_hang(debug) ? " What you looked at is no longer a hang; `why` explains the worst that is left." : "");
	return 0;
}

int debug_name(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	uint64_t object;

	if (words->count != 3)
		return debug_usage(words, err);
	if (text_parse_value(FIELD_OBJECT, words->items[1], strlen(words->items[1]), &object))
		return err_set(err, -EINVAL, "'%s' is not an object: a number, or as events show it, such as futex:7f00a0", words->items[1]);
	return learn(debug, arena_printf(&debug->arena, "flag %s at 0x%" PRIx64 ";", words->items[2], object), out, err);
}

int debug_judge(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	if (words->count != 2)
		return debug_usage(words, err);
	return learn(debug, arena_printf(&debug->arena, "%s %s;", words->items[0][0] == 'w' ? "without" : "limit", words->items[1]), out, err);
}

int debug_undo(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	int r = knowledge_undo(&debug->knowledge, err);

	(void)words;
	if (!r)
		r = lay_over(debug, err);
	if (!r)
		debug_answer_again(debug, out);
	return r;
}

int debug_knowledge(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct knowledge *k = &debug->knowledge;

	(void)words;
	(void)err;
	for (size_t i = 0; i < k->statements.length; i++)
		buf_printf(out, "%2zu  %s%s\n", i + 1, k->statements.items[i], i < k->saved ? "" : "   (not saved)");
	if (!k->statements.length)
		buf_text(out, "nothing yet: cut, keep, join, boundary, flag, object, idle, without and limit add to it\n");
	return 0;
}

int debug_save(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const char *path = words->count > 1 ? words->items[1] : NULL;
	int r = knowledge_save(&debug->knowledge, path, err);

	if (!r)
		buf_printf(out, "%zu statement%s in %s\n", debug->knowledge.statements.length,
			   debug->knowledge.statements.length == 1 ? "" : "s", path ? path : debug->knowledge.path);
	return r;
}

int debug_load(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	size_t before = debug->knowledge.statements.length;
	struct err undone;
	int r;

	if (words->count != 2)
		return debug_usage(words, err);
	r = knowledge_read(&debug->knowledge, words->items[1], err);
	if (!r)
		r = lay_over(debug, err);
	if (r) {
		while (debug->knowledge.statements.length > before)
			knowledge_undo(&debug->knowledge, &undone);
		lay_over(debug, &undone);
		return r;
	}
	debug_answer_again(debug, out);
	return 0;
}
