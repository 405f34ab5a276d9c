/* What to record to know more: where the evidence is short, the options of `argus
 * record` that would bring what is missing, see answer.h. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "diagnose/answer.h"
#include "diagnose/loops.h"
#include "diagnose/places.h"

#define PLAN_MAX 8
#define SURE 70              /* per cent */
#define SURE_OF_FLAG 85
#define SAMPLES_ENOUGH 20    /* in the window, to tell a function */
#define ENOUGH_NS 10000000000ull

static void plan_add(const struct describer *d, struct diagnosis *g, const char *option, const char *value, const char *why)
{
	struct plan_step *plan = (struct plan_step *)g->plan;

	for (size_t i = 0; i < g->plan_count; i++)
		if (!strcmp(plan[i].option, option) && value && plan[i].value && !strcmp(plan[i].value, value))
			return;
	if (!plan)
		g->plan = plan = arena_array(d->arena, struct plan_step, PLAN_MAX);
	if (g->plan_count < PLAN_MAX)
		plan[g->plan_count++] = (struct plan_step){ option, value, why };
}

/* The recording was of the whole machine. */
static bool records_all(const struct scene *scene)
{
	const char *options = scene->trace ? trace_machine(scene->trace, "options") : NULL;

	return options && strstr(options, "--all=");
}

/* The victim was still stuck when the recording ended: the same processes can be
 * recorded again. */
static bool goes_on(const struct diagnosis *g, const struct scene *scene)
{
	const struct span *last = scene_span(scene, g->victim.thread, scene->end_ns - 1);
	const struct episode *wait = scene_episode(scene, g->victim.thread, scene->end_ns - 1);

	if (g->ended_ns || g->end_ns + 50000000 < scene->end_ns || !last || scene->tables->threads[g->victim.thread].end_ns != UINT64_MAX)
		return false;
	switch ((enum span_state)last->state) {
	case SPAN_RUNNING:
	case SPAN_RUNNABLE:
		return g->verdict == VERDICT_BUSY || g->verdict == VERDICT_STARVED || g->verdict == VERDICT_YIELD;
	case SPAN_WAITING:
	case SPAN_STOPPED:
		return (wait && wait->start_ns < g->end_ns) || g->verdict == VERDICT_YIELD;
	case SPAN_ABSENT:
	case SPAN_UNKNOWN:
		return false;
	}
	return false;
}

/* The processes on the way, that the recorder takes less of everything else. */
static const char *processes(const struct describer *d, const struct diagnosis *g)
{
	uint32_t pids[16] = { 0 };
	unsigned count = 0;
	struct buf buf;
	const char *text;

	buf_init(&buf);
	for (size_t i = 0; i <= g->path_count && count < 16; i++) {
		const struct actor *a = i ? &g->path[i - 1].actor : &g->victim;
		bool there = !a->pid || a->kind != ACTOR_THREAD;

		for (unsigned j = 0; j < count; j++)
			there |= pids[j] == a->pid;
		if (there)
			continue;
		pids[count++] = a->pid;
		buf_printf(&buf, "%s%" PRIu32, buf.length ? "," : "", a->pid);
	}
	text = arena_strdup(d->arena, buf_str(&buf));
	buf_done(&buf);
	return text;
}

static unsigned samples_of(const struct scene *scene, const struct diagnosis *g)
{
	uint32_t thread = g->culprit.thread;

	return scene_samples_from(scene, thread, g->end_ns) - scene_samples_from(scene, thread, g->start_ns);
}

/* Whole path of the module with this file name; NULL when several or none have it. */
static const char *module_path(const struct tables *tables, const char *name)
{
	const char *found = NULL;

	for (uint32_t i = 1; i < tables->module_count; i++) {
		const char *path = tables->modules[i].path, *slash = strrchr(path, '/');

		if (!slash || strcmp(slash + 1, name))
			continue;
		if (found && strcmp(found, path))
			return NULL;
		found = path;
	}
	return found;
}

/* A probe where the actor's function returns; none for names that are no plain symbols, and none in the
 * C library, which everybody calls. */
static void plan_probe(const struct describer *d, struct diagnosis *g, const struct actor *actor, const char *why)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *path = actor->function && actor->module ? module_path(d->scene->tables, actor->module) : NULL;

	if (path && !describe_is_plumbing(actor->module) && !actor->function[strspn(actor->function, plain)])
		plan_add(d, g, "--probe", arena_printf(d->arena, "%s:%s%%return", path, actor->function), why);
}

/* The longest loop in which the victim looks again and again; NULL when it is not seen. */
static const struct episode *longest_loop(const struct describer *d, const struct diagnosis *g)
{
	const struct scene *scene = d->scene;
	const struct scene_thread *t = &scene->threads[g->victim.thread];
	const struct episode *longest = NULL;

	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &scene->episodes[t->episode + i];

		if (loop_is(scene, e) && e->start_ns < g->end_ns && e->end_ns > g->start_ns &&
		    (!longest || e->end_ns - e->start_ns > longest->end_ns - longest->start_ns))
			longest = e;
	}
	return longest;
}

/* The function in which it does. */
static void find_loop(const struct describer *d, const struct diagnosis *g, struct actor *ret_actor)
{
	const struct episode *longest = longest_loop(d, g);

	*ret_actor = (struct actor){ .thread = g->victim.thread };
	if (longest)
		describe_place(d, d->scene->waits[longest->last].ustack, ret_actor);
	else
		describe_busy(d, g->start_ns, g->end_ns, ret_actor);
}

/* No wake-up tells who should have ended a loop that looks at a flag: calls of the
 * functions that look at it and may set it do. */
