/* Who shows windows and does not listen to them keeps its user waiting (see owed.h). */
#include "diagnose/judgement.h"
#include "diagnose/owed.h"

/* Of the process's windows none is listened to. `ret_unread`: what the window server sent lies there. */
static bool ignores_windows(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns, bool *ret_unread)
{
	uint32_t pid = scene_pid(scene, w->thread);
	struct row row = ends_of_process(ends, pid);
	bool known = false;

	*ret_unread = false;
	if (!ends_has_windows(ends, pid) || w->idle || w->kind == WAIT_KIND_signal)
		return false;
	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (!ends_lead_to_windows(ends, (struct row){ &row.items[i], 1 }) || d->time < from_ns)
			continue;
		if (owed_listens(scene, ends, pid, d->at.object, from_ns))
			return false;
		*ret_unread |= d->at.queued > 0;
		known = true;
	}
	return known;
}

bool owed_ignores_windows(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns)
{
	bool unread;

	return ignores_windows(scene, ends, w, from_ns, &unread);
}

bool owed_leaves_windows(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns)
{
	bool unread;

	/* who waits for a child may have its windows shown by that; one that waits for a word by its own clock goes on by that */
	return rule_holds(scene, RULE_windows_left) && w->kind != WAIT_KIND_child && !(w->kind == WAIT_KIND_futex && w->timeout_ns && !w->hint) &&
	       ignores_windows(scene, ends, w, from_ns, &unread) && unread;
}
