/* Following a request forward, see follow.h.
 *
 * Breadth first: a thread is taken up once, at the first moment it is reached. Its part lasts until it is back at the place in its program where it
 * rested before (a relay), or blocks for long at another one. */
#include "diagnose/follow.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/search.h"
#include "diagnose/judgement.h"
#include "graph/graph.h"

#define MAX_TRAILS 400
#define MAX_LOOK 4096          /* messages of a channel without a receive among them */
#define SHORT_WAIT_NS 20000000ull

struct follower {
	const struct scene *scene;
	const struct ends *ends;
	struct trails *trails;
	uint64_t until;
};

const char *trail_end_words(enum trail_end end)
{
	switch (end) {
	case TRAIL_RELAY: return "handed it on";
	case TRAIL_AT_REST: return "took it and went back to rest without an answer";
	case TRAIL_BLOCKED: return "blocked before it answered";
	case TRAIL_BUSY: return "was busy";
	case TRAIL_STARVED: return "did not get a processor";
	case TRAIL_STOPPED: return "was stopped";
	case TRAIL_KILLED: return "was killed before it answered";
	case TRAIL_UNREAD: return "did not read it";
	case TRAIL_BACK: return "waits for the one that asked";
	}
	return "";
}

static bool reached(const struct follower *f, uint32_t thread)
{
	for (size_t i = 0; i < f->trails->length; i++)
		if (f->trails->items[i].thread == thread)
			return true;
	return false;
}

static void reach(struct follower *f, uint32_t parent, uint32_t thread, uint64_t time, uint64_t evidence,
		  enum trail_end end, enum walk_link link, uint8_t confidence, uint64_t object)
{
	uint8_t level = f->trails->items[parent].level;

	if (f->trails->length >= MAX_TRAILS || level + 2 >= WALK_MAX_HOPS || scene_is_system(f->scene, thread))
		return;
	vec_push(f->trails, ((struct trail){ .thread = thread, .parent = parent, .from_ns = time,
		.rest_ns = UINT64_MAX, .evidence = evidence, .object = object, .end = (uint8_t)end,
		.link = (uint8_t)link, .confidence = confidence, .level = (uint8_t)(level + 1) }));
}

/* How the thread stands at the end, when it never came to rest. */
static enum trail_end standing(const struct follower *f, uint32_t thread, uint64_t from)
{
	struct state_times times;
	const struct span *last = scene_span(f->scene, thread, f->until - 1);

	scene_state_times(f->scene, thread, from, f->until, &times);
	if (times.ns[SPAN_STOPPED] * 2 > f->until - from || (last && last->state == SPAN_STOPPED))
		return TRAIL_STOPPED;
	if (times.ns[SPAN_RUNNABLE] > times.ns[SPAN_RUNNING])
		return TRAIL_STARVED;
	return TRAIL_BUSY;
}

/* True when both waits are at the same place, as far as can be told: a stack that
 * was not walked says nothing. */
static bool same_rest(const struct scene *scene, const struct wait *before, const struct wait *after)
{
	const struct tables *tables = scene->tables;
	bool told = before->ustack && before->ustack < tables->frame_count && tables->frames[before->ustack].depth > 1;

	if (before->site == after->site)
		return true;
	return !told && (before->kind == after->kind || before->kind <= WAIT_KIND_other) &&
	       (after->kind == WAIT_KIND_poll || after->kind == WAIT_KIND_epoll || after->kind == WAIT_KIND_accept);
}

/* Some calls are only made for new work, also by a thread that has just begun. */
static bool awaits_work(const struct wait *w)
{
	return w->kind == WAIT_KIND_accept || w->kind == WAIT_KIND_worker ||
	       (w->kind == WAIT_KIND_read && object_kind(w->object) == OBJECT_KIND_fuse);
}

/* A thread that has just begun, and listens without a limit to what others of its process
 * wake its loop by, has nothing to do yet. */
static bool begins_at_rest(const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;

	return (w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll) && !w->timeout_ns &&
	       (w->kind == WAIT_KIND_epoll || object_kind(object) == OBJECT_KIND_eventfd);
}

