/* See asked_in_vain.h.
 *
 * Who serves and who asks look alike: each wakes the other, and waits. But who rests where it
 * is asked comes back there when its limit has run out; who asks comes back when it has asked
 * again. */
#include "diagnose/asked_in_vain.h"

#include "diagnose/follow.h"
#include "diagnose/judgement.h"

#define LOOKED_AT 256 /* answers of which is asked who gave them */

/* Waits at one place, with nothing between, that go by one limit: what ended the others was not what they are for. */
struct visit {
	uint32_t first, last;
};

static bool have_one_limit(const struct scene *scene, uint32_t one_wait, uint32_t other_wait)
{
	const struct wait *a = &scene->waits[one_wait], *b = &scene->waits[other_wait];
	uint64_t one = a->start_ns + a->timeout_ns, other = b->start_ns + b->timeout_ns;

	return a->site == b->site && a->kind == b->kind && a->timeout_ns && b->timeout_ns &&
	       (one > other ? one - other : other - one) <= limit_of(scene, LIMIT_same_limit_ns);
}

static struct visit visit_at(const struct scene *scene, uint32_t at)
{
	uint32_t thread = scene->waits[at].thread, begin = scene->threads[thread].wait, end = scene_waits_end(scene, thread);
	struct visit v = { at, at };

	while (v.first > begin && have_one_limit(scene, v.first - 1, at))
		v.first--;
	while (v.last + 1 < end && have_one_limit(scene, at, v.last + 1))
		v.last++;
	return v;
}

static uint64_t length_of(const struct scene *scene, struct visit v)
{
	return scene->waits[v.last].end_ns - scene->waits[v.first].start_ns;
}

/* A wait in which one thing is awaited, by a limit: an answer, maybe. */
static bool awaits_one(const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_futex:
		return !wait_has_owner(w);
	case WAIT_KIND_semaphore: case WAIT_KIND_queue: case WAIT_KIND_read:
		return true;
	case WAIT_KIND_poll:
		return w->argument <= 2;
	default:
		return false;
	}
}

static bool may_be_answer(const struct scene *scene, struct visit v)
{
	const struct wait *w = &scene->waits[v.last];

	return w->end == WAIT_END_TIMEOUT && w->timeout_ns && length_of(scene, v) >= limit_of(scene, LIMIT_vain_limit_ns);
}

/* Of two processes any threads may ask and answer; in one the workers of a pool stand for each other, too. */
static bool woke_process_of(const struct scene *scene, uint32_t thread, uint32_t other, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = scene_wakes_from(scene, thread, from_ns); i < scene_wakes_end(scene, thread) && scene->wakes[i].time <= to_ns; i++)
		if (scene->wakes[i].target != thread && scene_same_process(scene, scene->wakes[i].target, other))
			return true;
	return false;
}

/* The thread's first visit to the place of that one, from there on; false: there is none. */
static bool next_visit(const struct scene *scene, uint32_t thread, const struct wait *there, uint32_t from, struct visit *ret_visit)
{
	for (uint32_t i = from, end = scene_waits_end(scene, thread); i < end; i++) {
		if (scene->waits[i].site != there->site || scene->waits[i].kind != there->kind)
			continue;
		*ret_visit = visit_at(scene, i);
		ret_visit->first = i;
		return true;
	}
	return false;
}

struct visits {
	uint64_t total_ns;
	uint32_t answered, asked; /* ended by a thread; of those, that it had woken before */
	bool ran_out;             /* another limit did */
	bool asks_again;          /* before it came back when the limit had run out */
};

