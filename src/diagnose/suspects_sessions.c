/* Of a server's worker that waits for what no owner is known of: another one may have it, whose client has a session
 * open and says nothing (see suspects.h). */
#include <string.h>

#include "diagnose/broken_off.h"
#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

static uint32_t cost(const struct question *q, enum limit_id id)
{
	return (uint32_t)limit_of(q->scene, id);
}

/* Threads of one process, or processes that one made of the same program. */
static bool is_colleague(const struct question *q, uint32_t thread)
{
	const struct thread *mine = &q->scene->tables->threads[q->wait->thread], *its = &q->scene->tables->threads[thread];

	if (thread == q->wait->thread || !alive(q, thread))
		return false;
	return its->pid == mine->pid || (its->parent_pid == mine->parent_pid && its->tid == its->pid && mine->exe[0] && !strcmp(its->exe, mine->exe));
}

/* For what its client says next, and for nothing else but its own bells. */
static bool awaits_client(const struct question *q, const struct wait *w)
{
	uint64_t first = 0;

	if (w->kind != WAIT_KIND_epoll)
		return serving_waits_for_one(q->inquiry->ends, w);
	for (uint32_t i = 0; i < q->scene->poll_item_count; i++) {
		const struct poll_item *p = &q->scene->poll_items[i];

		if (p->set != w->object || ends_role(q->inquiry->ends, p->object) < END_SERVER)
			continue;
		if (ends_role(q->inquiry->ends, p->object) == END_LISTENER || (first && p->object != first))
			return false;
		first = p->object;
	}
	return first != 0;
}

bool suspects_awaits_us(const struct question *q, uint64_t object)
{
	const struct ends *ends = q->inquiry->ends;
	uint32_t pid = scene_pid(q->scene, q->wait->thread);
	struct row row = rule_holds(q->scene, RULE_awaits_us) ? ends_of_object(ends, object) : (struct row){ 0 }, far = { 0 };

	for (uint32_t i = row.count; i-- > 0 && !far.count; )
		if (ends_at(ends, row, i)->pid == pid)
			far = ends_far(ends, ends_at(ends, row, i));
	for (uint32_t i = far.count; i-- > 0; ) {
		const struct descriptor *its = ends_at(ends, far, i);
		uint32_t process = its->pid != pid && !its->at.queued ? tables_process(q->scene->tables, its->pid, q->to - 1) : 0;

		if (ends_role(ends, its->at.object) != END_SERVER || !process)
			continue;
		SCENE_EACH_MATE(q->scene, process, j) {
			const struct wait *w = stands_in(q, j);

			if (w && awaits_client(q, w) && owed_may_listen(q->scene, ends, w, its->at.object))
				return true;
		}
	}
	return false;
}

/* It says of itself, by its command line, which it has written anew, that it does nothing for its client: in no transaction it has
 * nothing that others could wait for. */
static bool says_idle(const struct question *q, uint32_t thread)
{
	const struct thread *t = &q->scene->tables->threads[thread];
	const char *last = strrchr(t->command, ' ');

	return last && !strcmp(last, " idle") && t->exe[0] && strncmp(t->command, t->exe, strlen(t->exe)) != 0;
}

/* A time limit of its own ended it, or a signal: what it was for did not come. */
static bool gave_up(const struct question *q)
{
	return rule_holds(q->scene, RULE_session_to_the_limit) && (q->wait->end == WAIT_END_TIMEOUT || broken_off_is(q->scene, q->wait));
}

/* Where nothing tells who is to end it, and it serves somebody: not the one that it waits for now. */
static bool waits_inside(const struct question *q)
{
	const struct wait *w = q->wait;

	if ((w->end != WAIT_END_OPEN && !gave_up(q)) || w->idle || w->hint || only_looks(q))
		return false;
	/* by its own clock it goes on, whoever has what */
	if (w->kind == WAIT_KIND_epoll)
		return !w->timeout_ns && ends_set_role(q->inquiry->ends, w->object) == END_UNKNOWN;
	return w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore;
}

/* The thread's process has a client. */
static bool serves(const struct question *q, uint32_t thread)
{
	struct row row = ends_of_process(q->inquiry->ends, scene_pid(q->scene, thread));

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_role(q->inquiry->ends, ends_at(q->inquiry->ends, row, i)->at.object) == END_SERVER)
			return true;
	return false;
}

/* A process that sleeps, or computes, since before, and not as it listens to its client. */
static bool goes_by_clock(const struct question *q, uint32_t thread, const struct wait *w)
{
	struct state_times times;

	scene_state_times(q->scene, thread, q->from, q->to, &times);
	if (nearly_all(q->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], q->to - q->from))
		return true;
	return w && w->start_ns <= q->episode->start_ns && w->timeout_ns && (w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_sleep);
}

