/* Who waits through whom, see hangs_outer.h.
 *
 * A server, a helper or one in the middle of a queue often hangs a little longer than
 * the one at the end of it, that a person sees. So the ways of the worst hangs to
 * their culprits are compared: whose way leads through the worst one's, through what
 * that waits for, or to the same place behind it, is what the person means. */
#include "diagnose/hangs_outer.h"

#include <string.h>

#define COMPARED 8
#define MAX_WAY 24

struct way {
	uint32_t threads[MAX_WAY]; /* the victim first */
	unsigned count;
};

static void find_way(struct diagnoser *diagnoser, const struct hang *hang, struct way *way)
{
	struct diagnose_request request = { .thread = hang->thread, .from_ns = hang->start_ns, .to_ns = hang->end_ns };

	way->count = diagnoser_way(diagnoser, &request, way->threads, MAX_WAY);
}

static bool leads_through(const struct scene *scene, const struct way *outer, const struct way *inner)
{
	if (inner->count < 2 || outer->count < 3)
		return false;
	for (unsigned i = 1; i + 1 < outer->count; i++)
		if (outer->threads[i] == inner->threads[0] || scene_same_process(scene, outer->threads[i], inner->threads[0]))
			return true;
	/* The one that the other waits for comes later on this way. */
	for (unsigned i = 2; i < outer->count; i++)
		if (outer->threads[i] == inner->threads[1])
			return true;
	return false;
}

/* Both wait for the same, and the one came and was served behind the other: it stood
 * in the queue behind that as well. */
static bool queues_behind(const struct scene *scene, const struct hang *later, const struct way *its, const struct hang *first, const struct way *way)
{
	uint64_t length = first->end_ns - first->start_ns;

	if (its->count != way->count || way->count < 2 || memcmp(its->threads + 1, way->threads + 1, (way->count - 1) * sizeof(uint32_t)))
		return false;
	return later->start_ns >= first->start_ns + part_of(scene, LIMIT_queue_later, length) && later->end_ns >= first->end_ns;
}

static bool together(const struct scene *scene, const struct hang *a, const struct hang *b)
{
	uint64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	uint64_t to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	return to > from && to - from >= part_of(scene, LIMIT_outer_overlap, a->end_ns - a->start_ns);
}

void hangs_prefer_outer(struct diagnoser *diagnoser, struct hang *hangs, size_t count)
{
	const struct scene *scene = diagnoser_scene(diagnoser);
	struct way best, other;
	size_t outer = 0;

	if (count < 2 || !rule_holds(scene, RULE_outer_first))
		return;
	find_way(diagnoser, &hangs[0], &best);
	for (size_t i = 1; i < count && i < COMPARED; i++) {
		struct hang moved = hangs[i];

		if (moved.thread == hangs[outer].thread || moved.weight < limit_of(scene, LIMIT_outer_weight) || !together(scene, &hangs[outer], &moved))
			continue;
		find_way(diagnoser, &moved, &other);
		if ((leads_through(scene, &other, &best) && !leads_through(scene, &best, &other)) ||
		    queues_behind(scene, &moved, &other, &hangs[outer], &best)) {
			best = other;
			outer = i;
		}
	}
	if (outer) {
		struct hang moved = hangs[outer];

		memmove(hangs + 1, hangs, outer * sizeof(*hangs));
		hangs[0] = moved;
	}
}
