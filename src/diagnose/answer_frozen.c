/* What an answer says of what was frozen: the control group of the culprit, or the file system that
 * the victim writes to; and by whom, where the trace tells. See answer.h. */
#include <string.h>
#include <sys/syscall.h>

#include "diagnose/answer.h"
#include "diagnose/kernel_place.h"
#include "symbols/names.h"

#define FREEZE_DEPTH 24    /* frames of a kernel stack in which freezing is looked for */

const struct wait *answer_longest_wait(const struct scene *scene, uint32_t thread, const struct diagnosis *g)
{
	uint32_t first = scene->threads[thread].wait, i = scene_waits_from(scene, thread, g->start_ns);
	const struct wait *longest = NULL;
	uint64_t most = 0;

	for (i -= i > first; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < g->end_ns; i++) {
		const struct wait *w = &scene->waits[i];
		uint64_t from = w->start_ns > g->start_ns ? w->start_ns : g->start_ns, to = w->end_ns < g->end_ns ? w->end_ns : g->end_ns;

		if (to > from && to - from > most) {
			most = to - from;
			longest = w;
		}
	}
	return longest;
}

/* ---- control groups ---- */

/* The group by which the process can be frozen, of "9:name=systemd:/ 6:freezer:/web 0::/web"; "" not known. */
static const char *freezer_group(struct arena *arena, const char *cgroups)
{
	const char *at = strstr(cgroups, ":freezer:"), *path;

	if (!at)
		at = !strncmp(cgroups, "0::", 3) ? cgroups + 1 : strstr(cgroups, " 0::") ? strstr(cgroups, " 0::") + 2 : NULL;
	path = at ? strchr(at, '/') : NULL;
	return path && path[1] && path[1] != ' ' ? arena_strndup(arena, path, strcspn(path, " ")) : "";
}

static void tell_group(const struct describer *d, const struct diagnosis *g, const struct wait *w, struct buf *buf)
{
	const char *group = freezer_group(d->arena, d->scene->tables->threads[w->thread].cgroups);

	buf_text(buf, " Its control group");
	if (group[0]) {
		buf_char(buf, ' ');
		buf_escaped(buf, group, strlen(group), NULL);
	}
	buf_printf(buf, " %s frozen%s.", w->end == WAIT_END_OPEN ? "is" : "was", g->trigger_count ? "" : "; who did that is not known");
}

/* ---- file systems ---- */

static bool is_freezing(const struct describer *d, uint32_t kstack)
{
	const struct tables *tables = d->scene->tables;

	for (unsigned i = 0; i < FREEZE_DEPTH && kstack && kstack < tables->frame_count; i++, kstack = tables->frames[kstack].parent) {
		const struct name *name = names_frame(d->names, kstack);

		if (name && name->function && !strncmp(name->function, "freeze_super", strlen("freeze_super")))
			return true;
	}
	return false;
}

/* Who waited last within freezing a file system, before the other's wait ended; 0 nobody. */
static uint32_t who_froze(const struct describer *d, const struct wait *held)
{
	const struct scene *scene = d->scene;
	const struct wait *last = NULL;

	for (uint32_t i = 1; i < scene->wait_count; i++) {
		const struct wait *w = &scene->waits[i];

		if (w->kstack && w->start_ns < held->end_ns && (!last || w->start_ns > last->start_ns) && w->thread != held->thread &&
		    w->state == TASK_STATE_blocked && w->syscall == SYS_ioctl && is_freezing(d, w->kstack))
			last = w;
	}
	return last ? last->thread : 0;
}

static void tell_files(const struct describer *d, const struct actor *writer, const struct wait *w, struct buf *buf)
{
	bool open = w->end == WAIT_END_OPEN;
	uint32_t by = who_froze(d, w);
	struct actor who;

	buf_printf(buf, " The file system that %s writes to %s frozen", answer_who(d->arena, writer), open ? "is" : "was");
	if (by) {
		describe_thread(d, by, w->start_ns, &who);
		buf_printf(buf, ", by %s", answer_who(d->arena, &who));
	}
	buf_printf(buf, ": it %s thawed%s.", open ? "waits until that is" : "waited until that was", by ? "" : "; who did that is not known");
}

void answer_frozen_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct wait *culprit = answer_longest_wait(d->scene, g->culprit.thread, g), *victim = answer_longest_wait(d->scene, g->victim.thread, g);

	if (culprit && culprit->state == TASK_STATE_frozen)
		tell_group(d, g, culprit, buf);
	if (victim && kernel_place_of_wait(d->names, d->scene->tables, victim) == KERNEL_PLACE_FROZEN)
		tell_files(d, &g->victim, victim, buf);
	else if (culprit && kernel_place_of_wait(d->names, d->scene->tables, culprit) == KERNEL_PLACE_FROZEN)
		tell_files(d, &g->culprit, culprit, buf);
	if (culprit && kernel_place_of_wait(d->names, d->scene->tables, culprit) == KERNEL_PLACE_MEMORY)
		buf_printf(buf, " Its control group had used up its memory limit.");
}
