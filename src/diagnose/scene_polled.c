/* What a poll listens to: entries of its array that ask for nothing are told there for their errors alone, or are switched
 * off until there is room, as relays do that wait to write on. The thread waits for the others. */
#include "diagnose/judgement.h"
#include "diagnose/scene_build.h"

static bool asks_for_nothing(const struct poll_item *p)
{
	return !p->events || p->fd < 0;
}

/* Items of one array as one snapshot found it stand together. */
static uint32_t array_end(const struct scene *scene, uint32_t first)
{
	const struct poll_item *items = scene->poll_items;
	uint32_t end = first + 1;

	while (end < scene->poll_item_count && !items[end].set && items[end].pid == items[first].pid &&
	       items[end].time < items[first].time + limit_of(scene, LIMIT_one_snapshot_ns))
		end++;
	return end;
}

/* The descriptor as the same snapshot tells it, or the first one later; 0 not known. */
static uint64_t object_at(const struct scene *scene, uint32_t pid, const struct poll_item *p)
{
	for (size_t i = 0; i < scene->tables->descriptor_count; i++) {
		const struct descriptor *d = &scene->tables->descriptors[i];

		if (d->pid == pid && (int32_t)d->at.fd == p->fd && d->time + limit_of(scene, LIMIT_one_snapshot_ns) >= p->time)
			return d->at.object;
	}
	return 0;
}

/* The wait of which the array was read just then is for those alone. */
static void narrow(struct scene *scene, const struct poll_item *first, uint32_t asked)
{
	uint32_t thread = tables_thread(scene->tables, first->pid, first->time);
	struct scene_gathered *gathered = thread ? &scene->gathered[thread] : NULL;

	for (size_t i = gathered ? gathered->found.length : 0; i-- > 0; ) {
		struct wait_found *found = &gathered->found.items[i];

		if (found->time > first->time || found->said.wait != WAIT_KIND_poll)
			continue;
		if (found->time + limit_of(scene, LIMIT_one_snapshot_ns) < first->time)
			break;
		found->said.argument = asked;
		found->said.detail = object_at(scene, scene_pid(scene, thread), first);
		break;
	}
}

void scene_narrow_polls(struct scene *scene)
{
	uint32_t kept = 0;

	for (uint32_t i = 0, end; i < scene->poll_item_count; i = end) {
		uint32_t asked = 0, first = 0;

		end = scene->poll_items[i].set ? i + 1 : array_end(scene, i);
		for (uint32_t k = i; k < end && !scene->poll_items[i].set; k++) {
			if (asks_for_nothing(&scene->poll_items[k]))
				continue;
			first = asked++ ? first : k;
		}
		if (asked && asked < end - i)
			narrow(scene, &scene->poll_items[first], asked);
		for (uint32_t k = i; k < end; k++)
			if (!asked || !asks_for_nothing(&scene->poll_items[k]))
				scene->poll_items[kept++] = scene->poll_items[k];
	}
	scene->poll_item_count = kept;
}
