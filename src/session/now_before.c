/* See now_before.h. */
#include "session/now_before.h"

#include "diagnose/scene.h"

/* NULL: it never waited. */
static const struct wait *last_wait(const struct scene *scene, uint32_t thread)
{
	return scene->threads[thread].wait_count ? &scene->waits[scene_waits_end(scene, thread) - 1] : NULL;
}

void now_before_note(struct now_before *before, const struct scene *scene, const struct standing *s)
{
	const struct wait *w = last_wait(scene, s->thread);

	if (before->count == NOW_BEFORE_MOST || s->kind == STANDING_MOVES || s->kind == STANDING_RESTS)
		return;
	before->items[before->count].tid = scene_tid(scene, s->thread);
	before->items[before->count].object = w ? w->object : 0;
	before->items[before->count].detail = w ? w->detail : 0;
	before->items[before->count].kind = w ? w->kind : WAIT_KIND_none;
	before->items[before->count++].since_ns = s->since_ns;
}

uint64_t now_before_since(const struct now_before *before, const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	const struct wait *w = last_wait(scene, thread);

	for (unsigned i = 0; i < before->count; i++)
		if (before->items[i].tid == scene_tid(scene, thread) && before->items[i].since_ns < from_ns &&
		    before->items[i].kind == (w ? w->kind : WAIT_KIND_none) && before->items[i].object == (w ? w->object : 0) &&
		    before->items[i].detail == (w ? w->detail : 0))
			return before->items[i].since_ns;
	return 0;
}
