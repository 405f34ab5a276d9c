/* See tries.h. Of such a call neither path nor inode is recorded: who takes away a thing while
 * another sleeps that then can make it at once, and had made one before, is most likely who
 * had it. */
#include "diagnose/tries.h"

#include "base/search.h"
#include "diagnose/judgement.h"

#define CALLS_LOOKED_AT 4096u

static uint32_t calls_from(const struct scene *scene, uint64_t time)
{
	uint32_t low = 0, high = scene->call_count;

	SEARCH(low, high, middle, scene->calls[middle].time < time);
	return low;
}

static uint64_t ran_ns(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct state_times times;

	scene_state_times(scene, thread, from_ns, to_ns, &times);
	return times.ns[SPAN_RUNNING];
}

bool tries_find(const struct scene *scene, const struct episode *episode, struct tries *ret_tries)
{
	uint64_t near = limit_of(scene, LIMIT_look_ns);

	*ret_tries = (struct tries){ 0 };
	if (scene->waits[episode->last].kind != WAIT_KIND_sleep || !rule_holds(scene, RULE_tries_for))
		return false;
	for (uint32_t i = calls_from(scene, episode->start_ns), n = 0;
	     i-- > 0 && n < CALLS_LOOKED_AT && scene->calls[i].time + near >= episode->start_ns; n++) {
		const struct call_made *c = &scene->calls[i];

		/* what it made to try, as a link's file, it may have removed again */
		if (c->thread != episode->thread || c->what == CALL_TAKEN_AWAY || c->what == CALL_CHILD_LIVES)
			continue;
		if ((c->what == CALL_REFUSED || c->what == CALL_ALIVE) && ran_ns(scene, c->thread, c->time, episode->start_ns) <= limit_of(scene, LIMIT_try_ns))
			ret_tries->refused = c;
		break;
	}
	for (uint32_t i = calls_from(scene, episode->end_ns), n = 0;
	     ret_tries->refused && i < scene->call_count && n < CALLS_LOOKED_AT && scene->calls[i].time <= episode->end_ns + near; i++, n++) {
		if (scene->calls[i].thread != episode->thread || scene->calls[i].syscall != ret_tries->refused->syscall)
			continue;
		ret_tries->next = &scene->calls[i];
		break;
	}
	return ret_tries->refused;
}

bool tries_came(const struct tries *tries)
{
	return tries->next && (tries->next->what == CALL_MADE || tries->next->what == CALL_GONE);
}

/* Its process had made a thing by the time. */
static bool had_made(const struct scene *scene, uint32_t thread, uint64_t time)
{
	for (uint32_t i = calls_from(scene, time), n = 0; i-- > 0 && n < CALLS_LOOKED_AT; n++)
		if (scene->calls[i].what == CALL_MADE && scene_same_process(scene, scene->calls[i].thread, thread))
			return true;
	return false;
}

const struct call_made *tries_taken_away(const struct scene *scene, const struct episode *episode, const struct tries *tries)
{
	uint64_t to = tries_came(tries) ? tries->next->time : 0;

	for (uint32_t i = calls_from(scene, to), n = 0; i-- > 0 && n < CALLS_LOOKED_AT; n++) {
		const struct call_made *c = &scene->calls[i];

		if (c->time < scene->waits[episode->last].start_ns)
			return NULL;
		if (c->what == CALL_TAKEN_AWAY && !scene_same_process(scene, c->thread, episode->thread) &&
		    had_made(scene, c->thread, tries->refused->time))
			return c;
	}
	return NULL;
}
