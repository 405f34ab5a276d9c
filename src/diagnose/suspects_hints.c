/* Owners and peers as they were read from memory when the wait began (see suspects.h). */
#include "diagnose/leads.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

/* How sure an owner is, by where it was read; 0: not at all. */
static uint8_t owner_weight(const struct question *q, unsigned kind)
{
	switch (kind) {
	case HINT_KIND_mutex_owner: case HINT_KIND_lock_owner: case HINT_KIND_rwlock_writer: case HINT_KIND_interpreter_lock: return weight_of(q);
	case HINT_KIND_pi_owner: return limit(q, LIMIT_owner_of_pi);
	case HINT_KIND_thread_exit: return limit(q, LIMIT_owner_exit);
	case HINT_KIND_socket_peer: return limit(q, LIMIT_owner_peer);
	case HINT_KIND_child: return limit(q, LIMIT_owner_child);
	case HINT_KIND_file_lock_owner: return limit(q, LIMIT_owner_file_lock);
	case HINT_KIND_tracer: return limit(q, LIMIT_owner_tracer);
	case HINT_KIND_semaphore_last: return limit(q, LIMIT_owner_semaphore);
	case HINT_KIND_queue_last: return limit(q, LIMIT_owner_queue);
	default: return 0; /* kinds of hints are open */
	}
}

/* Of the process at the other end the thread that serves this connection, where that is known; else its first. */
static uint32_t who_serves(const struct question *q, uint64_t object, uint32_t process)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_object(ends, object);
	struct request_asked asked = { .thread = q->episode->thread, .since_ns = serving_asked_since(q->scene, q->episode),
				       .from_ns = q->from, .to_ns = q->to };
	uint32_t pid = scene_pid(q->scene, q->episode->thread), thread = 0;

	for (uint32_t i = 0; !thread && i < row.count && rule_holds(q->scene, RULE_peer_serves); i++)
		if (ends_at(ends, row, i)->pid == pid)
			thread = serving_holder(q->scene, ends, ends_far(ends, ends_at(ends, row, i)), &asked);
	return thread && scene_same_process(q->scene, thread, process) ? thread : process;
}

void ask_hint(struct question *q)
{
	const struct wait *w = scene_slice_with_owner(q->scene, q->episode, q->to);
	enum walk_link link = LINK_OWNER;
	uint32_t owner = w->hint;

	if (!w->hint || !owner_weight(q, w->hint_kind) || inherited_lock(q) || leads_in_rest(q->scene, w))
		return;
	if (w->hint_kind == HINT_KIND_socket_peer || w->hint_kind == HINT_KIND_queue_last)
		link = LINK_PEER;
	if (w->hint_kind == HINT_KIND_socket_peer && suspects_passed_on(q, w->object, owner))
		return;
	if (w->hint_kind == HINT_KIND_socket_peer && w->end == WAIT_END_OPEN)
		owner = who_serves(q, w->object, owner);
	if (w->hint_kind == HINT_KIND_child)
		link = LINK_CHILD;
	if (w->hint_kind == HINT_KIND_thread_exit)
		link = LINK_JOINED;
	if (w->hint_kind == HINT_KIND_file_lock_owner) {
		suspect_lock_holder(q, suspects_lock_keeper(q->scene, owner, q->from), w->object, owner_weight(q, w->hint_kind), w->begin_event);
		return;
	}
	suspect_thread(q, owner, link, owner_weight(q, w->hint_kind), w->begin_event);
}
