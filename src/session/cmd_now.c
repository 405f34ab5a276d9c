/* argus now: why something is stuck at this moment, with nothing recorded before.
 *
 * A recording of half a second: its snapshots say who has been waiting for what, since
 * when, where and for whom; the look between them, what still runs. Then the answer
 * as `why` gives it, by the same engine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/slice.h"
#include "diagnose/answer.h"
#include "diagnose/judgement.h"
#include "diagnose/standing.h"
#include "session/command.h"
#include "session/loop_tasks.h"
#include "session/now_asked.h"
#include "session/now_before.h"
#include "session/now_children.h"
#include "session/now_look.h"
#include "session/now_meant.h"
#include "session/now_perhaps.h"
#include "session/now_sure.h"
#include "session/now_went_on.h"
#include "session/session.h"
#include "session/why.h"
#include "trace/when.h"

#define THRESHOLD_NS 5000000000u
#define PAUSE_NS 1000000000u /* between looks */
#define ANSWERS_TOLD 3       /* in full; the rest a line each */
#define ANSWERS_SOUGHT 400   /* of what may be stuck, the longest: a thousandth of a second each */
#define ELSEWHERE_SOUGHT 20  /* ... where another was asked about, who is answered first */

#define STATUS_STUCK 1
#define STATUS_BLIND 2

static const struct option_rule now_rules[] = {
	{ .one_of = "read output watch" }, { .one_of = "read for" }, { 0 }
};

static const struct option_spec now_options[] = {
	{ "for", 0, OPTION_DURATION, "TIME", "how long to watch what still runs (0.5s)", .least = 1000000, .most = 60000000000 },
	{ "threshold", 0, OPTION_DURATION, "TIME", "without PID or NAME: what has been stuck for longer than this (5s)", .least = 1 },
	{ "output", 'o', OPTION_TEXT, "FILE", "keep the trace" },
	{ "read", 'r', OPTION_TEXT, "FILE", "answer from a trace that was kept, as of its end, instead of looking" },
	{ "watch", 0, OPTION_FLAG, NULL, "look again and again, and tell whenever what is stuck, or why, has changed" },
	OPTION_WITHOUT,
	OPTION_SET,
	OPTION_JSON,
	{ 0 }
};

/* Of one thread that stands still. */
struct finding {
	const struct standing *standing;
	const struct diagnosis *diagnosis;
	const struct diagnosis *before; /* of what it waited for when that was asked, where it went on meanwhile */
};

struct look {
	struct command_context *context;
	struct arena arena;       /* of this look */
	struct session session;
	uint64_t from_ns;         /* what has not moved since then stands still */
	struct event_snapshot last; /* snapshot's end */
	uint64_t last_ns;           /* when it began */
	const struct now_asked *asked; /* NULL: a trace is read */
	const struct now_look *taking; /* NULL: a trace is read */
	struct now_meant meant;
	struct filter calls;      /* whose calls a longer look records */
	struct finding *findings;
	size_t count;
	struct finding *perhaps;  /* not asked about, and uncertain */
	size_t perhaps_count;
	struct finding *doubted;  /* the same, though another owes it the end of its wait: who is only guessed */
	size_t doubted_count;
	struct buf said;          /* signature of what was told last */
	bool again, told;
	bool may_repeat;          /* a longer look can be taken, ... */
	uint64_t longer_ns;       /* ... which tells more than this one; 0 it does not */
	struct now_before before; /* what this one told, of the longer one */
};

/* ---- the answers ---- */

static const struct diagnosis *diagnose_standing(struct look *look, const struct standing *s)
{
	const struct scene *scene = look->session.scene;
	const struct thread *t = &scene->tables->threads[s->thread];
	struct diagnose_request request = { .now = true, .thread = s->thread, .from_ns = look->from_ns, .to_ns = scene->end_ns,
					    .looks = s->kind == STANDING_LOOKS };

	/* what the recorder has seen of it belongs to the answer */
	if (s->since_ns < look->from_ns)
		request.from_ns = s->since_ns > scene->start_ns ? s->since_ns : scene->start_ns;
	if (t->start_ns > request.from_ns)
		request.from_ns = t->start_ns;
	if (s->last_ns > request.from_ns)
		request.from_ns = s->last_ns;
	request.since_ns = now_before_since(&look->before, scene, s->thread, request.from_ns);
	return diagnose(&look->arena, look->session.diagnoser, &request);
}

