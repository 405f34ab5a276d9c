/* The other end: who has what is waited on open, too, and could send or take (see suspects.h). */
#include <sys/epoll.h>

#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

#define POLLED_FEW 2u
#define SNAPSHOT_TAKES_NS 1000000000u /* a recording's last one is read behind its last event */

static bool passes_messages(unsigned kind)
{
	return kind == OBJECT_KIND_pipe || kind == OBJECT_KIND_fifo || kind == OBJECT_KIND_tty;
}

/* Of those that have the far end one that was not only handed it on: who makes a pair of
 * sockets for its children keeps both ends, and is what the kernel calls the peer. 0 none. */
static uint32_t far_holder(const struct scene *scene, const struct ends *ends, struct row far, const struct descriptor *d, uint64_t from_ns,
			   uint64_t to_ns)
{
	const struct tables *tables = scene->tables;

	for (uint32_t i = far.count; i-- > 0; ) {
		uint32_t pid = ends_at(ends, far, i)->pid, thread = tables_process(tables, pid, from_ns);

		if (pid != d->pid && thread && !scene_descends_from(scene, tables_process(tables, d->pid, from_ns), pid) &&
		    tables->threads[thread].start_ns < to_ns && tables->threads[thread].end_ns > from_ns + (to_ns - from_ns) / 2)
			return thread;
	}
	return 0;
}

static bool has_one_of(const struct ends *ends, struct row row, uint32_t pid)
{
	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid == pid)
			return true;
	return false;
}

/* The process at the other end: the kernel's peer, which is who listened, or who has that end of it. */
static uint32_t peer_of(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t owner = tables_process(scene->tables, d->pid, from_ns), holder = 0;
	struct row far = ends_far(ends, d);

	if (owner && (scene_descends_from(scene, owner, d->at.peer) || !has_one_of(ends, far, d->at.peer)))
		holder = far_holder(scene, ends, far, d, from_ns, to_ns);
	return holder ? holder : tables_process(scene->tables, d->at.peer, from_ns);
}

/* How sure it is that who has the far end should have ended the wait: a packet did, and only that one could send it. */
static uint8_t far_weight(const struct question *q, const struct descriptor *d)
{
	const struct wait *w = q->wait;
	bool packet = w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_network && rule_holds(q->scene, RULE_from_here);
	bool faced = w->end == WAIT_END_OPEN && !w->idle && q->waiting_count > 1 && ends_role(q->inquiry->ends, d->at.object) == END_CLIENT &&
		     (w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument == 1));

	return packet ? (uint8_t)rule_infos[RULE_from_here].weight : limit(q, faced ? LIMIT_peer_faced : LIMIT_peer_guess);
}

/* It shows the terminal that the other writes to, and only listens there: what is written does not come to it, for the output is stopped. */
static bool shows_stopped(const struct question *q, uint32_t process)
{
	uint32_t pid = process ? scene_pid(q->scene, process) : 0;

	if (!process || q->wait->kind != WAIT_KIND_write || q->wait->end != WAIT_END_OPEN || object_kind(q->wait->object) != OBJECT_KIND_tty ||
	    !rule_holds(q->scene, RULE_stopped_output))
		return false;
	SCENE_EACH_MATE(q->scene, process, i) {
		const struct wait *w = i == process || rule_holds(q->scene, RULE_listener_mate) ? stands_in(q, i) : NULL;

		if (w && ends_listens_at_terminals(q->inquiry->ends, pid, w))
			return true;
	}
	return false;
}

