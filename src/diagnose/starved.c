/* Who had the processor while a thread was runnable, see starved.h. */
#include "diagnose/starved.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/search.h"
#include "base/vec.h"
#include "diagnose/judgement.h"

#define MAX_GROUPS 64           /* below one limit */

/* Time by thread, and which threads have any: most of a trace's never do. */
struct uses {
	uint64_t *ns;
	struct vec(uint32_t) threads;
};

static void use(struct uses *used, uint32_t thread, uint64_t ns)
{
	if (!used->ns[thread])
		vec_push(&used->threads, thread);
	used->ns[thread] += ns;
}

/* Adds, for each thread, its time on the processor in the window. Windows on one
 * processor come in the order of time: *at is the run to look on from. */
static void add_cpu(const struct cpu_row *row, uint32_t *at, uint64_t from, uint64_t to, struct uses *used)
{
	uint32_t low = *at, high = low, step = 1;

	while (high < row->count && row->runs[high + 1].start_ns <= from) {
		low = high + 1;
		high = row->count - high > step ? high + step : row->count;
		step *= 2;
	}
	SEARCH(low, high, middle, row->runs[middle + 1].start_ns <= from);
	*at = low;
	while (low < row->count && row->runs[low].start_ns < to) {
		uint32_t block = low / CPU_BLOCK;
		uint64_t begin, end;

		if (!(low % CPU_BLOCK) && block < row->block_count && row->runs[low].start_ns >= from &&
		    row->runs[low + CPU_BLOCK].start_ns <= to) {
			for (uint32_t i = row->blocks[block]; i < row->blocks[block + 1]; i++)
				use(used, row->shares[i].thread, row->shares[i].ns);
			low += CPU_BLOCK;
			continue;
		}
		begin = row->runs[low].start_ns > from ? row->runs[low].start_ns : from;
		end = row->runs[low + 1].start_ns < to ? row->runs[low + 1].start_ns : to;
		if (end > begin)
			use(used, row->runs[low].thread, end - begin);
		low++;
	}
}

/* The recorder: what it takes is not what keeps a thread off when nobody records. */
static bool only_looks(const struct scene *scene, uint32_t thread)
{
	const char *recorder = scene->trace ? trace_machine(scene->trace, "recorder_pid") : NULL;

	return (recorder && strtoul(recorder, NULL, 10) == scene_pid(scene, thread)) || scene_is_other_argus(scene, thread);
}

/* Of equals the first; 0 none. */
static uint32_t biggest(const struct scene *scene, const struct uses *used, uint32_t but, uint64_t *ret_ns)
{
	uint32_t best = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < used->threads.length; i++) {
		uint32_t thread = used->threads.items[i];
		uint64_t ns = used->ns[thread];

		if (thread && thread != but && ns && (ns > most || (ns == most && thread < best)) && !only_looks(scene, thread)) {
			best = thread;
			most = ns;
		}
	}
	*ret_ns = most;
	return best;
}

/* The group of the thread that the quota stopped; 0 unknown: it went from one to another. */
static uint64_t group_stopped(const struct scene *scene, const struct quota *quota)
{
	return quota->thread && !scene->tables->threads[quota->thread].moved ? scene->tables->threads[quota->thread].cgroup : 0;
}

/* Groups lie in groups: a limit holds for each one of whose threads it once stopped. */
static bool stopped_there(const struct scene *scene, const struct quota *quota, uint64_t cgroup)
{
	return cgroup && (quota->cgroup == cgroup || group_stopped(scene, quota) == cgroup);
}

/* It is of another group now, but was of that one when the quota stopped it. */
static bool was_inside(const struct scene *scene, const struct quota *quota, uint32_t thread)
{
	for (uint32_t i = 0; i < scene->quota_count && scene->tables->threads[thread].moved; i++)
		if (scene->quotas[i].thread == thread && scene->quotas[i].cgroup == quota->cgroup)
			return true;
	return false;
}

/* The limit that holds for the thread's group: the last one known. */
static const struct quota *quota_of(const struct scene *scene, uint32_t thread)
{
	uint64_t cgroup = scene->tables->threads[thread].cgroup;
	const struct quota *found = NULL;

	for (uint32_t i = 0; i < scene->quota_count; i++) {
		const struct quota *q = &scene->quotas[i];

		if ((q->thread == thread && q->cgroup) || (q->quota_ns && stopped_there(scene, q, cgroup)))
			if (!found || !found->path || q->path)
				found = q;
	}
	return found;
}

/* The groups for which the limit holds. */
static unsigned groups_under(const struct scene *scene, const struct quota *quota, uint64_t groups[MAX_GROUPS])
{
	unsigned count = 0;

	groups[count++] = quota->cgroup;
	for (uint32_t i = 0; i < scene->quota_count && count < MAX_GROUPS; i++) {
		uint64_t cgroup = group_stopped(scene, &scene->quotas[i]);
		bool known = !cgroup || scene->quotas[i].cgroup != quota->cgroup;

		for (unsigned j = 0; j < count && !known; j++)
			known = groups[j] == cgroup;
		if (!known)
			groups[count++] = cgroup;
	}
	return count;
}