static bool is_stuck(const struct finding *f)
{
	return f->standing->kind != STANDING_MOVES && f->standing->kind != STANDING_RESTS && !f->standing->answered;
}

static size_t find_standing(struct look *look, size_t pid_count, const struct standing **ret_list)
{
	struct standing_options options = { .pids = look->meant.pids, .pid_count = pid_count,
					    .threshold_ns = options_number(look->context->options, "threshold", THRESHOLD_NS),
					    .from_ns = look->from_ns };

	return standing_find(&look->arena, look->session.diagnoser, &options, ret_list);
}

/* The first that is stuck beyond doubt, whoever was asked about; NULL none. */
static const struct standing *find_elsewhere(struct look *look)
{
	const struct standing *list;
	size_t count = find_standing(look, 0, &list);

	for (size_t i = 0; i < count && i < ELSEWHERE_SOUGHT; i++) {
		struct finding f = { &list[i], diagnose_standing(look, &list[i]) };

		if (now_sure(look->session.scene, look->session.names, f.standing, f.diagnosis, look->from_ns))
			return f.standing;
	}
	return NULL;
}

static bool leads_over(const struct diagnosis *d, uint32_t thread)
{
	for (size_t i = 1; d && i < d->path_count; i++)
		if (d->path[i].actor.thread == thread)
			return true;
	return false;
}

/* Who waits for whom: first the ones for which nobody waits. */
static void put_outermost_first(struct look *look)
{
	unsigned *waited = arena_array(&look->arena, unsigned, look->count);

	for (size_t i = 0; i < look->count; i++)
		for (size_t j = 0; j < look->count; j++)
			waited[i] += leads_over(look->findings[j].diagnosis, look->findings[i].standing->thread);
	for (size_t i = 1; i < look->count; i++)
		for (size_t j = i; j && waited[j - 1] > waited[j]; j--) {
			struct finding f = look->findings[j];
			unsigned w = waited[j];

			look->findings[j] = look->findings[j - 1];
			waited[j] = waited[j - 1];
			look->findings[j - 1] = f;
			waited[j - 1] = w;
		}
}

static bool is_found(const struct look *look, uint32_t thread)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->findings[i].standing->thread == thread || leads_over(look->findings[i].diagnosis, thread))
			return true;
	for (size_t i = 0; i < look->perhaps_count; i++)
		if (leads_over(look->perhaps[i].diagnosis, thread))
			return true;
	return false;
}

/* Whose standing may be meant, though nobody asks: where it is known, as a guess, who keeps it. */
static void find_perhaps(struct look *look)
{
	const struct scene *scene = look->session.scene;
	const struct standing *list;
	struct standing_options options = { .threshold_ns = options_number(look->context->options, "threshold", THRESHOLD_NS),
					    .from_ns = look->from_ns, .uncertain = true };
	size_t count = standing_find(&look->arena, look->session.diagnoser, &options, &list);
	uint64_t from = look->from_ns > scene->start_ns ? look->from_ns : scene->start_ns;

	look->perhaps = arena_array(&look->arena, struct finding, count + look->doubted_count);
	for (size_t i = 0; i < look->doubted_count && look->perhaps_count < limit_of(scene, LIMIT_asks_told); i++)
		if (!is_found(look, look->doubted[i].standing->thread) && now_perhaps_keeper(look->doubted[i].diagnosis) &&
		    !is_found(look, now_perhaps_keeper(look->doubted[i].diagnosis)->thread))
			look->perhaps[look->perhaps_count++] = look->doubted[i];
	for (size_t i = 0; i < count && i < ANSWERS_SOUGHT && look->perhaps_count < limit_of(scene, LIMIT_asks_told); i++) {
		struct finding f = { .standing = &list[i] };
		const struct diagnosis *d;

		if (is_found(look, list[i].thread))
			continue;
		d = f.diagnosis = diagnose_standing(look, &list[i]);
		if (list[i].lost || (now_perhaps_tells(scene, diagnoser_ends(look->session.diagnoser), d, &list[i], from) &&
				     !is_found(look, now_perhaps_keeper(d)->thread)))
			look->perhaps[look->perhaps_count++] = f;
	}
}