/* Of those that have the far end, or listen there, who serves this one; where all of them rest, the process that is known. */
static void suspect_server(struct question *q, struct row row, uint32_t process, enum walk_link link, uint8_t weight, uint64_t since_ns, uint64_t evidence)
{
	const struct ends *ends = q->inquiry->ends;
	struct request_asked asked = { .thread = q->episode->thread, .since_ns = since_ns,
				       .from_ns = q->from, .to_ns = q->to, .unaccepted = link == LINK_LISTENER };
	uint32_t thread;

	if (shows_stopped(q, process)) {
		if (suspect_thread(q, process, link, (uint8_t)rule_infos[RULE_stopped_output].weight, evidence))
			q->suspects->items[q->suspects->length - 1].hops[0].final = true;
		return;
	}
	thread = serving_holder(q->scene, ends, row, &asked);
	if (!thread && process && link == LINK_PEER && row.count && rule_holds(q->scene, RULE_relay))
		thread = suspects_listener(q, process, ends_at(ends, row, row.count - 1)->at.object);
	else if (thread && weight < limit(q, LIMIT_peer_at_work) && serving_is_known(q->scene, ends, thread, &asked))
		weight = limit(q, LIMIT_peer_at_work);
	suspect_thread(q, thread ? thread : process, link, weight, evidence);
}

/* Or earlier, where the connection tells when something went over it last, which its process sent. */
static uint64_t asked_by_then(const struct question *q, const struct descriptor *d, uint64_t since_ns)
{
	uint64_t before = limit_of(q->scene, LIMIT_serving_before_ns), asked = d->at.access & DESCRIPTOR_SPOKE_LAST ? d->at.spoke_ns : 0;

	return rule_holds(q->scene, RULE_asked_by_then) && asked > before && asked - before < since_ns ? asked - before : since_ns;
}

/* Who has the other end of a connection, asked at `since_ns` or later; where nobody has it, who
 * listens and has not accepted it. */
static void suspect_far_end(struct question *q, const struct descriptor *d, uint64_t since_ns)
{
	const struct ends *ends = q->inquiry->ends;
	const struct tables *tables = q->scene->tables;
	const struct descriptor *listener;
	struct row far = ends_far(ends, d);
	uint32_t own = 0;

	since_ns = asked_by_then(q, d, since_ns);

	/* both ends of a message queue are one */
	while (d->at.kind == OBJECT_KIND_queue && own < far.count && ends_at(ends, far, own)->pid == d->pid)
		own++;
	/* and a pipe's row has both sides: who has this one gives it nothing */
	if (scene_is_pipe(d->at.object) && (d->at.access & 3) != 3 && far.count && ends_at(ends, far, 0)->pid != d->pid &&
	    (ends_at(ends, far, 0)->at.access & 3) == (d->at.access & 3))
		return;
	if (d->at.kind == OBJECT_KIND_pidfd && d->at.peer && d->at.peer != d->pid) {
		suspect_thread(q, tables_process(tables, d->at.peer, q->from), LINK_AWAITED, limit(q, LIMIT_awaited_end), 0);
		return;
	}
	listener = d->time >= q->from && d->time <= q->to && ends_not_accepted(ends, d) ? ends_listener(ends, d) : NULL;
	if (listener) {
		uint32_t process = tables_process(tables, d->at.peer && d->at.peer != d->pid ? d->at.peer : listener->pid, q->from);

		suspect_server(q, ends_of_object(ends, listener->at.object), process, LINK_LISTENER, limit(q, LIMIT_listener), since_ns, q->wait->begin_event);
	} else if (d->at.peer && d->at.peer != d->pid) {
		suspect_server(q, far, peer_of(q->scene, ends, d, q->from, q->to), LINK_PEER, far_weight(q, d), since_ns, 0);
	} else if (far.count > own && ends_at(ends, far, own)->pid != d->pid) {
		suspect_server(q, far, tables_process(tables, ends_at(ends, far, own)->pid, q->from), LINK_PEER, far_weight(q, d), since_ns, 0);
	}
}

/* Who has both ends of a pipe open made it for others, or was handed it on: that one rarely uses it. */
static bool has_both_ends(const struct ends *ends, struct row row, uint32_t pid)
{
	uint8_t access = 0;

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid == pid)
			access |= ends_at(ends, row, i)->at.access;
	return (access & 3) == 3;
}

