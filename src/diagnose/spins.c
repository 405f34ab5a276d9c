/* Threads that spin: they give up the processor and look again, without a wait that a
 * trace could show. Their samples and calls tell. */
#include "diagnose/diagnoser.h"
#include "diagnose/loops.h"

#define WORK_SAMPLES 8
#define WORK_NS 100000000ull

bool diagnoser_spins(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	int share = busy_share_in(diagnoser->scene, diagnoser->names, thread, from_ns, to_ns, "sched_yield");
	uint64_t yields;

	if (share >= 0 && (share < 10 || share >= 50))
		return share >= 50;
	yields = scene_yields(diagnoser->scene, thread, from_ns, to_ns);
	return yields >= 100 && yields * 5000000 > to_ns - from_ns; /* every 5 ms at the least */
}

unsigned diagnoser_work_share(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	int share = busy_share_in(diagnoser->scene, diagnoser->names, thread, from_ns, to_ns, "sched_yield");

	return share > 0 ? 100 - (unsigned)share : 100;
}

bool diagnoser_spin_window(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			   uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	const struct scene *scene = diagnoser->scene;
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t begin = 0, last = 0, longest = 0, worked = 0;
	unsigned yields = 0, others = 0, most = 0;

	if (!diagnoser->names)
		return false;
	for (uint32_t i = scene_samples_from(scene, thread, from_ns); i <= t->samples.count; i++) {
		const struct sample *s = i < t->samples.count ? &scene->samples[t->samples.items[i]] : NULL;
		bool over = !s || s->time > to_ns;

		if (!over && busy_sample_in(scene, diagnoser->names, s, "sched_yield")) {
			if (!yields)
				begin = s->time;
			last = s->time;
			yields++;
			others = 0;
			continue;
		}
		if (!others++ && !over)
			worked = s->time;
		/* Work between two looks at the flag is shorter than the looking. */
		if (yields && (over || others > yields || others > 100 || (others >= WORK_SAMPLES && s->time - worked > WORK_NS))) {
			if (last - begin > longest) {
				longest = last - begin;
				most = yields;
				*ret_from_ns = begin;
				*ret_to_ns = last;
			}
			yields = others = 0;
		}
		if (over)
			break;
	}
	return most >= 10;
}

uint32_t diagnoser_spin_partner(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint8_t confidence;

	return loop_partner(diagnoser->scene, thread, from_ns, to_ns, &confidence);
}
