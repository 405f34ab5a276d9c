/* See own_ends.h. */
#include "diagnose/own_ends.h"

#include <netinet/tcp.h>

#include "diagnose/judgement.h"

static bool nobody_else_has(const struct ends *ends, uint64_t object, uint32_t pid)
{
	struct row row = ends_of_object(ends, object);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid != pid)
			return false;
	return row.count > 0;
}

bool own_ends_has_both(const struct ends *ends, uint64_t object, uint32_t pid)
{
	unsigned kind = object_kind(object);

	return (kind == OBJECT_KIND_pipe || kind == OBJECT_KIND_eventfd) && nobody_else_has(ends, object, pid);
}

bool own_ends_set_is_small(const struct scene *scene, const struct ends *ends, uint64_t set, uint32_t pid)
{
	uint64_t first = 0;
	unsigned items = 0;

	for (uint32_t i = 0; i < scene->poll_item_count; i++) {
		const struct poll_item *p = &scene->poll_items[i];

		if (p->set != set)
			continue;
		first = first ? first : p->time;
		items += p->time < first + limit_of(scene, LIMIT_one_snapshot_ns) && !own_ends_has_both(ends, p->object, pid);
	}
	return items <= limit_of(scene, LIMIT_small_set);
}

static bool is_only_thread(const struct scene *scene, const struct wait *w)
{
	const struct tables *tables = scene->tables;

	SCENE_EACH_MATE(scene, w->thread, i)
		if (i != w->thread && tables->threads[i].end_ns > w->start_ns)
			return false;
	return true;
}

/* A connection that it began to itself, and has not accepted. */
static bool is_not_accepted_by(const struct ends *ends, uint64_t object, const struct wait *w, uint32_t pid)
{
	struct row row = ends_of_object(ends, object), listening;
	const struct descriptor *listener = NULL;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->pid != pid)
			return false;
		if (d->time >= w->start_ns && d->time <= w->end_ns && ends_not_accepted(ends, d))
			listener = ends_listener(ends, d);
	}
	listening = listener ? ends_of_object(ends, listener->at.object) : (struct row){ 0 };
	for (uint32_t i = 0; i < listening.count; i++)
		if (ends_at(ends, listening, i)->pid != pid)
			return false;
	return listening.count > 0;
}

bool own_ends_only(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;
	bool for_one = w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument == 1);
	uint32_t pid = scene_pid(scene, w->thread);
	unsigned items = 0;

	if ((w->end != WAIT_END_OPEN && w->end != WAIT_END_TIMEOUT) || !is_only_thread(scene, w))
		return false;
	if (for_one && is_not_accepted_by(ends, object, w, pid))
		return true;
	if (w->end != WAIT_END_OPEN || w->timeout_ns)
		return false;
	if (for_one)
		return own_ends_has_both(ends, object, pid);
	for (uint32_t i = 0; i < scene->poll_item_count && w->kind == WAIT_KIND_epoll; i++)
		if (scene->poll_items[i].set == w->object) {
			if (!own_ends_has_both(ends, scene->poll_items[i].object, pid))
				return false;
			items++;
		}
	return items > 0;
}

/* None of another process could let the thread that waits so go on. */
static bool is_closed_to_others(const struct ends *ends, const struct wait *w, uint32_t pid)
{
	if (w->kind == WAIT_KIND_futex)
		return w->argument & WAIT_FUTEX_PRIVATE;
	return w->kind == WAIT_KIND_sleep || (w->kind == WAIT_KIND_poll && w->argument == 1 && own_ends_has_both(ends, w->detail, pid));
}

