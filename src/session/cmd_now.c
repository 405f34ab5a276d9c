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

#include "base/slice.h"
#include "diagnose/judgement.h"
#include "diagnose/standing.h"
#include "session/command.h"
#include "session/now_asked.h"
#include "session/now_before.h"
#include "session/now_look.h"
#include "session/now_meant.h"
#include "session/now_perhaps.h"
#include "session/now_sure.h"
#include "session/now_tell.h"
#include "session/now_went_on.h"
#include "session/session.h"

#define THRESHOLD_NS 5000000000u
#define PAUSE_NS 1000000000u /* between looks */

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

/* ---- the answers ---- */

static const struct diagnosis *diagnose_standing(struct now_answers *look, const struct standing *s)
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
	if (!request.since_ns && s->last_ns && s->since_ns < request.from_ns)
		request.since_ns = s->since_ns;
	return diagnose(&look->arena, look->session.diagnoser, &request);
}

static size_t find_standing(struct now_answers *look, size_t pid_count, const struct standing **ret_list)
{
	struct standing_options options = { .pids = look->meant.pids, .pid_count = pid_count,
					    .threshold_ns = options_number(look->context->options, "threshold", THRESHOLD_NS),
					    .from_ns = look->from_ns };

	return standing_find(&look->arena, look->session.diagnoser, &options, ret_list);
}

/* The first that is stuck beyond doubt, whoever was asked about; NULL none. */
static const struct standing *find_elsewhere(struct now_answers *look)
{
	const struct standing *list;
	size_t count = find_standing(look, 0, &list);

	for (size_t i = 0; i < count && i < limit_of(look->session.scene, LIMIT_elsewhere_sought); i++) {
		struct now_finding f = { &list[i], diagnose_standing(look, &list[i]) };

		if (now_sure(look->session.scene, look->session.names, f.standing, f.diagnosis, look->from_ns))
			return f.standing;
	}
	return NULL;
}

/* Who waits for whom: first the ones for which nobody waits. */
static void put_outermost_first(struct now_answers *look)
{
	unsigned *waited = arena_array(&look->arena, unsigned, look->count);

	for (size_t i = 0; i < look->count; i++)
		for (size_t j = 0; j < look->count; j++)
			waited[i] += now_leads_over(look->findings[j].diagnosis, look->findings[i].standing->thread);
	for (size_t i = 1; i < look->count; i++)
		for (size_t j = i; j && waited[j - 1] > waited[j]; j--) {
			struct now_finding f = look->findings[j];
			unsigned w = waited[j];

			look->findings[j] = look->findings[j - 1];
			waited[j] = waited[j - 1];
			look->findings[j - 1] = f;
			waited[j - 1] = w;
		}
}

static bool is_found(const struct now_answers *look, uint32_t thread)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->findings[i].standing->thread == thread || now_leads_over(look->findings[i].diagnosis, thread))
			return true;
	for (size_t i = 0; i < look->perhaps_count; i++)
		if (now_leads_over(look->perhaps[i].diagnosis, thread))
			return true;
	return false;
}

/* Of those that stand, the longest first, so many are judged where nobody asks. */
static size_t sought(const struct now_answers *look, size_t count)
{
	uint64_t most = limit_of(look->session.scene, LIMIT_answers_sought);

	return count < most ? count : (size_t)most;
}

/* Whose standing may be meant, though nobody asks: where it is known, as a guess, who keeps it. */
static void find_perhaps(struct now_answers *look)
{
	const struct scene *scene = look->session.scene;
	const struct standing *list;
	struct standing_options options = { .threshold_ns = options_number(look->context->options, "threshold", THRESHOLD_NS),
					    .from_ns = look->from_ns, .uncertain = true };
	size_t count = sought(look, standing_find(&look->arena, look->session.diagnoser, &options, &list));
	uint64_t from = look->from_ns > scene->start_ns ? look->from_ns : scene->start_ns;

	look->perhaps = arena_array(&look->arena, struct now_finding, count + look->doubted_count);
	for (size_t i = 0; i < look->doubted_count && look->perhaps_count < limit_of(scene, LIMIT_asks_told); i++)
		if (!is_found(look, look->doubted[i].standing->thread) && now_perhaps_keeper(look->doubted[i].diagnosis) &&
		    !is_found(look, now_perhaps_keeper(look->doubted[i].diagnosis)->thread))
			look->perhaps[look->perhaps_count++] = look->doubted[i];
	/* who may have asked just as the other turned to what it is at first: of those that wait for the same one the others may only listen */
	for (size_t n = 0; n < 2 * count && look->perhaps_count < limit_of(scene, LIMIT_asks_told); n++) {
		const struct standing *s = &list[n % count];
		struct now_finding f = { .standing = s };
		const struct diagnosis *d;

		if (s->turned != (n < count) || is_found(look, s->thread))
			continue;
		d = f.diagnosis = diagnose_standing(look, s);
		if (s->lost || (now_perhaps_tells(scene, diagnoser_ends(look->session.diagnoser), d, s, from) &&
				!is_found(look, now_perhaps_keeper(d)->thread)))
			look->perhaps[look->perhaps_count++] = f;
	}
}

