/* See rest.h. */
#include "infer/rest.h"

/* Part of a thread's life, and how often at least, that make a wait its rest. */
#define REST_SHARE 0.2
#define REST_TIMES 5
/* Part of its life that makes it idle. */
#define IDLE_SHARE 0.9

void rest_done(struct rest *rest)
{
	vec_done(&rest->waits);
	vec_done(&rest->lives);
	map_done(&rest->wait_of);
}

void rest_add_wait(struct rest *rest, const struct latency_instance *i)
{
	uint64_t *known = map_at(&rest->wait_of, (uint64_t)i->thread << 32 | i->node, NULL);
	const struct rest_wait added = { .thread = i->thread, .node = i->node };
	struct rest_wait *wait;

	if (!*known) {
		vec_push(&rest->waits, added);
		*known = rest->waits.length;
	}
	wait = &rest->waits.items[*known - 1];
	wait->off_ns += i->off_ns;
	wait->count++;
	if (i->end > wait->end_ns)
		wait->end_ns = i->end;
	if (i->flags & LATENCY_until_end)
		wait->until_end_ns += i->off_ns;
}

void rest_add_life(struct rest *rest, uint32_t thread, uint64_t ns, uint64_t end_ns)
{
	const struct rest_life none = { 0 };

	while (rest->lives.length <= thread)
		vec_push(&rest->lives, none);
	rest->lives.items[thread].ns += ns;
	rest->lives.items[thread].end_ns = end_ns;
}

/* A worker's wait that ended just before the worker did. */
static bool ended_with(const struct rest_wait *wait, const struct rest_life *life, const struct observe_thread *thread)
{
	return thread->tid != thread->pid && wait->count <= 2 &&
	       (double)(life->end_ns - wait->end_ns) < (double)life->ns * (1 - IDLE_SHARE);
}

void rest_finish(struct rest *rest, struct tree *tree, const struct observe_thread *threads)
{
	for (size_t i = 0; i < rest->waits.length; i++)
		if (rest->waits.items[i].thread < rest->lives.length)
			rest->lives.items[rest->waits.items[i].thread].off_ns += rest->waits.items[i].off_ns;
	for (size_t i = 0; i < rest->waits.length; i++) {
		const struct rest_wait *wait = &rest->waits.items[i];
		struct tree_cost *cost = &tree->costs.items[wait->node];
		const struct rest_life *life;

		if (wait->thread >= rest->lives.length)
			continue;
		life = &rest->lives.items[wait->thread];
		if (wait->count >= REST_TIMES && (double)wait->off_ns > (double)life->ns * REST_SHARE)
			cost->rest_ns += wait->off_ns;
		if ((double)wait->until_end_ns > (double)life->ns * IDLE_SHARE ||
		    ((double)wait->off_ns > (double)life->ns * IDLE_SHARE && ended_with(wait, life, &threads[wait->thread])))
			cost->idle_ns += wait->off_ns;
		if (threads[wait->thread].tid != threads[wait->thread].pid &&
		    (double)life->off_ns > (double)life->ns * IDLE_SHARE &&
		    (double)wait->off_ns > (double)life->ns * REST_SHARE)
			cost->helper_ns += wait->off_ns;
	}
}