/* It let the process that asked go on since it was reached. */
static bool woke_asker(const struct follower *f, const struct trail *trail, uint64_t until_ns)
{
	const struct scene *scene = f->scene;

	for (uint32_t i = scene_wakes_from(scene, trail->thread, trail->from_ns);
	     i < scene_wakes_end(scene, trail->thread) && scene->wakes[i].time <= until_ns; i++)
		if (scene_same_process(scene, scene->wakes[i].target, f->trails->items[0].thread))
			return true;
	return false;
}

/* Over a connection that it accepted from the process that asked: what comes there is that one's next question. */
static bool reads_next_request(const struct follower *f, const struct wait *w)
{
	return w->kind == WAIT_KIND_read && w->object && rule_holds(f->scene, RULE_reads_next_request) && ends_role(f->ends, w->object) == END_SERVER &&
	       ends_faces(f->ends, w->object, scene_pid(f->scene, f->trails->items[0].thread));
}

/* It woke the one that asked since, and listens to something now. */
static bool has_answered(const struct follower *f, const struct trail *trail, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	if (w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll && w->kind != WAIT_KIND_accept && !reads_next_request(f, w))
		return false;
	return woke_asker(f, trail, e->start_ns);
}

/* Where the thread had waited when it was reached then; NULL nowhere yet. */
static const struct episode *reached_at(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *e = scene_episode(scene, thread, time);

	if (e && e->start_ns < time)
		return e;
	if (e ? e > scene->episodes + t->episode : t->episode_count > 0)
		return e ? e - 1 : scene->episodes + t->episode + t->episode_count - 1;
	return NULL;
}

/* Who was asked by the thread itself is at rest again, and asked again: of many short exchanges in a row the last one
 * counts. */
static void reach_again(struct follower *f, uint32_t parent, uint32_t thread, uint64_t time, uint64_t evidence)
{
	for (size_t i = 1; !parent && i < f->trails->length; i++) {
		struct trail *t = &f->trails->items[i];
		const struct episode *first, *now;

		if (t->thread != thread || t->end != TRAIL_RELAY || t->from_ns >= time)
			continue;
		first = reached_at(f->scene, thread, t->from_ns);
		now = reached_at(f->scene, thread, time);
		if (!first || !now || !same_rest(f->scene, &f->scene->waits[first->last], &f->scene->waits[now->last]))
			return;
		t->from_ns = time;
		t->evidence = evidence;
		return;
	}
}

/* Of two threads of a process one that was set to work by the other, and listens without a limit to nothing but what others of it wake it
 * by, waits to be told more: so a runtime's timer thread does. */
static bool waits_to_be_told(const struct follower *f, const struct trail *trail, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;

	return !w->timeout_ns && object_kind(object) == OBJECT_KIND_eventfd &&
	       (w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument == 1)) &&
	       scene_same_process(f->scene, trail->thread, f->trails->items[trail->parent].thread);
}

/* A thread of the process that asked, which went to listen to a set of things, without a limit: whatever it did before, it waits for whoever
 * comes now. */
static bool went_to_listen(const struct follower *f, const struct trail *trail, const struct wait *w)
{
	return w->kind == WAIT_KIND_epoll && !w->timeout_ns && rule_holds(f->scene, RULE_went_to_listen) &&
	       scene_same_process(f->scene, trail->thread, f->trails->items[0].thread);
}

/* It has sent something since it was reached, or let the process that asked go on. */
static bool has_spoken(const struct follower *f, const struct trail *trail, uint64_t until_ns)
{
	const struct scene *scene = f->scene;
	const struct row *messages = &scene->threads[trail->thread].messages;

	if (woke_asker(f, trail, until_ns))
		return true;
	for (uint32_t i = scene_messages_from(scene, trail->thread, trail->from_ns); i < messages->count; i++) {
		const struct message m = scene_message(scene, messages->items[i]);

		if (m.start_ns > until_ns)
			return false;
		if (message_sent(&m))
			return true;
	}
	return false;
}

static uint64_t listened_to(const struct wait *w)
{
	return w->kind == WAIT_KIND_poll && w->argument <= 1 ? w->detail : w->kind == WAIT_KIND_read ? w->object : 0;
}

/* It said nothing, and listens to nothing but the other end of the connection at which the one waits that asked: whoever has just come there
 * may say something, or not. */
static bool listens_to_asker(const struct follower *f, const struct trail *trail, const struct wait *w)
{
	const struct episode *asks = scene_episode(f->scene, f->trails->items[0].thread, f->until - 1);
	uint64_t object = listened_to(w);

	return object && asks && !scene_is_pipe(object) && rule_holds(f->scene, RULE_only_came) &&
	       ends_are_two(f->ends, object, listened_to(&f->scene->waits[asks->last])) && !has_spoken(f, trail, w->start_ns);
}

