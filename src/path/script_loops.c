/* Loops that sleep and look again, see script_loops.h. */
#include "path/script_loops.h"

#include <stdlib.h>

#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "path/script_clocks.h"

#define LOOKED_LEAST_NS 20000000u /* loops that are shorter are not asked for whom they wait */
#define LOOK_PART 8u         /* of a loop that looks: so much it runs at most */
#define AT_IT_PART 75u       /* per cent */

/* Who does what the loop looks for; 0 not surely known. */
static uint32_t looked_for(const struct naming *naming, const struct episode *e)
{
	const struct scene *scene = naming->scene;
	uint8_t confidence = 0;
	uint32_t other;

	if (e->end_ns - e->start_ns < LOOKED_LEAST_NS || script_is_clocked(scene, NULL, &scene->waits[e->last]) || !loop_is(scene, e))
		return 0;
	other = loop_partner(scene, e->thread, NULL, 0, e->start_ns, e->end_ns, &confidence);
	return confidence < limit_of(scene, LIMIT_flag_known) || other == e->thread || naming_is_kernel(naming, other) ? 0 : other;
}

static bool is_at_it(const struct scene *scene, uint32_t thread, const struct episode *e)
{
	struct state_times times;

	scene_state_times(scene, thread, e->start_ns, e->end_ns, &times);
	return times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] >= (e->end_ns - e->start_ns) / 100 * AT_IT_PART;
}

static int by_time(const void *a, const void *b)
{
	const struct script_loop *x = a, *y = b;

	if (x->other != y->other)
		return x->other < y->other ? -1 : 1;
	if (x->done_ns != y->done_ns)
		return x->done_ns < y->done_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* About when the other one did it: half of the last sleep before the end; who waited for somebody then had done it before. */
static uint64_t done_about(const struct scene *scene, uint32_t other, const struct episode *e)
{
	const struct wait *last = &scene->waits[e->last];
	uint64_t ns = last->start_ns + (e->end_ns - last->start_ns) / 2;
	const struct span *span = scene_span(scene, other, ns);
	const struct wait *w = span && span->state == SPAN_WAITING ? &scene->waits[span_wait(span)] : NULL;

	return w && w->end == WAIT_END_THREAD && w->start_ns > e->start_ns ? w->start_ns : ns;
}

static void add_loop(const struct naming *naming, const struct script_question *q, const struct episode *e, struct script_loops *loops)
{
	const struct scene *scene = naming->scene;
	uint32_t other;

	if (e->slices < 2 || scene->waits[e->last].kind != WAIT_KIND_sleep || e->start_ns < q->from_ns || e->end_ns > q->to_ns)
		return;
	other = looked_for(naming, e);
	if (other)
		vec_push(&loops->list, ((struct script_loop){ done_about(scene, other, e), e->end_ns, other, e->first, e->last, false,
							      is_at_it(scene, other, e) }));
}

/* Of many at one place that look for the same; false when they are not. */
static bool add_looks(const struct script_question *q, const struct scene *scene, struct looks *looks, const struct episode *e,
		      struct script_loops *loops)
{
	bool any = false;
	struct look look;

	for (uint32_t i = e->first; i <= e->last; i++) {
		if (!looks_find(looks, &scene->waits[i], &look))
			continue;
		any = true;
		i = look.last;
		if (look.start_ns >= q->from_ns && look.end_ns <= q->to_ns)
			vec_push(&loops->list, ((struct script_loop){ look.done_ns, look.end_ns, look.other, look.first, look.last, true, true }));
	}
	return any;
}

static void find_loops(const struct naming *naming, const struct script_question *q, struct script_loops *loops)
{
	const struct scene *scene = naming->scene;
	struct looks looks;

	looks_init(&looks, scene);
	for (uint32_t i = 1; i < scene->thread_count; i++)
		for (uint32_t k = 0; k < scene->threads[i].episode_count && !naming_is_kernel(naming, i); k++) {
			const struct episode *e = &scene->episodes[scene->threads[i].episode + k];

			if (!add_looks(q, scene, &looks, e, loops))
				add_loop(naming, q, e, loops);
		}
	looks_done(&looks);
	if (loops->list.length)
		qsort(loops->list.items, loops->list.length, sizeof(*loops->list.items), by_time);
	for (size_t i = 0; i < loops->list.length; i++)
		for (uint32_t k = loops->list.items[i].first; k <= loops->list.items[i].last; k++)
			map_put(&loops->by_wait, k, i);
}

static bool only_looks(const struct scene *scene, const struct episode *e)
{
	struct state_times times;

	if (e->slices < 2)
		return false;
	scene_state_times(scene, e->thread, e->start_ns, e->end_ns, &times);
	return times.ns[SPAN_RUNNING] * LOOK_PART <= e->end_ns - e->start_ns;
}

/* Sleeps by their place: how many there are, and how many of them in loops. */
static void count_sleeps(const struct naming *naming, struct script_loops *loops)
{
	const struct scene *scene = naming->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct scene_thread *t = &scene->threads[i];

		for (uint32_t k = 0; k < t->episode_count && !naming_is_kernel(naming, i); k++) {
			const struct episode *e = &scene->episodes[t->episode + k];
			const struct wait *last = &scene->waits[e->last];
			bool fresh = false;
			uint64_t *counts;

			if (last->kind != WAIT_KIND_sleep || !last->site)
				continue;
			counts = map_at(&loops->sleeps, last->site, &fresh);
			*counts = (fresh ? 0 : *counts) + ((uint64_t)(only_looks(scene, e) ? e->slices : 0) << 32) + e->slices;
		}
	}
}

void script_loops_find(const struct naming *naming, const struct script_question *question, struct script_loops *ret_loops)
{
	*ret_loops = (struct script_loops){ 0 };
	map_init(&ret_loops->by_wait);
	map_init(&ret_loops->sleeps);
	find_loops(naming, question, ret_loops);
	count_sleeps(naming, ret_loops);
}

void script_loops_done(struct script_loops *loops)
{
	vec_done(&loops->list);
	map_done(&loops->by_wait);
	map_done(&loops->sleeps);
}

bool script_polls(const struct script_loops *loops, const struct scene *scene, const struct wait *w)
{
	const uint64_t *counts;

	if (w->kind != WAIT_KIND_sleep)
		return false;
	if (only_looks(scene, &scene->episodes[w->episode]))
		return true;
	/* A loop that found it at its second look. */
	counts = w->site ? map_find(&loops->sleeps, w->site) : NULL;
	return counts && (*counts >> 32) * 2 >= (uint32_t)*counts;
}
