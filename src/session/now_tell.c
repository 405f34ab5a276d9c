/* See now_tell.h. */
#include "session/now_tell.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "diagnose/answer.h"
#include "session/cut_sets.h"
#include "session/loop_tasks.h"
#include "session/now_children.h"
#include "session/now_perhaps.h"
#include "session/now_went_on.h"
#include "session/why.h"
#include "trace/when.h"

#define ANSWERS_TOLD 3 /* in full; the rest a line each */

bool now_leads_over(const struct diagnosis *d, uint32_t thread)
{
	for (size_t i = 1; d && i < d->path_count; i++)
		if (d->path[i].actor.thread == thread)
			return true;
	return false;
}

bool now_finding_is_stuck(const struct now_finding *f)
{
	return f->standing->kind != STANDING_MOVES && f->standing->kind != STANDING_RESTS && !f->standing->answered;
}

static void describe_thread_of(const struct now_answers *look, uint32_t thread, struct actor *actor)
{
	const struct thread *t = &look->session.tables->threads[thread];

	*actor = (struct actor){ .thread = thread, .pid = t->pid, .tid = t->tid, .comm = t->comm,
				   .program = tables_program(look->session.tables, thread, look->session.scene->end_ns) };
}

/* As the look's last snapshot has them. */
static struct loop_tasks tasks_of(struct now_answers *look, const struct actor *actor)
{
	return loop_tasks_find(&look->arena, &look->session, actor->pid, look->last_ns, trace_summary(look->session.trace)->end_ns);
}

/* What it looks at, or waits to see change; "" nothing is known of that. */
const char *now_looks_of(struct now_answers *look, const struct now_finding *f)
{
	const struct scene *scene = look->session.scene;
	struct describer d = { .arena = &look->arena, .scene = scene, .ends = diagnoser_ends(look->session.diagnoser),
			       .names = look->session.names, .victim = f->standing->thread };
	const char *text;
	struct buf buf;

	buf_init(&buf);
	answer_looks_text(&d, NULL, f->standing->thread, look->from_ns > scene->start_ns ? look->from_ns : scene->start_ns, scene->end_ns, &buf);
	text = buf.length ? arena_strdup(&look->arena, buf_str(&buf) + 1) : "";
	buf_done(&buf);
	return text;
}

/* `keeper`: who keeps it belongs to the line, as nothing else tells that. */
static void put_line(struct now_answers *look, const struct now_finding *f, bool keeper, struct buf *buf)
{
	uint64_t since = f->standing->since_ns, asked = f->diagnosis ? f->diagnosis->since_ns : 0;
	struct actor actor;

	describe_thread_of(look, f->standing->thread, &actor);
	/* one that waits in slices may have asked long before the last of them began */
	since = !f->standing->exactly && asked && asked < since ? asked : since;
	buf_printf(buf, "%s: %s, %s%s\n", answer_who(&look->arena, &actor), f->standing->reason,
		   f->standing->exactly ? "for " : "for at least ", describe_time(&look->arena, look->session.scene->end_ns - since));
	if (keeper)
		now_perhaps_keeper_text(&look->arena, f->diagnosis, buf);
	/* of whom the person asks about */
	if (look->meant.count && !now_finding_is_stuck(f)) {
		const char *looks = now_looks_of(look, f);

		if (looks[0])
			buf_printf(buf, "  %s\n", looks);
		else if (f->standing->kind == STANDING_MOVES)
			now_children_text(look->session.scene, f->standing->thread, look->from_ns, buf);
		if (f->standing->answered)
			now_perhaps_answered_text(&look->arena, f->diagnosis, buf);
		struct loop_tasks tasks = tasks_of(look, &actor);

		loop_tasks_text(&look->arena, &tasks, buf);
		now_went_on_text(&look->arena, &look->session, f->before, look->again ? NULL : look->asked, actor.pid, f->standing->since_ns,
				 look->context->out->width, buf);
	}
}

