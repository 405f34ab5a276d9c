/* Who is there, at the other end of the one thing that a thread waits on, is stronger than what went before: of those that a rule finds by the past, by what
 * the thread set off or by how such a wait went well, one to whom the way does not lead over there has nothing to do with it (see suspects.h). */
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/shared_word.h"

/* The one thing, where it is a pipe or a connection; 0 else. */
static uint64_t waits_on(const struct question *q)
{
	const struct wait *w = q->wait;
	uint64_t object = w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_write ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

	if ((w->end != WAIT_END_OPEN && w->end != WAIT_END_TIMEOUT) || w->idle || !rule_holds(q->scene, RULE_faces))
		return 0;
	switch (object_kind(object)) {
	case OBJECT_KIND_pipe:
	case OBJECT_KIND_fifo:
	case OBJECT_KIND_tcp:
	case OBJECT_KIND_unix_stream:
		return object;
	case OBJECT_KIND_udp:
		return rule_holds(q->scene, RULE_faces_by_datagram) && ends_is_connected_datagram(q->inquiry->ends, object) ? object : 0;
	}
	return 0;
}

/* By what lies inside the machine's memory, and by no descriptor. */
static bool ends_inside(const struct question *q)
{
	return q->wait->end == WAIT_END_OPEN && !q->wait->idle && rule_holds(q->scene, RULE_faces_by_memory);
}

/* Those that have the memory mapped in which the awaited word lies; none, where it is no such wait, or not all of them are known. */
static void find_sharers(const struct question *q, struct word_sharers *ret)
{
	if (!ends_inside(q) || q->wait->kind != WAIT_KIND_futex || q->wait->hint ||
	    !word_sharers_find(q->scene, q->inquiry->ends, q->wait, q->from, q->to, ret) || ret->more)
		ret->count = 0;
}

/* It is one of those, or a child, for one of which the wait is: nobody else ends such a wait. `thread` 0: whether there is any. */
static bool may_end_inside(const struct question *q, const struct facing *f, uint32_t thread)
{
	if (ends_inside(q) && q->wait->kind == WAIT_KIND_child)
		return thread ? scene_descends_from(q->scene, thread, scene_pid(q->scene, q->wait->thread)) : q->wait->hint != 0;
	for (uint32_t i = 0; i < f->sharers.count; i++)
		if (!thread || scene_same_process(q->scene, f->sharers.items[i].thread, thread))
			return true;
	return false;
}

/* The descriptor is one by which the wait can be ended, and its process lives. */
static bool may_end(const struct question *q, const struct descriptor *d, uint64_t object)
{
	uint32_t process = tables_process(q->scene->tables, d->pid, q->from);

	if (!process || !alive(q, process) || d->pid == scene_pid(q->scene, q->wait->thread))
		return false;
	return !scene_is_pipe(object) || d->at.access & (q->wait->kind == WAIT_KIND_write ? 1 : 2);
}

/* The thread's process has such a one; 0: anybody has. */
static bool is_facing(const struct question *q, uint64_t object, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_object(ends, object);
	uint32_t pid = scene_pid(q->scene, q->wait->thread), asked = thread ? scene_pid(q->scene, thread) : 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		struct row far = scene_is_pipe(object) || d->pid != pid ? (struct row){ 0 } : ends_far(ends, d);

		if (scene_is_pipe(object) && (!asked || d->pid == asked) && may_end(q, d, object))
			return true;
		for (uint32_t k = 0; k < far.count; k++)
			if ((!asked || ends_at(ends, far, k)->pid == asked) && may_end(q, ends_at(ends, far, k), object))
				return true;
	}
	return false;
}

/* Who holds the lock that the wait is for, where the kernel tells: what memory says may be old; 0 not known. */
static uint32_t holder(const struct question *q)
{
	const struct wait *w = scene_slice_with_owner(q->scene, q->episode, q->to);
	const struct file_lock *refused;
	uint32_t found = 0;

	if (q->wait->end != WAIT_END_OPEN || q->wait->idle || !rule_holds(q->scene, RULE_faces))
		return 0;
	switch (w->hint_kind) {
	case HINT_KIND_pi_owner:
	case HINT_KIND_lock_owner:
		found = w->hint;
		break;
	case HINT_KIND_file_lock_owner:
		found = suspects_lock_keeper(q->scene, w->hint, q->from);
		break;
	}
	if (!found && q->wait->kind == WAIT_KIND_file_lock) {
		refused = suspects_refused_lock(q->scene, q->wait, 0, q->to);
		found = refused && refused->blocker ? suspects_lock_holder(q->scene, refused) : 0;
	}
	return found && alive(q, found) && found != q->wait->thread ? found : 0;
}