/* A thread that has just begun, but for a lock that it stood for then, and waits for a word that nobody is known to have, where another of its process
 * does: it is one of a pool with nothing to do, and an event loop whose own time limit let it go on did not wait for it. */
static bool begins_in_pool(const struct follower *f, const struct trail *trail, const struct episode *before, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct episode *loop = scene_episode(scene, f->trails->items[0].thread, f->until - 1);
	const struct wait *w = &scene->waits[e->last], *asks = loop ? &scene->waits[loop->last] : NULL;

	if (!asks || (asks->kind != WAIT_KIND_epoll && asks->kind != WAIT_KIND_poll) || asks->end != WAIT_END_TIMEOUT || loop->slices > 1 ||
	    (before && !wait_has_owner(&scene->waits[before->last])) || w->kind != WAIT_KIND_futex || wait_has_owner(w) ||
	    !rule_holds(scene, RULE_begins_in_pool) || !scene_same_process(scene, trail->thread, f->trails->items[0].thread))
		return false;
	SCENE_EACH_MATE(scene, trail->thread, mate) {
		const struct episode *its = mate != trail->thread ? scene_episode(scene, mate, f->until - 1) : NULL;

		if (its && scene->waits[its->last].site == w->site)
			return true;
	}
	return false;
}

/* By a signal, long before the end: that it was killed then is no reason for what was late before. */
static bool was_killed(const struct follower *f, const struct trail *trail)
{
	const struct thread *t = &f->scene->tables->threads[trail->thread];

	return t->end_ns < f->until && most_of(f->scene, f->until - t->end_ns, f->until - trail->from_ns) && WIFSIGNALED(t->exit_code) &&
	       rule_holds(f->scene, RULE_killed_at_work);
}

/* When the thread's part that began at `from` was over. */
static uint64_t part_end(const struct follower *f, struct trail *trail)
{
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[trail->thread];
	const struct episode *before = reached_at(scene, trail->thread, trail->from_ns), *e = scene_episode(scene, trail->thread, trail->from_ns);
	uint64_t window = f->until - trail->from_ns;

	for (; e && e < scene->episodes + t->episode + t->episode_count && e->start_ns < f->until; e++) {
		const struct wait *w = &scene->waits[e->last];
		uint64_t end = e->end_ns < f->until ? e->end_ns : f->until;

		if (e->start_ns < trail->from_ns)
			continue;
		if (w->kind == WAIT_KIND_stop) {
			trail->end = TRAIL_STOPPED;
			return e->start_ns;
		}
		if ((before ? same_rest(scene, &scene->waits[before->last], w) : begins_at_rest(w)) || begins_in_pool(f, trail, before, e) || awaits_work(w) ||
		    waits_to_be_told(f, trail, w) || went_to_listen(f, trail, w)) {
			trail->end = TRAIL_AT_REST;
			return e->start_ns;
		}
		if (e + 1 == scene->episodes + t->episode + t->episode_count && was_killed(f, trail))
			break;
		if (end - e->start_ns > SHORT_WAIT_NS && (end - e->start_ns) * 4 > window) {
			trail->end = has_answered(f, trail, e) ? TRAIL_AT_REST : listens_to_asker(f, trail, w) ? TRAIL_BACK : TRAIL_BLOCKED;
			return e->start_ns;
		}
	}
	trail->end = was_killed(f, trail) ? TRAIL_KILLED : (uint8_t)standing(f, trail->thread, trail->from_ns);
	return UINT64_MAX;
}

/* The connection that the message was sent on as it was last looked at, NULL not since. */
static const struct descriptor *connection_of(const struct follower *f, const struct message *sent)
{
	struct row row = ends_of_object(f->ends, sent->object);
	const struct descriptor *last = NULL;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(f->ends, row, i);

		if (d->time >= sent->start_ns && d->time <= f->until)
			last = d;
	}
	return last;
}

static bool is_kept_out(const struct follower *f, const struct message *sent)
{
	const struct descriptor *last = connection_of(f, sent);

	return last && ends_kept_out(f->ends, last);
}

