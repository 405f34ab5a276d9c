/* See now_before.h. */
#include "session/now_before.h"

#include "diagnose/scene.h"

void now_before_note(struct now_before *before, const struct scene *scene, const struct standing *s)
{
	if (before->count == NOW_BEFORE_MOST || s->kind == STANDING_MOVES || s->kind == STANDING_RESTS)
		return;
	before->items[before->count].tid = scene_tid(scene, s->thread);
	before->items[before->count++].since_ns = s->since_ns;
}

uint64_t now_before_since(const struct now_before *before, uint32_t tid, uint64_t from_ns)
{
	for (unsigned i = 0; i < before->count; i++)
		if (before->items[i].tid == tid && before->items[i].since_ns < from_ns)
			return before->items[i].since_ns;
	return 0;
}
