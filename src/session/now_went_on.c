/* See now_went_on.h. */
#include "session/now_went_on.h"

#include <inttypes.h>
#include <string.h>

#include "diagnose/answer.h"
#include "diagnose/judgement.h"
#include "session/why.h"

/* It waits for others, and not for work, a clock or a person. */
static bool is_for_others(const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_none:
	case WAIT_KIND_worker:
	case WAIT_KIND_sleep:
	case WAIT_KIND_accept:
	case WAIT_KIND_signal:
	case WAIT_KIND_exit:
		return false;
	}
	return !w->idle && !wait_is_loop_rest(w);
}

/* That stood for long as the look began, and ended in it. */
static const struct episode *wait_at_begin(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	const struct episode *e = scene_episode(scene, thread, from_ns);
	uint64_t end = scene->tables->threads[thread].end_ns;

	if (!e || e->start_ns > from_ns || (e->end_ns >= scene->end_ns && end >= scene->end_ns) || !is_for_others(&scene->waits[e->last]))
		return NULL;
	return e->end_ns - scene->waits[e->first].start_ns >= limit_of(scene, LIMIT_went_on_ns) ? e : NULL;
}

const struct diagnosis *now_went_on(struct arena *arena, struct diagnoser *diagnoser, uint32_t pid, uint64_t from_ns)
{
	const struct scene *scene = diagnoser_scene(diagnoser);
	uint64_t begin = from_ns > scene->start_ns ? from_ns : scene->start_ns, first = 0;
	struct diagnose_request request = { .from_ns = begin };

	if (!rule_holds(scene, RULE_went_on))
		return NULL;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];
		/* a thread is told from the first that is seen of it on */
		uint64_t seen = scene->threads[i].since_ns > begin ? scene->threads[i].since_ns : begin;
		const struct episode *e = t->pid == pid || t->tid == pid ? wait_at_begin(scene, i, seen) : NULL;

		/* the first thread, where it did */
		if (!e || (request.thread && t->tid != t->pid && first <= e->start_ns))
			continue;
		request.thread = i;
		request.to_ns = e->end_ns < scene->end_ns ? e->end_ns : scene->end_ns;
		first = t->tid == t->pid ? 0 : e->start_ns;
	}
	if (!request.thread || request.to_ns <= request.from_ns)
		return NULL;
	return diagnose(arena, diagnoser, &request);
}

/* Before anything was recorded of that. */
static const struct now_asked_one *waited_before(const struct now_asked *asked, uint32_t pid, uint64_t since_ns)
{
	for (size_t i = 0; asked && i < asked->count; i++)
		if (asked->list[i].number == pid && asked->list[i].waited_ns && asked->list[i].asked_ns < since_ns)
			return &asked->list[i];
	return NULL;
}

void now_went_on_text(struct arena *arena, const struct session *session, const struct diagnosis *before, const struct now_asked *asked, uint32_t pid,
		      uint64_t since_ns, int width, struct buf *buf)
{
	const struct now_asked_one *one = before ? NULL : waited_before(asked, pid, since_ns);

	if (one) {
		buf_text(buf, "  When this was asked, ");
		now_asked_text(arena, one, buf);
		buf_text(buf, "; it has gone on since.\n");
	}
	if (!before)
		return;
	buf_text(buf, "  It went on while this was asked. Till then:\n\n");
	why_text(arena, session, before, width, buf);
}

void now_ended_text(struct arena *arena, const struct session *session, const struct now_asked_one *one, uint64_t from_ns, int width, struct buf *buf)
{
	const struct diagnosis *before = now_went_on(arena, session->diagnoser, one->number, from_ns);

	buf_escaped(buf, one->comm[0] ? one->comm : "?", one->comm[0] ? strlen(one->comm) : 1, NULL);
	buf_printf(buf, " (pid %" PRIu32 "): it has ended since this was asked; when it was, ", one->number);
	now_asked_text(arena, one, buf);
	buf_text(buf, before ? ". Till then:\n\n" : ".\n");
	if (before)
		why_text(arena, session, before, width, buf);
}

void now_answer_json(struct json *json, const char *name, const struct diagnosis *diagnosis)
{
	if (!diagnosis) {
		json_null(json, name);
		return;
	}
	json_object(json, name);
	answer_json(json, diagnosis);
	json_end(json);
}

void now_ended_json(struct arena *arena, const struct session *session, const struct now_asked_one *const *ended, size_t count, uint64_t from_ns,
		    struct json *json)
{
	struct buf buf;

	if (!count)
		return;
	json_array(json, "ended");
	for (size_t i = 0; i < count; i++) {
		buf_init(&buf);
		now_asked_text(arena, ended[i], &buf);
		json_object(json, NULL);
		json_u64(json, "pid", ended[i]->number);
		json_text(json, "comm", ended[i]->comm);
		json_text(json, "asked", buf_str(&buf));
		now_answer_json(json, "before", now_went_on(arena, session->diagnoser, ended[i]->number, from_ns));
		json_end(json);
		buf_done(&buf);
	}
	json_end(json);
}
