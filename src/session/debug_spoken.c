/* The interactive session: by which rules the answer came about. */
#include "session/debug.h"

#include "session/why.h"

/* It named one of those on the way to the culprit, or spoke of the hang itself. */
static bool speaks_for(const struct diagnosis *g, const struct spoken *s)
{
	if (!s->about || s->about == g->culprit.thread || s->about == g->victim.thread)
		return true;
	for (size_t i = 0; i < g->path_count; i++)
		if (g->path[i].actor.thread == s->about)
			return true;
	return false;
}

int debug_spoken(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct diagnosis *g = debug->diagnosis;
	const struct judgement *j = debug->session.judgement;
	int r = debug_need_answer(debug, err);

	if (r)
		return r;
	if (words->count > 1)
		return debug_usage(words, err);
	for (size_t i = 0; i < j->spoken.length; i++) {
		const struct spoken *s = &j->spoken.items[i];
		const struct rule_info *rule = &rule_infos[s->rule];

		if (why_spoke_before(j, i))
			continue;
		buf_printf(out, "%-8s %-8s %-18s %3u %%  %s", speaks_for(g, s) ? "for" : "against", rule_stage_name(rule->stage), rule->name,
			   (unsigned)s->weight, debug_who(debug, s->thread, s->from_ns));
		if (s->about)
			buf_printf(out, " -> %s", debug_who(debug, s->about, s->from_ns));
		if (s->event)
			buf_printf(out, ", event %llu", (unsigned long long)s->event);
		buf_printf(out, "\n                   %s\n", rule->why);
	}
	if (!j->spoken.length)
		buf_text(out, "no rule was needed: who ended each wait was recorded\n");
	return 0;
}
