/* What an answer says of what was frozen: the control group of the culprit, or the file system that
 * the victim writes to; and by whom, where the trace tells; and of limits of control groups that are used up. See answer.h. */
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>

#include "diagnose/answer.h"
#include "diagnose/group_limit.h"
#include "diagnose/judgement.h"
#include "diagnose/kernel_place.h"
#include "record/object.h"
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

	/* of both versions the root of neither freezes anybody */
	if (!at || (at[strlen(":freezer:/")] <= ' ' && at[strlen(":freezer:/")] != '/'))
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

	for (uint32_t thread = 1; thread < scene->thread_count; thread++)
		for (uint32_t i = scene_waits_from(scene, thread, 0); i < scene_waits_end(scene, thread); i++) {
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

/* ---- limits ---- */

/* The last one found up to the end; NULL none. */
static const struct group_limit *limit_found(const struct describer *d, const struct diagnosis *g, uint32_t thread, bool memory)
{
	for (uint32_t i = d->scene->group_limit_count; i-- > 0; ) {
		const struct group_limit *l = &d->scene->group_limits[i];

		if ((l->kind == GROUP_LIMIT_memory) == memory && l->kind < GROUP_LIMIT_processes && l->time >= g->start_ns &&
		    group_limit_is_of(d->scene, thread, l))
			return l;
	}
	return NULL;
}

static void put_bytes(uint64_t bytes, struct buf *buf)
{
	if (bytes < 10000)
		buf_printf(buf, "%" PRIu64 " bytes", bytes);
	else if (bytes < 10000000)
		buf_printf(buf, "%.1f KiB", (double)bytes / 1024);
	else
		buf_printf(buf, "%.1f MiB", (double)bytes / (1024 * 1024));
}

static void tell_memory(const struct describer *d, const struct diagnosis *g, uint32_t thread, struct buf *buf)
{
	const struct group_limit *l = limit_found(d, g, thread, true);
	struct actor who;

	buf_text(buf, " Its control group");
	if (l) {
		buf_char(buf, ' ');
		buf_escaped(buf, l->path, strlen(l->path), NULL);
	}
	buf_text(buf, " had used up its memory limit");
	if (l) {
		buf_text(buf, " of ");
		put_bytes(l->limit, buf);
	}
	if (l && l->most) {
		describe_thread(d, l->most, g->end_ns - 1, &who);
		buf_printf(buf, ", most of it in %s: ", answer_who(d->arena, &who));
		put_bytes(l->most_bytes, buf);
	}
	buf_char(buf, '.');
}

/* A file's number is made of its device's and of its own. */
static bool is_on_device(uint64_t object, uint32_t device)
{
	return object_kind(object) == OBJECT_KIND_file && object_inode_on(object, device) < OBJECT_INODES;
}

static bool is_device_limit(const struct group_limit *l)
{
	return l->kind != GROUP_LIMIT_memory && l->kind < GROUP_LIMIT_processes;
}

/* The file that it waits for lies on a device that one of its group's limits is for. */
static bool limits_its_file(const struct describer *d, const struct diagnosis *g, const struct wait *w)
{
	for (uint32_t i = d->scene->group_limit_count; i-- > 0; ) {
		const struct group_limit *l = &d->scene->group_limits[i];

		if (is_device_limit(l) && l->time >= g->start_ns && group_limit_is_of(d->scene, w->thread, l) && is_on_device(w->object, l->device))
			return true;
	}
	return false;
}

/* Where it is not known which of them keeps it each is told. */
static void tell_devices(const struct describer *d, const struct diagnosis *g, const struct wait *w, struct buf *buf)
{
	bool its_file = limits_its_file(d, g, w);
	static const char *const may[] = {
		[GROUP_LIMIT_read_bytes] = "read no more than", [GROUP_LIMIT_write_bytes] = "write no more than",
		[GROUP_LIMIT_read_requests] = "make no more requests to read than", [GROUP_LIMIT_write_requests] = "make no more requests to write than",
	};
	uint64_t newest = 0;

	for (uint32_t i = d->scene->group_limit_count; i-- > 0; ) {
		const struct group_limit *l = &d->scene->group_limits[i];

		if (!is_device_limit(l) || l->time < g->start_ns || !group_limit_is_of(d->scene, w->thread, l) ||
		    (its_file && !is_on_device(w->object, l->device)))
			continue;
		newest = newest ? newest : l->time;
		if (l->time + limit_of(d->scene, LIMIT_one_snapshot_ns) < newest)
			return;
		buf_text(buf, " Its control group ");
		buf_escaped(buf, l->path, strlen(l->path), NULL);
		buf_printf(buf, " may %s ", may[l->kind]);
		if (l->kind == GROUP_LIMIT_read_bytes || l->kind == GROUP_LIMIT_write_bytes)
			put_bytes(l->limit, buf);
		else
			buf_printf(buf, "%" PRIu64, l->limit);
		buf_printf(buf, " a second, of the device %u:%u: what goes beyond is throttled.", l->device >> 20, l->device & 0xfffff);
	}
}

/* The program, besides the one that waits, that waited longest meanwhile for the device on which that one's file lies; 0 none did for long. */
static uint32_t waits_beside(const struct describer *d, const struct diagnosis *g, const struct wait *w, uint64_t *ret_ns)
{
	const struct scene *scene = d->scene;
	uint64_t from = w->start_ns > g->start_ns ? w->start_ns : g->start_ns, to = w->end_ns < g->end_ns ? w->end_ns : g->end_ns;
	uint32_t longest = 0;

	*ret_ns = part_of(scene, LIMIT_a_good_part, to - from);
	for (uint32_t thread = 1; thread < scene->thread_count; thread++) {
		uint32_t first = scene->threads[thread].wait, i = scene_waits_from(scene, thread, from);
		uint64_t ns = 0;

		if (scene_same_process(scene, thread, w->thread) || scene_is_system(scene, thread))
			continue;
		for (i -= i > first; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to; i++) {
			const struct wait *its = &scene->waits[i];
			uint64_t begin = its->start_ns > from ? its->start_ns : from, end = its->end_ns < to ? its->end_ns : to;

			if (end > begin && (its->kind == WAIT_KIND_block_io || its->kind == WAIT_KIND_sync) &&
			    object_kind(its->object) == OBJECT_KIND_file && object_same_device(its->object, w->object))
				ns += end - begin;
		}
		if (ns <= *ret_ns)
			continue;
		*ret_ns = ns;
		longest = thread;
	}
	return longest;
}

/* Whose requests may be before its own. */
static void tell_beside(const struct describer *d, const struct diagnosis *g, const struct wait *w, struct buf *buf)
{
	uint64_t ns;
	uint32_t other = object_kind(w->object) == OBJECT_KIND_file && rule_holds(d->scene, RULE_device_shared) ? waits_beside(d, g, w, &ns) : 0;
	struct actor who;

	if (!other)
		return;
	describe_thread(d, other, g->end_ns - 1, &who);
	buf_printf(buf, " Meanwhile %s waited for the same file system's device, for %s.", answer_who(d->arena, &who), describe_time(d->arena, ns));
}

static void tell_device(const struct describer *d, const struct diagnosis *g, const struct wait *w, struct buf *buf)
{
	tell_devices(d, g, w, buf);
	tell_beside(d, g, w, buf);
}

/* Who starts no process tries again after a while. */
static void tell_processes(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	uint64_t now = d->scene->end_ns - 1;
	uint64_t lately = limit_of(d->scene, LIMIT_full_since_ns), since = now > lately ? now - lately : 0;
	const struct group_limit *l = g->end_ns > now ? group_limit_of_processes(d->scene, g->victim.thread, since) : NULL;
	bool still = l;
	struct actor who;

	if (!l) {
		const struct wait *w = answer_longest_wait(d->scene, g->victim.thread, g);

		l = w ? group_limit_refuses(d->scene, &d->scene->episodes[w->episode]) : NULL;
	}
	if (!l)
		return;
	buf_text(buf, l->kind == GROUP_LIMIT_user_processes ? " Its user (" : " Its control group ");
	buf_escaped(buf, l->path, strlen(l->path), NULL);
	buf_text(buf, l->kind == GROUP_LIMIT_user_processes ? ")" : "");
	buf_printf(buf, " %s at its limit of %" PRIu64 " processes and threads", still ? "is" : "was", l->limit);
	if (l->most) {
		describe_thread(d, l->most, still ? now : l->time, &who);
		buf_printf(buf, ", %" PRIu64 " of them as %s", l->most_bytes, answer_who(d->arena, &who));
	}
	buf_printf(buf, ": it %s start no other.", still ? "can" : "could");
}

static bool waits_for_device(const struct describer *d, const struct wait *w)
{
	return w->kind == WAIT_KIND_block_io || w->kind == WAIT_KIND_sync || w->kind == WAIT_KIND_fault ||
	       kernel_place_of_wait(d->names, d->scene->tables, w) == KERNEL_PLACE_BLOCK_IO;
}

void answer_frozen_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct wait *culprit = answer_longest_wait(d->scene, g->culprit.thread, g), *victim = answer_longest_wait(d->scene, g->victim.thread, g);

	tell_processes(d, g, buf);
	if (culprit && culprit->state == TASK_STATE_frozen)
		tell_group(d, g, culprit, buf);
	if (victim && kernel_place_of_wait(d->names, d->scene->tables, victim) == KERNEL_PLACE_FROZEN)
		tell_files(d, &g->victim, victim, buf);
	else if (culprit && kernel_place_of_wait(d->names, d->scene->tables, culprit) == KERNEL_PLACE_FROZEN)
		tell_files(d, &g->culprit, culprit, buf);
	if (culprit && kernel_place_of_wait(d->names, d->scene->tables, culprit) == KERNEL_PLACE_MEMORY)
		tell_memory(d, g, g->culprit.thread, buf);
	else if (culprit && waits_for_device(d, culprit))
		tell_device(d, g, culprit, buf);
	else if (victim && waits_for_device(d, victim))
		tell_device(d, g, victim, buf);
}