/* Of one thread: what the workers of a pool do there, each does. */
static void look_at_visits(const struct scene *scene, uint32_t thread, const struct wait *there, struct visit vain, struct visits *visits)
{
	uint64_t before_ns = 0; /* when the visit before ended */
	uint32_t end = scene_waits_end(scene, thread), i = scene->threads[thread].wait;
	struct visit v;

	for (; !visits->ran_out && i < end && next_visit(scene, thread, there, i, &v); i = v.last + 1) {
		const struct wait *w = &scene->waits[v.last];
		bool asked = w->end == WAIT_END_THREAD && woke_process_of(scene, thread, w->waker, before_ns, scene->waits[v.first].start_ns);

		if (thread == there->thread && before_ns == scene->waits[vain.last].end_ns)
			visits->asks_again = asked;
		before_ns = w->end_ns;
		if (w->end == WAIT_END_TIMEOUT) {
			visits->ran_out |= v.last != vain.last;
		} else if (w->end == WAIT_END_THREAD) {
			visits->answered++;
			visits->asked += asked;
			visits->total_ns += length_of(scene, v);
		}
	}
}

uint32_t asked_in_vain_last(const struct scene *scene, uint32_t wait)
{
	return visit_at(scene, wait).last;
}

bool asked_in_vain_find(const struct scene *scene, const struct wait *wait, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	struct visits visits = { 0 };
	struct visit vain;

	if (!wait->timeout_ns || !awaits_one(wait) || !rule_holds(scene, RULE_asked_in_vain))
		return false;
	vain = visit_at(scene, (uint32_t)(wait - scene->waits));
	if (!may_be_answer(scene, vain))
		return false;
	look_at_visits(scene, wait->thread, wait, vain, &visits);
	SCENE_EACH_MATE(scene, wait->thread, mate)
		if (mate != wait->thread)
			look_at_visits(scene, mate, wait, vain, &visits);
	*ret_from_ns = scene->waits[vain.first].start_ns;
	*ret_to_ns = scene->waits[vain.last].end_ns;
	return !visits.ran_out && visits.asks_again && visits.answered >= limit_of(scene, LIMIT_vain_answers) &&
	       100 * (uint64_t)(visits.answered - visits.asked) <= visits.answered * limit_of(scene, LIMIT_vain_unasked) &&
	       length_of(scene, vain) * visits.answered >= limit_of(scene, LIMIT_vain_times) * visits.total_ns;
}

bool asked_in_vain(const struct scene *scene, const struct wait *wait)
{
	uint64_t from_ns, to_ns;

	return asked_in_vain_find(scene, wait, &from_ns, &to_ns);
}

/* Both wait at one place at that time, as the workers of a pool do. */
static bool rest_together(const struct scene *scene, uint32_t a, uint32_t b, uint64_t time_ns)
{
	const struct episode *its = scene_episode(scene, a, time_ns), *other = scene_episode(scene, b, time_ns);

	return its && other && scene->waits[its->last].site && scene->waits[its->last].site == scene->waits[other->last].site;
}

/* How many of a thread's answers there are looked at, and how many of those the other had a part in. */
static void count_answers(const struct scene *scene, uint32_t thread, const struct wait *there, uint64_t time_ns, uint32_t of, uint32_t *answered,
			  uint32_t *by)
{
	struct path_node path[FOLLOW_MAX_BACK];
	uint32_t end = scene_waits_end(scene, thread), i = scene->threads[thread].wait;
	struct visit v;

	for (; i < end && next_visit(scene, thread, there, i, &v) && *answered < LOOKED_AT; i = v.last + 1) {
		const struct wait *w = &scene->waits[v.last];
		unsigned count = w->end == WAIT_END_THREAD ? follow_back(scene, &scene->episodes[w->episode], path) : 0;
		bool there_too = false;

		for (unsigned j = 0; j < count && path[j].thread != thread && !there_too; j++)
			there_too = path[j].thread == of ||
				    (scene_same_process(scene, path[j].thread, of) && rest_together(scene, path[j].thread, of, time_ns));
		*by += there_too;
		*answered += count > 0;
	}
}

bool asked_in_vain_of(const struct scene *scene, const struct wait *wait, uint32_t thread)
{
	struct visit vain = visit_at(scene, (uint32_t)(wait - scene->waits));
	uint64_t middle = scene->waits[vain.first].start_ns + length_of(scene, vain) / 2;
	uint32_t answered = 0, by = 0;

	SCENE_EACH_MATE(scene, wait->thread, mate)
		count_answers(scene, mate, wait, middle, thread, &answered, &by);
	return answered && by > part_of(scene, LIMIT_a_good_part, answered);
}
