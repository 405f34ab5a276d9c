/* See broken_off.h. */
#include "diagnose/broken_off.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/search.h"
#include "diagnose/judgement.h"

bool broken_off_ends_programs(uint32_t signal)
{
	return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGKILL || signal == SIGTERM;
}

bool broken_off_killed_by(const struct scene *scene, const struct sent_signal *sent)
{
	const struct thread *threads = scene->tables->threads;
	uint32_t first = tables_process(scene->tables, scene_pid(scene, sent->target), threads[sent->target].start_ns);
	const struct thread *process = &threads[first ? first : sent->target];
	int code = (int)process->exit_code;

	return process->end_ns >= sent->time && process->end_ns <= sent->time + limit_of(scene, LIMIT_death_ns) &&
	       (broken_off_ends_programs(sent->signal) || (WIFSIGNALED(code) && (uint32_t)WTERMSIG(code) == sent->signal));
}

bool broken_off_by_death(const struct scene *scene, const struct wait *w)
{
	const struct thread *t = &scene->tables->threads[w->thread];
	uint32_t signal = scene_signal_at_end(scene, w);

	return w->cause == WAKE_CAUSE_signal && t->end_ns >= w->end_ns && t->end_ns - w->end_ns < limit_of(scene, LIMIT_death_ns) &&
	       &scene->waits[scene_waits_end(scene, w->thread) - 1] == w &&
	       (!signal || broken_off_ends_programs(signal) || WIFSIGNALED(t->exit_code));
}

bool broken_off_by_end(const struct scene *scene, const struct wait *w)
{
	uint32_t low = 0, high = scene->signal_count;

	if (w->end != WAIT_END_THREAD || !scene_same_process(scene, w->waker, w->thread))
		return false;
	SEARCH(low, high, middle, scene->signals[middle].time < w->start_ns);
	for (; low < scene->signal_count && scene->signals[low].time <= w->end_ns + limit_of(scene, LIMIT_death_ns); low++)
		if (broken_off_ends_programs(scene->signals[low].signal) && scene_same_process(scene, scene->signals[low].target, w->thread))
			return true;
	return false;
}

/* A shell that waits for its children goes on when one of its traps is called for: whoever sent the signal meant it to. */
static bool was_called(const struct scene *scene, const struct wait *w)
{
	uint32_t signal = scene_signal_at_end(scene, w);
	bool again = w + 1 < scene->waits + scene_waits_end(scene, w->thread) && w[1].kind == w->kind && w[1].site == w->site &&
		     w[1].argument == w->argument;

	return rule_holds(scene, RULE_called_by_signal) && w->end == WAIT_END_THREAD && !again &&
	       (signal == SIGUSR1 || signal == SIGUSR2 || signal >= (uint32_t)SIGRTMIN) && !scene_same_process(scene, w->waker, w->thread);
}

bool broken_off_is(const struct scene *scene, const struct wait *w)
{
	if (!rule_holds(scene, RULE_broken_off))
		return false;
	if (w->cause != WAKE_CAUSE_timer && w->cause != WAKE_CAUSE_signal)
		return false;
	switch (w->kind) {
	case WAIT_KIND_child:
		return !was_called(scene, w);
	case WAIT_KIND_futex:
	case WAIT_KIND_semaphore:
	case WAIT_KIND_file_lock:
	case WAIT_KIND_queue:
	case WAIT_KIND_write:
		return true;
	case WAIT_KIND_signal: /* of a child's end */
		return broken_off_by_death(scene, w) || (w->cause == WAKE_CAUSE_timer && scene_only_child(scene, w->thread, w->start_ns, w->end_ns));
	case WAIT_KIND_read:
		return object_kind(w->object) != OBJECT_KIND_timerfd && object_kind(w->object) != OBJECT_KIND_signalfd;
	case WAIT_KIND_poll:
	case WAIT_KIND_epoll:
		return broken_off_by_death(scene, w) || (w->cause == WAKE_CAUSE_timer && scene_met_signal(scene, w));
	default:
		return broken_off_by_death(scene, w);
	}
}