/* As it asked again how its connecting went, nobody listened there: it reached nobody, who listens there later neither. */
static bool was_refused(const struct follower *f, const struct message *sent)
{
	const struct scene_thread *t = &f->scene->threads[sent->thread];
	uint32_t first = scene_messages_from(f->scene, sent->thread, sent->start_ns);

	for (uint32_t i = first; i < t->messages.count && i < first + MAX_LOOK; i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.object == sent->object && m.kind == MESSAGE_KIND_connect && m.start_ns > sent->start_ns)
			return m.result == -ECONNREFUSED;
	}
	return false;
}

/* Who had not accepted the connection then. */
static uint32_t listener_of(const struct follower *f, const struct message *sent)
{
	const struct descriptor *last = connection_of(f, sent), *listener;

	listener = last && ends_not_accepted(f->ends, last) ? ends_listener(f->ends, last) : NULL;
	return listener ? tables_process(f->scene->tables, listener->pid, sent->time) : 0;
}

/* The process's thread that most likely reads: whoever read the channel last,
 * else the first thread. */
static uint32_t reader_of(const struct follower *f, const struct message *sent, uint64_t *ret_read_ns, uint64_t *ret_event)
{
	const struct row *row = scene_channel(f->scene, sent->channel);
	struct graph_edge taken;
	uint32_t reader = 0;

	*ret_read_ns = 0;
	*ret_event = sent->number;
	/* What others connected to the same address was accepted in its place. */
	if (sent->kind == MESSAGE_KIND_connect && (is_kept_out(f, sent) || was_refused(f, sent)))
		return 0;
	if (sent->kind == MESSAGE_KIND_connect)
		reader = listener_of(f, sent);
	if (reader)
		return reader;
	/* Byte by byte the graph knows who took it. */
	if (f->scene->graph && graph_edge_of_event(f->scene->graph, sent->thread, sent->time, sent->number, MECHANISM_message, &taken)) {
		*ret_read_ns = taken.to_ns;
		*ret_event = taken.to_event;
		return taken.removed || taken.to_thread >= f->scene->thread_count ? 0 : taken.to_thread;
	}
	if (row) {
		uint32_t from = scene_channel_from(f->scene, row, sent->start_ns);

		for (uint32_t i = from; i < row->count && i < from + MAX_LOOK; i++) {
			const struct message m = scene_message(f->scene, row->items[i]);

			if (m.flags & MESSAGE_FLAGS_receive && m.result > 0) {
				*ret_read_ns = m.time;
				*ret_event = m.number;
				return m.thread;
			}
		}
		for (uint32_t i = from; i-- > 0 && !reader && from - i < MAX_LOOK; ) {
			const struct message m = scene_message(f->scene, row->items[i]);

			if (m.flags & MESSAGE_FLAGS_receive && m.result > 0)
				reader = m.thread;
		}
	}
	if (!reader) {
		struct row ends = ends_receiving(f->ends, sent->channel);

		if (ends.count)
			reader = tables_process(f->scene->tables, ends_at(f->ends, ends, ends.count - 1)->pid, sent->time);
	}
	if (!reader && sent->peer)
		reader = tables_process(f->scene->tables, sent->peer, sent->time);
	return reader ? reader : listener_of(f, sent);
}

static bool sent_on_later(const struct follower *f, uint32_t parent)
{
	for (size_t i = parent + 1; i < f->trails->length; i++)
		if (f->trails->items[i].parent == parent)
			return true;
	return false;
}

/* It took the connection, and a process that it started reads what came over it: it has handed that on, as servers do that make a process for
 * each client. */
static bool handed_over(const struct follower *f, uint32_t at)
{
	const struct trail *t = &f->trails->items[at];

	if (!t->object || t->link != LINK_MESSAGE || !rule_holds(f->scene, RULE_handed_over))
		return false;
	for (size_t i = 1; i < f->trails->length; i++) {
		const struct trail *other = &f->trails->items[i];

		if (other->link == LINK_MESSAGE && other->parent == t->parent && other->object == t->object && other->from_ns >= t->from_ns &&
		    scene_has_started(f->scene, t->thread, other->thread))
			return true;
	}
	return false;
}

/* What goes out on a connection that the thread itself accepted is an answer: nobody owes
 * it anything for that. Those in between pass on on such connections, too. */
