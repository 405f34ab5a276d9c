/* Of a wait for changes of files: who has one of them open for writing; of who looks again and again for something: who
 * has that (see suspects.h). */
#include <string.h>

#include "diagnose/group_limit.h"
#include "diagnose/looked_at.h"
#include "diagnose/question.h"
#include "diagnose/watched.h"
#include "diagnose/word_lock.h"

void ask_watched(struct question *q)
{
	struct watched watched;

	if (q->wait->end != WAIT_END_OPEN || q->wait->idle || only_looks(q))
		return;
	watched_find(q->scene, q->wait, q->from, q->to, &watched);
	if (!watched.writer || is_waiting(q, watched.writer) || (watched.writers > 1 && watched.standing_out != 1))
		return;
	suspect_thread(q, watched.writer, LINK_WRITES, watched.writers > 1 ? limit(q, LIMIT_one_writer_stands_out) : weight_of(q), 0);
}

/* The other processes that have the file open; `count`: how many. */
static uint32_t who_has(const struct question *q, const char *path, unsigned *ret_count)
{
	const struct tables *tables = q->scene->tables;
	uint32_t found = 0, pid = 0;

	*ret_count = 0;
	for (size_t i = tables->descriptor_count; path[0] && i-- > 0; ) {
		const struct descriptor *d = &tables->descriptors[i];
		uint32_t process = strcmp(d->text, path) || d->pid == pid ? 0 : tables_process(tables, d->pid, q->to - 1);

		if (!process || scene_same_process(q->scene, process, q->wait->thread) || process == found || !alive(q, process))
			continue;
		pid = d->pid;
		found = process;
		++*ret_count;
	}
	return found;
}

static bool is_kin(const struct scene *scene, uint32_t a, uint32_t b)
{
	const struct thread *x = &scene->tables->threads[a], *y = &scene->tables->threads[b];

	return y->tid == y->pid && x->pid != y->pid && (y->parent_pid == x->pid || (x->parent_pid > 1 && y->parent_pid == x->parent_pid));
}

/* Of its children, and of what its parent started besides, the one that is stopped, or kept by a lock or inside the kernel; 0 none, or
 * several: what it looks for may be that one's to make. */
static uint32_t kept_kin(const struct question *q)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		const struct wait *w = is_kin(q->scene, q->wait->thread, i) && alive(q, i) ? stands_in(q, i) : NULL;

		if (!w || w->idle || w->start_ns > q->from ||
		    (w->kind != WAIT_KIND_stop && !wait_has_owner(w) && (!wait_is_in_kernel(w) || w->kind == WAIT_KIND_vfork)))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

void ask_looked_at(struct question *q)
{
	struct looked_at looked;
	unsigned count;
	uint32_t who;

	/* a lock that it tries for again and again is nothing that a call of its own tells of */
	if (word_lock_named(q->inquiry->now ? q->inquiry->now->names : NULL, q->scene->tables, q->wait))
		return;
	if (q->wait->end != WAIT_END_OPEN || !looked_at_known(q->scene) || !looked_at_may(q->scene, q->wait->thread, q->from, q->to) ||
	    !looked_at_find(q->scene, q->wait->thread, q->from, q->to, &looked))
		return;
	switch (looked.what) {
	case LOOKED_NOTHING:
	case LOOKED_ANSWERED:
		return;
	case LOOKED_PRESENT:
	case LOOKED_DENIED:
		who = who_has(q, looked_at_path(&looked), &count);
		suspect_thread(q, count == 1 && !is_waiting(q, who) ? who : 0, LINK_HAS_IT, weight_of(q), looked.number);
		return;
	case LOOKED_CHILD:
		who = looked.target ? looked.target : scene_only_child(q->scene, q->wait->thread, q->from, q->to);
		suspect_thread(q, who, LINK_CHILD, limit(q, LIMIT_looked_child), looked.number);
		return;
	case LOOKED_DATA:
		suspect_ends_of(q, looked.object);
		return;
	case LOOKED_THERE:
		who = who_has(q, looked_at_path(&looked), &count);
		if (count == 1 && !is_waiting(q, who))
			suspect_thread(q, who, LINK_HAS_IT, limit(q, LIMIT_looked_there), looked.number);
		else
			suspect_thread(q, kept_kin(q), LINK_FLAG, limit(q, LIMIT_looked_kin), 0);
		return;
	case LOOKED_ABSENT:
	case LOOKED_ADDRESS:
		suspect_thread(q, kept_kin(q), LINK_FLAG, limit(q, LIMIT_looked_kin), 0);
		return;
	case LOOKED_PROCESS:
		suspect_thread(q, is_waiting(q, looked.target) ? 0 : looked.target, LINK_AWAITED, limit(q, LIMIT_alive_process), looked.number);
		return;
	}
}

void ask_fills_group(struct question *q)
{
	const struct group_limit *l = group_limit_refuses(q->scene, q->episode);

	if (l && l->most && most_of(q->scene, l->most_bytes, l->limit) && !scene_same_process(q->scene, l->most, q->wait->thread) && !is_waiting(q, l->most))
		suspect_thread(q, l->most, LINK_FILLS_GROUP, weight_of(q), 0);
}