static void plan_flag(const struct describer *d, struct diagnosis *g)
{
	struct actor loop;

	find_loop(d, g, &loop);
	plan_probe(d, g, &loop, "when the loop that looks at the flag ends");
	if (g->culprit.thread != g->victim.thread)
		plan_probe(d, g, &g->culprit, "when the one that seems to set the flag has done its part");
}

/* Of a loop that hardly waits, as of one that only yields: where most of its samples are. */
static uint32_t busiest_frame(const struct describer *d, const struct diagnosis *g)
{
	const struct scene *scene = d->scene;
	const struct scene_thread *t = &scene->threads[g->victim.thread];
	uint32_t first = scene_samples_from(scene, g->victim.thread, g->start_ns), end = scene_samples_from(scene, g->victim.thread, g->end_ns);
	uint32_t best = 0;
	struct map counts = { 0 };
	uint64_t most = 0;

	for (uint32_t i = first; i < end && d->names; i++) {
		uint32_t node = places_own_frame(scene->tables, scene->samples[t->samples.items[i]].ustack);
		uint64_t *count;

		if (!node)
			continue;
		count = map_at(&counts, hash_u64((uint64_t)scene->tables->frames[node].module << 48 ^ names_function_start(d->names, node)), NULL);
		if (++*count > most) {
			most = *count;
			best = node;
		}
	}
	map_done(&counts);
	return best;
}

/* Steps through the loop: its innermost function outside of the C library, and those of the
 * same file that called it, for the loop may be in one of them. */
static void plan_stepping(const struct describer *d, struct diagnosis *g)
{
	const struct tables *tables = d->scene->tables;
	const struct episode *loop = longest_loop(d, g);
	uint32_t node = loop ? places_own_frame(tables, d->scene->waits[loop->last].ustack) : busiest_frame(d, g);
	const char *text = places_to_step(d->arena, tables, node);

	if (!text)
		return;
	plan_add(d, g, "--step", text, "the way through the loop tells which memory it looks at (argus diverge)");
	g->step = arena_printf(d->arena, "argus step %" PRIu32 " %s --tid %" PRIu32, g->victim.pid, text, scene_tid(d->scene, g->victim.thread));
}

/* The loop awaits a process's end, which is no flag in memory, or a pack tells for whom it waits. */
static bool is_known(const struct diagnosis *g)
{
	const char *link = g->path_count > 1 ? g->path[1].link : "";

	return !strcmp(link, walk_link_words(LINK_SIGNALLED)) || !strcmp(link, walk_link_words(LINK_AWAITED)) ||
	       !strcmp(link, walk_link_words(LINK_TO_COME)) || !strcmp(link, walk_link_words(LINK_CAME_LAST));
}

/* What the kernel left out by itself no room would have kept. */
static bool lost_in_rings(const struct scene *scene)
{
	const struct trace_summary *summary = scene->trace ? trace_summary(scene->trace) : NULL;

	for (size_t i = 0; summary && i < summary->gap_count; i++)
		if (summary->gaps[i].lost && summary->gaps[i].reason != GAP_REASON_nested)
			return true;
	return false;
}

void answer_plan(const struct describer *d, struct diagnosis *g)
{
	const struct scene *scene = d->scene;
	uint64_t window = g->end_ns - g->start_ns;
	bool unsure = g->confidence < SURE || g->culprit.kind == ACTOR_UNKNOWN;
	bool computing = g->path_count && !strncmp(g->path[g->path_count - 1].words, "computing", 9);

	bool lost = g->lost_ns || lost_in_rings(scene);
	bool all = unsure && window && g->unknown_ns * 10 > window && !records_all(scene);

	if (lost) {
		plan_add(d, g, "--ring", "64M", "events were lost; larger rings keep them");
		if (!all && goes_on(g, scene))
			plan_add(d, g, "--pid", processes(d, g), "only the processes on the way: fewer events, none lost");
	}
	if (unsure && !scene->messages_seen)
		plan_add(d, g, "--level", "full", "messages and system calls tell who was asked and who did not answer");
	if (!scene->sample_count && (g->verdict == VERDICT_BUSY || g->culprit.function == NULL))
		plan_add(d, g, "--stacks", "waits,wakes,samples", "samples tell in which function the time goes");
	else if (unsure && !g->culprit.function)
		plan_add(d, g, "--stacks", "waits,wakes,samples,msgs", "stacks tell what the threads wait for");
	else if (unsure && computing && samples_of(scene, g) < SAMPLES_ENOUGH)
		plan_add(d, g, "--freq", "997", "the few samples of it do not tell the function");
	if (g->verdict == VERDICT_YIELD && g->confidence < SURE_OF_FLAG && !is_known(g))
		plan_flag(d, g);
	if (g->verdict == VERDICT_YIELD && !is_known(g))
		plan_stepping(d, g);
	if (all)
		plan_add(d, g, "--all", NULL, "a thread outside the recording may have been the one to act");
	if (g->plan_count && goes_on(g, scene))
		plan_add(d, g, "--duration", window < ENOUGH_NS ? "10s" : "30s", "it was still stuck at the end: a stretch of that is enough");
}

/* Quoted for a shell where it must be. */
static void put_word(struct buf *buf, const char *word)
{
	if (word[0] && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%")] == 0) {
		buf_text(buf, word);
		return;
	}
	buf_char(buf, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_text(buf, "'\\''");
		else
			buf_char(buf, *word);
	}
	buf_char(buf, '\'');
}

void answer_plan_command(const struct diagnosis *diagnosis, struct buf *buf)
{
	buf_text(buf, "argus record");
	for (size_t i = 0; i < diagnosis->plan_count; i++) {
		buf_printf(buf, " %s", diagnosis->plan[i].option);
		if (diagnosis->plan[i].value) {
			buf_char(buf, ' ');
			put_word(buf, diagnosis->plan[i].value);
		}
	}
}
