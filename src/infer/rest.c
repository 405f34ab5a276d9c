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
	vec_done(&rest->threads);
	vec_done(&rest->free_threads);
	vec_done(&rest->costs);
	map_done(&rest->wait_of);
	map_done(&rest->thread_of);
}

static struct rest_thread *thread_of(struct rest *rest, uint32_t thread)
{
	const struct rest_thread none = { 0 };
	uint64_t *known = map_at(&rest->thread_of, thread, NULL);

	if (!*known && rest->free_threads.length) {
		*known = rest->free_threads.items[--rest->free_threads.length];
		rest->threads.items[*known - 1] = none;
	} else if (!*known) {
		vec_push(&rest->threads, none);
		*known = rest->threads.length;
	}
	return &rest->threads.items[*known - 1];
}

/* Its index + 1. */
static uint32_t new_wait(struct rest *rest, uint32_t node)
{
	uint32_t wait = rest->free_waits;

	if (wait) {
		rest->free_waits = rest->waits.items[wait - 1].next;
		rest->waits.items[wait - 1] = (struct rest_wait){ .node = node };
	} else {
		vec_push(&rest->waits, ((struct rest_wait){ .node = node }));
		wait = (uint32_t)rest->waits.length;
	}
	return wait;
}

static uint64_t wait_key(uint32_t thread, uint32_t node)
{
	return (uint64_t)thread << 32 | node;
}

void rest_add_wait(struct rest *rest, const struct latency_instance *i)
{
	uint64_t *known = map_at(&rest->wait_of, wait_key(i->thread, i->node), NULL);
	struct rest_thread *thread;
	struct rest_wait *wait;

	if (!*known) {
		thread = thread_of(rest, i->thread);
		*known = new_wait(rest, i->node);
		rest->waits.items[*known - 1].next = thread->waits;
		thread->waits = (uint32_t)*known;
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
	struct rest_thread *t = thread_of(rest, thread);

	t->life_ns += ns;
	t->end_ns = end_ns;
}

/* A worker's wait that ended just before the worker did. */
static bool ended_with(const struct rest_wait *wait, const struct rest_thread *thread, const struct observe_thread *about)
{
	return about->tid != about->pid && wait->count <= 2 &&
	       (double)(thread->end_ns - wait->end_ns) < (double)thread->life_ns * (1 - IDLE_SHARE);
}

static struct rest_cost *cost_of(struct rest *rest, uint32_t node)
{
	while (rest->costs.length <= node)
		vec_push(&rest->costs, (struct rest_cost){ 0 });
	return &rest->costs.items[node];
}

/* `off_ns`: of the thread, in all its waits. */
static void judge_wait(struct rest *rest, const struct rest_wait *wait, const struct rest_thread *thread, uint64_t off_ns,
		       const struct observe_thread *about)
{
	struct rest_cost *cost = cost_of(rest, wait->node);
	double life = (double)thread->life_ns, waited = (double)wait->off_ns;

	if (wait->count >= REST_TIMES && waited > life * REST_SHARE)
		cost->rest_ns += wait->off_ns;
	if ((double)wait->until_end_ns > life * IDLE_SHARE || (waited > life * IDLE_SHARE && ended_with(wait, thread, about)))
		cost->idle_ns += wait->off_ns;
	if (about->tid != about->pid && (double)off_ns > life * IDLE_SHARE && waited > life * REST_SHARE)
		cost->helper_ns += wait->off_ns;
}

static void judge(struct rest *rest, const struct rest_thread *thread, const struct observe_thread *about)
{
	uint64_t off_ns = 0;

	for (uint32_t at = thread->waits; at; at = rest->waits.items[at - 1].next)
		off_ns += rest->waits.items[at - 1].off_ns;
	for (uint32_t at = thread->waits; at; at = rest->waits.items[at - 1].next)
		judge_wait(rest, &rest->waits.items[at - 1], thread, off_ns, about);
}

void rest_judge(struct rest *rest, uint32_t thread, const struct observe_thread *about)
{
	uint64_t *known = map_find(&rest->thread_of, thread);
	struct rest_thread *t;

	if (!known)
		return;
	t = &rest->threads.items[*known - 1];
	judge(rest, t, about);
	for (uint32_t at = t->waits, next; at; at = next) {
		struct rest_wait *wait = &rest->waits.items[at - 1];

		next = wait->next;
		map_remove(&rest->wait_of, wait_key(thread, wait->node));
		wait->next = rest->free_waits;
		rest->free_waits = at;
	}
	vec_push(&rest->free_threads, (uint32_t)*known);
	map_remove(&rest->thread_of, thread);
}

void rest_finish(struct rest *rest, struct tree *tree, const struct observe_thread *threads)
{
	const struct map_slot *slot;

	for (size_t at = 0; (slot = map_next(&rest->thread_of, &at));)
		judge(rest, &rest->threads.items[slot->value - 1], &threads[slot->key]);
	for (uint32_t node = 0; node < rest->costs.length; node++) {
		struct tree_cost *cost = &tree->costs.items[node];

		cost->rest_ns += rest->costs.items[node].rest_ns;
		cost->idle_ns += rest->costs.items[node].idle_ns;
		cost->helper_ns += rest->costs.items[node].helper_ns;
	}
}
