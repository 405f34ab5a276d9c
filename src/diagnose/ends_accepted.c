/* Connections that a server accepted, and closed again before anybody looked at what it has open. That nobody has their far end says
 * nothing then: what came over them let a thread go on, which it does only when somebody has accepted them. */
#include <netinet/tcp.h>
#include <sys/syscall.h>

#include "diagnose/ends.h"
#include "diagnose/judgement.h"
#include "trace/trace.h"

enum { ACCEPTED_OPEN = 1, ACCEPTED_CLOSED };

/* Whoever waits there may wait for connections: what came before one is accepted wakes that one, too. */
static bool may_accept(const struct ends *ends, const struct wait *w)
{
	if (w->kind == WAIT_KIND_accept)
		return true;
	if (w->kind == WAIT_KIND_epoll)
		return ends_set_role(ends, w->object) == END_LISTENER || ends_set_role(ends, w->object) == END_UNKNOWN;
	return (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll) || (w->kind == WAIT_KIND_poll && w->argument != 1) ||
	       ends_role(ends, w->kind == WAIT_KIND_poll ? w->detail : w->object) == END_LISTENER;
}

/* The wait that the wake-up ended; NULL it is not known. */
static const struct wait *ended_by(const struct scene *scene, const struct wake *wake)
{
	uint32_t i = scene_waits_from(scene, wake->target, wake->time);

	for (uint32_t back = 0; back < 2 && i > scene->threads[wake->target].wait; back++)
		if (scene->waits[--i].end_event == wake->number)
			return &scene->waits[i];
	return NULL;
}

/* The thread that what this one sent over the connection let go on, and that waits for no connection; 0 none. */
static uint32_t lets_go_on(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint32_t thread)
{
	uint64_t looks = limit_of(scene, LIMIT_sends_looked_at);
	uint32_t found = 0;
	struct arena arena;

	arena_init(&arena);
	for (uint32_t i = scene_wakes_from(scene, thread, d->time); i > scene->threads[thread].wake && looks && !found; ) {
		const struct wake *wake = &scene->wakes[--i];
		const struct wait *w = scene_pid(scene, wake->target) == d->pid ? NULL : ended_by(scene, wake);
		const struct event *e = w && w->cause == WAKE_CAUSE_own_send && !may_accept(ends, w) ? trace_event(scene->trace, &arena, wake->number) : NULL;

		looks--;
		if (e && e->type == EVENT_wake && event_as(e, wake)->object == d->at.object && event_as(e, wake)->syscall != SYS_connect)
			found = wake->target;
	}
	arena_done(&arena);
	return found;
}

/* Who received from it; 0 nobody. */
static uint32_t receiver_of(const struct scene *scene, const struct descriptor *d)
{
	const struct row *row = scene_channel(scene, d->at.channel_out);

	for (uint32_t i = 0; row && i < row->count; i++) {
		const struct message m = scene_message(scene, row->items[i]);

		if (m.time < d->time && m.flags & MESSAGE_FLAGS_receive && m.result >= 0)
			return m.thread;
	}
	return 0;
}

/* One of the process has something open, as was seen then or later. */
static bool was_looked_at(const struct ends *ends, uint32_t pid, uint64_t since_ns)
{
	struct row row = ends_of_process(ends, pid);

	return row.count && ends_at(ends, row, row.count - 1)->time >= since_ns;
}

/* Neither the process of the one that took it, nor one that it made since, has the far end open as it was looked at then. */
static bool is_closed(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint32_t taker)
{
	const struct tables *tables = scene->tables;
	uint32_t pid = scene_pid(scene, taker);

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &tables->threads[i];
		bool is_its = scene_pid(scene, i) == pid || scene_descends_from(scene, i, pid);

		if (is_its && t->start_ns <= d->time && t->end_ns > d->time && !was_looked_at(ends, scene_pid(scene, i), d->time))
			return false;
	}
	return true;
}

bool ends_lost(const struct ends *ends, const struct descriptor *client)
{
	const uint64_t *known = map_find(&ends->accepted, client->at.object);

	return known && *known == ACCEPTED_CLOSED && judgement_holds(ends->judgement, RULE_lost_between) && client->at.kind == OBJECT_KIND_tcp &&
	       client->at.state == TCP_ESTABLISHED && !client->at.queued && !ends_far(ends, client).count;
}

bool ends_listens_to_lost(const struct ends *ends, uint32_t pid, const struct wait *wait)
{
	uint64_t object = wait->kind == WAIT_KIND_read || wait->kind == WAIT_KIND_poll ? ends_listened_to(ends, pid, wait) : 0;
	struct row row = object ? ends_of_object(ends, object) : (struct row){ 0 };

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid == pid && ends_lost(ends, ends_at(ends, row, i)))
			return true;
	return false;
}

void ends_note_accepted(const struct scene *scene, struct ends *ends)
{
	const struct tables *tables = scene->tables;

	for (size_t i = 0; rule_holds(scene, RULE_accepted_since) && i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];
		uint32_t process = tables_process(tables, d->pid, d->time), taker;

		if (!process || !ends_has_none(ends, d) || !ends_listener(ends, d) || map_find(&ends->accepted, d->at.object))
			continue;
		taker = receiver_of(scene, d);
		SCENE_EACH_MATE(scene, process, mate)
			taker = taker ? taker : lets_go_on(scene, ends, d, mate);
		if (taker)
			map_put(&ends->accepted, d->at.object, is_closed(scene, ends, d, taker) ? ACCEPTED_CLOSED : ACCEPTED_OPEN);
	}
}
