/* See answer_standing.h. */
#include "diagnose/answer_standing.h"

#include <inttypes.h>

#include "diagnose/answer.h"
#include "diagnose/kernel_place.h"
#include "diagnose/scene_build.h"
#include "symbols/demangle.h"

#define OTHERS_TOLD 3

/* Number of the thread that held what the wait is for and has ended; 0 none known. */
static uint32_t gone_owner(const struct scene *scene, const struct wait *w)
{
	const struct scene_gathered *g = scene->gathered ? &scene->gathered[w->thread] : NULL;

	for (size_t i = g ? g->found.length : 0; i-- > 0; ) {
		const struct wait_found *f = &g->found.items[i];

		if (f->time >= w->start_ns && f->time <= w->end_ns && f->said.hint_kind == HINT_KIND_owner_gone)
			return f->said.hint;
	}
	return 0;
}

static void tell_other(const struct describer *d, uint32_t thread, uint64_t time_ns, struct buf *buf)
{
	const struct episode *e = scene_episode(d->scene, thread, time_ns);
	const struct wait *w = e && e->start_ns <= time_ns ? &d->scene->waits[e->last] : NULL;
	struct actor actor, place = { 0 };

	describe_thread(d, thread, time_ns, &actor);
	buf_text(buf, answer_who(d->arena, &actor));
	if (!w)
		return;
	describe_place(d, w->ustack, &place);
	buf_printf(buf, ", %s", describe_wait(d, w));
	answer_place(d->arena, buf, &place);
}

/* Nobody keeps who is to signal a condition: it can only be one of these. */
static void tell_others(const struct describer *d, const struct diagnosis *g, const struct wait *w, struct buf *buf)
{
	const struct tables *tables = d->scene->tables;
	unsigned told = 0, more = 0;

	for (uint32_t i = 1; i < tables->thread_count; i++) {
		if (i == w->thread || !scene_same_process(d->scene, i, w->thread) || tables->threads[i].end_ns < g->end_ns)
			continue;
		if (told == OTHERS_TOLD) {
			more++;
			continue;
		}
		buf_text(buf, told++ ? "; " : " Only another thread of its process can end that: ");
		tell_other(d, i, g->end_ns - 1, buf);
	}
	if (more)
		buf_printf(buf, "; and %u more", more);
	if (told)
		buf_char(buf, '.');
}

void answer_standing_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct wait *w = g->last_wait ? &d->scene->waits[g->last_wait] : NULL;
	const char *place = w ? kernel_place_words(kernel_place_of(d->names, d->scene->tables, w->kstack)) : NULL;
	uint32_t gone = w && w->hint_kind == HINT_KIND_owner_gone ? gone_owner(d->scene, w) : 0;

	if (gone)
		buf_printf(buf, " Who held that last, %s %" PRIu32 ", has ended without giving it back.",
			   w->kind == WAIT_KIND_semaphore ? "process" : "thread", gone);
	if (place)
		buf_printf(buf, " In the kernel it waits %s.", place);
	if (w && w->state == TASK_STATE_frozen)
		buf_text(buf, " It is frozen, by its control group; who did that is not known.");
	if (w && !gone && g->culprit.kind == ACTOR_UNKNOWN && w->kind == WAIT_KIND_futex && w->end != WAIT_END_THREAD)
		tell_others(d, g, w, buf);
}
