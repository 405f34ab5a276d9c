/* See polled_one.h. */
#include "diagnose/polled_one.h"

#include "diagnose/judgement.h"

/* In vain, as its limit ended it; or it is the last, which goes on. */
static bool is_look(const struct wait *w)
{
	return (w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_epoll) && w->timeout_ns && !w->idle &&
	       (w->kind != WAIT_KIND_poll || (w->argument == 1 && w->detail)) && (w->end == WAIT_END_TIMEOUT || w->end == WAIT_END_OPEN);
}

static bool is_same(const struct wait *a, const struct wait *b)
{
	return a->kind == b->kind && a->object == b->object && a->detail == b->detail;
}

bool polled_one_find(const struct scene *scene, uint32_t thread, uint64_t time_ns, struct polled_one *ret)
{
	uint32_t first = scene->threads[thread].wait, i = scene_waits_from(scene, thread, time_ns), looks = 0;
	uint64_t recent = limit_of(scene, LIMIT_looks_charged);
	const struct wait *look = NULL;

	*ret = (struct polled_one){ 0 };
	while (i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < time_ns)
		i++;
	for (; i-- > first; ) {
		const struct wait *w = &scene->waits[i];

		if (is_look(w) && (!look || is_same(w, look))) {
			ret->wait = look ? ret->wait : i;
			look = look ? look : w;
			ret->begin_ns = w->start_ns;
			ret->recent_ns = looks++ < recent ? w->start_ns : ret->recent_ns;
			continue;
		}
		if (w->kind == WAIT_KIND_sleep || w->end_ns - w->start_ns <= limit_of(scene, LIMIT_look_ran_ns))
			continue;
		ret->seen_to_begin = true;
		break;
	}
	/* who was born in the time did nothing before */
	ret->seen_to_begin |= scene->tables->threads[thread].start_ns > scene->start_ns;
	return looks >= 2 && rule_holds(scene, RULE_polls_one);
}