/* Leaves what the group's threads, and this one, used. */
static uint64_t group_use(const struct scene *scene, uint32_t thread, const struct quota *quota, struct uses *used)
{
	uint64_t groups[MAX_GROUPS], sum = 0;
	unsigned count = groups_under(scene, quota, groups);

	for (size_t i = 0; i < used->threads.length; i++) {
		uint32_t other = used->threads.items[i];
		bool inside = other == thread || was_inside(scene, quota, other);

		for (unsigned j = 0; j < count && !inside; j++)
			inside = scene->tables->threads[other].cgroup == groups[j];
		if (!inside)
			used->ns[other] = 0;
		if (other)
			sum += used->ns[other];
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
		    q->throttled_ns - before->throttled_ns > part_of(scene, LIMIT_quota_stood, q->time - before->time) &&
		    q->throttled_ns > before->throttled_ns)
			return true;
		before = q;
	}
	return false;
}

/* By their priorities. */
static bool comes_before(const struct scene *scene, uint32_t one, uint32_t other)
{
	unsigned a = scene->tables->threads[one].prio, b = scene->tables->threads[other].prio;

	return a && b && a + limit_of(scene, LIMIT_goes_first) <= b;
}

static void find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct starved *ret_starved)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t *runs = mem_zalloc(arena_array_bytes(sizeof(*runs), scene->cpu_count));
	struct uses used = { mem_zalloc(arena_array_bytes(sizeof(*used.ns), scene->thread_count)), { 0 } };

	*ret_starved = (struct starved){ 0 };
	for (uint32_t i = scene_span_index(scene, thread, from_ns); i < t->span_count; i++) {
		const struct span *s = &t->spans[i];
		uint64_t from = s->start_ns > from_ns ? s->start_ns : from_ns;
		uint64_t to = span_end(s) < to_ns ? span_end(s) : to_ns;
		/* Where it got in at last is where it stood in the queue. */
		uint16_t cpu = i + 1 < t->span_count && s[1].state == SPAN_RUNNING ? span_cpu(&s[1]) : span_cpu(s);

		if (s->start_ns >= to_ns)
			break;
		if (to > from && s->state == SPAN_RUNNING)
			ret_starved->running_ns += to - from;
		if (s->state != SPAN_RUNNABLE || to <= from)
			continue;
		ret_starved->runnable_ns += to - from;
		if (s->throttled)
			ret_starved->throttled_ns += to - from;
		if (cpu < scene->cpu_count)
			add_cpu(&scene->cpus[cpu], &runs[cpu], from, to, &used);
	}
	for (size_t i = 0; i < used.threads.length; i++) {
		uint32_t other = used.threads.items[i];

		if (!other || other == thread || !comes_before(scene, other, thread))
			continue;
		ret_starved->before_ns += used.ns[other];
		if (scene->tables->threads[other].prio <= limit_of(scene, LIMIT_goes_before))
			ret_starved->raised_ns += used.ns[other];
	}
	ret_starved->hog = biggest(scene, &used, thread, &ret_starved->hog_ns);
	ret_starved->quota = quota_of(scene, thread);
	if (ret_starved->quota && ret_starved->quota->quota_ns && ret_starved->quota->period_ns) {
		const struct quota *q = ret_starved->quota;
		uint64_t allowed;

		for (size_t i = 0; i < used.threads.length; i++)
			used.ns[used.threads.items[i]] = 0;
		vec_clear(&used.threads);
		for (uint32_t i = 0; i < scene->cpu_count; i++) {
			runs[i] = 0;
			add_cpu(&scene->cpus[i], &runs[i], from_ns, to_ns, &used);
		}
		ret_starved->group_ns = group_use(scene, thread, q, &used);
		ret_starved->group_hog = biggest(scene, &used, 0, &ret_starved->group_hog_ns);
		allowed = (to_ns - from_ns) / q->period_ns * q->quota_ns;
		/* The kernel counted it, or the whole quota was used, or nearly: the rest of
		 * the time nobody of the group could run. Not where the group used far more: who was stopped there once was
		 * of another group by then. */
		if (!most_of(scene, ret_starved->throttled_ns, ret_starved->runnable_ns) &&
		    (q->cgroup == scene->tables->threads[thread].cgroup || ret_starved->group_ns <= part_of(scene, LIMIT_quota_over, allowed)) &&
		    (was_throttled(scene, q->cgroup, from_ns, to_ns) ||
		     (allowed && ret_starved->group_ns >= part_of(scene, LIMIT_quota_used, allowed))))
			ret_starved->throttled_ns = ret_starved->runnable_ns;
	}
	vec_done(&used.threads);
	free(used.ns);
	free(runs);
}

/* It ran for less than that part of the time in which it stood in the queue. */
static bool hardly_ran(const struct scene *scene, const struct starved *s, enum limit_id part)
{
	return s->running_ns < part_of(scene, part, s->runnable_ns);
}