static void find(struct look *look)
{
	const struct standing *list;
	size_t count;

	if (!look->meant.count && look->meant.ended_count)
		return;
	count = find_standing(look, look->meant.count, &list);
	look->findings = arena_array(&look->arena, struct finding, count);
	look->doubted = arena_array(&look->arena, struct finding, count);
	if (!look->meant.count && count > ANSWERS_SOUGHT)
		count = ANSWERS_SOUGHT;
	for (size_t i = 0; i < count; i++) {
		struct finding f = { .standing = &list[i] };

		if (is_stuck(&f) || f.standing->answered)
			f.diagnosis = diagnose_standing(look, &list[i]);
		else if (look->meant.count && !look->again)
			f.before = now_went_on(&look->arena, look->session.diagnoser, scene_pid(look->session.scene, list[i].thread), look->from_ns);
		if (!look->meant.count && !now_sure(look->session.scene, look->session.names, f.standing, f.diagnosis, look->from_ns)) {
			if (now_doubted(look->session.scene, look->session.names, f.standing, f.diagnosis))
				look->doubted[look->doubted_count++] = f;
			continue;
		}
		look->findings[look->count++] = f;
	}
	if (look->meant.count)
		return;
	put_outermost_first(look);
	find_perhaps(look);
}

static void describe_thread_of(const struct look *look, uint32_t thread, struct actor *actor)
{
	const struct thread *t = &look->session.tables->threads[thread];

	*actor = (struct actor){ .thread = thread, .pid = t->pid, .tid = t->tid, .comm = t->comm,
				   .program = tables_program(look->session.tables, thread, look->session.scene->end_ns) };
}

/* As the look's last snapshot has them. */
static struct loop_tasks tasks_of(struct look *look, const struct actor *actor)
{
	return loop_tasks_find(&look->arena, &look->session, actor->pid, look->last_ns, trace_summary(look->session.trace)->end_ns);
}

/* What it looks at, or waits to see change; "" nothing is known of that. */
static const char *looks_of(struct look *look, const struct finding *f)
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

