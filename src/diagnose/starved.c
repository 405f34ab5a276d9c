/* Who had the processor while a thread was runnable, see starved.h. */
#include "diagnose/starved.h"

#include <stdlib.h>

#include "base/arena.h"

/* Adds, for each thread, its time on the processor in the window. */
static void add_cpu(const struct scene *scene, uint32_t cpu, uint64_t from, uint64_t to, uint64_t *used)
{
	const struct cpu_row *row = &scene->cpus[cpu];
	uint32_t low = 0, high = row->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row->runs[middle + 1].start_ns <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < row->count && row->runs[low].start_ns < to; low++) {
		uint64_t begin = row->runs[low].start_ns > from ? row->runs[low].start_ns : from;
		uint64_t end = row->runs[low + 1].start_ns < to ? row->runs[low + 1].start_ns : to;

		if (end > begin)
			used[row->runs[low].thread] += end - begin;
	}
}

static uint32_t biggest(const uint64_t *used, uint32_t count, uint32_t but)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < count; i++)
		if (i != but && used[i] > used[best] * (best != 0))
			best = i;
	return best;
}

/* The limit that holds for the thread's group: the last one known. */
static const struct quota *quota_of(const struct scene *scene, uint32_t thread)
{
	uint64_t cgroup = scene->tables->threads[thread].cgroup;
	const struct quota *found = NULL;

	for (uint32_t i = 0; i < scene->quota_count; i++) {
		const struct quota *q = &scene->quotas[i];

		if ((q->thread == thread && q->cgroup) || (cgroup && q->cgroup == cgroup && q->quota_ns))
			if (!found || !found->path || q->path)
				found = q;
	}
	return found;
}

static uint64_t group_use(const struct scene *scene, uint32_t thread, const struct quota *quota, uint64_t *used)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		if (scene->tables->threads[i].cgroup != quota->cgroup && i != thread)
			used[i] = 0;
		sum += used[i];
	}
	return sum;
}

/* The group's own counter went up between two snapshots by a good part of the
 * time between them. */
static bool was_throttled(const struct scene *scene, uint64_t cgroup, uint64_t from_ns, uint64_t to_ns)
{
	const struct quota *before = NULL;

	for (uint32_t i = 0; i < scene->quota_count; i++) {
		const struct quota *q = &scene->quotas[i];

		if (q->cgroup != cgroup || q->thread)
			continue;
		if (before && q->time > from_ns && before->time < to_ns &&
		    (q->throttled_ns - before->throttled_ns) * 5 > q->time - before->time &&
		    q->throttled_ns > before->throttled_ns)
			return true;
		before = q;
	}
	return false;
}

/* By their priorities: a step of five is three times the share. */
static bool comes_before(const struct scene *scene, uint32_t one, uint32_t other)
{
	unsigned a = scene->tables->threads[one].prio, b = scene->tables->threads[other].prio;

	return a && b && a + 5 <= b;
}

void starved_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct starved *ret_starved)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t *used = mem_zalloc(arena_array_bytes(sizeof(*used), scene->thread_count));

	*ret_starved = (struct starved){ 0 };
	for (uint32_t i = scene_span_index(scene, thread, from_ns); i < t->span_count; i++) {
		const struct span *s = &t->spans[i];
		uint64_t from = s->start_ns > from_ns ? s->start_ns : from_ns;
		uint64_t to = span_end(s) < to_ns ? span_end(s) : to_ns;
		/* Where it got in at last is where it stood in the queue. */
		uint16_t cpu = i + 1 < t->span_count && s[1].state == SPAN_RUNNING ? s[1].cpu : s->cpu;

		if (s->start_ns >= to_ns)
			break;
		if (s->state != SPAN_RUNNABLE || to <= from)
			continue;
		ret_starved->runnable_ns += to - from;
		if (s->throttled)
			ret_starved->throttled_ns += to - from;
		if (cpu < scene->cpu_count)
			add_cpu(scene, cpu, from, to, used);
	}
	for (uint32_t i = 1; i < scene->thread_count; i++)
		if (i != thread && comes_before(scene, i, thread))
			ret_starved->before_ns += used[i];
	ret_starved->hog = biggest(used, scene->thread_count, thread);
	ret_starved->hog_ns = ret_starved->hog ? used[ret_starved->hog] : 0;
	ret_starved->quota = quota_of(scene, thread);
	if (ret_starved->quota && ret_starved->quota->quota_ns && ret_starved->quota->period_ns) {
		const struct quota *q = ret_starved->quota;
		uint64_t allowed;

		for (uint32_t i = 0; i < scene->thread_count; i++)
			used[i] = 0;
		for (uint32_t i = 0; i < scene->cpu_count; i++)
			add_cpu(scene, i, from_ns, to_ns, used);
		ret_starved->group_ns = group_use(scene, thread, q, used);
		ret_starved->group_hog = biggest(used, scene->thread_count, thread);
		ret_starved->group_hog_ns = ret_starved->group_hog ? used[ret_starved->group_hog] : 0;
		allowed = (to_ns - from_ns) / q->period_ns * q->quota_ns;
		/* The kernel counted it, or the whole quota was used, or nearly: the rest of
		 * the time nobody of the group could run. */
		if (ret_starved->throttled_ns * 4 < ret_starved->runnable_ns &&
		    (was_throttled(scene, q->cgroup, from_ns, to_ns) ||
		     (allowed && ret_starved->group_ns * 2 >= allowed)))
			ret_starved->throttled_ns = ret_starved->runnable_ns;
	}
	free(used);
}

bool starved_is(const struct starved *starved, const struct scene *scene, uint64_t running_ns)
{
	bool one = starved->hog_ns * 2 > starved->runnable_ns;

	if (starved->throttled_ns * 2 > starved->runnable_ns)
		return true;
	/* A real-time thread gives nothing up; of equals each gets its share. */
	if (one && starved->hog && scene->tables->threads[starved->hog].prio < 100 && scene->tables->threads[starved->hog].prio)
		return true;
	/* Nor do those that come before it by their priorities. */
	if (starved->before_ns * 2 > starved->runnable_ns && running_ns * 4 < starved->runnable_ns)
		return true;
	return one && running_ns * 12 < starved->runnable_ns;
}
