/* The answer in words, see answer.h. Foreign text is escaped. */
#include <inttypes.h>
#include <string.h>

#include "diagnose/answer.h"
#include "diagnose/answer_standing.h"
#include "diagnose/judgement.h"
#include "diagnose/walk.h"
#include "symbols/demangle.h"
#include "trace/when.h"

static const char *escaped(struct arena *arena, const char *text)
{
	struct buf buf;
	const char *copy;

	buf_init(&buf);
	buf_escaped(&buf, text, strlen(text), NULL);
	copy = arena_strdup(arena, buf_str(&buf));
	buf_done(&buf);
	return copy;
}

const char *answer_who(struct arena *arena, const struct actor *actor)
{
	const char *comm = escaped(arena, actor->comm ? actor->comm : "?");

	if (!actor->tid)
		return comm;
	if (actor->tid == actor->pid || !actor->pid)
		return arena_printf(arena, "%s (pid %u)", comm, actor->tid);
	if (actor->program)
		return arena_printf(arena, "%s (thread %u of process %u, %s)", comm, actor->tid, actor->pid, escaped(arena, actor->program));
	return arena_printf(arena, "%s (thread %u of process %u)", comm, actor->tid, actor->pid);
}

const char *answer_quota(struct arena *arena, const struct starved *starved)
{
	const struct quota *q = starved->quota;

	if (!q || !q->quota_ns)
		return "the control group's processor quota, used up: throttled";
	return arena_printf(arena, "%scontrol group%s%s, throttled: its processor quota of %s in each %s is used up",
			    q->path && q->path[0] ? "" : "the ", q->path && q->path[0] ? " " : "",
			    q->path && q->path[0] ? escaped(arena, q->path) : "",
			    describe_time(arena, q->quota_ns), describe_time(arena, q->period_ns));
}

void answer_place(struct arena *arena, struct buf *buf, const struct actor *a)
{
	if (a->function)
		buf_printf(buf, " in %s", escaped(arena, demangle_brief(arena, a->function)));
	const char *slash = a->file ? strrchr(a->file, '/') : NULL, *file = slash ? slash + 1 : a->file;
	if (a->function && a->module && !strstr(a->function, a->module) && !(file && !strcmp(file, a->module)))
		buf_printf(buf, " (%s)", escaped(arena, a->module));
	if (file)
		buf_printf(buf, " at %s:%" PRIu32, escaped(arena, file), a->line);
	if (a->inner)
		buf_printf(buf, ", below it %s", escaped(arena, demangle_brief(arena, a->inner)));
}

/* "21:18:15", by the wall clock; NULL where that is not known. */
static const char *clock_of(const struct describer *d, uint64_t time_ns)
{
	const char *space, *words;
	struct buf buf;

	buf_init(&buf);
	trace_wall_format(&buf, d->scene->trace ? trace_wall_ns(d->scene->trace, time_ns) : 0);
	space = strchr(buf_str(&buf), ' ');
	words = space ? arena_printf(d->arena, "%.8s", space + 1) : NULL;
	buf_done(&buf);
	return words;
}

/* How long it was stuck, from its beginning before the trace, or before what was looked at of it, where that is known. */
static const char *stuck_for(const struct describer *d, const struct diagnosis *g)
{
	const char *watched = describe_time(d->arena, g->end_ns - g->start_ns), *clock;

	if (g->began_ns)
		return arena_printf(d->arena, "%s (the last %s of it were looked at)", describe_time(d->arena, g->end_ns - g->began_ns), watched);
	if (g->ended_ns)
		return arena_printf(d->arena, "%s (the first %s of it were looked at)", describe_time(d->arena, g->ended_ns - g->start_ns), watched);
	if (!g->since_ns)
		return watched;
	clock = clock_of(d, g->since_ns);
	return arena_printf(d->arena, "%s (%sthe last %s of it %s)", describe_time(d->arena, g->end_ns - g->since_ns),
			    clock ? arena_printf(d->arena, "since %s; ", clock) : "", watched,
			    g->since_ns < d->scene->start_ns ? "are recorded" : "were looked at");
}

