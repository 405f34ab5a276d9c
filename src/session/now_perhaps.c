/* See now_perhaps.h. */
#include "session/now_perhaps.h"

#include <inttypes.h>
#include <string.h>

#include "diagnose/describe.h"
#include "diagnose/judgement.h"
#include "diagnose/shared_word.h"

/* And not who only had the processor that one there wanted. */
static bool is_on_path(const struct diagnosis *d, uint32_t thread)
{
	for (size_t i = 0; i < d->path_count; i++)
		if (d->path[i].actor.thread == thread)
			return true;
	return d->path_count < 2;
}

const struct actor *now_perhaps_keeper(const struct diagnosis *d)
{
	const struct actor *a = d->culprit.kind == ACTOR_THREAD && is_on_path(d, d->culprit.thread) ? &d->culprit
				: d->path_count > 1 ? &d->path[d->path_count - 1].actor : NULL;

	return a && a->thread && a->thread != d->victim.thread ? a : NULL;
}

static uint8_t sure_of(const struct diagnosis *d)
{
	return d->culprit.kind == ACTOR_THREAD || !d->path_count ? d->by_links : d->path[d->path_count - 1].confidence;
}

/* It waits for what somebody types; or it is who was asked, and listens to all of its clients. */
static bool listens(const struct scene *scene, const struct diagnosis *d)
{
	const struct wait *w = d->last_wait ? &scene->waits[d->last_wait] : NULL;

	if (w && d->path_count <= 2 && wait_is_loop_rest(w))
		return true;
	return w && (object_kind(w->object) == OBJECT_KIND_tty || (w->kind == WAIT_KIND_poll && object_kind(w->detail) == OBJECT_KIND_tty));
}

/* As the workers of a server do, of which one is at work and the others wait for some. */
static bool runs_the_same(const struct scene *scene, uint32_t a, uint32_t b)
{
	const struct thread *x = &scene->tables->threads[a], *y = &scene->tables->threads[b];

	return !strcmp(x->exe, y->exe) && !strcmp(x->command, y->command);
}

/* All through the look, in one wait or at work: behind one that comes and goes nobody else is known to keep it. */
static bool stands(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	const struct episode *e = scene_episode(scene, thread, scene->end_ns - 1);
	struct state_times times;

	scene_state_times(scene, thread, from_ns, scene->end_ns, &times);
	if (rule_holds(scene, RULE_stands_inside) && nearly_all(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], scene->end_ns - from_ns))
		return true;
	return e && e->end_ns >= scene->end_ns && e->start_ns <= from_ns + limit_of(scene, LIMIT_standing_slack_ns);
}

/* It waits for its user, who sees that: at the terminal of the one that is kept, or in a window of its own. */
static bool is_seen_by_user(const struct scene *scene, const struct ends *ends, const struct diagnosis *d)
{
	const struct wait *w = d->last_wait ? &scene->waits[d->last_wait] : NULL;
	uint64_t terminal = !w ? 0 : object_kind(w->object) == OBJECT_KIND_tty ? w->object : object_kind(w->detail) == OBJECT_KIND_tty ? w->detail : 0;
	struct row row = terminal ? ends_of_object(ends, terminal) : (struct row){ 0 };

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid == d->victim.pid)
			return true;
	return d->person && !terminal;
}

/* As a program is by which a script sleeps: just below its beginning. */
static bool only_sleeps(const struct scene *scene, uint32_t thread)
{
	const struct episode *e = scene_episode(scene, thread, scene->end_ns - 1);
	const struct wait *w = e ? &scene->waits[e->last] : NULL;
	uint32_t depth = w && w->ustack && w->ustack < scene->tables->frame_count ? scene->tables->frames[w->ustack].depth : 0;

	return w && w->kind == WAIT_KIND_sleep && depth && depth <= limit_of(scene, LIMIT_sleeper_depth);
}

/* What a command itself has started takes its time, unless it is kept. */
static bool is_own_work(const struct scene *scene, const struct diagnosis *d, uint32_t keeper)
{
	const struct wait *w = scene_stands_until(scene, keeper, scene->end_ns);

	return scene_descends_from(scene, keeper, d->victim.pid) &&
	       (!w || w->kind == WAIT_KIND_vfork || (w->kind != WAIT_KIND_stop && !wait_is_in_kernel(w)));
}

/* Who is kept does nothing but wait, and so does who keeps it, who neither listens to others, or to a person, nor only sleeps; and what it gets is
 * no news. */
