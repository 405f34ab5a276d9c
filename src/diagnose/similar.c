/* Similar waits and the path that ended them, see similar.h. */
#include "diagnose/similar.h"

#include <stdlib.h>
#include <string.h>

static bool ended_well(const struct wait *w)
{
	return w->end == WAIT_END_THREAD || w->end == WAIT_END_SOURCE;
}

static bool waits_alike(const struct wait *a, const struct wait *b, const struct similar_metrics *metrics)
{
	if (a->kind != b->kind || a->syscall != b->syscall)
		return false;
	if (object_kind(a->object) != object_kind(b->object))
		return false;
	if (metrics->same_object && a->object != b->object)
		return false;
	return metrics->any_place || a->site == b->site;
}

static bool before_alike(const struct scene *scene, const struct episode *episode, const struct scene *base,
			 const struct episode *other, const struct similar_metrics *metrics)
{
	const struct episode *first = scene->episodes + scene->threads[episode->thread].episode;
	const struct episode *base_first = base->episodes + base->threads[other->thread].episode;

	for (unsigned i = 1; i <= metrics->preceding; i++) {
		if (episode - first < i || other - base_first < i)
			return false;
		if (!waits_alike(&scene->waits[episode[-(int)i].last], &base->waits[other[-(int)i].last], metrics))
			return false;
	}
	return true;
}

/* Wake-ups and messages that the thread made in its run before the episode. */
static unsigned deeds_before(const struct scene *scene, const struct episode *episode)
{
	const struct scene_thread *t = &scene->threads[episode->thread];
	const struct episode *first = scene->episodes + t->episode;
	uint64_t from = episode > first ? episode[-1].end_ns : scene->start_ns;

	return scene_wakes_from(scene, episode->thread, episode->start_ns) - scene_wakes_from(scene, episode->thread, from) +
	       scene_messages_from(scene, episode->thread, episode->start_ns) -
	       scene_messages_from(scene, episode->thread, from);
}

static int better(const void *a, const void *b)
{
	const struct similar *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->episode > y->episode ? -1 : x->episode < y->episode;
}

void similar_find(const struct scene *scene, const struct episode *episode, const struct scene *base,
		  uint32_t base_thread, const struct similar_metrics *metrics, struct similars *similars)
{
	static const struct similar_metrics defaults;
	const struct scene_thread *t = &base->threads[base_thread];
	const struct wait *w = &scene->waits[episode->last];
	uint64_t length = episode->end_ns - episode->start_ns;
	uint64_t threshold;
	unsigned deeds = deeds_before(scene, episode);

	if (!metrics)
		metrics = &defaults;
	threshold = metrics->threshold_ns ? metrics->threshold_ns : length / 2;
	similars->length = 0;
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &base->episodes[t->episode + i];
		const struct wait *other = &base->waits[e->last];
		uint64_t span = e->end_ns - e->start_ns;
		bool sooner = span + threshold <= length;
		uint32_t score;

		if (e == episode || other->end == WAIT_END_OPEN)
			continue;
		if (!waits_alike(w, other, metrics) || !before_alike(scene, episode, base, e, metrics))
			continue;
		if (!(sooner && (metrics->same_result || ended_well(other))) && !(ended_well(other) && !ended_well(w)))
			continue;
		score = 100 + 50 * (other->object == w->object && w->object) + 30 * (other->timeout_ns == w->timeout_ns) +
			20 * sooner + 30 * (deeds_before(base, e) == deeds) + 40 * (other->end == WAIT_END_THREAD);
		vec_push(similars, ((struct similar){ (uint32_t)(e - base->episodes), score }));
	}
	if (similars->length)
		qsort(similars->items, similars->length, sizeof(*similars->items), better);
}

uint32_t similar_counterpart(const struct scene *scene, uint32_t thread, const struct scene *base)
{
	const struct thread *a = &scene->tables->threads[thread];
	uint32_t best = 0, best_score = 0;

	for (uint32_t i = 1; i < base->thread_count; i++) {
		const struct thread *b = &base->tables->threads[i];
		const struct thread *pa = &scene->tables->threads[a->creator], *pb = &base->tables->threads[b->creator];
		uint32_t score;

		if (strcmp(a->comm, b->comm) || strcmp(a->exe, b->exe) || (a->tid == a->pid) != (b->tid == b->pid))
			continue;
		score = 10 + 5 * !strcmp(a->command, b->command) + 3 * !strcmp(pa->comm, pb->comm) +
			2 * (a->start_ns && b->start_ns);
		if (score > best_score) {
			best_score = score;
			best = i;
		}
	}
	return best;
}

unsigned similar_slice(const struct scene *scene, const struct episode *episode, struct path_node path[SIMILAR_MAX_PATH])
{
	unsigned count = 0;

	while (count < SIMILAR_MAX_PATH) {
		const struct wait *w = &scene->waits[episode->last];
		const struct episode *before;

		if (w->end != WAIT_END_THREAD || !w->waker)
			break;
		for (unsigned i = 0; i < count; i++)
			if (path[i].thread == w->waker)
				return count;
		path[count++] = (struct path_node){ w->waker, w->end_ns, w->end_event };
		/* What let the waker run: its own last wait before it woke. */
		before = scene_episode(scene, w->waker, w->end_ns);
		if (!before)
			before = scene->episodes + scene->threads[w->waker].episode + scene->threads[w->waker].episode_count;
		if (before == scene->episodes + scene->threads[w->waker].episode)
			break;
		before--;
		if (before->end_ns + 1000000000 < w->end_ns)
			break;
		episode = before;
	}
	return count;
}
