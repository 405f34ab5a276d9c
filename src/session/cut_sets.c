/* See cut_sets.h. */
#include "session/cut_sets.h"

#include <inttypes.h>

#include "diagnose/answer.h"
#include "diagnose/judgement.h"
#include "record/bpf/state.h"

/* As many as there is room for, behind the set's own record. */
#define ITEMS_MOST ((STATE_SHOWN_BYTES - sizeof(struct state_descriptor)) / sizeof(struct state_poll_item))

/* Of the newest snapshot that tells of the set, which may do so for each descriptor that leads to it: once. */
static uint32_t count_items(const struct scene *scene, uint64_t set)
{
	const struct poll_item *last = NULL;
	uint32_t count = 0;

	for (uint32_t i = scene->poll_item_count; i-- > 0; ) {
		const struct poll_item *p = &scene->poll_items[i];

		if (p->set != set)
			continue;
		if (last && (p->time + limit_of(scene, LIMIT_one_snapshot_ns) < last->time || (p->fd == last->fd && p->object == last->object)))
			break;
		last = last ? last : p;
		count++;
	}
	return count;
}

void cut_sets_note(struct arena *arena, const struct scene *scene, const struct diagnosis *d, struct sink *notes)
{
	for (size_t i = 0; i < d->path_count; i++) {
		uint32_t thread = d->path[i].actor.thread, count;
		const struct wait *w = thread ? scene_stands_until(scene, thread, d->end_ns) : NULL;

		if (!w || w->kind != WAIT_KIND_epoll || !w->object)
			continue;
		count = count_items(scene, w->object);
		if (count >= ITEMS_MOST)
			sink_printf(notes, "%s listens to %" PRIu32 " things, as many as a snapshot tells of one epoll set: others are not known\n",
				    answer_who(arena, &d->path[i].actor), count);
	}
}
