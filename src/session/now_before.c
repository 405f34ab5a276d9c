/* See now_before.h. */
#include "session/now_before.h"

#include "diagnose/judgement.h"

void now_before_note(struct now_before *before, const struct scene *scene, const struct standing *s)
{
	const struct wait *w = scene_last_wait(scene, s->thread);

	if (before->items.length >= limit_of(scene, LIMIT_stood_before) || s->kind == STANDING_MOVES || s->kind == STANDING_RESTS)
		return;
	vec_push(&before->items, ((struct now_stood){ .tid = scene_tid(scene, s->thread), .since_ns = s->since_ns, .object = w ? w->object : 0,
						      .detail = w ? w->detail : 0, .kind = w ? w->kind : WAIT_KIND_none }));
}

uint64_t now_before_since(const struct now_before *before, const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	const struct wait *w = scene_last_wait(scene, thread);

	for (size_t i = 0; i < before->items.length; i++) {
		const struct now_stood *s = &before->items.items[i];

		if (s->tid == scene_tid(scene, thread) && s->since_ns < from_ns && s->kind == (w ? w->kind : WAIT_KIND_none) &&
		    s->object == (w ? w->object : 0) && s->detail == (w ? w->detail : 0))
			return s->since_ns;
	}
	return 0;
}
