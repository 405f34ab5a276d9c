/* Of a wait for a word of its own process's: which of its other threads may be to end it (see suspects.h). */
#include "diagnose/closed.h"
#include "diagnose/judgement.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"
#include "diagnose/shared_word.h"

static bool is_private_wait(const struct wait *w)
{
	return w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore;
}

/* Where this thread waits for nobody who is known the other waits, too, for another process: NULL it does not. */
static const struct wait *open_wait(const struct question *q, uint32_t thread)
{
	const struct episode *e = scene_episode(q->scene, thread, q->to - 1);
	const struct wait *w = e ? &q->scene->waits[e->last] : NULL;

	return q->wait->end != WAIT_END_OPEN || q->wait->hint || !w || w->end != WAIT_END_OPEN || w->idle || e->start_ns >= q->to ? NULL : w;
}

/* For what it writes to be taken. */
static bool writes_in_vain(const struct question *q, uint32_t thread)
{
	const struct wait *w = open_wait(q, thread);

	return w && w->kind == WAIT_KIND_write;
}

/* For that, the answer of a server, or what another process writes into a pipe. */
static bool asks_others(const struct question *q, uint32_t thread)
{
	const struct wait *w = open_wait(q, thread);
	uint64_t object;

	if (!w)
		return false;
	object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;
	/* what windows bring is news, and no answer */
	if (object && ends_lead_to_windows(q->inquiry->ends, ends_of_object(q->inquiry->ends, object)))
		return false;
	return w->kind == WAIT_KIND_write || ends_role(q->inquiry->ends, object) == END_CLIENT || suspects_others_write(q->inquiry->ends, object, w);
}

/* As interpreters wait for a child in a thread of its own. */
static bool is_for_kept_child(const struct question *q, const struct wait *w)
{
	const struct wait *its = w->kind == WAIT_KIND_child && w->hint ? stands_in(q, w->hint) : NULL;

	return its && !its->idle && its->start_ns <= q->from && (its->kind == WAIT_KIND_stop || (wait_is_in_kernel(its) && its->kind != WAIT_KIND_vfork) ||
				    its->kind == WAIT_KIND_write);
}

static bool is_kept(const struct question *q, uint32_t thread)
{
	const struct wait *w = thread != q->wait->thread ? open_wait(q, thread) : NULL;

	return w && w->start_ns <= q->from && w->kind != WAIT_KIND_vfork &&
	       (wait_is_in_kernel(w) || is_for_kept_child(q, w) || (wait_has_owner(w) && w->hint_kind != HINT_KIND_thread_exit && w->hint != q->wait->thread));
}

/* Another of its process that waits so, too, turned to that later, before this one began to wait: what this one waits for has come at other times while
 * who was there first stood as it does. */
static bool another_came_later(const struct question *q, uint32_t thread)
{
	const struct wait *w = stands_in(q, thread);
	uint64_t limit_ns = q->scene->waits[q->episode->first].start_ns;

	SCENE_EACH_MATE(q->scene, thread, i) {
		const struct wait *its = i != thread && i != q->wait->thread && alive(q, i) && !is_waiting(q, i) ? stands_in(q, i) : NULL;

		if (its && w && asks_others(q, i) && its->start_ns > w->start_ns && its->start_ns <= limit_ns)
			return true;
	}
	return false;
}

/* Of its process, while this one waits for nobody who is known: the only thread that is kept by a lock, or inside the kernel. */
static bool is_only_kept(const struct question *q, uint32_t thread)
{
	if (!is_kept(q, thread))
		return false;
	SCENE_EACH_MATE(q->scene, thread, i)
		if (i != thread && is_kept(q, i))
			return false;
	return true;
}

/* Who only has time limits in its process is not to end that. */
static bool stands_with_lead(const struct question *q)
{
	return q->wait->end == WAIT_END_OPEN && (closed_behind_lead(q->scene, q->wait, q->to - 1) || closed_is_behind_lead(q->scene, q->wait, q->to - 1));
}

/* A program that its process started lives: the handler of the signal that tells of its end may set the thread on. */
static bool tells_of_child(struct question *q)
{
	const struct wait *w = q->wait;
	uint32_t pid = scene_pid(q->scene, w->thread), found = 0, count = 0;

	if (!rule_holds(q->scene, RULE_tells_of_child) || w->end != WAIT_END_OPEN || w->idle || w->hint || scene_tid(q->scene, w->thread) != pid)
		return false;
	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		const struct thread *t = &q->scene->tables->threads[i];

		if (t->parent_pid != pid || t->tid != t->pid || !alive(q, i))
			continue;
		found = i;
		count++;
	}
	if (count == 1 && !is_waiting(q, found))
		suspect_thread(q, found, LINK_CHILD, (uint8_t)rule_infos[RULE_tells_of_child].weight, w->begin_event);
	return count > 0;
}