/* One of the circle has been reported, or another that waits for the same: they stand for the same. */
static bool is_told(const struct now_answers *look, size_t index)
{
	const struct diagnosis *d = look->findings[index].diagnosis;

	for (size_t i = 0; i < index && !look->meant.count && d->culprit.thread; i++)
		if (look->findings[i].diagnosis->culprit.thread == d->culprit.thread ||
		    now_leads_over(look->findings[i].diagnosis, look->findings[index].standing->thread))
			return true;
	for (size_t i = 0; i < index && d->circle_count > 1; i++)
		for (size_t j = 0; j < d->circle_count; j++)
			if (look->findings[i].diagnosis && look->findings[i].diagnosis->circle_count > 1 &&
			    look->findings[i].diagnosis->circle[0].thread == d->circle[j].thread)
				return true;
	return false;
}

/* Nothing that was asked about is stuck: it may only look so because of another. */
static void put_elsewhere(struct now_answers *look, struct buf *buf)
{
	const struct standing *s = look->elsewhere;
	struct actor actor;

	if (!s)
		return;
	describe_thread_of(look, s->thread, &actor);
	buf_printf(buf, "But %s is stuck: `argus now`, without a name, tells why.\n", answer_who(&look->arena, &actor));
}

/* Not a claim: nobody asked, and each of them may only be listening. */
static void put_perhaps(struct now_answers *look, struct buf *buf)
{
	for (size_t i = 0; i < look->perhaps_count; i++) {
		const struct now_finding *f = &look->perhaps[i];

		buf_text(buf, i ? "" : "Longest without an answer, and may be meant:\n");
		if (f->standing->lost)
			now_lost_text(&look->arena, &look->session, f->diagnosis, f->standing, buf);
		else
			now_perhaps_text(&look->arena, f->diagnosis, look->session.scene->end_ns - f->standing->early_ns, buf);
	}
}

/* What was seen before the question, and by whom: without that less is known. */
static void put_recorded(struct now_answers *look, struct buf *buf)
{
	struct buf wall;

	if (!look->taking || !look->taking->by_flight || look->again)
		return;
	buf_init(&wall);
	trace_wall_format(&wall, trace_wall_ns(look->session.trace, trace_summary(look->session.trace)->start_ns));
	buf_printf(buf, "(From the recording in the background, since %.8s; `argus stop` ends that, and `argus now` looks for itself then.)\n",
		   strchr(buf_str(&wall), ' ') ? strchr(buf_str(&wall), ' ') + 1 : buf_str(&wall));
	buf_done(&wall);
}

static void put_text(struct now_answers *look, struct buf *buf)
{
	size_t told = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct now_finding *f = &look->findings[i];

		bool again = !now_finding_is_stuck(f) || is_told(look, i);

		if (again || told >= ANSWERS_TOLD) {
			put_line(look, f, !again, buf);
			continue;
		}
		if (told++)
			buf_char(buf, '\n');
		why_text(&look->arena, &look->session, f->diagnosis, look->context->out->width, buf);
		if (look->meant.count && f->standing->by_child && !now_looks_of(look, f)[0])
			now_children_text(look->session.scene, f->standing->thread, look->from_ns, buf);
	}
	for (size_t i = 0; i < look->meant.ended_count; i++)
		now_ended_text(&look->arena, &look->session, look->meant.ended[i], look->from_ns, look->context->out->width, buf);
	if (!look->count && !look->meant.ended_count)
		buf_printf(buf, "nothing is stuck\n");
	if (look->perhaps_count && told)
		buf_char(buf, '\n');
	put_perhaps(look, buf);
	put_elsewhere(look, buf);
	put_recorded(look, buf);
}

