/* See untaken.h. */
#include "diagnose/untaken.h"

#include "diagnose/broken_off.h"
#include "diagnose/judgement.h"

/* It let a thread of the process go on: that one may have been waiting for it. */
static bool woke(const struct scene *scene, const struct sent_signal *s)
{
	uint64_t slack = limit_of(scene, LIMIT_signal_wakes_ns), from = s->time > slack ? s->time - slack : 0;

	for (uint32_t i = scene_wakes_from(scene, s->sender, from); i < scene_wakes_end(scene, s->sender) && scene->wakes[i].time <= s->time + slack; i++)
		if (scene_same_process(scene, scene->wakes[i].target, s->target))
			return true;
	return false;
}

const struct sent_signal *untaken_find(const struct scene *scene, uint32_t sender, uint32_t pid, uint64_t before_ns)
{
	for (uint32_t i = 0; i < scene->signal_count && scene->signals[i].time < before_ns && rule_holds(scene, RULE_signal_untaken); i++) {
		const struct sent_signal *s = &scene->signals[i];
		uint32_t first;

		if (!s->stays || !s->sender || scene_pid(scene, s->target) != pid || !scene_same_process(scene, s->sender, sender) ||
		    scene_same_process(scene, s->sender, s->target) || !broken_off_ends_programs(s->signal))
			continue;
		first = tables_process(scene->tables, pid, s->time);
		if (first && scene->tables->threads[first].end_ns >= s->time + limit_of(scene, LIMIT_wait_ns) && !woke(scene, s))
			return s;
	}
	return NULL;
}
