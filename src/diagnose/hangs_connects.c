/* See hangs_connects.h. */
#include "diagnose/hangs_connects.h"

#include <sys/syscall.h>

#include "diagnose/judgement.h"


/* A wait for whoever comes that its own limit ended. */
static bool let_time_pass(const struct wait *w)
{
	return wait_is_loop_rest(w) && w->end == WAIT_END_TIMEOUT;
}

/* When the thread had let most of the hang's time pass; behind its end when it had not. */
static uint64_t time_passed(const struct meaning *m, uint32_t thread)
{
	const struct scene *scene = m->scene;
	uint64_t from = m->hang->start_ns, passed = 0;
	uint32_t i = scene_waits_from(scene, thread, from);

	i -= i > scene->threads[thread].wait;
	for (; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < m->hang->end_ns; i++) {
		const struct wait *w = &scene->waits[i];

		if (let_time_pass(w) && w->end_ns > from)
			passed += w->end_ns - (w->start_ns > from ? w->start_ns : from);
		if (most_of(scene, passed, m->hang->end_ns - from))
			return w->end_ns;
	}
	return UINT64_MAX;
}

/* Its own limit had just let it go on. */
static bool limit_came(const struct scene *scene, uint32_t thread, uint64_t time_ns)
{
	uint32_t next = scene_waits_from(scene, thread, time_ns);
	const struct wait *w = next > scene->threads[thread].wait ? &scene->waits[next - 1] : NULL;

	return w && let_time_pass(w) && time_ns - w->end_ns <= limit_of(scene, LIMIT_request_pause_ns);
}

/* The call in which it woke the other begins a connection. */
static bool connects(const struct scene *scene, const struct wake *wake)
{
	struct arena arena;
	const struct event *e;
	bool found;

	arena_init(&arena);
	e = trace_event(scene->trace, &arena, wake->number);
	found = e && e->type == EVENT_wake && event_as(e, wake)->syscall == SYS_connect;
	arena_done(&arena);
	return found;
}

bool hangs_connects_later(struct meaning *m)
{
	const struct scene *scene = m->scene;
	const struct hang *hang = m->hang;
	uint64_t read = 0, most = limit_of(scene, LIMIT_limits_passed);

	for (unsigned i = 1; i < m->count; i++) {
		uint32_t thread = way_thread(m, i);

		if (scene_same_process(scene, thread, hang->thread) || !way_free_to(m, i))
			continue;
		for (uint32_t j = scene_wakes_from(scene, thread, time_passed(m, thread)); j < scene_wakes_end(scene, thread) && read < most; j++) {
			const struct wake *wake = &scene->wakes[j];

			if (wake->time > hang->end_ns)
				break;
			if (!limit_came(scene, thread, wake->time))
				continue;
			read++;
			if (connects(scene, wake))
				return true;
		}
	}
	return false;
}