/* It stands in something of which is known what it is for: neither by its clock, nor for work, nor for a word. */
static bool stands_in_something(const struct question *q, uint32_t thread)
{
	const struct wait *w = stands_in(q, thread);

	return w && !w->idle && !is_waiting(q, thread) && w->kind != WAIT_KIND_sleep && !wait_is_loop_rest(w) && (!is_private_wait(w) || wait_has_owner(w));
}

/* Nobody but its own process has the other end of the pipe, or of a pair of sockets. */
static void ask_own_pipe(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = q->wait;
	uint64_t object = w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_write ? w->object : 0;
	uint32_t pid = scene_pid(q->scene, w->thread);

	/* who polls one may only be told by it that there is something to do */
	if (object && w->end == WAIT_END_OPEN && !w->idle && rule_holds(q->scene, RULE_own_pipe_mate) &&
	    (scene_is_pipe(object) ? own_ends_has_both(ends, object, pid) : ends_faces(ends, object, pid)))
		suspect_only_mate(q, stands_in_something);
}

/* At one stretch, through all of the time that is asked about. */
static bool sleeps_all_along(const struct question *q, uint32_t thread)
{
	const struct wait *w = open_wait(q, thread);

	return w && w->kind == WAIT_KIND_sleep && w->start_ns <= q->from + part_of(q->scene, LIMIT_edge, q->to - q->from);
}

/* It stands to the end in one wait, to which it turned a while after it was made, and not as one of several at one place. */
static const struct wait *turned_to(const struct question *q, uint32_t thread)
{
	const struct scene *scene = q->scene;
	const struct wait *w = alive(q, thread) && !is_waiting(q, thread) ? stands_in(q, thread) : NULL;

	if (!w || w->end != WAIT_END_OPEN || w->idle || wait_is_loop_rest(w) || w->kind == WAIT_KIND_signal || w->kind == WAIT_KIND_stop ||
	    w->start_ns > q->from + part_of(scene, LIMIT_edge, q->to - q->from) ||
	    w->start_ns < serving_born(scene, thread) + limit_of(scene, LIMIT_turned_mate_ns))
		return NULL;
	SCENE_EACH_MATE(scene, thread, i) {
		const struct wait *its = i != thread && i != q->wait->thread && alive(q, i) ? stands_in(q, i) : NULL;

		if (its && its->end == WAIT_END_OPEN && its->site == w->site)
			return NULL;
	}
	return w;
}

static bool turned_to_another(const struct question *q, uint32_t thread)
{
	const struct wait *w = turned_to(q, thread);

	return w && (!is_private_wait(w) || wait_has_owner(w));
}

static bool turned_to_word(const struct question *q, uint32_t thread)
{
	const struct wait *w = turned_to(q, thread);

	return w && is_private_wait(w) && !wait_has_owner(w);
}

/* It stands there to the end, though it was woken there again and again. */
static bool stands_to_the_end(const struct question *q)
{
	const struct scene *scene = q->scene;
	uint32_t begin = scene->threads[q->wait->thread].wait, end = scene_waits_end(scene, q->wait->thread), woken = 0;

	if (end == begin || scene->waits[end - 1].end != WAIT_END_OPEN || scene->waits[end - 1].site != q->wait->site)
		return false;
	for (uint32_t i = begin; i < end; i++)
		woken += scene->waits[i].end == WAIT_END_THREAD && scene->waits[i].site == q->wait->site;
	return woken >= limit_of(scene, LIMIT_beats);
}

void ask_turned_mate(struct question *q)
{
	const struct wait *w = q->wait;
	size_t before = q->suspects->length;

	if (!is_private_wait(w) || wait_has_owner(w) || w->idle || wait_is_shared(w) || word_shared(q->inquiry->ends, w) || only_looks(q) ||
	    !stands_to_the_end(q))
		return;
	suspect_only_mate(q, turned_to_another);
	if (q->suspects->length == before)
		suspect_only_mate(q, turned_to_word);
}

/* Just before it began to wait it woke somebody of that process. */
static bool sent_to(const struct question *q, uint32_t pid)
{
	const struct scene *scene = q->scene;
	uint32_t thread = q->wait->thread;
	uint64_t begin = scene->waits[q->episode->first].start_ns;

	for (uint32_t i = scene_wakes_from(scene, thread, begin); i-- > scene->threads[thread].wake; ) {
		if (scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) < begin)
			return false;
		if (scene_pid(scene, scene->wakes[i].target) == pid)
			return true;
	}
	return false;
}

/* It reads what comes over a connection to a process to which the one that waits has just sent something. */
static bool reads_answer(const struct question *q, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = is_waiting(q, thread) ? NULL : stands_in(q, thread);
	uint64_t object = !w || w->idle ? 0 : w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;
	struct row row = object && ends_role(ends, object) != END_SERVER ? ends_of_object(ends, object) : (struct row){ 0 };
	uint32_t pid = scene_pid(q->scene, thread);

	for (uint32_t i = 0; i < row.count; i++) {
		struct row far = ends_far(ends, ends_at(ends, row, i));

		for (uint32_t k = 0; ends_at(ends, row, i)->pid == pid && k < far.count; k++)
			if (ends_at(ends, far, k)->pid != pid && sent_to(q, ends_at(ends, far, k)->pid))
				return true;
	}
	return false;
}

