/* Who had a processor when, see cpu_runs.h. */
#include "path/cpu_runs.h"

#include "base/search.h"

uint32_t cpu_runs_at(const struct cpu_row *row, uint64_t time)
{
	uint32_t low = 0, high = row->count;

	SEARCH(low, high, middle, row->runs[middle].start_ns <= time);
	return low ? low - 1 : 0;
}

uint32_t cpu_runs_who(const struct naming *naming, uint16_t cpu, uint64_t time, uint64_t *until)
{
	const struct scene *scene = naming->scene;
	const struct cpu_row *row = cpu < scene->cpu_count ? &scene->cpus[cpu] : NULL;
	uint32_t low = 0, high = row ? row->count : 0, at;

	if (!high)
		return 0;
	SEARCH_NEAR(low, high, naming->near_runs[cpu], middle, row->runs[middle].start_ns <= time);
	naming->near_runs[cpu] = low;
	if (!low)
		return 0;
	at = low - 1;
	if (at + 1 < row->count && row->runs[at + 1].start_ns < *until)
		*until = row->runs[at + 1].start_ns;
	return row->runs[at].thread;
}