/* It waits, inside what it was asked for and since before, for a program that it started. */
static bool works_outside(const struct question *q, uint32_t thread, const struct wait *w)
{
	return w && !w->idle && w->start_ns <= q->episode->start_ns &&
	       (w->kind == WAIT_KIND_child || (w->kind == WAIT_KIND_read && own_ends_children_write(q->scene, q->inquiry->ends, thread, w->object)));
}

/* It has asked there, and waits for the answer, and for nothing else. */
static bool awaits_answer(const struct question *q, const struct descriptor *served)
{
	struct row far = ends_far(q->inquiry->ends, served);

	for (uint32_t i = 0; i < far.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, far, i);
		uint32_t process = d->pid != served->pid ? tables_process(q->scene->tables, d->pid, q->to - 1) : 0;

		SCENE_EACH_MATE(q->scene, process, k) {
			const struct wait *w = stands_in(q, k);
			uint64_t object = w && w->kind == WAIT_KIND_read ? w->object : w && w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

			if (object == d->at.object && !w->idle && !is_waiting(q, k))
				return true;
		}
	}
	return false;
}

/* Besides who waits for this one. */
static bool others_await_answers(const struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, q->wait->thread));

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_role(ends, ends_at(ends, row, i)->at.object) == END_SERVER && awaits_answer(q, ends_at(ends, row, i)))
			return true;
	return false;
}

/* How many callers the two waits have in common. */
static uint32_t common_callers(const struct tables *tables, uint32_t a, uint32_t b)
{
	while (a && b && a != b && a < tables->frame_count && b < tables->frame_count) {
		bool deeper = tables->frames[a].depth >= tables->frames[b].depth;

		a = deeper ? tables->frames[a].parent : a;
		b = deeper ? b : tables->frames[b].parent;
	}
	return a && a == b && a < tables->frame_count ? tables->frames[a].depth : 0;
}

/* From where they wait up to the first caller outside of the library by which they do they are one. */
static bool wait_alike(const struct tables *tables, uint32_t a, uint32_t b)
{
	uint32_t library = a && a < tables->frame_count ? tables->frames[a].module : 0;

	for (; a && b && a < tables->frame_count && b < tables->frame_count; a = tables->frames[a].parent, b = tables->frames[b].parent) {
		if (tables->frames[a].address != tables->frames[b].address || tables->frames[a].module != tables->frames[b].module)
			return false;
		if (tables->frames[a].module != library)
			return true;
	}
	return a == b;
}

/* Threads that have more callers in common with this one than those that listen to their clients are at work as it is. Those that wait at one
 * place wait for the same: the only one that waits at a place of its own; 0 none, or several. */
static uint32_t works_apart(const struct question *q)
{
	const struct scene *scene = q->scene;
	uint32_t idle = 0, found = 0;

	SCENE_EACH_MATE(scene, q->wait->thread, i) {
		const struct wait *w = i != q->wait->thread && alive(q, i) ? stands_in(q, i) : NULL;
		uint32_t common = w && awaits_client(q, w) ? common_callers(scene->tables, w->ustack, q->wait->ustack) : 0;

		idle = common > idle ? common : idle;
	}
	SCENE_EACH_MATE(scene, q->wait->thread, i) {
		const struct wait *w = idle && i != q->wait->thread && alive(q, i) && !is_waiting(q, i) ? stands_in(q, i) : NULL;
		bool alone = true;

		if (!w || w->idle || awaits_client(q, w) || wait_alike(scene->tables, w->ustack, q->wait->ustack) ||
		    common_callers(scene->tables, w->ustack, q->wait->ustack) <= idle)
			continue;
		SCENE_EACH_MATE(scene, i, k) {
			const struct wait *its = k != i && alive(q, k) ? stands_in(q, k) : NULL;

			alone &= !its || !wait_alike(scene->tables, its->ustack, w->ustack);
		}
		if (alone && found)
			return 0;
		found = alone ? i : found;
	}
	return found;
}

/* It waits for the answer to what it asked over a connection that it began, or for what a program writes that it started. */
static bool is_owed(const struct question *q, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

	if (w->idle || !object)
		return false;
	if (scene_is_pipe(object))
		return own_ends_children_write(q->scene, q->inquiry->ends, w->thread, object);
	return ends_role(q->inquiry->ends, object) == END_CLIENT;
}

static bool is_kept(const struct wait *w)
{
	return !w->idle && (w->kind == WAIT_KIND_stop || w->kind == WAIT_KIND_child || w->kind == WAIT_KIND_connect || wait_is_in_kernel(w));
}

/* It reads what another program is to tell it over a pipe, the only one that has the other end, and that one is kept, or waits for an answer itself. */
static bool is_told_by_kept(const struct question *q, const struct wait *w)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = w->kind == WAIT_KIND_read && scene_is_pipe(w->object) && !w->idle
		? ends_of_object(ends, w->object) : (struct row){ 0 };
	uint32_t teller = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t process = d->pid != scene_pid(q->scene, w->thread) && d->at.access & 2 ? tables_process(q->scene->tables, d->pid, q->to - 1) : 0;

		if (!process || !alive(q, process) || process == teller)
			continue;
		if (teller)
			return false;
		teller = process;
	}
	const struct wait *its = teller && !is_waiting(q, teller) ? stands_in(q, teller) : NULL;

	return its && (is_kept(its) || is_owed(q, its));
}

