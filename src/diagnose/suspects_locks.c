/* File locks: which one a thread was refused, and who has it, see suspects.h; locks of which nobody keeps who has them. */
#include "diagnose/suspects.h"

#include <errno.h>

#include "diagnose/closed.h"
#include "diagnose/kernel_place.h"
#include "diagnose/lock_keeper.h"
#include "diagnose/question.h"
#include "diagnose/shared_word.h"
#include "diagnose/word_lock.h"

/* A lock of an open file outlives who took it: `exec 9>file; flock 9` leaves it with the
 * script. Whoever started it has the file open, too. */
uint32_t suspects_lock_keeper(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct tables *tables = scene->tables;

	for (unsigned i = 0; i < 16 && thread && tables->threads[thread].end_ns <= time; i++) {
		const struct thread *t = &tables->threads[thread];

		thread = t->creator ? tables_process(tables, tables->threads[t->creator].pid, time)
			 : t->parent_pid ? tables_process(tables, t->parent_pid, time) : 0;
	}
	return thread;
}

static bool is_refusal(const struct file_lock *l)
{
	return l->result == -EAGAIN || l->result == -EACCES || l->result == 1;
}

const struct file_lock *suspects_refused_lock(const struct scene *scene, const struct wait *wait, uint64_t from_ns, uint64_t to_ns)
{
	const struct file_lock *found = NULL;
	uint32_t pid = scene_pid(scene, wait->thread);

	for (uint32_t i = 0; i < scene->lock_count; i++) {
		const struct file_lock *l = &scene->locks[i];

		/* What stood at the beginning is known of processes: whose thread only looks is not blocked. */
		if (l->state ? !(l->waits && l->owner == pid && wait->kind == WAIT_KIND_file_lock) : l->thread != wait->thread)
			continue;
		if (l->type == LOCK_TYPE_unlock || l->time > to_ns || (l->time < from_ns && !l->waits))
			continue;
		if (l->state || is_refusal(l))
			if (!found || (l->blocker && !found->blocker) || l->time <= from_ns)
				found = l;
	}
	return found;
}

bool suspects_tries_for_lock(const struct scene *scene, const struct episode *e)
{
	uint64_t before = limit_of(scene, LIMIT_refused_before_ns);

	return scene->waits[e->last].kind == WAIT_KIND_sleep && e->slices > 1 && e->start_ns > before &&
	       suspects_refused_lock(scene, &scene->waits[e->last], e->start_ns - before, scene->end_ns) != NULL;
}

const struct file_lock *suspects_refused_children(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct file_lock *found = NULL;

	if (!rule_holds(scene, RULE_refused_children))
		return NULL;
	for (uint32_t i = 0; i < scene->lock_count; i++) {
		const struct file_lock *l = &scene->locks[i];

		if (l->state || l->time < from_ns || l->time > to_ns || !l->thread || l->type == LOCK_TYPE_unlock ||
		    scene->tables->threads[l->thread].parent_pid != scene_pid(scene, thread))
			continue;
		if (is_refusal(l) && l->blocker)
			found = l;
		else if (found && l->object == found->object)
			found = NULL; /* it was given the lock after all */
	}
	return found;
}

/* About a part of the file that the refused lock has, too: databases take locks beside each other. */
static bool overlaps(const struct file_lock *l, const struct file_lock *refused)
{
	return l->object == refused->object && l->start <= refused->end && l->end >= refused->start;
}

void suspects_refused_longest(const struct scene *scene, const struct file_lock *refused, uint64_t from_ns, uint64_t to_ns,
			      uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	uint64_t begin = from_ns;
	bool vain = false;

	*ret_from_ns = *ret_to_ns = from_ns;
	for (uint32_t i = 0; i <= scene->lock_count; i++) {
		const struct file_lock *l = i < scene->lock_count ? &scene->locks[i] : NULL;
		bool last = !l || l->time > to_ns;
		uint64_t end = last ? to_ns : l->time;

		if (!last && (l->thread != refused->thread || !overlaps(l, refused) || l->time < from_ns || l->type == LOCK_TYPE_unlock))
			continue;
		if (!last && is_refusal(l)) {
			vain = true;
			continue;
		}
		if (vain && end - begin > *ret_to_ns - *ret_from_ns) {
			*ret_from_ns = begin;
			*ret_to_ns = end;
		}
		if (last)
			break;
		begin = end;
		vain = false;
	}
}

uint32_t suspects_lock_holder(const struct scene *scene, const struct file_lock *refused)
{
	uint32_t holder = refused->blocker;

	/* Without the kernel's word: who was granted an overlapping lock last and has not given it back. */
	for (uint32_t i = 0; i < scene->lock_count && !refused->blocker; i++) {
		const struct file_lock *l = &scene->locks[i];

		if (l->object != refused->object || l->owner == refused->owner || l->waits || !l->owner)
			continue;
		if (l->time > refused->time && !l->state)
			break;
		if (l->end < refused->start || l->start > refused->end || (l->result && !l->state))
			continue;
		if (l->type == LOCK_TYPE_unlock) {
			if (holder == l->owner)
				holder = 0;
		} else if (l->type == LOCK_TYPE_write || refused->type == LOCK_TYPE_write) {
			holder = l->owner;
		}
	}
	return holder ? suspects_lock_keeper(scene, tables_process(scene->tables, holder, refused->time), refused->time) : 0;
}

/* The kernel keeps of a lock which process has it: the thread of it that took it gives it back. */
static uint32_t who_took(const struct question *q, uint32_t process, uint64_t object)
{
	const struct scene *scene = q->scene;

	for (uint32_t i = scene->lock_count; process && i-- > 0; ) {
		const struct file_lock *l = &scene->locks[i];

		if (l->state || l->object != object || l->time >= q->to || is_refusal(l) || !l->thread || !scene_same_process(scene, l->thread, process))
			continue;
		return l->type == LOCK_TYPE_unlock || !alive(q, l->thread) ? process : l->thread;
	}
	return process;
}

