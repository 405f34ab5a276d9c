/* See long_hang.h. The end of a hang is what was to be waited for, and mostly like the rest of it. But one that was let go on may have
 * much to do still, in short pieces, so that the end is all of that, and nothing of the stand before it. */
#include "session/long_hang.h"

#include "diagnose/judgement.h"

struct explained {
	uint32_t tid;             /* of the culprit; 0 none */
	uint64_t ns;              /* for which it was at it, of what was looked at */
	uint8_t confidence;
	bool stood;               /* in one wait, since before that */
};

static struct explained explain(struct session *session, const struct hang *hang, struct side *base)
{
	const struct diagnose_request request = { .thread = hang->thread, .from_ns = hang->start_ns, .to_ns = hang->end_ns, .base = base };
	const struct scene *scene = session->scene;
	struct explained found = { 0 };
	const struct diagnosis *d;
	const struct episode *e;
	struct arena arena;

	arena_init(&arena);
	d = diagnose(&arena, session->diagnoser, &request);
	if (d->culprit.kind == ACTOR_THREAD && d->culprit.thread) {
		e = scene_episode(scene, d->culprit.thread, d->start_ns);
		found.tid = d->culprit.tid;
		found.confidence = d->confidence;
		found.stood = e && e->start_ns < scene->start_ns && nearly_all(scene, e->end_ns - d->start_ns, d->end_ns - d->start_ns);
		for (size_t i = 0; i < d->doing_count; i++)
			found.ns += d->doings[i].ns;
	}
	arena_done(&arena);
	return found;
}

int long_hang_turn(struct session *session, const struct hang *found, struct hang *hang, struct side *base, uint64_t *ret_ended_ns, struct err *err)
{
	uint64_t ended_ns = hang->end_ns, to_ns;
	struct explained by_end, by_begin = { 0 };
	struct hang begin = *hang;
	int r;

	*ret_ended_ns = 0;
	if (!session->blocks || hang->start_ns >= session->scene->start_ns || !judgement_holds(session->judgement, RULE_begin_explains))
		return 0;
	by_end = explain(session, hang, base);
	if (by_end.stood)
		return 0;
	r = session_look_at_begin(session, hang->start_ns, ended_ns, &to_ns, err);
	if (r)
		return r;
	begin.end_ns = to_ns < ended_ns ? to_ns : ended_ns;
	begin.thread = tables_thread(session->tables, begin.tid, begin.end_ns);
	if (begin.thread)
		by_begin = explain(session, &begin, base);
	if (by_begin.tid != by_end.tid && by_begin.ns > by_end.ns && by_begin.confidence >= judgement_limit(session->judgement, LIMIT_explained_sure)) {
		*hang = begin;
		*ret_ended_ns = begin.end_ns < ended_ns ? ended_ns : 0;
		return 0;
	}
	r = session_look(session, found->start_ns, found->end_ns, err);
	return r ? r : session_find_thread(session, hang, err);
}