/* All that have the pipe have both of its ends, and there are several. */
static bool holds_tokens(const struct question *q, uint64_t object, uint32_t pid)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = scene_is_pipe(object) && rule_holds(q->scene, RULE_tokens) ? ends_of_object(ends, object) : (struct row){ 0 };
	bool others = false;

	for (uint32_t i = 0; i < row.count; i++) {
		if (!has_both_ends(ends, row, ends_at(ends, row, i)->pid))
			return false;
		others |= ends_at(ends, row, i)->pid != pid;
	}
	return others;
}

/* A filter that is given something again and again, goes back to rest each time, and passes nothing on. */
static bool keeps_what_it_gets(const struct question *q, uint32_t thread)
{
	const struct scene *scene = q->scene;
	const struct wait *first = NULL;
	uint64_t turns = 0;

	for (uint32_t i = thread ? scene_waits_from(scene, thread, q->from) : 0; thread && i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->start_ns >= q->to)
			break;
		if (w->kind != WAIT_KIND_read || !scene_is_pipe(w->object) || (first && w->object != first->object))
			continue;
		first = first ? first : w;
		turns += w->end == WAIT_END_THREAD && w->end_ns < q->to;
	}
	return q->wait->kind == WAIT_KIND_read && turns >= limit_of(scene, LIMIT_kept_turns);
}

/* Items do not always tell their object. */
static uint64_t object_polled(const struct question *q, const struct poll_item *p)
{
	struct row row = ends_of_process(q->inquiry->ends, scene_pid(q->scene, q->wait->thread));

	for (uint32_t i = row.count; !p->object && i-- > 0; )
		if ((int32_t)ends_at(q->inquiry->ends, row, i)->at.fd == p->fd)
			return ends_at(q->inquiry->ends, row, i)->at.object;
	return p->object;
}

/* As its set was found last: it polls the object to give it something, and not to take. */
static bool polls_to_write(const struct question *q, uint64_t object)
{
	uint32_t tid = scene_tid(q->scene, q->wait->thread);

	for (uint32_t i = q->wait->kind == WAIT_KIND_poll ? q->scene->poll_item_count : 0; i-- > 0; ) {
		const struct poll_item *p = &q->scene->poll_items[i];

		if (p->set || p->pid != tid || p->time < q->wait->start_ns)
			continue;
		if (object_polled(q, p) == object)
			return (p->events & (EPOLLIN | EPOLLOUT)) == EPOLLOUT;
	}
	return false;
}

/* Of a terminal it is the other side that takes, and gives. */
static bool is_same_side(const struct question *q, const struct descriptor *d)
{
	return d->at.kind == OBJECT_KIND_tty && rule_holds(q->scene, RULE_same_side);
}

/* A counter is no message, but who waits for it alone waits for who else has it. */
static bool may_fill(const struct question *q, const struct descriptor *d)
{
	return passes_messages(d->at.kind) || (d->at.kind == OBJECT_KIND_eventfd && q->wait->kind == WAIT_KIND_read && q->wait->end == WAIT_END_OPEN);
}

/* Another that its parent started as well has the pipe open to read from; `reads`: and stands in that. */
static bool has_fellow_at(const struct question *q, uint64_t pipe, uint32_t thread, bool reads)
{
	const struct tables *tables = q->scene->tables;
	struct row row = scene_is_pipe(pipe) ? ends_of_object(q->inquiry->ends, pipe) : (struct row){ 0 };
	uint32_t pid = scene_pid(q->scene, thread), parent = tables->threads[thread].parent_pid;

	for (uint32_t i = 0; parent && i < row.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, row, i);
		uint32_t other = d->pid != pid && d->pid != parent && d->at.access & 1 ? tables_process(tables, d->pid, q->from) : 0;
		const struct wait *its = other && alive(q, other) && tables->threads[other].parent_pid == parent ? stands_in(q, other) : NULL;

		if (its && (!reads || (its->kind == WAIT_KIND_read && its->object == pipe)))
			return true;
	}
	return false;
}