/* The same for all trails. */
static const struct facing *facing_of(struct question *q)
{
	struct facing *f = &q->facing;

	if (f->known)
		return f;
	*f = (struct facing){ .known = true, .object = waits_on(q), .holder = holder(q) };
	find_sharers(q, &f->sharers);
	f->any = f->object ? is_facing(q, f->object, 0) : may_end_inside(q, f, 0);
	return f;
}

/* However far from the victim the thread is, of which it is the only one. */
void trust_facing(struct question *q)
{
	const struct facing *f = q->waiting_count > 2 && rule_holds(q->scene, RULE_faces_far) ? facing_of(q) : NULL;
	uint32_t only = 0;

	for (size_t i = 0; f && f->object && f->any && i < q->suspects->length; i++) {
		struct suspect *s = &q->suspects->items[i];

		if (s->hop_count != 1 || is_waiting(q, suspects_thread(s)) || !is_facing(q, f->object, suspects_thread(s)))
			continue;
		if (only && !scene_same_process(q->scene, only, suspects_thread(s)))
			return;
		only = suspects_thread(s);
	}
	for (size_t i = 0; only && i < q->suspects->length; i++) {
		struct suspect *s = &q->suspects->items[i];

		if (s->hop_count == 1 && scene_same_process(q->scene, suspects_thread(s), only) && s->confidence >= limit(q, LIMIT_peer_guess) &&
		    s->confidence < limit(q, LIMIT_far_least))
			s->confidence = s->hops[0].confidence = limit(q, LIMIT_far_least);
	}
}

bool suspects_turned_from(struct question *q, const struct trail *trail)
{
	const struct trails *trails = &q->inquiry->trails;
	const struct facing *f = facing_of(q);

	if (!f->holder && !f->any)
		return false;
	for (const struct trail *t = trail; t->level; t = &trails->items[t->parent])
		if (f->holder ? scene_same_process(q->scene, t->thread, f->holder)
			      : f->object ? is_facing(q, f->object, t->thread) : may_end_inside(q, f, t->thread))
			return false;
	return true;
}

/* By a lock whose owner is known, inside the kernel, by a child, or as it is stopped: another thread of its process. */
static bool has_kept_mate(const struct question *q, uint32_t thread)
{
	SCENE_EACH_MATE(q->scene, thread, i) {
		const struct wait *w = i != thread && alive(q, i) && !is_waiting(q, i) ? stands_in(q, i) : NULL;

		if (w && !w->idle && w->kind != WAIT_KIND_vfork && w->hint_kind != HINT_KIND_thread_exit &&
		    (w->kind == WAIT_KIND_stop || w->kind == WAIT_KIND_child || wait_has_owner(w) || wait_is_in_kernel(w)))
			return true;
	}
	return false;
}

/* It rests this time, and another of its process is known to be likelier, or is kept: which of a server's threads serves changes from time to time, and
 * a loop waits for those. */
static bool serves_no_more(const struct question *q, const struct baseline_step *step)
{
	if (step->doing == DOING_RESTED && has_kept_mate(q, step->now_thread))
		return true;
	for (size_t i = 0; step->doing == DOING_RESTED && i < q->suspects->length; i++) {
		uint32_t thread = suspects_thread(&q->suspects->items[i]);

		if (thread != step->now_thread && q->suspects->items[i].confidence > limit(q, LIMIT_peer_guess) &&
		    scene_same_process(q->scene, thread, step->now_thread) && !is_waiting(q, thread))
			return true;
	}
	return false;
}

bool suspects_of_another(const struct question *q, const struct baseline *found)
{
	uint64_t object = found->other_trace ? 0 : waits_on(q);

	if (object && serves_no_more(q, &found->steps[found->culprit]))
		return true;
	if (!object || !is_facing(q, object, 0))
		return false;
	for (unsigned i = 0; i <= found->culprit && i < found->step_count; i++)
		if (found->steps[i].now_thread && is_facing(q, object, found->steps[i].now_thread))
			return false;
	return true;
}