bool own_ends_hears_nobody(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t time_ns)
{
	uint32_t pid = scene_pid(scene, w->thread);
	bool listens = false;

	if (!rule_holds(scene, RULE_hears_nobody) || w->kind != WAIT_KIND_futex || !(w->argument & WAIT_FUTEX_PRIVATE))
		return false;
	SCENE_EACH_MATE(scene, w->thread, i) {
		const struct thread *t = &scene->tables->threads[i];
		const struct episode *e;

		if (i == w->thread || t->start_ns > time_ns || t->end_ns <= time_ns)
			continue;
		e = scene_episode(scene, i, time_ns);
		/* it has stood so since the wait began, or nearly so */
		if (!e || e->start_ns > time_ns || !is_closed_to_others(ends, &scene->waits[e->last], pid) ||
		    (scene->waits[e->last].kind == WAIT_KIND_poll && e->start_ns > w->start_ns + limit_of(scene, LIMIT_asked_before_ns)))
			return false;
		listens |= scene->waits[e->last].kind == WAIT_KIND_poll;
	}
	return listens;
}

/* By what the set listens to there that process could be heard, or nobody knows. */
static bool may_be_heard(const struct ends *ends, const struct poll_item *p, uint32_t own, uint32_t pid)
{
	uint64_t object = own_ends_polled(ends, p, own);
	struct row row = ends_of_object(ends, object), far;
	bool known = false;

	switch (object_kind(object)) {
	case OBJECT_KIND_signalfd: /* a signal is no answer, and who waits at the other end of a connection sends none */
	case OBJECT_KIND_timerfd:
		return false;
	case OBJECT_KIND_pipe:
	case OBJECT_KIND_fifo:
	case OBJECT_KIND_eventfd:
	case OBJECT_KIND_unix_stream:
	case OBJECT_KIND_unix_seqpacket:
	case OBJECT_KIND_tcp:
		break;
	default:
		return true;
	}
	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->pid == pid || d->at.peer == pid || ends_faces(ends, object, pid))
			return true;
		far = ends_far(ends, d);
		known |= far.count || d->at.peer || !scene_is_socket(object);
	}
	return !known;
}

bool own_ends_leaves_out(const struct scene *scene, const struct ends *ends, const struct wait *w, uint32_t pid)
{
	const struct episode *e = &scene->episodes[w->episode];
	uint32_t own = scene_pid(scene, w->thread), items = 0;

	if (w->kind != WAIT_KIND_epoll || !rule_holds(scene, RULE_listens_elsewhere) || own == pid)
		return false;
	for (uint32_t i = 0; i < scene->poll_item_count; i++) {
		const struct poll_item *p = &scene->poll_items[i];

		if (!p->set || p->set != w->object)
			continue;
		if (may_be_heard(ends, p, own, pid))
			return false;
		items += p->time >= e->start_ns && p->time <= e->end_ns + limit_of(scene, LIMIT_one_snapshot_ns);
	}
	return items > 0;
}

static bool is_pipe(uint64_t object)
{
	return object_kind(object) == OBJECT_KIND_pipe || object_kind(object) == OBJECT_KIND_fifo;
}

/* A pair of connected sockets, of which no other process has an end. */
static bool is_own_pair(const struct ends *ends, uint64_t object, uint32_t pid)
{
	struct row row = ends_of_object(ends, object), far = { 0 };

	if (object_kind(object) != OBJECT_KIND_unix_stream || !nobody_else_has(ends, object, pid))
		return false;
	far = ends_far(ends, ends_at(ends, row, row.count - 1));
	return far.count && nobody_else_has(ends, ends_at(ends, far, 0)->at.object, pid);
}

static bool sleeps_by_own_pipe(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint32_t pid = scene_pid(scene, w->thread);

	return w->kind == WAIT_KIND_poll && w->argument == 1 && w->timeout_ns && (w->end == WAIT_END_TIMEOUT || w->end == WAIT_END_OPEN) &&
	       ((is_pipe(w->detail) && nobody_else_has(ends, w->detail, pid)) || is_own_pair(ends, w->detail, pid)) && is_only_thread(scene, w);
}

