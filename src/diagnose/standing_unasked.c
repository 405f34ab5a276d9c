/* See standing_unasked.h. */
#include "diagnose/standing_unasked.h"

#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/serving.h"
#include "diagnose/shared_word.h"

/* By the wait in which it stands then, or as it computes. */
static enum turned turned_of(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct thread *t = &scene->tables->threads[thread];
	const struct wait *w = scene_stands_until(scene, thread, scene->end_ns);
	struct state_times times;
	uint64_t began;

	if (t->end_ns < scene->end_ns || t->start_ns >= scene->end_ns)
		return TURNED_NONE;
	if (!w || w->kind == WAIT_KIND_throttled) {
		scene_state_times(scene, thread, scene->start_ns > to_ns ? scene->start_ns : to_ns, scene->end_ns, &times);
		return times.ns[SPAN_WAITING] < times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] ? TURNED_AWAY : TURNED_NONE;
	}
	began = scene->waits[scene->episodes[w->episode].first].start_ns;
	if (began < from_ns || began > to_ns)
		return TURNED_NONE;
	return wait_is_loop_rest(w) || w->idle || serving_waits_for_one(ends, w) ? TURNED_RESTS : TURNED_AWAY;
}

enum turned unasked_turned(const struct scene *scene, const struct ends *ends, const struct standing *s)
{
	const struct wait *w = standing_wait(scene, s);
	uint64_t object = w ? own_ends_only_client(scene, ends, w) : 0, before = limit_of(scene, LIMIT_serving_before_ns);
	uint64_t asked = w ? own_ends_asked_ns(scene, ends, w) : 0, begin;
	struct row row = object && rule_holds(scene, RULE_turned_unasked) ? ends_of_object(ends, object) : (struct row){ 0 };
	enum turned best = TURNED_NONE;
	uint32_t last = 0;

	if (!w)
		return TURNED_NONE;
	begin = asked ? asked : s->polls ? s->since_ns : scene->waits[scene->episodes[w->episode].first].start_ns;
	before += asked ? limit_of(scene, LIMIT_acknowledged_ns) : 0;
	for (uint32_t i = row.count; i-- > 0; ) {
		struct row far = ends_at(ends, row, i)->pid == scene_pid(scene, s->thread) ? ends_far(ends, ends_at(ends, row, i)) : (struct row){ 0 };

		for (uint32_t k = far.count; k-- > 0; ) {
			uint32_t pid = ends_at(ends, far, k)->pid, process = pid != last ? tables_process(scene->tables, pid, scene->end_ns - 1) : 0;

			last = pid;
			if (!process || scene_same_process(scene, process, s->thread))
				continue;
			SCENE_EACH_MATE(scene, process, j) {
				enum turned turned = turned_of(scene, ends, j, begin > before ? begin - before : 0,
							       begin + limit_of(scene, LIMIT_turned_to_ns));

				best = turned > best ? turned : best;
			}
		}
	}
	return best;
}

bool unasked_may_ask(const struct scene *scene, const struct ends *ends, const struct standing *s)
{
	const struct wait *w = standing_wait(scene, s);
	uint64_t born = serving_born(scene, s->thread), object;
	uint32_t pid = scene_pid(scene, s->thread);

	if (!rule_holds(scene, RULE_may_ask) || !w || w->idle || scene_tid(scene, s->thread) != pid || ends_has_windows(ends, pid) || !born ||
	    born + limit_of(scene, LIMIT_young_ns) < scene->end_ns || (s->kind != STANDING_WAITS && s->kind != STANDING_LOOKS && s->kind != STANDING_RESTS))
		return false;
	if (w->kind == WAIT_KIND_write)
		return scene_is_pipe(w->object) && scene->episodes[w->episode].slices == 1;
	object = own_ends_only_client(scene, ends, w);
	if (rule_holds(scene, RULE_may_ask_datagram) && object_kind(object) == OBJECT_KIND_udp)
		return ends_is_connected_datagram(ends, object) && (w->kind == WAIT_KIND_read || w->timeout_ns);
	if (ends_role(ends, object) != END_CLIENT)
		return false;
	if (object_kind(object) == OBJECT_KIND_unix_stream)
		return w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && (w->timeout_ns || unasked_turned(scene, ends, s) == TURNED_AWAY));
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
	const struct wait *w = scene_last_wait(scene, s->thread);
	uint32_t pid = scene_pid(scene, s->thread);

	if (!rule_holds(scene, RULE_stands_inside) || !w || w->idle || scene_tid(scene, s->thread) != pid || s->kind != STANDING_WAITS ||
	    !waits_for_another(scene, ends, w))
		return false;
	return ends_has_windows(ends, pid) ? owed_ignores_windows(scene, ends, w, from_ns) : w->kind == WAIT_KIND_child && has_loop_at_terminal(ends, pid);
}

bool unasked_may_be_lost(const struct scene *scene, const struct ends *ends, const struct standing *s, uint64_t from_ns)
{
	const struct wait *w = scene_last_wait(scene, s->thread);
	bool named;

	return w && owed_command(scene, s->thread) && word_lost(scene, ends, w, from_ns, &named);
}

bool unasked_is_awaited(const struct scene *scene, const struct standing *s)
{
	const struct wait *w = scene_last_wait(scene, s->thread);

	return rule_holds(scene, RULE_awaited_unasked) && w && !w->idle && (s->kind == STANDING_WAITS || s->kind == STANDING_LOOKS) &&
	       scene_tid(scene, s->thread) == scene_pid(scene, s->thread) && w->kind != WAIT_KIND_sleep && owed_command(scene, s->thread);
}