void ask_reads_answer(struct question *q)
{
	if (q->wait->end == WAIT_END_OPEN && is_private_wait(q->wait) && !q->wait->hint && !only_looks(q))
		suspect_only_mate(q, reads_answer);
}

/* Alone is it when nobody else in the process could have acted. */
void ask_process(struct question *q)
{
	const struct tables *tables = q->scene->tables;
	uint32_t pid = scene_pid(q->scene, q->episode->thread), others = 0, other = 0;
	/* a semaphore of the system's is whoever's that knows its number */
	bool shared = q->wait->kind == WAIT_KIND_semaphore || wait_is_shared(q->wait) || word_shared(q->inquiry->ends, q->wait);
	/* Somebody waits for one that went on by a time limit of its own: it may have slept, as interpreters do. */
	bool slept = q->wait->end == WAIT_END_TIMEOUT && q->waiting_count > 1;

	/* what it listens to is set off inside: by a handler of signals, too */
	ask_own_pipe(q);
	if (!is_private_wait(q->wait) && own_ends_only(q->scene, q->inquiry->ends, q->wait))
		q->hears_child = tells_of_child(q);
	if (!is_private_wait(q->wait) || only_looks(q) || stands_with_lead(q))
		return;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		struct state_times times;
		uint64_t window = q->to - q->from;

		if (tables->threads[i].pid != pid || i == q->episode->thread || (is_waiting(q, i) && !writes_in_vain(q, i)))
			continue;
		if (tables->threads[i].start_ns > q->to || tables->threads[i].end_ns < q->from)
			continue;
		others++;
		other = i;
		if (slept)
			continue;
		scene_state_times(q->scene, i, q->from, q->to, &times);
		if (is_only_kept(q, i))
			suspect_thread(q, i, LINK_PROCESS, limit(q, LIMIT_own_kept), 0);
		else if (times.ns[SPAN_RUNNING] * 2 > window)
			suspect_thread(q, i, LINK_PROCESS, weight_of(q), 0);
		else if (times.ns[SPAN_RUNNABLE] * 2 > window)
			suspect_thread(q, i, LINK_PROCESS, limit(q, LIMIT_own_runnable), 0);
		else if (times.ns[SPAN_STOPPED] * 2 > window)
			suspect_thread(q, i, LINK_PROCESS, limit(q, LIMIT_own_runnable), 0);
		else if (asks_others(q, i))
			suspect_thread(q, i, LINK_PROCESS, limit(q, another_came_later(q, i) ? LIMIT_own_asks_before : LIMIT_own_asks), 0);
	}
	/* Another process may share the word. */
	q->alone = !others && !shared && !tells_of_child(q);
	if (others == 1 && !shared && sleeps_all_along(q, other) && !tells_of_child(q))
		suspect_thread(q, other, LINK_PROCESS, limit(q, LIMIT_own_asleep), 0);
}

/* It waits for the answer of another process, and for nothing else: of a server that it connected to, to its datagram, or of a program that its
 * process started. */
static bool waits_for_answer(const struct question *q, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = stands_in(q, thread);
	uint64_t object = !w || w->end != WAIT_END_OPEN || w->idle ? 0
			: w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

	/* as of both outputs of one program */
	if (w && !w->idle && w->kind == WAIT_KIND_poll && w->argument > 1 && rule_holds(q->scene, RULE_asks_own_child) &&
	    own_ends_awaits_children(q->scene, ends, w))
		return true;
	if (!object || ends_lead_to_windows(ends, ends_of_object(ends, object)))
		return false;
	return ends_role(ends, object) == END_CLIENT || (ends_is_datagram(object) && ends_asks_by_datagram(q->scene, ends, object)) ||
	       (rule_holds(q->scene, RULE_asks_own_child) && own_ends_children_write(q->scene, ends, w->thread, object));
}

void suspect_only_mate(struct question *q, bool (*holds)(const struct question *q, uint32_t thread))
{
	uint32_t thread = q->wait->thread, found = 0;

	SCENE_EACH_MATE(q->scene, thread, i) {
		if (i == thread || !alive(q, i) || !holds(q, i))
			continue;
		if (found)
			return;
		found = i;
	}
	if (!is_waiting(q, found))
		suspect_thread(q, found, LINK_PROCESS, weight_of(q), 0);
}

void ask_own_asker(struct question *q)
{
	const struct wait *w = q->wait;
	bool inside;

	if (w->kind == WAIT_KIND_futex)
		inside = w->argument & WAIT_FUTEX_PRIVATE && !w->hint;
	else
		inside = (w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll) && suspects_listens_inside(q);
	if (w->end == WAIT_END_OPEN && !w->idle && inside && scene_tid(q->scene, w->thread) == scene_pid(q->scene, w->thread))
		suspect_only_mate(q, waits_for_answer);
}