static bool is_answer(const struct follower *f, uint32_t at, const struct message *m)
{
	return !at && !(m->flags & MESSAGE_FLAGS_receive) && ends_role(f->ends, m->object) == END_SERVER;
}

static bool wakes_by_answer(const struct follower *f, uint32_t at, const struct wake *k)
{
	const struct scene_thread *t = &f->scene->threads[k->waker];
	uint32_t i = scene_messages_from(f->scene, k->waker, k->time);
	struct message m;

	if (at || i >= t->messages.count)
		return false;
	m = scene_message(f->scene, t->messages.items[i]);
	return m.start_ns <= k->time && is_answer(f, at, &m);
}

static void follow_messages(struct follower *f, uint32_t at, uint64_t from, uint64_t to)
{
	const struct scene_thread *t = &f->scene->threads[f->trails->items[at].thread];

	for (uint32_t i = scene_messages_from(f->scene, f->trails->items[at].thread, from); i < t->messages.count; i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);
		uint64_t read_ns, event;
		uint32_t reader;

		if (m.start_ns > to)
			break;
		if (m.flags & MESSAGE_FLAGS_receive || !message_sent(&m) || m.start_ns < from || is_answer(f, at, &m))
			continue;
		reader = reader_of(f, &m, &read_ns, &event);
		if (!reader || reader == f->trails->items[at].thread)
			continue;
		if (read_ns && read_ns <= f->until) {
			if (reader == f->trails->items[0].thread)
				continue; /* an answer, read */
			if (!reached(f, reader))
				reach(f, at, reader, m.time < read_ns ? m.time : read_ns, m.number, TRAIL_RELAY,
				      LINK_MESSAGE, 90, m.object);
		} else if (reader == f->trails->items[0].thread) {
			reach(f, at, reader, m.time, m.number, TRAIL_BACK, LINK_MESSAGE, 70, m.object);
		} else if (!reached(f, reader)) {
			reach(f, at, reader, m.time, m.number, TRAIL_UNREAD, LINK_MESSAGE, 90, m.object);
		}
	}
}

/* Whoever waited for the end of a program that had asked, or until it was another one, goes on
 * because it is done, not on behalf of the request. */
static bool waited_for_end(const struct scene *scene, const struct wake *k)
{
	const struct wait *its = scene_waits_at(scene, k->target, k->time - 1);

	return its && its->waker == k->waker && (its->kind == WAIT_KIND_child || its->kind == WAIT_KIND_vfork);
}

/* The other, which waits in a call for one answer alone, had woken it just before: that one was answered, and owes it nothing. */
static bool answers_client(const struct follower *f, uint32_t at, const struct wake *k)
{
	const struct scene *scene = f->scene;
	const struct episode *rest = at ? NULL : scene_episode(scene, k->waker, f->trails->items[0].rest_ns);
	const struct wait *its = scene_waits_at(scene, k->target, k->time - 1);
	bool asks = its && rule_holds(scene, RULE_answered_client) && ends_role(f->ends, listened_to(its)) == END_CLIENT;

	if (!rest || !its || scene_same_process(scene, k->waker, k->target) || its->waker != k->waker ||
	    (!asks && !wait_is_loop_rest(&scene->waits[rest->last])) ||
	    (its->kind != WAIT_KIND_read && (its->kind != WAIT_KIND_poll || its->argument > 1)))
		return false;
	for (uint32_t i = scene_wakes_from(scene, k->target, its->start_ns); i-- > scene->threads[k->target].wake; ) {
		if (scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) < its->start_ns)
			return false;
		if (scene->wakes[i].target == k->waker)
			return true;
	}
	return false;
}

/* Its creator had waited for nobody but it since it made it, and goes on because it has begun: that is no request. */
static bool tells_creator(const struct follower *f, uint32_t thread, const struct wake *k)
{
	const struct scene *scene = f->scene;
	const struct thread *t = &scene->tables->threads[thread];

	if (t->creator != k->target || !scene_same_process(scene, thread, k->target))
		return false;
	for (uint32_t i = scene_waits_from(scene, k->target, t->start_ns); i < scene_waits_end(scene, k->target); i++) {
		if (scene->waits[i].waker != thread)
			return false;
		if (scene->waits[i].end_event == k->number)
			return true;
	}
	return false;
}