static bool awaited_tells(const struct scene *scene, const struct diagnosis *d, uint32_t keeper, uint64_t from_ns)
{
	const struct wait *w = scene_stands_until(scene, keeper, scene->end_ns);
	uint64_t object = !w ? 0 : w->kind == WAIT_KIND_poll ? w->detail : w->object;

	if (!w || w->idle || !stands(scene, keeper, from_ns) || scene_descends_from(scene, d->victim.thread, scene_pid(scene, keeper)))
		return false;
	/* as in a build, of which one part waits until another is done */
	for (size_t i = 1; i < d->path_count; i++)
		if (!scene_same_process(scene, d->path[i].actor.thread, d->victim.thread) &&
		    scene_descends_from(scene, d->victim.thread, d->path[i].actor.pid))
			return false;
	if (w->kind == WAIT_KIND_accept || w->kind == WAIT_KIND_signal || (wait_is_loop_rest(w) && !w->timeout_ns))
		return false;
	if (object_kind(object) == OBJECT_KIND_tty || object_kind(object) == OBJECT_KIND_inotify)
		return false;
	return !only_sleeps(scene, keeper) && !is_own_work(scene, d, keeper);
}

bool now_perhaps_tells(const struct scene *scene, const struct ends *ends, const struct diagnosis *d, const struct standing *s, uint64_t from_ns)
{
	const struct actor *keeper = now_perhaps_keeper(d);

	/* the last one rests, too: it was asked, if anybody was, as the wait began */
	if (s->asks && !s->turned && d->last_wait && wait_is_loop_rest(&scene->waits[d->last_wait]) && rule_holds(scene, RULE_turned_unasked))
		return false;
	return keeper && sure_of(d) >= limit_of(scene, LIMIT_asks_sure) && !runs_the_same(scene, d->victim.thread, keeper->thread) &&
	       (!s->awaited || awaited_tells(scene, d, keeper->thread, from_ns)) &&
	       (!s->inside || !only_sleeps(scene, keeper->thread) || scene_descends_from(scene, keeper->thread, d->victim.pid)) &&
	       !(s->inside ? is_seen_by_user(scene, ends, d) : listens(scene, d)) && (d->path_count <= 2 || stands(scene, keeper->thread, from_ns));
}

static void put_keeper(struct arena *arena, const struct diagnosis *d, const struct actor *keeper, uint8_t sure, struct buf *buf)
{
	buf_printf(buf, " %s %s", d->path_count > 2 ? "perhaps because of" : "it waits for", answer_who(arena, keeper));
	if (d->doing_count && (d->culprit.kind != ACTOR_THREAD || d->culprit.thread == keeper->thread))
		buf_printf(buf, ", %s", d->doings[0].words);
	answer_place(arena, buf, keeper);
	buf_printf(buf, " (%u %%; `argus now %" PRIu32 "` tells more)\n", sure, d->victim.pid);
}

void now_perhaps_text(struct arena *arena, const struct diagnosis *d, uint64_t for_ns, struct buf *buf)
{
	const struct actor *keeper = now_perhaps_keeper(d);

	buf_printf(buf, "  %s, for at least %s:", answer_who(arena, &d->victim), describe_time(arena, for_ns));
	put_keeper(arena, d, keeper, sure_of(d), buf);
}

void now_perhaps_keeper_text(struct arena *arena, const struct diagnosis *d, struct buf *buf)
{
	const struct actor *keeper = now_perhaps_keeper(d);

	if (!keeper)
		return;
	buf_char(buf, ' ');
	put_keeper(arena, d, keeper, d->culprit.kind == ACTOR_THREAD ? d->confidence : sure_of(d), buf);
}

void now_perhaps_answered_text(struct arena *arena, const struct diagnosis *d, struct buf *buf)
{
	const struct actor *keeper = now_perhaps_keeper(d);

	/* in a circle it is its own at last */
	for (size_t i = d->path_count; !keeper && i-- > 1; )
		keeper = d->path[i].actor.thread && d->path[i].actor.thread != d->victim.thread ? &d->path[i].actor : NULL;
	if (!keeper)
		return;
	buf_printf(buf, "  It may be meant: perhaps because of %s", answer_who(arena, keeper));
	if (d->doing_count && (d->culprit.kind != ACTOR_THREAD || d->culprit.thread == keeper->thread))
		buf_printf(buf, ", %s", d->doings[0].words);
	answer_place(arena, buf, keeper);
	for (size_t i = d->path_count; i-- > 1; )
		if (d->path[i].actor.thread != keeper->thread && d->path[i].actor.thread != d->victim.thread)
			buf_printf(buf, ", for which %s waits", answer_who(arena, &d->path[i].actor));
	buf_printf(buf, " (%u %%)\n", sure_of(d));
}

void now_lost_text(struct arena *arena, const struct session *session, const struct diagnosis *d, const struct standing *s, struct buf *buf)
{
	const struct scene *scene = session->scene;
	const struct wait *w = &scene->waits[scene_waits_end(scene, s->thread) - 1];
	const struct descriptor *word = word_shared(diagnoser_ends(session->diagnoser), w);

	buf_printf(buf, "  %s, for at least %s: it waits for a word in ", answer_who(arena, &d->victim),
		   describe_time(arena, scene->end_ns - s->early_ns));
	if (word && word->text[0])
		buf_escaped(buf, word->text, strlen(word->text), NULL);
	else
		buf_text(buf, "shared memory");
	buf_printf(buf, ", which no other process has mapped (`argus now %" PRIu32 "` tells more)\n", d->victim.pid);
}
