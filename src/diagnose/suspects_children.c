/* Of a server that rests: what it started and what is at work is most likely what who asked it waits for (see suspects.h). */
#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/question.h"

#define GENERATIONS 6u
#define STANDARD_OUTPUT 1u

/* By a lock whose owner is known, inside the kernel, or stopped. */
static bool is_kept(const struct question *q, uint32_t thread)
{
	const struct wait *w = scene_stands_in(q->scene, thread, q->from, q->to);

	return w && rule_holds(q->scene, RULE_kept_child) &&
	       (w->kind == WAIT_KIND_stop || wait_has_owner(w) || (wait_is_in_kernel(w) && w->kind != WAIT_KIND_vfork));
}

/* All of the time it had something to do, or was kept from it. */
static bool works(const struct question *q, uint32_t thread)
{
	struct state_times times;

	if (!alive(q, thread) || scene_is_system(q->scene, thread))
		return false;
	if (is_kept(q, thread))
		return true;
	scene_state_times(q->scene, thread, q->from, q->to, &times);
	return nearly_all(q->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], q->to - q->from);
}

/* The process's child that the thread is of, or descends from; 0 none. */
static uint32_t child_over(const struct question *q, uint32_t thread, uint32_t pid)
{
	const struct tables *tables = q->scene->tables;

	for (unsigned i = 0; i < GENERATIONS && thread; i++) {
		const struct thread *t = &tables->threads[thread];

		if (t->parent_pid == pid)
			return tables_process(tables, t->pid, q->from);
		thread = t->parent_pid ? tables_process(tables, t->parent_pid, q->from) : 0;
	}
	return 0;
}

/* What the process writes to its standard output the other reads. */
static bool tells(const struct question *q, uint32_t pid, uint32_t reader)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, pid), far = { 0 };

	for (uint32_t i = row.count; i-- > 0 && !far.count; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->at.fd == STANDARD_OUTPUT && !d->at.channel_out)
			return false;
		if (d->at.fd == STANDARD_OUTPUT)
			far = ends_far(ends, d);
	}
	for (uint32_t i = 0; i < far.count; i++)
		if (ends_at(ends, far, i)->pid == reader)
			return true;
	return false;
}

/* The only child that tells it something; 0 none, or several. */
static uint32_t child_read(const struct question *q, uint32_t pid)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < q->scene->thread_count && rule_holds(q->scene, RULE_child_read); i++) {
		const struct thread *t = &q->scene->tables->threads[i];

		if (t->tid != t->pid || t->parent_pid != pid || !alive(q, i) || !tells(q, t->pid, pid))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* A command that waits for its only child, or that one for its own: the last of them is kept, or is owed an answer. */
static bool is_kept_below(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t thread = w->thread;

	for (unsigned i = 0; i < GENERATIONS && w && w->kind == WAIT_KIND_child && rule_holds(scene, RULE_kept_below); i++) {
		thread = w->argument > 0 ? tables_process(scene->tables, (uint32_t)w->argument, to_ns - 1) : scene_only_child(scene, thread, from_ns, to_ns);
		w = thread ? scene_stands_in(scene, thread, from_ns, to_ns) : NULL;
		if (w && (wait_is_kept(w) || owed_by_now(scene, ends, w, from_ns)))
			return true;
	}
	return false;
}

uint32_t suspects_kept_child(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t pid = scene_pid(scene, thread), found = 0;

	for (uint32_t i = 1; i < scene->thread_count && rule_holds(scene, RULE_kept_child); i++) {
		const struct thread *t = &scene->tables->threads[i];
		bool child = t->parent_pid == pid && t->tid == t->pid && t->end_ns >= to_ns;
		const struct wait *w = child ? scene_stands_in(scene, i, from_ns, to_ns) : NULL;

		if (!w || (!wait_is_kept(w) && !is_kept_below(scene, ends, w, from_ns, to_ns)))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* Nobody else asked it anything: a person says that it is stuck. */
static void ask_own_child(struct question *q)
{
	uint32_t child = suspects_kept_child(q->scene, q->inquiry->ends, q->wait->thread, q->from, q->to);

	if (!is_waiting(q, child))
		suspect_thread(q, child, LINK_CHILD, weight_of(q), 0);
}

/* Where several of its children have something at work nobody is known. */
void ask_working_child(struct question *q)
{
	const struct wait *w = q->wait;
	uint32_t pid = scene_pid(q->scene, w->thread), found = 0;

	if (w->end != WAIT_END_OPEN || w->idle || (w->kind != WAIT_KIND_epoll && (w->kind != WAIT_KIND_poll || w->argument < 2)))
		return;
	if (q->waiting_count < 2 || scene_same_process(q->scene, q->waiting[0], w->thread)) {
		ask_own_child(q);
		return;
	}
	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		uint32_t child = scene_pid(q->scene, i) != pid && works(q, i) ? child_over(q, i, pid) : 0;

		if (!child || child == found || is_waiting(q, i))
			continue;
		if (found)
			return;
		found = child;
	}
	found = found ? found : child_read(q, pid);
	if (!is_waiting(q, found) && (!found || !rule_holds(q->scene, RULE_relay) || !suspects_reads_from_us(q, found)))
		suspect_thread(q, found, LINK_CHILD, weight_of(q), 0);
}

/* The child that the waiting thread's process started from which the process comes; 0 none that was seen to start. */
static uint32_t origin(const struct question *q, uint32_t holder)
{
	const struct scene *scene = q->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->tid == t->pid && scene_has_started(scene, q->wait->thread, i) && (i == holder || scene_descends_from(scene, holder, t->pid)))
			return i;
	}
	return 0;
}

/* Who has the pipe open to write, and comes from a child of the reader's that ended before the wait was half over; 0 nobody, or several. */
static uint32_t keeper_of(const struct question *q, uint64_t pipe, uint32_t pid)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_object(ends, pipe);
	uint32_t found = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t holder, child;

		if (d->pid == pid || !(d->at.access & 2) || d->time < q->from || d->time > q->to)
			continue;
		holder = tables_process(q->scene->tables, d->pid, d->time);
		child = holder ? origin(q, holder) : 0;
		if (!child || child == holder || q->scene->tables->threads[child].end_ns > q->from + (q->to - q->from) / 2)
			return 0;
		if (found && found != holder)
			return 0;
		found = holder;
	}
	return found;
}

void ask_keeper(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	uint32_t pid = scene_pid(q->scene, q->wait->thread);
	struct row row = ends_of_process(ends, pid);
	uint64_t last = 0;

	if (q->wait->kind != WAIT_KIND_read && q->wait->kind != WAIT_KIND_poll && q->wait->kind != WAIT_KIND_epoll)
		return;
	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->at.kind != OBJECT_KIND_pipe || d->at.access != 1 || d->time < q->from || d->time > q->to || d->at.object == last ||
		    !owed_may_listen(q->scene, ends, q->wait, d->at.object))
			continue;
		last = d->at.object;
		suspect_thread(q, keeper_of(q, last, pid), LINK_KEEPS_OPEN, weight_of(q), 0);
	}
}
