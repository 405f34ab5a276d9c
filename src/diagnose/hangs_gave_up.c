/* Who gave up, see hangs_gave_up.h. */
#include "diagnose/hangs_gave_up.h"

#include <signal.h>
#include <unistd.h>

#include "diagnose/loops.h"

/* A wait for others, that a limit of its own or an alarm ended. */
static bool ran_out(const struct scene *scene, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_futex: case WAIT_KIND_semaphore: case WAIT_KIND_read: case WAIT_KIND_write: case WAIT_KIND_poll: case WAIT_KIND_epoll:
	case WAIT_KIND_connect: case WAIT_KIND_accept: case WAIT_KIND_queue: case WAIT_KIND_file_lock: case WAIT_KIND_open:
		return w->end == WAIT_END_TIMEOUT || (w->end == WAIT_END_UNKNOWN && scene_met_signal(scene, w)) ||
		       (w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_timer && scene_met_signal(scene, w));
	default:
		return false;
	}
}

/* A loop of sleeps in which it tried, whose last part this is. */
static bool looked_often(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct episode *first = loop_first(scene, e);
	uint32_t looks = 0;

	if (!loop_is(scene, e) || scene->waits[e->last].kind == WAIT_KIND_yield)
		return false;
	for (const struct episode *part = first; part <= e; part++)
		looks += part->slices;
	f->hang->start_ns = first->start_ns;
	return looks >= limit_of(scene, LIMIT_looks);
}

/* With a status that is none of success, or by a signal that it sent itself; not one that others end programs with. */
static bool is_failure(int32_t code)
{
	int signal = code & 0x7f;

	return signal ? signal == SIGABRT || signal == SIGALRM : code != 0;
}

/* What it sends first goes to its standard error, and nowhere else. */
static bool writes_error(const struct finder *f, const struct episode *e, uint64_t until_ns)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, f->thread));
	uint32_t i = scene_messages_from(f->scene, f->thread, e->end_ns);
	bool is_error = false, is_output = false;
	struct message m;

	if (i >= t->messages.count)
		return false;
	m = scene_message(f->scene, t->messages.items[i]);
	for (uint32_t j = 0; j < row.count && m.start_ns < until_ns && message_sent(&m); j++) {
		const struct descriptor *d = ends_at(f->ends, row, j);

		is_error |= d->at.object == m.object && d->at.fd == STDERR_FILENO;
		is_output |= d->at.object == m.object && d->at.fd == STDOUT_FILENO;
	}
	return is_error && !is_output;
}

/* A loop that wakes up by its own clock comes back to where it waited. */
static bool came_once(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);

	return !p || p->visits < limit_of(f->scene, LIMIT_rest_visits);
}

bool hangs_gave_up(const struct finder *f, const struct episode *e)
{
	const struct thread *t = &f->scene->tables->threads[f->thread];
	uint64_t until_ns = e->end_ns + limit_of(f->scene, LIMIT_fails_ns);

	if (!ran_out(f->scene, &f->scene->waits[e->last]))
		return t->tid == t->pid && t->end_ns <= until_ns && is_failure(t->exit_code) && looked_often(f, e);
	if (t->tid == t->pid && t->end_ns <= until_ns && is_failure(t->exit_code))
		return true;
	return came_once(f, &f->scene->waits[e->last]) && writes_error(f, e, until_ns);
}