/* It ended, so it ran, but nothing before that tells of it: its part of the trace was cut away, or lost. */
static bool ran_unseen(const struct scene *scene, uint32_t thread)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t end_ns = scene->tables->threads[thread].end_ns;

	if (end_ns > scene->end_ns || !rule_holds(scene, RULE_ran_unseen))
		return false;
	scene_need_spans(scene, thread);
	for (uint32_t i = 0; i < t->span_count; i++)
		if (t->spans[i].state == SPAN_RUNNING && t->spans[i].start_ns < end_ns)
			return false;
	return true;
}

bool starved_judge(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct starved *ret_starved)
{
	const struct starved *s = ret_starved;
	unsigned prio;
	bool one;

	if (ran_unseen(scene, thread)) {
		*ret_starved = (struct starved){ 0 };
		return false;
	}
	find(scene, thread, from_ns, to_ns, ret_starved);
	one = most_of(scene, s->hog_ns, s->runnable_ns);
	prio = one && s->hog ? scene->tables->threads[s->hog].prio : 0;
	return most_of(scene, s->throttled_ns, s->runnable_ns) ||
	       (s->runnable_ns > limit_of(scene, LIMIT_kept_off_ns) && hardly_ran(scene, s, LIMIT_ran_kept_off)) ||
	       (prio && prio < limit_of(scene, LIMIT_real_time)) ||
	       (most_of(scene, s->before_ns, s->runnable_ns) && hardly_ran(scene, s, LIMIT_ran_behind)) ||
	       (one && hardly_ran(scene, s, LIMIT_ran_beside_one));
}

/* On which processor the thread stood whenever it ran, or could have; false: on several, or nowhere. */
static bool find_queue(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint16_t *ret_cpu)
{
	const struct scene_thread *t = &scene->threads[thread];
	bool found = false;

	for (uint32_t i = scene_span_index(scene, thread, from_ns); i < t->span_count && t->spans[i].start_ns < to_ns; i++) {
		const struct span *s = &t->spans[i];

		if (s->state != SPAN_RUNNABLE && s->state != SPAN_RUNNING)
			continue;
		if (found && span_cpu(s) != *ret_cpu)
			return false;
		*ret_cpu = span_cpu(s);
		found = true;
	}
	return found && *ret_cpu < scene->cpu_count;
}

/* Who ran on that processor whenever the thread stood in a queue. */
static void run_meanwhile(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint16_t cpu, struct uses *used)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t run = 0;

	for (uint32_t i = scene_span_index(scene, thread, from_ns); i < t->span_count && t->spans[i].start_ns < to_ns; i++) {
		const struct span *s = &t->spans[i];
		uint64_t from = s->start_ns > from_ns ? s->start_ns : from_ns, to = span_end(s) < to_ns ? span_end(s) : to_ns;

		if (s->state == SPAN_RUNNABLE && !s->throttled && to > from)
			add_cpu(&scene->cpus[cpu], &run, from, to, used);
	}
}

static void forget_uses(struct uses *used)
{
	for (size_t i = 0; i < used->threads.length; i++)
		used->ns[used->threads.items[i]] = 0;
	vec_clear(&used->threads);
}

void starved_by(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct keepers *ret_keepers)
{
	struct uses used = { mem_zalloc(arena_array_bytes(sizeof(*used.ns), scene->thread_count)), { 0 } };
	struct state_times times;
	bool is_bound;
	uint64_t least;
	uint16_t cpu;

	*ret_keepers = (struct keepers){ 0 };
	scene_state_times(scene, thread, from_ns, to_ns, &times);
	least = part_of(scene, LIMIT_keeper, times.ns[SPAN_RUNNABLE]);
	if (find_queue(scene, thread, from_ns, to_ns, &cpu)) {
		run_meanwhile(scene, thread, from_ns, to_ns, cpu, &used);
		ret_keepers->cpu = cpu;
		for (unsigned i = 0; i < KEEPERS_TOLD; i++) {
			struct keeper *keeper = &ret_keepers->items[i];

			keeper->thread = biggest(scene, &used, thread, &keeper->ns);
			if (!keeper->thread || keeper->ns < least)
				break;
			used.ns[keeper->thread] = 0;
			ret_keepers->count++;
		}
		/* it never stood elsewhere, and all that ran was recorded */
		is_bound = scene->judgement && scene->judgement->machine && find_queue(scene, thread, scene->start_ns, scene->end_ns, &cpu);
		for (uint16_t i = 0; is_bound && i < scene->cpu_count; i++) {
			forget_uses(&used);
			if (i != cpu)
				run_meanwhile(scene, thread, from_ns, to_ns, i, &used);
			if (used.ns[0] > ret_keepers->idle_ns && used.ns[0] >= part_of(scene, LIMIT_a_good_part, times.ns[SPAN_RUNNABLE])) {
				ret_keepers->idle_ns = used.ns[0];
				ret_keepers->idle_cpu = i;
			}
		}
	}
	vec_done(&used.threads);
	free(used.ns);
}
