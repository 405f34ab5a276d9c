/* File locks: which one a thread was refused, and who has it, see suspects.h. */
#include "diagnose/suspects.h"

#include <errno.h>

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

		if (!last && (l->thread != refused->thread || l->object != refused->object || l->time < from_ns || l->type == LOCK_TYPE_unlock))
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