/* It waits for work at a pipe from which others that its parent started read theirs, too, or for its turn to read from there. */
static bool rests_in_pool(const struct question *q, uint32_t thread)
{
	const struct wait *w = thread && rule_holds(q->scene, RULE_rests_in_pool) ? stands_in(q, thread) : NULL;
	struct row row = w && w->kind == WAIT_KIND_futex && wait_is_shared(w) && !w->hint ? ends_of_process(q->inquiry->ends, scene_pid(q->scene, thread))
											   : (struct row){ 0 };

	if (w && w->kind == WAIT_KIND_read && has_fellow_at(q, w->object, thread, false))
		return true;
	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(q->inquiry->ends, row, i)->at.access & 1 && has_fellow_at(q, ends_at(q->inquiry->ends, row, i)->at.object, thread, true))
			return true;
	return false;
}

/* It awaits the end of what it started, which has the same end of the pipe from it: as shells do that run a pipeline's part. `soon`: and which it
 * began as it was young itself; one that did something else before may have read there itself. */
static bool has_handed_on(const struct question *q, struct row row, uint32_t thread, uint8_t needed, bool soon)
{
	const struct wait *w = rule_holds(q->scene, RULE_handed_on) ? stands_in(q, thread) : NULL;
	uint64_t until = serving_born(q->scene, thread) + limit_of(q->scene, LIMIT_handed_on_ns);
	uint32_t pid = scene_pid(q->scene, thread);

	for (uint32_t i = 0; w && w->kind == WAIT_KIND_child && i < row.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, row, i);
		uint32_t other = d->pid != pid && d->at.access & needed ? tables_process(q->scene->tables, d->pid, q->from) : 0;

		if (other && alive(q, other) && scene_descends_from(q->scene, other, pid) && (!soon || serving_born(q->scene, other) <= until))
			return true;
	}
	return false;
}

/* Asked by another, it listens to several things: who waits for what it passes on keeps it not. */
static bool is_asked_relay(const struct question *q)
{
	return q->wait->kind == WAIT_KIND_poll && q->wait->argument > 1 && q->waiting_count > 1 && rule_holds(q->scene, RULE_relay);
}

/* Nobody else has the end open by which room comes into the pipe, but who waits for the end of a program that has it, too. */
static bool is_only_reader(const struct question *q, uint64_t object, uint32_t thread)
{
	struct row row = scene_is_pipe(object) ? ends_of_object(q->inquiry->ends, object) : (struct row){ 0 };

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, row, i);
		uint32_t other = d->at.access & 1 ? tables_process(q->scene->tables, d->pid, q->from) : 0;

		if (other && !scene_same_process(q->scene, other, thread) && !has_handed_on(q, row, other, 1, false))
			return false;
	}
	return thread && row.count;
}

/* How sure it is that the process at the pipe's other end is the one. */
static uint8_t other_end_weight(const struct question *q, uint64_t object, uint32_t thread, bool kept, bool mate, bool room)
{
	if (kept)
		return limit(q, LIMIT_kept_guess);
	if (mate)
		return limit(q, LIMIT_meant_guess);
	return room && is_only_reader(q, object, thread) ? limit(q, LIMIT_only_reader) : weight_of(q);
}