/* Where who took it had ended before the trace, by elimination who has it now. */
void suspect_lock_holder(struct question *q, uint32_t owner, uint64_t object, uint8_t confidence, uint64_t evidence)
{
	uint32_t thread = lock_keeper(q->scene, q->inquiry->ends, owner, object, q->episode->thread, q->from);

	suspect_thread(q, who_took(q, thread, object), LINK_FILE_LOCK, thread == owner ? confidence : limit(q, LIMIT_file_lock_guess), evidence);
}

/* Which file is opened is not recorded: of leases held meanwhile it is that of the only other process that has any. */
static void ask_lease(struct question *q)
{
	const struct file_lock *held = NULL;

	for (uint32_t i = 0; i < q->scene->lock_count; i++) {
		const struct file_lock *l = &q->scene->locks[i];

		if (l->family != LOCK_FAMILY_lease || !l->state || l->waits || l->time < q->from || l->time > q->to || !l->owner ||
		    l->owner == scene_pid(q->scene, q->wait->thread))
			continue;
		if (held && held->owner != l->owner)
			return;
		held = l;
	}
	if (held)
		suspect_thread(q, tables_process(q->scene->tables, held->owner, q->from), LINK_LEASE, limit(q, LIMIT_file_lock_guess), held->number);
}

static bool has_open(const struct question *q, uint64_t object)
{
	struct row row = ends_of_object(q->inquiry->ends, object);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(q->inquiry->ends, row, i)->pid == scene_pid(q->scene, q->wait->thread))
			return true;
	return false;
}

/* What it tries was not seen; but a file that it has open is locked by another all the time. */
static void ask_lock_of_open_file(struct question *q)
{
	const struct file_lock *held = NULL;

	for (uint32_t i = 0; i < q->scene->lock_count; i++) {
		const struct file_lock *l = &q->scene->locks[i];

		if (!l->state)
			return; /* tries are recorded, and this one was refused none */
		if (l->waits || l->family == LOCK_FAMILY_lease || l->time < q->from || l->time > q->to || !l->owner ||
		    l->owner == scene_pid(q->scene, q->wait->thread) || !has_open(q, l->object))
			continue;
		/* where others only read who has it for writing is in the way */
		if (!held || (l->type == LOCK_TYPE_write && held->type != LOCK_TYPE_write))
			held = l;
	}
	if (held)
		suspect_lock_holder(q, tables_process(q->scene->tables, held->owner, q->from), held->object, limit(q, LIMIT_lock_on_open_file),
				    held->number);
}

/* Once is enough, where it is seen for what it looks. */
static bool sleeps_again(const struct question *q)
{
	return q->wait->kind == WAIT_KIND_sleep && q->episode->slices > 1;
}

void ask_file_locks(struct question *q)
{
	uint64_t before = limit_of(q->scene, LIMIT_refused_before_ns);
	const struct file_lock *refused;

	if (q->wait->kind == WAIT_KIND_open && q->inquiry->now &&
	    kernel_place_of_wait(q->inquiry->now->names, q->scene->tables, q->wait) == KERNEL_PLACE_LEASE)
		ask_lease(q);
	if (q->wait->kind != WAIT_KIND_file_lock && !loop_is(q->scene, q->episode) && !sleeps_again(q))
		return;
	refused = suspects_refused_lock(q->scene, q->wait,
					q->episode->start_ns > before ? q->episode->start_ns - before : 0, q->to);
	if (!refused && q->wait->kind == WAIT_KIND_child)
		refused = suspects_refused_children(q->scene, q->episode->thread, q->from, q->to);
	if (refused)
		suspect_lock_holder(q, suspects_lock_holder(q->scene, refused), refused->object,
				    refused->blocker ? weight_of(q) : limit(q, LIMIT_file_lock_guess), refused->number);
	else if (loop_is(q->scene, q->episode))
		ask_lock_of_open_file(q);
}

/* Nobody keeps who has it, and nobody else can give it. */
void ask_closed_process(struct question *q)
{
	const struct wait *w = q->wait;
	uint32_t count, last, pid = scene_pid(q->scene, w->thread);
	bool closed, but_ticks;

	if (w->kind != WAIT_KIND_futex || w->hint || w->timeout_ns || wait_is_shared(w) || word_shared(q->inquiry->ends, w))
		return;
	closed = closed_process(q->scene, pid, q->to - 1);
	but_ticks = !closed && rule_holds(q->scene, RULE_closed_but_ticks) && w->end == WAIT_END_OPEN &&
		    closed_but_ticks(q->scene, pid, w->start_ns, q->to - 1);
	if (!closed && !but_ticks) {
		last = w->end == WAIT_END_OPEN ? closed_behind_lead(q->scene, w, q->to - 1) : 0;
		if (last)
			suspect_thread(q, last, LINK_BEGAN_LAST, limit(q, LIMIT_closed_behind_lead), w->begin_event);
		return;
	}
	last = closed_last(q->scene, w, q->to - 1, &count);
	/* only of a lock it is known that somebody has it: then who waits for this thread may be the one */
	if (but_ticks && is_waiting(q, last) && !word_lock_is(q->inquiry->now ? q->inquiry->now->names : NULL, q->scene->tables, w))
		return;
	if (last)
		suspect_thread(q, last, closed ? LINK_CLOSED : LINK_CLOSED_BUT,
			       but_ticks ? limit(q, LIMIT_closed_but) : count > 1 ? limit(q, LIMIT_closed_one_of_several) : weight_of(q), w->begin_event);
}
