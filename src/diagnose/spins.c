/* Threads that spin: they give up the processor, or look whether a process has ended, and
 * look again, without a wait that a trace could show. Their samples and calls tell. */
#include "diagnose/awaited_process.h"
#include "diagnose/diagnoser.h"
#include "diagnose/loops.h"
#include "diagnose/meeting.h"
#include "diagnose/spin_asked.h"

#define WORK_SAMPLES 8
#define WORK_NS 100000000ull

#define LOOP_BYTES 64       /* of code, around where it mostly is */
#define LEAST_SAMPLES 20

/* Nearly all samples lie within a few instructions. */
static bool in_one_loop(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct tables *tables = scene->tables;
	uint32_t from = scene_samples_from(scene, thread, from_ns), to = scene_samples_from(scene, thread, to_ns), inside = 0;
	uint32_t middle = to > from ? scene->samples[t->samples.items[from + (to - from) / 2]].ustack : 0;

	if (to - from < LEAST_SAMPLES || !middle || middle >= tables->frame_count)
		return false;
	for (uint32_t i = from; i < to; i++) {
		uint32_t node = scene->samples[t->samples.items[i]].ustack;
		const struct frame *a = &tables->frames[middle], *b = &tables->frames[node < tables->frame_count ? node : 0];

		inside += node && a->module == b->module && (a->address > b->address ? a->address - b->address : b->address - a->address) < LOOP_BYTES;
	}
	return inside * 10 >= (to - from) * 9;
}

/* It came back to where it waits by itself, however seldom it was let: the loop, which went on, does not look for what it does. */
static bool goes_round(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t i = scene_waits_from(scene, thread, from_ns), visits = 0;
	uint32_t site = i < scene_waits_end(scene, thread) ? scene->waits[i].site : 0;

	for (; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to_ns; i++)
		visits += scene->waits[i].site == site;
	return visits >= limit_of(scene, LIMIT_rest_visits);
}

/* It gave up the processor itself, again and again: what it stands in the queue for is another's to do. */
static bool gives_way(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	return rule_holds(scene, RULE_gives_up) && scene_yields(scene, thread, from_ns, to_ns) >= limit_of(scene, LIMIT_looks);
}

/* Another thread of the process could have run, and next to never did. */
static bool sibling_kept_off(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	SCENE_EACH_MATE(scene, thread, i) {
		struct state_times times;

		if (i == thread)
			continue;
		scene_state_times(scene, i, from_ns, to_ns, &times);
		if (times.ns[SPAN_RUNNABLE] * 2 > to_ns - from_ns && times.ns[SPAN_RUNNING] * 4 < to_ns - from_ns &&
		    !goes_round(scene, i, from_ns, to_ns) && !gives_way(scene, i, from_ns, to_ns))
			return true;
	}
	return false;
}

/* Most of the time it was in that loop, and whom it had asked just before did something else all the time. */
static bool spins_for_asked(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct spin_asked asked;
	uint64_t begin, end;

	if (!spin_asked_find(scene, thread, from_ns, to_ns, &asked) || !spin_asked_is_away(scene, &asked))
		return false;
	begin = asked.start_ns > from_ns ? asked.start_ns : from_ns;
	end = asked.end_ns < to_ns ? asked.end_ns : to_ns;
	return end > begin && most_of(scene, end - begin, to_ns - from_ns);
}

bool diagnoser_spins(const struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	int share = busy_share_in(diagnoser->scene, diagnoser->names, thread, from_ns, to_ns, "sched_yield");
	struct awaited_process awaited;
	struct meeting_wait meeting;
	struct state_times times;
	uint64_t yields;

	if (share >= 50)
		return true;
	if (meeting_spun(diagnoser->scene, thread, from_ns, to_ns, &meeting) &&
	    most_of(diagnoser->scene, meeting.end_ns - meeting.start_ns, to_ns - from_ns))
		return true;
	yields = scene_yields(diagnoser->scene, thread, from_ns, to_ns);
	scene_state_times(diagnoser->scene, thread, from_ns, to_ns, &times);
	/* every 5 ms at the least, where it is let */
	if ((share < 0 || share >= 10) && yields >= 100 && yields * 5000000 > to_ns - from_ns - times.ns[SPAN_RUNNABLE])
		return true;
	if (awaited_process_find(diagnoser->scene, diagnoser->names, thread, from_ns, to_ns, &awaited))
		return true;
	/* Without giving up anything, too. */
	return in_one_loop(diagnoser->scene, thread, from_ns, to_ns) &&
	       (sibling_kept_off(diagnoser->scene, thread, from_ns, to_ns) || spins_for_asked(diagnoser->scene, thread, from_ns, to_ns));
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
	struct awaited_process awaited;
	struct meeting_wait meeting;
	struct spin_asked asked;
	uint64_t event;
	uint8_t confidence;
	uint32_t late;
	bool came;

	late = meeting_spun(diagnoser->scene, thread, from_ns, to_ns, &meeting) ?
		       meeting_late(diagnoser->scene, thread, &meeting, &came, &event) : 0;
	if (late)
		return late;
	if (awaited_process_find(diagnoser->scene, diagnoser->names, thread, from_ns, to_ns, &awaited))
		return awaited.thread;
	if (spin_asked_find(diagnoser->scene, thread, from_ns, to_ns, &asked))
		return asked.thread;
	return loop_partner(diagnoser->scene, thread, NULL, 0, from_ns, to_ns, &confidence);
}
