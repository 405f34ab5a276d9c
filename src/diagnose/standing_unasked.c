/* See standing_unasked.h. */
#include "diagnose/standing_unasked.h"

#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/serving.h"
#include "diagnose/shared_word.h"

bool unasked_may_ask(const struct scene *scene, const struct ends *ends, const struct standing *s)
{
	const struct wait *w = scene->threads[s->thread].wait_count ? &scene->waits[scene_waits_end(scene, s->thread) - 1] : NULL;
	uint64_t born = serving_born(scene, s->thread), object;
	uint32_t pid = scene_pid(scene, s->thread);

	if (!rule_holds(scene, RULE_may_ask) || !w || w->idle || scene_tid(scene, s->thread) != pid || ends_has_windows(ends, pid) || !born ||
	    born + limit_of(scene, LIMIT_young_ns) < scene->end_ns || (s->kind != STANDING_WAITS && s->kind != STANDING_LOOKS && s->kind != STANDING_RESTS))
		return false;
	if (w->kind == WAIT_KIND_write)
		return scene_is_pipe(w->object) && scene->episodes[w->episode].slices == 1;
	object = own_ends_only_client(scene, ends, w);
	if (ends_role(ends, object) != END_CLIENT)
		return false;
	if (object_kind(object) == OBJECT_KIND_unix_stream)
		return w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->timeout_ns);
	return own_ends_spoke_last(ends, object, pid);
}

/* It has what loops are made of, and a terminal. */
static bool has_loop_at_terminal(const struct ends *ends, uint32_t pid)
{
	struct row row = ends_of_process(ends, pid);
	bool terminal = false, loop = false;

	for (uint32_t i = 0; i < row.count; i++) {
		unsigned kind = ends_at(ends, row, i)->at.kind;

		terminal |= kind == OBJECT_KIND_tty;
		loop |= kind == OBJECT_KIND_epoll || kind == OBJECT_KIND_timerfd || kind == OBJECT_KIND_signalfd || kind == OBJECT_KIND_inotify;
	}
	return terminal && loop;
}

/* For what another process gives or does, and for nothing else; or by its own bell, with the time limit of a call that another of its threads makes. */
static bool waits_for_another(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

	if (object && w->kind == WAIT_KIND_poll && w->timeout_ns && own_ends_has_both(ends, object, scene_pid(scene, w->thread)))
		return true;
	return w->kind == WAIT_KIND_child || scene_is_pipe(object) || object_kind(object) == OBJECT_KIND_unix_stream || object_kind(object) == OBJECT_KIND_tcp;
}

bool unasked_stands_inside(const struct scene *scene, const struct ends *ends, const struct standing *s, uint64_t from_ns)
{
	const struct wait *w = scene->threads[s->thread].wait_count ? &scene->waits[scene_waits_end(scene, s->thread) - 1] : NULL;
	uint32_t pid = scene_pid(scene, s->thread);

	if (!rule_holds(scene, RULE_stands_inside) || !w || w->idle || scene_tid(scene, s->thread) != pid || s->kind != STANDING_WAITS ||
	    !waits_for_another(scene, ends, w))
		return false;
	return ends_has_windows(ends, pid) ? owed_ignores_windows(scene, ends, w, from_ns) : w->kind == WAIT_KIND_child && has_loop_at_terminal(ends, pid);
}

bool unasked_may_be_lost(const struct scene *scene, const struct ends *ends, const struct standing *s, uint64_t from_ns)
{
	const struct wait *w = scene->threads[s->thread].wait_count ? &scene->waits[scene_waits_end(scene, s->thread) - 1] : NULL;
	bool named;

	return w && owed_command(scene, s->thread) && word_lost(scene, ends, w, from_ns, &named);
}

bool unasked_is_awaited(const struct scene *scene, const struct standing *s)
{
	const struct wait *w = scene->threads[s->thread].wait_count ? &scene->waits[scene_waits_end(scene, s->thread) - 1] : NULL;

	return rule_holds(scene, RULE_awaited_unasked) && w && !w->idle && (s->kind == STANDING_WAITS || s->kind == STANDING_LOOKS) &&
	       scene_tid(scene, s->thread) == scene_pid(scene, s->thread) && w->kind != WAIT_KIND_sleep && owed_command(scene, s->thread);
}