void suspect_ends_of(struct question *q, uint64_t object)
{
	const struct ends *ends = q->inquiry->ends;
	const struct tables *tables = q->scene->tables;
	struct row row = ends_of_object(ends, object);
	uint32_t pid = scene_pid(q->scene, q->episode->thread), oldest[2] = { 0 }; /* with one end, with both */
	uint8_t needed = q->wait->kind == WAIT_KIND_write || polls_to_write(q, object) ? 1 : 2;
	bool tokens = needed == 2 && holds_tokens(q, object, pid), kept, mate;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->pid == pid) {
			if (!tokens && (!passes_messages(d->at.kind) || q->wait->kind != WAIT_KIND_epoll))
				suspect_far_end(q, d, serving_asked_since(q->scene, q->episode));
			continue;
		}
		if (may_fill(q, d) && d->at.access & needed && !is_same_side(q, d)) {
			uint32_t thread = tables_process(tables, d->pid, q->from);
			uint32_t *known = &oldest[has_both_ends(ends, row, d->pid)];

			if (thread && alive(q, thread) && !has_handed_on(q, row, thread, needed, true) &&
			    (!*known || tables->threads[thread].start_ns < tables->threads[*known].start_ns))
				*known = thread;
		}
	}
	/* beside other things that it listens to such a pipe only tells that its maker has ended */
	if (!oldest[0] && q->wait->kind != WAIT_KIND_epoll)
		oldest[0] = oldest[1];
	if (tokens && (!oldest[0] || is_waiting(q, oldest[0]))) {
		suspects_child_with_token(q, object);
		return;
	}
	if (needed == 2 && suspects_heard_anyway(q, oldest[0]))
		return;
	oldest[0] = suspects_meant(q, oldest[0], &mate);
	if (rests_in_pool(q, oldest[0]) || (oldest[0] && is_asked_relay(q) && suspects_reads_from_us(q, oldest[0])))
		return;
	kept = keeps_what_it_gets(q, oldest[0]);
	if (suspect_thread(q, oldest[0], LINK_PEER, other_end_weight(q, object, oldest[0], kept, mate, needed == 1), q->wait->begin_event))
		q->suspects->items[q->suspects->length - 1].hops[0].final = kept;
}

/* What else a poll listens to, besides the process's own bells, where that is little; `room`: only the pipes to which it would write. */
static void ask_polled(struct question *q, bool room)
{
	const struct ends *ends = q->inquiry->ends;
	uint32_t tid = scene_tid(q->scene, q->wait->thread), pid = scene_pid(q->scene, q->wait->thread), count = 0;
	uint64_t objects[POLLED_FEW], newest = 0;

	for (uint32_t i = q->scene->poll_item_count; i-- > 0; ) {
		const struct poll_item *p = &q->scene->poll_items[i];
		uint64_t object;

		if (p->set || p->pid != tid || p->time < q->wait->start_ns)
			continue;
		if (newest && p->time + SNAPSHOT_TAKES_NS / 10 < newest)
			break;
		newest = newest ? newest : p->time;
		object = object_polled(q, p);
		if (!object || own_ends_has_both(ends, object, pid))
			continue;
		if (count == POLLED_FEW)
			return;
		objects[count++] = object;
	}
	for (uint32_t i = 0; i < count; i++)
		if (objects[i] != q->wait->detail && (!room || (scene_is_pipe(objects[i]) && polls_to_write(q, objects[i]))))
			suspect_ends_of(q, objects[i]);
}

void ask_other_end(struct question *q)
{
	const struct wait *w = q->wait;

	if (w->kind == WAIT_KIND_futex || only_looks(q))
		return;
	suspect_ends_of(q, w->object || w->kind != WAIT_KIND_poll ? w->object : w->detail);
	if (w->kind == WAIT_KIND_poll && w->argument > 1)
		ask_polled(q, w->end != WAIT_END_OPEN);
	if ((w->kind != WAIT_KIND_epoll && w->kind != WAIT_KIND_uring) || !w->object || w->end != WAIT_END_OPEN ||
	    !own_ends_set_is_small(q->scene, q->inquiry->ends, w->object, scene_pid(q->scene, w->thread)))
		return;
	for (uint32_t i = 0; i < q->scene->poll_item_count; i++)
		if (q->scene->poll_items[i].set == w->object && !suspects_awaits_us(q, q->scene->poll_items[i].object) &&
		    !suspects_asks_us(q, q->scene->poll_items[i].object))
			suspect_ends_of(q, q->scene->poll_items[i].object);
}