/* The first of the thread's wake-ups of the other, UINT64_MAX none among its first ones. */
static uint64_t first_wake(const struct scene *scene, uint32_t thread, uint32_t other)
{
	uint32_t end = scene_wakes_end(scene, thread), first = scene->threads[thread].wake;
	uint64_t most = limit_of(scene, LIMIT_first_messages);

	for (uint32_t i = first; i < end && i - first < most; i++)
		if (scene->wakes[i].target == other)
			return scene->wakes[i].time;
	return UINT64_MAX;
}

/* A thread of its process that had set it to work, and waited for that since, has its answer by this: it was the other
 * that began. */
static bool answers_fellow(const struct follower *f, uint32_t at, const struct wake *k)
{
	const struct scene *scene = f->scene;
	const struct wait *its = at ? NULL : scene_waits_at(scene, k->target, k->time - 1);

	if (!its || its->waker != k->waker || its->hint || (its->kind != WAIT_KIND_futex && its->kind != WAIT_KIND_semaphore) ||
	    !scene_same_process(scene, k->waker, k->target) || scene->tables->threads[k->target].creator == k->waker)
		return false;
	for (uint32_t i = scene_wakes_from(scene, k->target, its->start_ns); i-- > scene->threads[k->target].wake; ) {
		if (scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) < its->start_ns)
			return false;
		if (scene->wakes[i].target == k->waker)
			return scene->tables->threads[k->waker].creator == k->target ||
			       first_wake(scene, k->target, k->waker) < first_wake(scene, k->waker, k->target);
	}
	return false;
}

/* Who serves a file system lets those go on that had asked it for something: nobody owes it anything for that. */
static bool answers_fuse(const struct scene *scene, const struct wake *k)
{
	const struct wait *its = scene_waits_at(scene, k->target, k->time - 1);

	return its && its->kind == WAIT_KIND_fuse && its->waker == k->waker;
}

/* It waited inside the kernel for a block, a page or a lock there: that this came says nothing of whose it is. */
static bool went_on_inside(const struct scene *scene, const struct wake *k)
{
	const struct wait *its = scene_waits_at(scene, k->target, k->time - 1);

	return its && its->waker == k->waker && rule_holds(scene, RULE_went_on_inside) &&
	       (its->kind == WAIT_KIND_block_io || its->kind == WAIT_KIND_kernel_lock || its->kind == WAIT_KIND_fault || its->kind == WAIT_KIND_sync);
}

/* It waited for the lock by which an interpreter lets one of its threads run at a time, and was given that: nobody asked it for anything. */
static bool gives_turn(const struct scene *scene, const struct wake *k)
{
	const struct wait *its = scene_waits_at(scene, k->target, k->time - 1);

	return its && its->kind == WAIT_KIND_futex && its->hint_kind == HINT_KIND_interpreter_lock && its->hint == k->waker;
}

/* It opened the FIFO's other end, and the one that had waited for that, with nothing to read yet, waits for what it writes. */
static bool came_to_fifo(const struct scene *scene, const struct wake *k)
{
	const struct wait *its = scene_waits_at(scene, k->target, k->time - 1), *next;

	if (!its || its->kind != WAIT_KIND_open || its->waker != k->waker || !rule_holds(scene, RULE_came_to_fifo) ||
	    its + 1 == &scene->waits[scene_waits_end(scene, k->target)])
		return false;
	next = its + 1;
	return next->kind == WAIT_KIND_read && object_kind(next->object) == OBJECT_KIND_fifo &&
	       (next->end == WAIT_END_OPEN || scene_same_process(scene, next->waker, k->waker));
}

static void follow_wakes(struct follower *f, uint32_t at, uint64_t from, uint64_t to)
{
	uint32_t thread = f->trails->items[at].thread;

	for (uint32_t i = scene_wakes_from(f->scene, thread, from); i < scene_wakes_end(f->scene, thread); i++) {
		const struct wake *k = &f->scene->wakes[i];
		bool known;

		if (k->time > to)
			break;
		if (k->target == thread)
			continue;
		known = reached(f, k->target);
		if ((known && at) || waited_for_end(f->scene, k) || wakes_by_answer(f, at, k) || answers_client(f, at, k) ||
		    answers_fellow(f, at, k) || answers_fuse(f->scene, k) || went_on_inside(f->scene, k) || gives_turn(f->scene, k) ||
		    came_to_fifo(f->scene, k) || tells_creator(f, thread, k))
			continue;
		if (known)
			reach_again(f, at, k->target, k->time, k->number);
		else
			reach(f, at, k->target, k->time, k->number, TRAIL_RELAY, LINK_ACTIVITY, 75, 0);
	}
}