/* What its client does, for whom the session is open: something that keeps it from that, as it is stopped, or waits for a child, a lock or inside the
 * kernel, costs nothing. */
static uint32_t client_cost(const struct question *q, uint32_t worker, const struct wait *own)
{
	const struct scene *scene = q->scene;
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(scene, worker));
	uint32_t least = cost(q, LIMIT_session_free);

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		bool served = ends_role(ends, d->at.object) == END_SERVER && owed_may_listen(scene, ends, own, d->at.object);
		struct row far = served ? ends_far(ends, d) : (struct row){ 0 };

		for (uint32_t k = 0; k < far.count; k++) {
			const struct descriptor *its = ends_at(ends, far, k);
			uint32_t process = its->pid != d->pid ? tables_process(scene->tables, its->pid, q->to - 1) : 0;
			const struct wait *w = process && !is_waiting(q, process) ? stands_in(q, process) : NULL;
			uint32_t its_cost = !w ? least : is_kept(w) ? 0 : is_told_by_kept(q, w) ? cost(q, LIMIT_session_told) : least;

			if (its_cost < least && !owed_listens(scene, ends, its->pid, its->at.object, q->from))
				least = its_cost;
		}
	}
	return least;
}

/* The session that may have what this one waits for. */
struct session {
	uint32_t thread;
	uint32_t cost;
	uint64_t start_ns;
	bool several;      /* as likely */
	bool open;         /* its client says nothing */
	bool kept, apart;  /* its client is kept from it; it works at a place of its own */
	bool outside;      /* it waits for a program that it started */
};

/* `among`: others await the server's answer as well; `apart`: the thread that works at a place of its own then. */
static struct session session_of(const struct question *q, uint32_t thread, bool among, uint32_t apart)
{
	const struct wait *w = stands_in(q, thread);
	struct session s = { .thread = thread, .start_ns = w ? w->start_ns : 0, .cost = cost(q, LIMIT_session_never) };

	if (thread == apart && w) {
		s.apart = true;
		s.cost = cost(q, LIMIT_session_apart) + (w->timeout_ns ? cost(q, LIMIT_session_clocked) : 0);
	} else if (w && awaits_client(q, w)) {
		uint32_t client = client_cost(q, thread, w);

		s.open = !says_idle(q, thread);
		s.kept = client < cost(q, LIMIT_session_free);
		s.cost = cost(q, LIMIT_session_open) + client + (s.open ? 0 : cost(q, LIMIT_session_idle)) +
			 (!s.kept && among ? cost(q, LIMIT_session_among) : 0) +
			 (!s.kept && w->start_ns > q->episode->start_ns ? cost(q, LIMIT_session_later) : 0);
	} else if (!among && !scene_same_process(q->scene, thread, q->wait->thread) && serves(q, thread)) {
		s.outside = works_outside(q, thread, w);
		s.cost = s.outside ? cost(q, LIMIT_session_outside) : goes_by_clock(q, thread, w) ? cost(q, LIMIT_session_by_clock) : s.cost;
	}
	return s;
}

/* Of several that wait for programs that they started the last that turned to that. */
static void take_session(const struct question *q, struct session *best, const struct session *s)
{
	bool last = s->outside && best->outside;

	if (s->cost >= cost(q, LIMIT_session_never) || (best->thread && s->cost > best->cost))
		return;
	if (!best->thread || s->cost < best->cost || (last && s->start_ns > best->start_ns))
		*best = *s;
	else if (!last)
		best->several = true;
}

/* Of several open ones, or for whom of several, is less sure. */
static uint8_t sure_of(const struct question *q, const struct session *s, uint32_t open, bool among)
{
	if (s->apart)
		return limit(q, LIMIT_session_at_work);
	if (among)
		return limit(q, LIMIT_kept_among);
	return s->kept && open > 1 ? limit(q, LIMIT_session_kept) : weight_of(q);
}

void ask_idle_session(struct question *q)
{
	struct session best = { 0 };
	uint32_t apart, open = 0;
	bool among;

	if (q->waiting_count < 2 || !waits_inside(q) || !serves(q, q->wait->thread))
		return;
	among = others_await_answers(q);
	apart = among ? works_apart(q) : 0;
	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		struct session s;

		if (!is_colleague(q, i) || is_waiting(q, i))
			continue;
		s = session_of(q, i, among, apart);
		open += s.open;
		take_session(q, &best, &s);
	}
	if (!best.several)
		suspect_thread(q, best.thread, best.apart ? LINK_AT_WORK : LINK_SESSION, sure_of(q, &best, open, among && !apart), 0);
}