static void put_json(struct now_answers *look, struct buf *buf)
{
	struct json json;
	const char *level = trace_machine(look->session.trace, "level");

	json_init(&json, buf);
	json.pretty = !look->again; /* a line each then */
	json_object(&json, NULL);
	json_u64(&json, "version", 1);
	json_text(&json, "seen_by", level && !strcmp(level, "proc") ? "proc" : "bpf");
	if (look->taking && look->taking->by_flight)
		json_u64(&json, "recorded_since_wall_ns", trace_wall_ns(look->session.trace, trace_summary(look->session.trace)->start_ns));
	json_u64(&json, "unread", look->last.unread);
	json_array(&json, "threads");
	for (size_t i = 0; i < look->count; i++) {
		const struct now_finding *f = &look->findings[i];
		struct actor actor;

		describe_thread_of(look, f->standing->thread, &actor);
		struct loop_tasks tasks = tasks_of(look, &actor);

		json_object(&json, NULL);
		answer_actor_json(&json, &actor);
		json_bool(&json, "stuck", now_finding_is_stuck(f));
		json_text(&json, "reason", f->standing->reason);
		json_u64(&json, "since_ns", f->standing->since_ns);
		json_u64(&json, "since_wall_ns", trace_wall_ns(look->session.trace, f->standing->since_ns));
		json_bool(&json, "exactly", f->standing->exactly);
		now_answer_json(&json, "answer", f->diagnosis);
		if (f->before)
			now_answer_json(&json, "before", f->before);
		const char *looks = look->meant.count && !now_finding_is_stuck(f) ? now_looks_of(look, f) : "";

		if (looks[0])
			json_text(&json, "looks", looks);
		loop_tasks_json(&tasks, &json);
		json_end(&json);
	}
	json_end(&json);
	now_ended_json(&look->arena, &look->session, look->meant.ended, look->meant.ended_count, look->from_ns, &json);
	json_end(&json);
}

/* What the snapshot left out to be done in time. */
static void note_left_out(struct now_answers *look)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->findings[i].diagnosis)
			cut_sets_note(&look->arena, look->session.scene, look->findings[i].diagnosis, look->context->notes);
	if (look->last.unread)
		sink_printf(look->context->notes, "of %" PRIu32 " threads only waits are known: their processes' memory could not be read, or not in time\n",
			    look->last.unread);
	if (look->last.cut)
		sink_printf(look->context->notes, "there are more threads than a snapshot holds: of the rest nothing is known\n");
}

/* Who is stuck, in what, and through whom: when that is the same nothing is told again. */
static void put_signature(const struct now_answers *look, struct buf *buf)
{
	for (size_t i = 0; i < look->count; i++) {
		const struct now_finding *f = &look->findings[i];
		const struct thread *t = &look->session.tables->threads[f->standing->thread];

		buf_printf(buf, "%" PRIu32 " %" PRIu64 " %d", t->tid, t->start_ns, (int)f->standing->kind);
		if (f->diagnosis)
			buf_printf(buf, " %d %" PRIu32 " %s", (int)f->diagnosis->verdict, f->diagnosis->culprit.tid,
				   f->diagnosis->culprit.function ? f->diagnosis->culprit.function : "");
		buf_char(buf, '\n');
	}
}

int now_tell(struct now_answers *look)
{
	struct buf buf;
	int r;

	note_left_out(look);
	buf_init(&buf);
	if (options_has(look->context->options, "json"))
		put_json(look, &buf);
	else
		put_text(look, &buf);
	r = sink_buf(look->context->out, &buf);
	buf_done(&buf);
	return r;
}

int now_tell_change(struct now_answers *look)
{
	struct buf signature;
	int r = 0;

	buf_init(&signature);
	put_signature(look, &signature);
	if (!look->told || strcmp(buf_str(&signature), buf_str(&look->said))) {
		buf_clear(&look->said);
		buf_add(&look->said, signature.data, signature.length);
		if (!options_has(look->context->options, "json")) {
			struct buf wall;

			buf_init(&wall);
			trace_wall_format(&wall, trace_wall_ns(look->session.trace, trace_summary(look->session.trace)->end_ns));
			r = sink_printf(look->context->out, "%s%s\n", look->told ? "\n" : "", buf_str(&wall));
			buf_done(&wall);
		}
		look->told = true;
		r = r ? r : now_tell(look);
	}
	buf_done(&signature);
	return r;
}