static void follow_births(struct follower *f, uint32_t at, uint64_t from, uint64_t to)
{
	const struct tables *tables = f->scene->tables;
	uint32_t creator = f->trails->items[at].thread, first = 1, high = tables->thread_count;

	/* They lie in the order of their births. */
	SEARCH(first, high, middle, tables->threads[middle].start_ns < from);
	for (uint32_t i = first; i < tables->thread_count && tables->threads[i].start_ns <= to; i++)
		if (tables->threads[i].creator == creator && !reached(f, i))
			reach(f, at, i, tables->threads[i].start_ns, f->scene->threads[i].fork_event, TRAIL_RELAY,
			      scene_same_process(f->scene, i, creator) ? LINK_STARTED : LINK_CHILD, 80, 0);
}

void follow_request(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from_ns,
		    uint64_t set_off_ns, uint64_t until_ns, struct trails *trails)
{
	struct follower f = { .scene = scene, .ends = ends, .trails = trails, .until = until_ns };

	trails->length = 0;
	vec_push(trails, ((struct trail){ .thread = thread, .from_ns = from_ns, .rest_ns = set_off_ns, .confidence = 100 }));
	for (uint32_t at = 0; at < trails->length; at++) {
		struct trail trail = trails->items[at];
		uint64_t to;

		if (trail.end == TRAIL_UNREAD || trail.end == TRAIL_BACK) {
			if (trail.end == TRAIL_UNREAD && standing(&f, trail.thread, trail.from_ns) == TRAIL_STOPPED)
				trails->items[at].end = TRAIL_STOPPED;
			continue;
		}
		if (at)
			trail.rest_ns = part_end(&f, &trail);
		trails->items[at] = trail;
		to = trail.rest_ns < until_ns ? trail.rest_ns : until_ns;
		follow_messages(&f, at, trail.from_ns, to);
		follow_wakes(&f, at, trail.from_ns, to);
		follow_births(&f, at, trail.from_ns, to);
		if (trail.end == TRAIL_AT_REST && sent_on_later(&f, at))
			trails->items[at].end = TRAIL_RELAY;
	}
	for (uint32_t at = 1; at < trails->length; at++)
		if (trails->items[at].end == TRAIL_AT_REST && handed_over(&f, at))
			trails->items[at].end = TRAIL_RELAY;
}

unsigned follow_hops(const struct trails *trails, uint32_t index, struct hop hops[WALK_MAX_HOPS])
{
	unsigned count = trails->items[index].level;

	if (count > WALK_MAX_HOPS)
		return 0;
	for (unsigned i = count; i-- > 0; index = trails->items[index].parent) {
		const struct trail *t = &trails->items[index];

		hops[i] = (struct hop){ .from_ns = t->from_ns, .thread = t->thread, .link = t->link,
					.confidence = t->confidence, .evidence = t->evidence };
	}
	return count;
}

static bool is_on_path(const struct path_node *path, unsigned count, uint32_t thread)
{
	for (unsigned i = 0; i < count; i++)
		if (path[i].thread == thread)
			return true;
	return false;
}

unsigned follow_back(const struct scene *scene, const struct episode *episode, struct path_node path[FOLLOW_MAX_BACK])
{
	unsigned count = 0;

	/* A relay comes twice: as it handed the answer on, and as it was given leave to ask. */
	for (unsigned steps = 0; count < FOLLOW_MAX_BACK && steps < 2 * FOLLOW_MAX_BACK; steps++) {
		const struct wait *w = &scene->waits[episode->last];
		const struct episode *before;

		if (w->end != WAIT_END_THREAD || !w->waker)
			break;
		if (!is_on_path(path, count, w->waker))
			path[count++] = (struct path_node){ w->waker, w->end_ns, w->end_event };
		/* What let the waker run: its own last wait before it woke. */
		before = scene_episode(scene, w->waker, w->end_ns);
		if (!before)
			before = scene->episodes + scene->threads[w->waker].episode + scene->threads[w->waker].episode_count;
		if (before == scene->episodes + scene->threads[w->waker].episode)
			break;
		before--;
		if (before->end_ns + 1000000000 < w->end_ns)
			break;
		episode = before;
	}
	return count;
}