/* Behind a thread's waits there may be room in the column, and nothing is written there. */
void own_ends_note_sleeps(struct scene *scene, const struct ends *ends)
{
	if (!rule_holds(scene, RULE_own_pipe))
		return;
	for (uint32_t thread = 0; thread < scene->thread_count; thread++) {
		const struct scene_thread *t = &scene->threads[thread];

		for (uint32_t i = t->wait; i < t->wait + t->wait_count; i++)
			if (sleeps_by_own_pipe(scene, ends, &scene->waits[i]))
				scene->waits[i].kind = WAIT_KIND_sleep;
	}
}

bool own_ends_spoke_last(const struct ends *ends, uint64_t object, uint32_t pid)
{
	struct row row = ends_of_object(ends, object);

	for (uint32_t i = row.count; i-- > 0; )
		if (ends_at(ends, row, i)->pid == pid)
			return ends_at(ends, row, i)->at.kind == OBJECT_KIND_tcp && ends_at(ends, row, i)->at.access & DESCRIPTOR_SPOKE_LAST;
	return false;
}

uint64_t own_ends_polled(const struct ends *ends, const struct poll_item *p, uint32_t pid)
{
	struct row row = ends_of_process(ends, pid);

	for (uint32_t i = row.count; !p->object && i-- > 0; )
		if ((int32_t)ends_at(ends, row, i)->at.fd == p->fd)
			return ends_at(ends, row, i)->at.object;
	return p->object;
}

/* As the poll's set was found last, that one of it which is not its process's own bell; 0: there is none, or several. */
static uint64_t only_polled(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint32_t tid = scene_tid(scene, w->thread), pid = scene_pid(scene, w->thread);
	uint64_t newest = 0, found = 0;

	for (uint32_t i = scene->poll_item_count; i-- > 0; ) {
		const struct poll_item *p = &scene->poll_items[i];
		uint64_t object;

		if (p->set || p->pid != tid)
			continue;
		if (newest && p->time + limit_of(scene, LIMIT_one_snapshot_ns) < newest)
			break;
		newest = newest ? newest : p->time;
		object = own_ends_polled(ends, p, pid);
		if (!object || object == found || own_ends_has_both(ends, object, pid) || ends_faces(ends, object, pid))
			continue;
		if (found)
			return 0;
		found = object;
	}
	return found;
}

uint64_t own_ends_only_client(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint64_t found = 0;

	if (w->kind == WAIT_KIND_read)
		return w->object;
	if (w->kind == WAIT_KIND_poll && w->argument == 1)
		return w->detail;
	if (w->kind == WAIT_KIND_poll && w->argument == 2 && ends_role(ends, w->detail) == END_CLIENT &&
	    !ends_faces(ends, w->detail, scene_pid(scene, w->thread)))
		return w->detail;
	if (w->kind == WAIT_KIND_poll && w->argument == 2 && rule_holds(scene, RULE_behind_bell))
		return only_polled(scene, ends, w);
	for (uint32_t i = 0; w->kind == WAIT_KIND_epoll && i < scene->poll_item_count; i++) {
		uint64_t object = scene->poll_items[i].set == w->object ? scene->poll_items[i].object : 0;

		if (!object || object == found || own_ends_has_both(ends, object, scene_pid(scene, w->thread)) ||
		    ends_faces(ends, object, scene_pid(scene, w->thread)))
			continue;
		if (found)
			return 0;
		found = object;
	}
	return found;
}

bool own_ends_children_have(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t object)
{
	struct row row = ends_of_object(ends, object);
	uint32_t pid = scene_pid(scene, thread);
	bool had = false;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		struct row far = d->pid == pid ? ends_far(ends, d) : (struct row){ 0 };

		for (uint32_t k = 0; k < far.count; k++) {
			uint32_t other = tables_process(scene->tables, ends_at(ends, far, k)->pid, scene->end_ns);

			if (ends_at(ends, far, k)->pid == pid)
				continue;
			if (!other || !scene_descends_from(scene, other, pid))
				return false;
			had = true;
		}
	}
	return had;
}