static void put_line(struct look *look, const struct finding *f, struct buf *buf)
{
	struct actor actor;

	describe_thread_of(look, f->standing->thread, &actor);
	buf_printf(buf, "%s: %s, %s%s\n", answer_who(&look->arena, &actor), f->standing->reason,
		   f->standing->exactly ? "for " : "for at least ",
		   describe_time(&look->arena, look->session.scene->end_ns - f->standing->since_ns));
	/* of whom the person asks about */
	if (look->meant.count && !is_stuck(f)) {
		const char *looks = looks_of(look, f);

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
static bool is_told(const struct look *look, size_t index)
{
	const struct diagnosis *d = look->findings[index].diagnosis;

	for (size_t i = 0; i < index && !look->meant.count && d->culprit.thread; i++)
		if (look->findings[i].diagnosis->culprit.thread == d->culprit.thread ||
		    leads_over(look->findings[i].diagnosis, look->findings[index].standing->thread))
			return true;
	for (size_t i = 0; i < index && d->circle_count > 1; i++)
		for (size_t j = 0; j < d->circle_count; j++)
			if (look->findings[i].diagnosis && look->findings[i].diagnosis->circle_count > 1 &&
			    look->findings[i].diagnosis->circle[0].thread == d->circle[j].thread)
				return true;
	return false;
}

/* Nothing that was asked about is stuck: it may only look so because of another. */
static void put_elsewhere(struct look *look, struct buf *buf)
{
	const struct standing *s = find_elsewhere(look);
	struct actor actor;

	if (!s)
		return;
	describe_thread_of(look, s->thread, &actor);
	buf_printf(buf, "But %s is stuck: `argus now`, without a name, tells why.\n", answer_who(&look->arena, &actor));
}

/* Not a claim: nobody asked, and each of them may only be listening. */
static void put_perhaps(struct look *look, struct buf *buf)
{
	for (size_t i = 0; i < look->perhaps_count; i++) {
		const struct finding *f = &look->perhaps[i];

		buf_text(buf, i ? "" : "Longest without an answer, and may be meant:\n");
		if (f->standing->lost)
			now_lost_text(&look->arena, &look->session, f->diagnosis, f->standing, buf);
		else
			now_perhaps_text(&look->arena, f->diagnosis, look->session.scene->end_ns - f->standing->early_ns, buf);
	}
}

/* What was seen before the question, and by whom: without that less is known. */
static void put_recorded(struct look *look, struct buf *buf)
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

static void put_text(struct look *look, struct buf *buf)
{
	size_t told = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct finding *f = &look->findings[i];

		if (!is_stuck(f) || told >= ANSWERS_TOLD || is_told(look, i)) {
			put_line(look, f, buf);
			continue;
		}
		if (told++)
			buf_char(buf, '\n');
		why_text(&look->arena, &look->session, f->diagnosis, look->context->out->width, buf);
		if (look->meant.count && f->standing->by_child && !looks_of(look, f)[0])
			now_children_text(look->session.scene, f->standing->thread, look->from_ns, buf);
	}
	for (size_t i = 0; i < look->meant.ended_count; i++)
		now_ended_text(&look->arena, &look->session, look->meant.ended[i], look->from_ns, look->context->out->width, buf);
	if (!look->count && !look->meant.ended_count)
		buf_printf(buf, "nothing is stuck\n");
	if (look->perhaps_count && told)
		buf_char(buf, '\n');
	put_perhaps(look, buf);
	if (look->meant.count && !told && !look->again)
		put_elsewhere(look, buf);
	put_recorded(look, buf);
}

static void put_json(struct look *look, struct buf *buf)
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
		const struct finding *f = &look->findings[i];
		struct actor actor;

		describe_thread_of(look, f->standing->thread, &actor);
		struct loop_tasks tasks = tasks_of(look, &actor);

		json_object(&json, NULL);
		answer_actor_json(&json, &actor);
		json_bool(&json, "stuck", is_stuck(f));
		json_text(&json, "reason", f->standing->reason);
		json_u64(&json, "since_ns", f->standing->since_ns);
		json_u64(&json, "since_wall_ns", trace_wall_ns(look->session.trace, f->standing->since_ns));
		json_bool(&json, "exactly", f->standing->exactly);
		now_answer_json(&json, "answer", f->diagnosis);
		if (f->before)
			now_answer_json(&json, "before", f->before);
		const char *looks = look->meant.count && !is_stuck(f) ? looks_of(look, f) : "";

		if (looks[0])
			json_text(&json, "looks", looks);
		loop_tasks_json(&tasks, &json);
		json_end(&json);
	}
	json_end(&json);
	now_ended_json(&look->arena, &look->session, look->meant.ended, look->meant.ended_count, look->from_ns, &json);
	json_end(&json);
}

/* ---- one look, or one after the other ---- */

static void read_last_snapshot(struct look *look)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;

	look->last_ns = 0;
	look->last = (struct event_snapshot){ .reason = SNAPSHOT_REASON_end };
	trace_filter_add(&filter, EVENT_snapshot);
	cursor = trace_cursor_new(look->session.trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		look->last = *event_as(e, snapshot);
		if (!look->last.end)
			look->last_ns = e->time;
	}
	trace_cursor_free(cursor);
}

/* A recorder that was there before has seen more than the look: its end is what counts. */
static uint64_t look_from(const struct look *look, uint64_t look_ns)
{
	const struct trace *trace = look->session.trace;
	const char *level = trace_machine(trace, "level");
	uint64_t start = trace_summary(trace)->start_ns, end = trace_summary(trace)->end_ns;

	if (!level || !strcmp(level, "proc"))
		return start;
	return look->last.reason == SNAPSHOT_REASON_request && end - start > look_ns ? end - look_ns : start;
}