bool suspects_others_write(const struct ends *ends, uint64_t object, const struct wait *w)
{
	struct row row = scene_is_pipe(object) ? ends_of_object(ends, object) : (struct row){ 0 };
	uint32_t own = 0;

	for (uint32_t i = 0; i < row.count && !own; i++)
		if (ends_at(ends, row, i)->at.access & 1)
			own = ends_at(ends, row, i)->pid;
	for (uint32_t i = 0; i < row.count && w->kind != WAIT_KIND_write; i++)
		if (ends_at(ends, row, i)->pid != own && ends_at(ends, row, i)->at.access & 2)
			return true;
	return false;
}

static bool listens_to_many(const struct question *q)
{
	const struct wait *w = q->wait;

	return w->end == WAIT_END_OPEN && !w->idle && !only_looks(q) && (w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument != 1));
}

/* Its process's threads take turns at a loop that serves: it waits for its turn, as any of them may for who is served. */
static bool rests_beside_loop(const struct question *q)
{
	const struct wait *w = q->wait;

	if (w->kind != WAIT_KIND_futex || w->hint || w->end != WAIT_END_OPEN || w->idle || !rule_holds(q->scene, RULE_silent_upstream))
		return false;
	SCENE_EACH_MATE(q->scene, w->thread, i) {
		const struct wait *its = i != w->thread && alive(q, i) ? stands_in(q, i) : NULL;

		if (its && its->kind == WAIT_KIND_epoll && ends_set_role(q->inquiry->ends, its->object) >= END_SERVER)
			return true;
	}
	return false;
}

/* By when the server was asked: whoever waits for all of that knows best, where a loop looks up meanwhile. */
static uint64_t asked_since(const struct question *q)
{
	uint64_t since = serving_asked_since(q->scene, q->episode), asked;
	const struct episode *e = q->waiting_count >= 2 ? scene_episode(q->scene, q->waiting[0], q->to - 1) : NULL;

	if (!e || e->end_ns < q->to || !rule_holds(q->scene, RULE_silent_upstream))
		return since;
	asked = own_ends_asked_ns(q->scene, q->inquiry->ends, &q->scene->waits[e->last]);
	asked = asked ? asked : serving_asked_since(q->scene, e);
	return asked && asked < since ? asked : since;
}

/* A server that listens to many waits, for the one that it serves, for another whom it asked: as far as that one is seen to be late. */
void ask_upstream(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, q->wait->thread));
	uint64_t since = owed_upstream_since(q->scene, asked_since(q)), last = 0;
	const struct descriptor *silent;
	size_t before;
	bool found = false;

	if (!listens_to_many(q) && !rests_beside_loop(q))
		return;
	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->at.object != last && owed_is_upstream(ends, d) && owed_on(q->scene, ends, d, since, q->from)) {
			suspect_far_end(q, d, since);
			found = true;
		}
		last = d->at.object;
	}
	silent = !found && q->waiting_count >= 2 && !scene_same_process(q->scene, q->waiting[0], q->wait->thread) ? suspects_silent_upstream(q, since) : NULL;
	if (!silent)
		return;
	before = q->suspects->length;
	suspect_far_end(q, silent, since);
	for (; before < q->suspects->length; before++)
		if (q->suspects->items[before].confidence < rule_infos[RULE_silent_upstream].weight)
			q->suspects->items[before].confidence = (uint8_t)rule_infos[RULE_silent_upstream].weight;
}