static void tell_verdict(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	static const char *const words[] = {
		[VERDICT_NONE] = "did nothing wrong", [VERDICT_BUSY] = "was busy computing",
		[VERDICT_WAITING] = "was waiting", [VERDICT_YIELD] = "looked again and again for something that did not come",
		[VERDICT_STARVED] = "could have run but was given no processor", [VERDICT_IO] = "was waiting for input or output",
	};

	struct state_times times = { 0 };
	const struct episode *e = scene_episode(d->scene, g->victim.thread, g->start_ns + (g->end_ns - g->start_ns) / 2);
	const char *how = words[g->verdict];

	scene_state_times(d->scene, g->victim.thread, g->start_ns, g->end_ns, &times);
	if (g->verdict == VERDICT_BUSY && times.ns[SPAN_RUNNABLE] > times.ns[SPAN_RUNNING])
		how = "had work to do, on processors that it shared with too many others";
	else if (g->verdict == VERDICT_WAITING && e && most_of(d->scene, times.ns[SPAN_STOPPED], g->end_ns - g->start_ns))
		how = arena_printf(d->arena, "was %s", describe_stop(&d->scene->waits[e->last]));
	buf_printf(buf, "%s was stuck for %s: it %s.", answer_who(d->arena, &g->victim), stuck_for(d, g), how);
	if (g->perhaps_since_ns) {
		const char *clock = clock_of(d, g->perhaps_since_ns);

		buf_printf(buf, " It may have been so %sfor %s.", clock ? arena_printf(d->arena, "since %s, ", clock) : "",
			   describe_time(d->arena, g->end_ns - g->perhaps_since_ns));
	}
}

static void tell_path(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	for (size_t i = 0; i + 1 < g->path_count && i < 12; i++) {
		const struct path_step *s = &g->path[i], *next = &g->path[i + 1];

		buf_printf(buf, " %s was %s; %s %s", i ? answer_who(d->arena, &s->actor) : "It",
			   escaped(d->arena, s->words), answer_who(d->arena, &next->actor), next->link);
		if (next->event)
			buf_printf(buf, " (event %" PRIu64 ")", next->event);
		buf_text(buf, ".");
	}
}

/* Who shared the processor that the culprit did not get. */
static void tell_keepers(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	for (size_t i = 0; i < g->keeper_count; i++)
		buf_printf(buf, i ? "%s%s for %s" : "%s%s had its processor for %s", !i ? " Meanwhile " : i + 1 < g->keeper_count ? ", " : " and ",
			   answer_who(d->arena, &g->keepers[i]), describe_time(d->arena, g->keepers_ns[i]));
	if (g->keeper_count)
		buf_text(buf, ".");
	if (g->idle_ns)
		buf_printf(buf, " It stood at processor %u alone, while processor %u was idle for %s of that time: it is most likely bound to the first.",
			   g->queue_cpu, g->idle_cpu, describe_time(d->arena, g->idle_ns));
}

static void tell_culprit(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct path_step *last = g->path_count ? &g->path[g->path_count - 1] : NULL;
	const struct actor *c = &g->culprit;

	if (c->kind == ACTOR_UNKNOWN) {
		buf_printf(buf, " Nothing in the trace tells who should have ended this: it was %s.",
			   last ? escaped(d->arena, last->words) : "waiting");
		return;
	}
	if (c->kind == ACTOR_CGROUP) {
		buf_printf(buf, " The culprit is the processor quota: %s.", c->object ? c->object : "throttled");
		if (c->thread != g->victim.thread)
			buf_printf(buf, " Most of the quota went to %s.", answer_who(d->arena, c));
		return;
	}
	if (g->source) {
		buf_printf(buf, " The time went to %s", c->object ? c->object : "an interrupt");
		buf_printf(buf, g->far ? ": %s was waiting for it, and no process in the trace has that end of the connection."
				       : ", on which %s was waiting.", answer_who(d->arena, c));
		return;
	}
	if (g->circle_count > 0) {
		buf_printf(buf, " %s", g->circle_count == 1 ? "It waits for itself: no other thread could have ended the wait of "
							    : "They wait for each other in a circle: ");
		for (size_t i = 0; i < g->circle_count; i++)
			buf_printf(buf, "%s%s", i ? " -> " : "", answer_who(d->arena, &g->circle[i]));
		if (g->circle_count > 1)
			buf_printf(buf, " -> %s", answer_who(d->arena, &g->circle[0]));
		if (g->circle_timeout_ns)
			buf_printf(buf, ". Only a timeout of %s broke it", describe_time(d->arena, g->circle_timeout_ns));
		buf_text(buf, ".");
	}
	buf_printf(buf, " The culprit is %s", answer_who(d->arena, c));
	answer_place(d->arena, buf, c);
	if (c->object && !strcmp(c->object, "the processor"))
		buf_printf(buf, ", which had the processor for %s of the %s in which %s could have run", describe_time(d->arena, g->hog_ns),
			   describe_time(d->arena, g->queued_ns), last ? answer_who(d->arena, &last->actor) : "it");
	else
		answer_doings_text(d, g, buf);
	if (c->share)
		buf_printf(buf, ", %u %% of its processor time there", c->share);
	buf_printf(buf, "; it is %s.", c->thread == g->victim.thread ? "the victim itself"
		   : c->internal ? "in the same process" : "in another process");
	if (g->person)
		buf_text(buf, " It waits for its user.");
	if (g->confidence < 60)
		buf_printf(buf, " This is a guess (confidence %u %%).", g->confidence);
	tell_keepers(d, g, buf);
	answer_fellows_text(d, g, buf);
	if (g->covers_ns)
		buf_printf(buf, " That explains %s of the time; why the rest took so long is not known.", describe_time(d->arena, g->covers_ns));
	if (g->rests_on)
		buf_printf(buf, " That is no guess: %s.", g->rests_on);
}