/* What the snapshot left out to be done in time. */
static void note_left_out(const struct look *look)
{
	if (look->last.unread)
		sink_printf(look->context->notes, "of %" PRIu32 " threads only waits are known: their processes' memory could not be read, or not in time\n",
			    look->last.unread);
	if (look->last.cut)
		sink_printf(look->context->notes, "there are more threads than a snapshot holds: of the rest nothing is known\n");
}

/* Who is stuck, in what, and through whom: when that is the same nothing is told again. */
static void put_signature(const struct look *look, struct buf *buf)
{
	for (size_t i = 0; i < look->count; i++) {
		const struct finding *f = &look->findings[i];
		const struct thread *t = &look->session.tables->threads[f->standing->thread];

		buf_printf(buf, "%" PRIu32 " %" PRIu64 " %d", t->tid, t->start_ns, (int)f->standing->kind);
		if (f->diagnosis)
			buf_printf(buf, " %d %" PRIu32 " %s", (int)f->diagnosis->verdict, f->diagnosis->culprit.tid,
				   f->diagnosis->culprit.function ? f->diagnosis->culprit.function : "");
		buf_char(buf, '\n');
	}
}

static int tell(struct look *look)
{
	struct buf buf;
	int r;

	buf_init(&buf);
	if (options_has(look->context->options, "json"))
		put_json(look, &buf);
	else
		put_text(look, &buf);
	r = sink_buf(look->context->out, &buf);
	buf_done(&buf);
	return r;
}

static int tell_change(struct look *look)
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
		r = r ? r : tell(look);
	}
	buf_done(&signature);
	return r;
}

/* For whom it waits is known, and that is no program by which a script sleeps. */
static bool is_known(const struct scene *scene, const struct finding *f)
{
	const struct diagnosis *d = f->diagnosis;

	return is_stuck(f) && d && d->confidence >= limit_of(scene, LIMIT_told_sure) && d->culprit.kind != ACTOR_UNKNOWN && d->path_count > 1 &&
	       !f->standing->by_child;
}

/* Who is asked about sleeps for a while: what it does in between is not seen in so short a look. */
static uint64_t wanted_look(const struct look *look)
{
	const struct scene *scene = look->session.scene;
	uint64_t longest = 0;

	for (size_t i = 0; i < look->count && look->meant.count && rule_holds(scene, RULE_short_sleeps); i++) {
		uint64_t wanted = is_known(scene, &look->findings[i]) ? 0 : standing_look_for(scene, look->findings[i].standing, look->from_ns);

		if (wanted > longest)
			longest = wanted;
	}
	return longest;
}

/* STATUS_STUCK when something is, else 0. */
static int answer(struct look *look, struct err *err)
{
	int r = now_meant_find(&look->arena, &look->session, look->context->options, look->again ? NULL : look->asked, &look->meant, err);

	if (r)
		return r;
	find(look);
	look->longer_ns = look->may_repeat ? wanted_look(look) : 0;
	if (look->longer_ns) {
		for (size_t i = 0; i < look->count; i++)
			now_before_note(&look->before, look->session.scene, look->findings[i].standing);
		now_meant_filter(&look->session, &look->meant, &look->calls);
		return 0;
	}
	note_left_out(look);
	r = look->again ? tell_change(look) : tell(look);
	for (size_t i = 0; !r && i < look->count; i++)
		if (is_stuck(&look->findings[i]))
			return STATUS_STUCK;
	return r;
}

static int answer_from(struct look *look, const char *path, bool keep, struct err *err)
{
	uint64_t look_ns = options_number(look->context->options, "for", NOW_LOOK_NS);
	struct judgement judgement;
	int r;

	judgement_init(&judgement);
	r = command_judgement(look->context, &judgement, err);
	if (!r)
		r = session_open_with(path, &(struct session_options){ .judgement = &judgement }, &look->session, err);
	if (r)
		return r;
	look->session.temporary = !keep;
	read_last_snapshot(look);
	look->from_ns = look_from(look, look_ns);
	look->meant.count = look->meant.ended_count = look->count = look->perhaps_count = look->doubted_count = 0;
	arena_init(&look->arena);
	if (!look->session.scene)
		r = session_look(&look->session, look->from_ns, trace_summary(look->session.trace)->end_ns, err);
	if (!r)
		r = answer(look, err);
	arena_done(&look->arena);
	session_close(&look->session);
	return r;
}