void ask_told_last(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, q->wait->thread));
	uint64_t since = owed_upstream_since(q->scene, serving_asked_since(q->scene, q->episode)), last = 0;

	if (q->waiting_count < 2 || scene_same_process(q->scene, q->waiting[0], q->wait->thread) || !listens_to_many(q))
		return;
	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (owed_is_upstream(ends, d) && owed_on(q->scene, ends, d, since, q->from))
			return;
	}
	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = d->at.object != last && owed_turned_away(q->scene, ends, d, since, q->from) ?
			suspects_neighbour(q->scene, ends, d, q->from, q->to) : 0;

		last = d->at.object;
		if (other && !is_waiting(q, other))
			suspect_far_end(q, d, since);
	}
}

/* What was sent to the process there lies unread, as it was looked at in the window. */
static bool lies_unread(const struct question *q, uint64_t object)
{
	struct row row = ends_of_object(q->inquiry->ends, object);

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, row, i);

		if (d->pid == scene_pid(q->scene, q->wait->thread) && d->at.queued && d->time >= q->from && d->time <= q->to + SNAPSHOT_TAKES_NS)
			return true;
	}
	return false;
}

/* One that asks others itself may only wait until those take what it got. */
void ask_served_alone(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	uint64_t only = 0, last = 0, put_off = 0;
	bool unread = false;
	struct row row;

	for (uint32_t i = 0; q->wait->kind == WAIT_KIND_epoll && i < q->scene->poll_item_count; i++) {
		const struct poll_item *p = &q->scene->poll_items[i];
		enum end_role role = p->set == q->wait->object && p->time >= q->from && p->time <= q->to ? ends_role(ends, p->object) : END_UNKNOWN;

		if (role == END_CLIENT || (role == END_SERVER && p->events & EPOLLIN && only && p->object != only))
			return;
		if (role != END_SERVER)
			continue;
		if (p->events & EPOLLIN) {
			only = p->object;
			continue;
		}
		put_off += p->object != last;
		last = p->object;
		unread |= lies_unread(q, p->object);
	}
	row = unread && put_off >= limit_of(q->scene, LIMIT_put_off) ? ends_of_object(ends, only) : (struct row){ 0 };
	for (uint32_t i = 0; i < row.count; i++)
		if (suspect_thread(q, suspects_neighbour(q->scene, ends, ends_at(ends, row, i), q->from, q->to), LINK_SERVED, weight_of(q), 0))
			q->suspects->items[q->suspects->length - 1].hops[0].final = true;
}

/* Of several processes that listen where a connection waits to be accepted, as workers do whose master made the socket, the one that is at work: it
 * would accept the connection. 0 none, or only one listens there. */
static uint32_t would_accept(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t from_ns, uint64_t to_ns)
{
	const struct descriptor *listener = rule_holds(scene, RULE_workers_accept) && ends_not_accepted(ends, d) ? ends_listener(ends, d) : NULL;
	struct row row = listener ? ends_of_object(ends, listener->at.object) : (struct row){ 0 };
	struct request_asked asked = { .thread = tables_process(scene->tables, d->pid, from_ns), .from_ns = from_ns, .to_ns = to_ns, .unaccepted = true };
	bool several = false;

	for (uint32_t i = 0; i < row.count; i++)
		several |= ends_at(ends, row, i)->pid != listener->pid;
	return several && asked.thread ? serving_holder(scene, ends, row, &asked) : 0;
}

uint32_t suspects_neighbour(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t from_ns, uint64_t to_ns)
{
	const struct descriptor *listener;
	struct row row;
	uint32_t worker;

	if (d->at.peer) {
		worker = d->at.kind == OBJECT_KIND_unix_stream ? would_accept(scene, ends, d, from_ns, to_ns) : 0;
		return worker ? worker : peer_of(scene, ends, d, from_ns, to_ns);
	}
	if ((d->at.kind != OBJECT_KIND_tcp && d->at.kind != OBJECT_KIND_udp) || !d->at.channel_out)
		return 0;
	row = ends_far(ends, d);
	if (row.count)
		return tables_process(scene->tables, ends_at(ends, row, 0)->pid, from_ns);
	listener = ends_not_accepted(ends, d) ? ends_listener(ends, d) : NULL;
	return listener ? tables_process(scene->tables, listener->pid, from_ns) : 0;
}

