/* See now_children.h. */
#include "session/now_children.h"

#include <inttypes.h>
#include <string.h>

#include "diagnose/judgement.h"

static bool is_child(const struct tables *tables, const struct thread *t, const struct thread *parent)
{
	return t->tid == t->pid && (t->parent_pid == parent->pid || (t->creator && tables->threads[t->creator].pid == parent->pid)) &&
	       strcmp(t->comm, parent->comm) != 0;
}

/* It slept for most of what was seen of it. */
static bool is_sleeper(const struct scene *scene, uint32_t thread)
{
	uint64_t slept = 0, begin = 0, end = 0;

	for (uint32_t i = scene->threads[thread].wait; i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];
		uint64_t until = w->end_ns < scene->end_ns ? w->end_ns : scene->end_ns;

		begin = begin ? begin : w->start_ns;
		end = until > end && w->kind != WAIT_KIND_exit ? until : end;
		slept += w->kind == WAIT_KIND_sleep && until > w->start_ns ? until - w->start_ns : 0;
	}
	return end > begin && most_of(scene, slept, end - begin);
}

/* Who looks at something again and again by programs that it starts, with sleeps between them, is in no wait for long. */
static bool put_children_of(const struct scene *scene, uint32_t thread, uint64_t from_ns, bool sleepers, struct buf *buf)
{
	const struct tables *tables = scene->tables;
	const struct thread *parent = &tables->threads[thread];
	const char *comm = NULL;
	unsigned count = 0;

	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (!is_child(tables, t, parent) || is_sleeper(scene, i) != sleepers ||
		    (t->start_ns < from_ns && t->end_ns >= scene->end_ns))
			continue;
		if (comm && strcmp(comm, t->comm) != 0)
			return true;
		comm = t->comm;
		count++;
	}
	if (count >= limit_of(scene, LIMIT_children_again))
		buf_printf(buf, "  It runs %s again and again (%u times in this look): if that is a loop that looks for something, that does not come.\n",
			   comm, count);
	return count > 0;
}

void now_children_text(const struct scene *scene, uint32_t thread, uint64_t from_ns, struct buf *buf)
{
	if (!put_children_of(scene, thread, from_ns, false, buf))
		put_children_of(scene, thread, from_ns, true, buf);
}