static bool rests_again(const struct suspect *s)
{
	return s->followed && s->end == TRAIL_AT_REST;
}

/* Beside somebody who has the other end, or does something. */
void drop_resting(struct question *q)
{
	struct suspects *suspects = q->suspects;
	bool others = false;
	size_t kept = 0;

	for (size_t i = 0; i < suspects->length; i++)
		others |= !rests_again(&suspects->items[i]) && suspects->items[i].confidence >= limit(q, LIMIT_peer_guess) &&
			  !is_waiting(q, suspects_thread(&suspects->items[i]));
	if (!others || q->wait->end != WAIT_END_OPEN || !rule_holds(q->scene, RULE_rests_beside))
		return;
	for (size_t i = 0; i < suspects->length; i++)
		if (!rests_again(&suspects->items[i]) || suspects->items[i].confidence > limit(q, LIMIT_trail_at_rest))
			suspects->items[kept++] = suspects->items[i];
	suspects->length = kept;
}

bool suspects_has_asked(const struct question *q, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, thread));
	const struct wait *w = rule_holds(q->scene, RULE_faces) ? stands_in(q, thread) : NULL;

	for (uint32_t i = w && w->end == WAIT_END_OPEN ? row.count : 0; i-- > 0 && ends_is_newest(ends, row, i); ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->at.kind == OBJECT_KIND_tcp && d->at.access & DESCRIPTOR_SPOKE_LAST &&
		    ends_role(ends, d->at.object) == END_CLIENT && d->at.spoke_ns && d->at.spoke_ns + limit_of(q->scene, LIMIT_wait_ns) <= q->to)
			return true;
	}
	return false;
}

bool suspects_stands_for_another(const struct question *q, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = rule_holds(q->scene, RULE_stands_for_another) ? stands_in(q, thread) : NULL;
	uint64_t object = w && w->kind == WAIT_KIND_read ? w->object : w && w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;
	struct row row = object && ends_role(ends, object) == END_SERVER ? ends_of_object(ends, object) : (struct row){ 0 };
	uint32_t asks = scene_pid(q->scene, q->episode->thread), others = 0;

	SCENE_EACH_MATE(q->scene, thread, i) {
		const struct wait *its = row.count && i != thread && alive(q, i) ? stands_in(q, i) : NULL;

		if (its && (its->kind == WAIT_KIND_read || wait_is_loop_rest(its) || its->kind == WAIT_KIND_poll))
			return false;
	}
	for (uint32_t i = 0; i < row.count; i++) {
		struct row far = ends_far(ends, ends_at(ends, row, i));

		for (uint32_t k = 0; k < far.count; k++) {
			if (ends_at(ends, far, k)->pid == asks)
				return false;
			others += ends_at(ends, far, k)->pid != scene_pid(q->scene, thread);
		}
	}
	return others;
}

bool suspects_passed_on(const struct question *q, uint64_t object, uint32_t peer)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_object(ends, object);
	uint32_t pid = scene_pid(q->scene, q->episode->thread);
	bool known = false;

	for (uint32_t i = 0; rule_holds(q->scene, RULE_passed_socket) && i < row.count; i++) {
		struct row far = ends_at(ends, row, i)->pid == pid ? ends_far(ends, ends_at(ends, row, i)) : (struct row){ 0 };

		for (uint32_t k = 0; k < far.count; k++) {
			if (ends_at(ends, far, k)->pid == scene_pid(q->scene, peer))
				return false;
			known = true;
		}
	}
	return known;
}

/* Who waits for this one is not heard where it waits now: it does not wait for that one. */
void drop_unheard(struct question *q)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->suspects->length; i++) {
		uint32_t thread = suspects_thread(&q->suspects->items[i]);

		if (!is_waiting(q, thread) || scene_same_process(q->scene, thread, q->wait->thread) ||
		    !own_ends_leaves_out(q->scene, q->inquiry->ends, q->wait, scene_pid(q->scene, thread)))
			q->suspects->items[kept++] = q->suspects->items[i];
	}
	q->suspects->length = kept;
}