bool suspects_leave_unread(const struct ends *ends, const struct descriptor *d, uint64_t from_ns, uint64_t to_ns)
{
	struct row far = d->at.kind == OBJECT_KIND_tcp || d->at.kind == OBJECT_KIND_unix_stream || d->at.kind == OBJECT_KIND_unix_seqpacket ?
				 ends_far(ends, d) : (struct row){ 0 };
	bool unread = false;

	for (uint32_t i = 0; i < far.count; i++) {
		const struct descriptor *its = ends_at(ends, far, i);

		if (its->pid == d->pid || its->time < from_ns || its->time > to_ns + SNAPSHOT_TAKES_NS)
			continue;
		if (!its->at.queued)
			return false;
		unread = true;
	}
	return unread;
}

/* The other thread of its process that waits for what comes from there, and for nothing else; 0 none. */
static uint32_t mate_at(const struct question *q, uint64_t object)
{
	SCENE_EACH_MATE(q->scene, q->episode->thread, i) {
		const struct wait *w = i != q->episode->thread && alive(q, i) ? stands_in(q, i) : NULL;

		if (w && ((w->kind == WAIT_KIND_read && w->object == object) || (w->kind == WAIT_KIND_poll && w->argument == 1 && w->detail == object)))
			return i;
	}
	return 0;
}

/* A process that is stopped, or leaves unread what it was sent, and is at the other end
 * of what a relay on the way has open: without messages in the trace, the only
 * sign that the relay sent to it. */
void ask_neighbours(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	const struct scene *scene = q->scene;
	struct trails *trails = &q->inquiry->trails;

	for (uint32_t i = 0; i < trails->length && !only_looks(q); i++) {
		struct row row = ends_of_process(ends, scene_pid(scene, trails->items[i].thread));

		for (uint32_t j = 0; j < row.count; j++) {
			const struct descriptor *d = ends_at(ends, row, j);
			struct state_times times;
			struct suspect s = { .confidence = 0 };
			uint32_t thread = suspects_neighbour(scene, ends, d, q->from, q->to);

			if (!thread || thread == q->episode->thread || scene_is_system(scene, thread) || scene->tables->threads[thread].start_ns >= q->to)
				continue;
			scene_state_times(scene, thread, q->from, q->to, &times);
			if (times.ns[SPAN_STOPPED] * 2 > q->to - q->from)
				s.confidence = weight_of(q);
			else if ((d->at.unsent && d->time >= q->from && d->time <= q->to + SNAPSHOT_TAKES_NS) ||
				 suspects_leave_unread(ends, d, q->from, q->to))
				s.confidence = limit(q, LIMIT_unsent_neighbour);
			if (!s.confidence)
				continue;
			s.hop_count = i ? follow_hops(trails, i, s.hops) : 0;
			if (s.hop_count + (i ? 1 : 3) > WALK_MAX_HOPS)
				continue;
			if (!i && mate_at(q, d->at.object))
				s.hops[s.hop_count++] = (struct hop){ .from_ns = q->from, .thread = mate_at(q, d->at.object), .link = LINK_PROCESS,
								      .confidence = s.confidence };
			if (!i && times.ns[SPAN_STOPPED] * 2 <= q->to - q->from) {
				s.hop_count += suspects_takes_it(q, d, thread, &s.hops[s.hop_count], &s.confidence);
				vec_push(q->suspects, s);
				continue;
			}
			s.hops[s.hop_count++] = (struct hop){ .from_ns = i ? trails->items[i].rest_ns : q->from,
				.thread = thread, .link = LINK_PEER, .confidence = s.confidence, .final = times.ns[SPAN_STOPPED] * 2 > q->to - q->from &&
					 !stands_traced(q, thread) };
			vec_push(q->suspects, s);
		}
	}
}