static void find(struct now_answers *look)
{
	const struct standing *list;
	size_t count;

	if (!look->meant.count && look->meant.ended_count)
		return;
	count = find_standing(look, look->meant.count, &list);
	look->findings = arena_array(&look->arena, struct now_finding, count);
	look->doubted = arena_array(&look->arena, struct now_finding, count);
	if (!look->meant.count)
		count = sought(look, count);
	for (size_t i = 0; i < count; i++) {
		struct now_finding f = { .standing = &list[i] };

		if (now_finding_is_stuck(&f) || f.standing->answered)
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

/* ---- one look, or one after the other ---- */

static void read_last_snapshot(struct now_answers *look)
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
static uint64_t look_from(const struct now_answers *look, uint64_t look_ns)
{
	const struct trace *trace = look->session.trace;
	const char *level = trace_machine(trace, "level");
	uint64_t start = trace_summary(trace)->start_ns, end = trace_summary(trace)->end_ns;

	if (!level || !strcmp(level, "proc"))
		return start;
	return look->last.reason == SNAPSHOT_REASON_request && end - start > look_ns ? end - look_ns : start;
}

/* For whom it waits is known, and that is no program by which a script sleeps. */
static bool is_known(const struct scene *scene, const struct now_finding *f)
{
	const struct diagnosis *d = f->diagnosis;

	if (!now_finding_is_stuck(f) || !d || f->standing->by_child)
		return false;
	return (d->confidence >= limit_of(scene, LIMIT_told_sure) && d->culprit.kind != ACTOR_UNKNOWN && d->path_count > 1) ||
	       (rule_holds(scene, RULE_outlasts_look) && now_ends_known(scene, d));
}

/* Who is asked about sleeps for a while: what it does in between is not seen in so short a look. */
static uint64_t wanted_look(const struct now_answers *look)
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
static int tell_all(struct now_answers *look)
{
	bool stuck = false;
	int r;

	for (size_t i = 0; i < look->count; i++)
		stuck |= now_finding_is_stuck(&look->findings[i]);
	look->elsewhere = look->meant.count && !stuck && !look->again && !options_has(look->context->options, "json") ? find_elsewhere(look) : NULL;
	r = look->again ? now_tell_change(look) : now_tell(look);
	return r || !stuck ? r : STATUS_STUCK;
}

static int answer(struct now_answers *look, struct err *err)
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
	return look->silent ? 0 : tell_all(look);
}

static int open_look(struct now_answers *look, const char *path, bool keep, struct err *err)
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
	look->opened = true;
	arena_init(&look->arena);
	look->session.temporary = !keep;
	read_last_snapshot(look);
	look->from_ns = look_from(look, look_ns);
	look->meant.count = look->meant.ended_count = look->count = look->perhaps_count = look->doubted_count = 0;
	if (!look->session.scene)
		r = session_look(&look->session, look->from_ns, trace_summary(look->session.trace)->end_ns, err);
	return r ? r : answer(look, err);
}

static void close_look(struct now_answers *look)
{
	if (!look->opened)
		return;
	arena_done(&look->arena);
	session_close(&look->session);
	look->opened = false;
}

static int answer_from(struct now_answers *look, const char *path, bool keep, struct err *err)
{
	int r = open_look(look, path, keep, err);

	close_look(look);
	return r;
}

/* Until it is asked to end: what was so then is the status. */
static int watch(struct now_answers *look, struct now_look *taking, struct err *err)
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

/* How much it tells of who keeps those that were asked about. */
static uint64_t worth_of(struct now_answers *look)
{
	const struct scene *scene = look->session.scene;
	uint64_t worth = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct now_finding *f = &look->findings[i];
		const struct diagnosis *d = f->diagnosis;
		bool another = d && d->culprit.thread && !scene_same_process(scene, d->culprit.thread, f->standing->thread);

		if (d && d->looks)
			worth += limit_of(scene, LIMIT_tells_own_word);
		else if (!now_finding_is_stuck(f))
			worth += now_looks_of(look, f)[0] ? limit_of(scene, LIMIT_tells_looks) : 0;
		else
			worth += limit_of(scene, is_known(scene, f) ? LIMIT_tells_known : another ? LIMIT_tells_another : LIMIT_tells_stuck);
		worth += now_finding_is_stuck(f) && d ? d->confidence : 0;
	}
	return worth;
}

/* A longer look has each call of those that are asked about, and nothing of what was before: of both, that is told which tells more, and the first
 * where no longer one can be had. */
static int look_longer(struct now_answers *look, struct now_look *taking, bool keep, struct err *err)
{
	struct now_answers longer = { .context = look->context, .asked = look->asked, .taking = taking, .silent = true, .before = look->before };
	const char *path = taking->path;
	bool by_flight = taking->by_flight, first;
	int r;

	taking->path = arena_printf(look->context->arena, "%s.longer", path);
	r = now_look_repeat(taking, look->longer_ns, &look->calls, err);
	if (!r)
		r = open_look(&longer, taking->taken, true, err);
	first = r || !rule_holds(look->session.scene, RULE_tells_more) || worth_of(look) + by_flight > worth_of(&longer);
	if (first)
		taking->by_flight = by_flight;
	if (r && r != -EINTR)
		sink_printf(look->context->notes, "a longer look could not be taken: %s\n", err->text);
	if (r != -EINTR)
		r = tell_all(first ? look : &longer);
	close_look(&longer);
	if (first || !keep)
		unlink(taking->path);
	else
		rename(taking->path, path);
	taking->path = path;
	return r;
}

static int look_and_tell(struct command_context *context, struct now_look *taking, const struct now_asked *asked, bool keep, struct err *err)
{
	struct now_answers look = { .context = context, .asked = asked };
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
			r = open_look(&look, taking->taken, keep, err);
		if (!r && look.longer_ns)
			r = look_longer(&look, taking, keep, err);
		close_look(&look);
	}
	now_look_close(taking);
	filter_done(&look.calls);
	vec_done(&look.before.items);
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
