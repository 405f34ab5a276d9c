/* What an answer says of what a snapshot found beside the waits: a signal to end that one on the way has not taken, and
 * a table of descriptors that is full. See answer.h. */
#include <inttypes.h>

#include "diagnose/answer.h"
#include "diagnose/judgement.h"
#include "trace/names.h"

/* The wait in which the thread stood when the snapshot found it so, and stands still; NULL: it has gone on since. */
static const struct wait *stands_since(const struct describer *d, const struct diagnosis *g, uint32_t thread, uint64_t time_ns)
{
	const struct wait *w = answer_longest_wait(d->scene, thread, g);

	return w && w->start_ns < time_ns && w->end_ns > time_ns && w->end_ns >= g->end_ns ? w : NULL;
}

/* Why it does not take the signal; NULL: nothing keeps it from that. */
static const char *why_untaken(const struct pending_signal *s, const struct wait *w)
{
	if (w->state == TASK_STATE_stopped || w->state == TASK_STATE_traced || w->state == TASK_STATE_frozen)
		return w->state == TASK_STATE_frozen ? "it is frozen" : "it is stopped";
	if (s->blocked)
		return "it blocks that signal";
	return w->state == TASK_STATE_blocked ? "no signal ends its wait inside the kernel" : NULL;
}

static const struct pending_signal *signal_found(const struct describer *d, const struct diagnosis *g, uint32_t thread, const char **ret_why)
{
	for (uint32_t i = d->scene->pending_signal_count; thread && i-- > 0; ) {
		const struct pending_signal *s = &d->scene->pending_signals[i];
		const struct wait *w = s->thread == thread ? stands_since(d, g, thread, s->time) : NULL;

		*ret_why = w ? why_untaken(s, w) : NULL;
		if (*ret_why)
			return s;
	}
	return NULL;
}

/* Those on the way, and then the culprit, if it is none of them. */
static uint32_t on_the_way(const struct diagnosis *g, size_t i)
{
	return i < g->path_count ? g->path[i].actor.thread : g->culprit.thread;
}

bool answer_kept_signal(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct pending_signal *s = NULL;
	struct actor told, sender;
	const char *why = NULL;

	for (size_t i = 0; !s && i <= g->path_count; i++)
		s = signal_found(d, g, on_the_way(g, i), &why);
	if (!s)
		return false;
	describe_thread(d, s->thread, g->end_ns - 1, &told);
	buf_printf(buf, " %s has not taken %s", answer_who(d->arena, &told), signal_name(s->signal));
	if (s->sender && !scene_same_process(d->scene, s->sender, s->thread)) {
		describe_thread(d, s->sender, g->end_ns - 1, &sender);
		buf_printf(buf, ", which %s sent it", answer_who(d->arena, &sender));
	}
	buf_printf(buf, " (event %" PRIu64 "): %s.", s->number, why);
	return true;
}

/* ---- descriptors ---- */

/* It has descriptors of numbers that the limit does not allow: they were there before it, which was set so that the process opens no more. */
static bool was_lowered(const struct describer *d, const struct descriptor_limit *l)
{
	uint64_t near = limit_of(d->scene, LIMIT_one_snapshot_ns);
	struct row row = ends_of_process(d->ends, l->pid);

	for (uint32_t i = 0; i < row.count && rule_holds(d->scene, RULE_limit_lowered); i++) {
		const struct descriptor *own = ends_at(d->ends, row, i);

		if (own->time + near >= l->time && own->time <= l->time + near && (int32_t)own->at.fd >= 0 && own->at.fd >= l->limit)
			return true;
	}
	return false;
}

/* Found so by the window's end, or at least within it: what was so in between nobody looked at. */
static const struct descriptor_limit *limit_found(const struct describer *d, const struct diagnosis *g, uint32_t pid)
{
	const struct scene *scene = d->scene;

	for (uint32_t i = scene->descriptor_limit_count; i-- > 0; ) {
		const struct descriptor_limit *l = &scene->descriptor_limits[i];

		if (l->pid == pid && (l->time + limit_of(scene, LIMIT_full_since_ns) >= g->end_ns || l->time >= g->start_ns))
			return was_lowered(d, l) ? NULL : l;
	}
	return NULL;
}

/* The other process at the far end of the most of its descriptors; 0 none that is known. */
static uint32_t most_lead_to(const struct describer *d, uint32_t pid, uint64_t from_ns, unsigned *ret_count)
{
	struct map seen;
	struct row row = ends_of_process(d->ends, pid);
	uint32_t *pids = arena_array(d->arena, uint32_t, row.count), best = 0;
	unsigned *counts = arena_array(d->arena, unsigned, row.count), different = 0;

	*ret_count = 0;
	map_init(&seen);
	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *own = ends_at(d->ends, row, i);
		struct row far = own->time >= from_ns ? ends_far(d->ends, own) : (struct row){ 0 };
		uint32_t other = far.count && ends_at(d->ends, far, far.count - 1)->pid != pid ? ends_at(d->ends, far, far.count - 1)->pid : 0;
		unsigned at = 0;

		if (!other || map_find(&seen, own->at.object))
			continue;
		map_put(&seen, own->at.object, 1);
		while (at < different && pids[at] != other)
			at++;
		pids[at] = other;
		different += at == different;
		if (++counts[at] > *ret_count) {
			*ret_count = counts[at];
			best = other;
		}
	}
	map_done(&seen);
	return best;
}

void answer_kept_descriptors(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct descriptor_limit *l = NULL;
	uint32_t thread = 0, other;
	unsigned count;
	bool still;
	struct actor who;

	for (size_t i = 0; !l && i <= g->path_count && rule_holds(d->scene, RULE_full_descriptors); i++) {
		thread = on_the_way(g, i);
		l = thread ? limit_found(d, g, scene_pid(d->scene, thread)) : NULL;
	}
	if (!l)
		return;
	describe_thread(d, thread, g->end_ns - 1, &who);
	still = l->time + limit_of(d->scene, LIMIT_full_since_ns) >= g->end_ns;
	buf_printf(buf, " %s %s as many descriptors open as it may, %" PRIu32 " (RLIMIT_NOFILE, event %" PRIu64 "): it %s open and accept no more",
		   answer_who(d->arena, &who), still ? "has" : "had", l->limit, l->number, still ? "can" : "could");
	other = tables_process(d->scene->tables, most_lead_to(d, l->pid, l->time - limit_of(d->scene, LIMIT_full_since_ns), &count), g->end_ns - 1);
	if (other) {
		describe_thread(d, other, g->end_ns - 1, &who);
		buf_printf(buf, "; %u of them %s to %s", count, !still ? "led" : count == 1 ? "leads" : "lead", answer_who(d->arena, &who));
	}
	buf_char(buf, '.');
}