/* The victim's wait, nearly all of the window, ended by itself. */
static void tell_limit(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct episode *e = scene_episode(d->scene, g->victim.thread, g->start_ns + (g->end_ns - g->start_ns) / 2);
	const struct wait *w = e ? &d->scene->waits[e->last] : NULL;

	if (w && w->end == WAIT_END_TIMEOUT && w->kind != WAIT_KIND_sleep && e->slices == 1 && !g->circle_timeout_ns &&
	    nearly_all(d->scene, e->end_ns - e->start_ns, g->end_ns - g->start_ns))
		buf_printf(buf, " %s went on only because its own time limit of %s ended the wait; nobody woke it.",
			   answer_who(d->arena, &g->victim), describe_time(d->arena, e->end_ns - e->start_ns));
}

/* Who came to the FIFO at last. */
static void tell_other_end(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct scene *scene = d->scene;
	uint32_t thread = g->culprit.thread;
	struct actor who;

	for (uint32_t i = scene_waits_from(scene, thread, g->start_ns); thread && i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->start_ns >= g->end_ns)
			return;
		if (!walk_other_end_came(scene, w) || !most_of(scene, w->end_ns - w->start_ns, g->end_ns - g->start_ns))
			continue;
		describe_thread(d, w->waker, w->end_ns, &who);
		buf_printf(buf, w->kind == WAIT_KIND_open ? " Nobody had the other end of what it opened until %s came (event %" PRIu32 ")."
							  : " Nobody wrote to what it reads until %s came (event %" PRIu32 ").",
			   answer_who(d->arena, &who), w->end_event);
		return;
	}
}

/* Why no function is named. */
static void tell_stacks(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	if ((g->culprit.kind == ACTOR_THREAD || (g->culprit.kind == ACTOR_KERNEL && !g->source)) && !g->culprit.function && d->scene->tables->frame_count <= 1)
		buf_text(buf, " In which function is not known: no stacks were recorded.");
}

static void tell_triggers(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	for (size_t i = 0; i < g->trigger_count && i < 2; i++)
		buf_printf(buf, " %s: %s %s%s.", i ? "Also" : "What set it off", answer_who(d->arena, &g->triggers[i].actor),
			   g->triggers[i].words,
			   g->triggers[i].event ? arena_printf(d->arena, " (event %" PRIu64 ")", g->triggers[i].event) : "");
}

/* Whatever was found: what was lost may have changed it. */
static void tell_losses(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct trace_losses lost = d->scene->trace ? trace_losses(d->scene->trace, g->start_ns, g->end_ns) : (struct trace_losses){ 0 };

	if (!lost.longest_ns)
		return;
	if (lost.events)
		buf_printf(buf, " In the window %" PRIu64 " %s, in %s%s", lost.events, lost.events == 1 ? "event was lost" : "events were lost",
			   lost.stretches == 1 ? "a stretch of " : "stretches of up to ", describe_time(d->arena, lost.longest_ns));
	else
		buf_printf(buf, " In the window nothing was written for up to %s", describe_time(d->arena, lost.longest_ns));
	buf_text(buf, ": what happened there is not in the trace.");
}

void answer_text(const struct describer *d, struct diagnosis *g)
{
	uint64_t window = g->end_ns - g->start_ns;
	struct buf buf;

	buf_init(&buf);
	tell_verdict(d, g, &buf);
	tell_path(d, g, &buf);
	tell_culprit(d, g, &buf);
	tell_limit(d, g, &buf);
	tell_other_end(d, g, &buf);
	answer_standing_text(d, g, &buf);
	answer_frozen_text(d, g, &buf);
	answer_terminal_text(d, g, &buf);
	answer_runs_text(d, g, &buf);
	tell_stacks(d, g, &buf);
	answer_callbacks_text(d, g, &buf);
	if (g->contrast) {
		buf_char(&buf, ' ');
		answer_contrast_text(d->arena, g->contrast, &buf);
	}
	tell_triggers(d, g, &buf);
	if (window && (g->unknown_ns + g->lost_ns) * 50 > window)
		buf_printf(&buf, " Of the window %s is unexplained and %s lost.", describe_time(d->arena, g->unknown_ns),
			   describe_time(d->arena, g->lost_ns));
	tell_losses(d, g, &buf);
	g->text = arena_strdup(d->arena, buf_str(&buf));
	buf_done(&buf);
}
