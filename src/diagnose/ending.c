/* See ending.h.
 *
 * A runtime does not end its process in a signal's handler: that only lets another thread go on, which starts one for what
 * is to be done before the end. On that one's end the process's depends, whatever its first thread waits for. */
#include "diagnose/ending.h"

#include <signal.h>

#include "diagnose/broken_off.h"
#include "diagnose/judgement.h"

void ending_note_signals(struct scene *scene)
{
	uint32_t *items = arena_array(&scene->arena, uint32_t, scene->signal_count), count = 0;

	for (uint32_t i = 0; i < scene->signal_count; i++) {
		const struct sent_signal *s = &scene->signals[i];

		if (!s->stays && s->target && s->signal != SIGKILL && broken_off_ends_programs(s->signal))
			items[count++] = i;
	}
	scene->ending_signals = (struct row){ items, count };
}

/* A thread of the process let that one go on in the stretch, as a signal's handler does. */
static bool was_let_go_on(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	SCENE_EACH_MATE(scene, thread, i)
		for (uint32_t k = scene_wakes_from(scene, i, from); k < scene_wakes_end(scene, i) && scene->wakes[k].time <= to; k++)
			if (scene->wakes[k].target == thread)
				return true;
	return false;
}

/* The first thread that was made behind the signal, by one that its handler let go on, and that lived on. */
static uint32_t made_by(const struct scene *scene, const struct sent_signal *s)
{
	uint32_t found = 0;

	SCENE_EACH_MATE(scene, s->target, i) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->start_ns < s->time || t->start_ns > s->time + limit_of(scene, LIMIT_made_ns) || t->tid == t->pid ||
		    t->end_ns < t->start_ns + limit_of(scene, LIMIT_wait_ns) || (found && scene->tables->threads[found].start_ns < t->start_ns))
			continue;
		if (t->creator && scene_same_process(scene, t->creator, i) && was_let_go_on(scene, t->creator, s->time, t->start_ns))
			found = i;
	}
	return found;
}

uint32_t ending_thread(const struct scene *scene, uint32_t pid, const struct sent_signal **ret_signal)
{
	for (uint32_t i = 0; i < scene->ending_signals.count && rule_holds(scene, RULE_made_to_end); i++) {
		const struct sent_signal *s = &scene->signals[scene->ending_signals.items[i]];
		uint32_t thread = scene_pid(scene, s->target) == pid ? made_by(scene, s) : 0;

		if (thread) {
			*ret_signal = s;
			return thread;
		}
	}
	return 0;
}

bool ending_is_kept(const struct scene *scene, const struct hang *hang)
{
	const struct sent_signal *told;

	return hang->rule != RULE_as_if_asked && hang->end_ns - hang->start_ns >= limit_of(scene, LIMIT_as_if_asked_ns) &&
	       ending_thread(scene, hang->pid, &told) == hang->thread && rule_holds(scene, RULE_told_in_haste);
}
