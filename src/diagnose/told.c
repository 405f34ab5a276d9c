/* Who was told instead, see told.h. */
#include "diagnose/told.h"

const struct wait *told_instead(const struct scene *scene, const struct episode *episode)
{
	const struct wait *w = &scene->waits[episode->last];

	if (w->kind != WAIT_KIND_futex || w->end != WAIT_END_TIMEOUT || !w->object || w->hint)
		return NULL;
	SCENE_EACH_MATE(scene, episode->thread, i) {
		if (i == episode->thread)
			continue;
		for (uint32_t j = scene_waits_from(scene, i, 0); j < scene_waits_end(scene, i); j++) {
			const struct wait *other = &scene->waits[j];

			if (other->object == w->object && other->kind == WAIT_KIND_futex && other->end == WAIT_END_THREAD &&
			    other->waker != episode->thread && other->end_ns > episode->start_ns && other->end_ns < episode->end_ns)
				return other;
		}
	}
	return NULL;
}