/* Until it is asked to end: what was so then is the status. */
static int watch(struct look *look, struct now_look *taking, struct err *err)
{
	int status = 0, r;

	look->again = true;
	buf_init(&look->said);
	for (;;) {
		r = now_look_take(taking, err);
		if (!r)
			r = answer_from(look, taking->taken, false, err);
		if (r == -ENOENT && look->told) {
			/* who was asked about has ended */
			sink_printf(look->context->notes, "%s\n", err->text);
			r = status = 0;
			break;
		}
		if (r < 0)
			break;
		status = r;
		r = now_look_pause(taking, PAUSE_NS);
		if (r)
			break;
	}
	buf_done(&look->said);
	return r == -EINTR && look->told ? status : r;
}

static int look_and_tell(struct command_context *context, struct now_look *taking, const struct now_asked *asked, bool keep, struct err *err)
{
	struct look look = { .context = context, .asked = asked };
	int r;

	if (options_has(context->options, "read"))
		return answer_from(&look, taking->path, keep, err);
	look.taking = taking;
	r = now_look_open(taking, err);
	if (r)
		return r;
	if (options_has(context->options, "watch")) {
		r = watch(&look, taking, err);
	} else {
		r = now_look_take(taking, err);
		look.may_repeat = now_look_may_repeat(taking);
		if (!r)
			r = answer_from(&look, taking->taken, keep, err);
		if (!r && look.longer_ns) {
			look.may_repeat = false;
			r = now_look_repeat(taking, look.longer_ns, &look.calls, err);
			if (!r)
				r = answer_from(&look, taking->taken, keep, err);
		}
	}
	now_look_close(taking);
	filter_done(&look.calls);
	return r;
}

static int tell_blind(struct command_context *context, const struct err *err)
{
	sink_printf(context->notes, "argus now: %s\n", err->text);
	return STATUS_BLIND;
}

static int run(struct command_context *context, struct err *err)
{
	const char *path = options_text(context->options, "output", options_text(context->options, "read", NULL));
	const char *wanted = getenv("TMPDIR"), *folder = wanted && wanted[0] ? wanted : "/tmp";
	struct now_look taking = { .context = context, .path = path, .look_ns = options_number(context->options, "for", NOW_LOOK_NS),
				   .patient = options_has(context->options, "for") };
	const char *other = NULL;
	char *temporary = NULL;
	struct now_asked asked = { 0 };
	int r;

	if (!options_has(context->options, "read") && now_asked_look(&asked, context->options, err))
		return tell_blind(context, err);
	slice_lengthen(); /* who looks at the others does not hold them up */
	if (!path) {
		temporary = (char *)arena_printf(context->arena, "%s/argus-now-XXXXXX", folder);
		if (!mkdtemp(temporary)) {
			err_sys(err, -errno, "making a folder for the trace in '%s'", folder);
			return tell_blind(context, err);
		}
		taking.path = arena_printf(context->arena, "%s/now.trace", temporary);
		other = arena_printf(context->arena, "%s/next.trace", temporary);
	}
	if (options_has(context->options, "watch"))
		taking.other_path = other;
	r = look_and_tell(context, &taking, &asked, !temporary, err);
	if (temporary) {
		unlink(taking.path);
		unlink(other);
		rmdir(temporary);
	}
	return r < 0 ? tell_blind(context, err) : r;
}

const struct command command_now = {
	.name = "now",
	.arguments = "[PID|NAME]...",
	.summary = "tell why something is stuck at this moment",
	.help = "Without PID or NAME, everything that has been stuck for long is told, the longest\n"
		"first. The exit status is 0 when nothing is stuck, 1 when something is, 2 when\n"
		"that cannot be seen.\n",
	.options = now_options,
	.rules = now_rules,
	.many_arguments = true,
	.run = run,
};