bool own_ends_children_write(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t object)
{
	struct row row = is_pipe(object) ? ends_of_object(ends, object) : (struct row){ 0 };
	uint32_t pid = scene_pid(scene, thread);
	bool written = false;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = d->at.access & 2 ? tables_process(scene->tables, d->pid, scene->end_ns) : 0;

		if (!other)
			continue;
		if (d->pid == pid || !scene_descends_from(scene, other, pid))
			return false;
		written = true;
	}
	return written;
}

bool own_ends_awaits_children(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint32_t bells = 0, children = 0, count = 0, tid = scene_tid(scene, w->thread), pid = scene_pid(scene, w->thread);
	uint64_t newest = 0;

	if ((w->timeout_ns && (w->kind != WAIT_KIND_poll || !rule_holds(scene, RULE_hears_children))) || w->end != WAIT_END_OPEN ||
	    !rule_holds(scene, RULE_own_children))
		return false;
	for (uint32_t i = scene->poll_item_count; i-- > 0; ) {
		const struct poll_item *p = &scene->poll_items[i];

		if (w->kind == WAIT_KIND_epoll ? !p->set || p->set != w->object : p->set || p->pid != tid)
			continue;
		newest = newest ? newest : p->time;
		if (p->time + limit_of(scene, LIMIT_one_snapshot_ns) < newest)
			break;
		uint64_t object = w->kind == WAIT_KIND_poll && rule_holds(scene, RULE_hears_children) ? own_ends_polled(ends, p, pid) : p->object;

		count++;
		if (own_ends_has_both(ends, object, pid))
			bells++;
		else
			children += own_ends_children_have(scene, ends, w->thread, object);
	}
	return children && bells + children == count && (!w->timeout_ns || !bells);
}

/* When it was asked over the connection that its process began, and which has brought nothing since, as the newest look at it says, if that was after
 * that moment; 0 it was not. */
static uint64_t asked_over(const struct ends *ends, uint64_t object, uint32_t pid, uint64_t after_ns)
{
	struct row row = ends_role(ends, object) == END_CLIENT ? ends_of_object(ends, object) : (struct row){ 0 };

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->pid == pid)
			return d->time >= after_ns && (d->at.access & DESCRIPTOR_SPOKE_LAST || d->at.state == TCP_SYN_SENT) ? d->at.spoke_ns : 0;
	}
	return 0;
}

uint64_t own_ends_asked_ns(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint64_t object = rule_holds(scene, RULE_asked_then) && w->end == WAIT_END_OPEN ? own_ends_only_client(scene, ends, w) : 0;

	return asked_over(ends, object, scene_pid(scene, w->thread), scene->episodes[w->episode].start_ns);
}

uint64_t own_ends_asked_in_loop(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint32_t pid = scene_pid(scene, w->thread), clients = 0;
	uint64_t newest = 0, since = 0;

	if (w->kind != WAIT_KIND_epoll || w->end != WAIT_END_OPEN || w->idle || !rule_holds(scene, RULE_asks_in_turn))
		return 0;
	for (uint32_t i = scene->poll_item_count; i-- > 0; ) {
		const struct poll_item *p = &scene->poll_items[i];
		uint64_t object = p->set && p->set == w->object ? own_ends_polled(ends, p, pid) : 0, asked;
		unsigned kind = object_kind(object);

		if (!object)
			continue;
		newest = newest ? newest : p->time;
		if (p->time + limit_of(scene, LIMIT_one_snapshot_ns) < newest)
			break;
		if (kind == OBJECT_KIND_tty || kind == OBJECT_KIND_inotify || ends_role(ends, object) >= END_SERVER)
			return 0;
		asked = asked_over(ends, object, pid, scene->episodes[w->episode].start_ns);
		clients += ends_role(ends, object) == END_CLIENT;
		since = asked && (!since || asked < since) ? asked : since;
	}
	return clients < limit_of(scene, LIMIT_small_set) ? since : 0;
}
