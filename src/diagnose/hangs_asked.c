/* See hangs_asked.h. */
#include "diagnose/hangs_asked.h"

#include "diagnose/diagnoser.h"
#include "diagnose/hangs_meant.h"
#include "diagnose/kernel_place.h"
#include "diagnose/killed_before.h"
#include "diagnose/loops.h"

#define GENERATIONS 6u

static const struct wait *last_of(const struct finder *f, const struct episode *e)
{
	return &f->scene->waits[e->last];
}

static bool opens_fifo(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	return rule_holds(f->scene, RULE_opens_fifo) && w->kind == WAIT_KIND_open &&
	       kernel_place_of_wait(f->diagnoser->names, f->scene->tables, w) == KERNEL_PLACE_FIFO;
}

static bool refused_again(const struct finder *f, const struct episode *e)
{
	return rule_holds(f->scene, RULE_refused_again) && loop_is(f->scene, e) &&
	       killed_before_refused(f->scene, f->thread, loop_first(f->scene, e)->start_ns, e->end_ns);
}

/* The wait in which the process's first thread stands as the time ends, since before the half of it; NULL none. */
/* Over children that wait for their only child in turn. */
static bool child_at_terminal(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = last_of(f, e);
	uint32_t thread = e->thread;

	for (unsigned i = 0; i < GENERATIONS && w && w->kind == WAIT_KIND_child && rule_holds(scene, RULE_child_at_terminal); i++) {
		thread = w->argument > 0 ? tables_process(scene->tables, (uint32_t)w->argument, w->start_ns)
					 : scene_only_child(scene, thread, e->start_ns + (e->end_ns - e->start_ns) / 2, e->end_ns);
		if (!thread || scene->tables->threads[thread].start_ns <= scene->start_ns)
			return false;
		w = scene_stands_in(f->scene, thread, e->start_ns, e->end_ns);
	}
	return thread != e->thread && w && w->kind == WAIT_KIND_read && object_kind(w->object) == OBJECT_KIND_tty;
}

/* Who asks about its process would be told that it hung, and on its way something is in the way. */
static bool is_kept(const struct finder *f, const struct episode *e)
{
	struct hangs_options asked = *f->options;
	struct finder its = *f;
	struct hang hang;

	asked.pid = scene_pid(f->scene, f->thread);
	its.options = &asked;
	/* of a part of a long trace it would take too much */
	return !asked.goes_before && !asked.goes_on && rule_holds(f->scene, RULE_kept_on_the_way) && hangs_judge_wait(&its, e, &hang) &&
	       hangs_way_is_kept(f, &hang);
}

/* It began in the recording, and took long. */
static bool is_long(const struct finder *f, const struct episode *e)
{
	return e->end_ns - e->start_ns >= limit_of(f->scene, LIMIT_as_if_asked_ns) && e->start_ns > f->scene->start_ns && last_of(f, e)->begin_event;
}

static bool is_stuck(const struct finder *f, const struct episode *e)
{
	return opens_fifo(f, e) || refused_again(f, e) || (last_of(f, e)->end == WAIT_END_OPEN && child_at_terminal(f, e));
}

/* The last of a row of sleeps at one place, with nothing else between, each longer than the one before; or the first itself. */
static uint32_t last_longer(const struct finder *f, uint32_t first)
{
	const struct wait *waits = f->scene->waits;
	uint32_t i = first;

	while (i + 1 < scene_waits_end(f->scene, f->thread) && waits[i + 1].kind == WAIT_KIND_sleep && waits[i + 1].site == waits[first].site &&
	       waits[i + 1].timeout_ns * 100 >= waits[i].timeout_ns * limit_of(f->scene, LIMIT_backs_off_more))
		i++;
	return i;
}

static void find_backing_off(struct finder *f, void (*offer)(struct finder *f, enum rule_id rule, uint64_t from_ns, uint64_t to_ns))
{
	const struct scene *scene = f->scene;

	for (uint32_t i = scene_waits_from(scene, f->thread, scene->start_ns), last; i < scene_waits_end(scene, f->thread); i = last + 1) {
		last = i;
		if (scene->waits[i].kind != WAIT_KIND_sleep || !scene->waits[i].timeout_ns)
			continue;
		last = last_longer(f, i);
		if (last - i + 1 >= limit_of(scene, LIMIT_backs_off_sleeps) &&
		    scene->waits[last].end_ns - scene->waits[i].start_ns >= limit_of(scene, LIMIT_as_if_asked_ns))
			offer(f, RULE_as_if_asked, scene->waits[i].start_ns, scene->waits[last].end_ns);
	}
}

void hangs_as_if_asked(struct finder *f, void (*offer)(struct finder *f, enum rule_id rule, uint64_t from_ns, uint64_t to_ns))
{
	const struct scene_thread *t = &f->scene->threads[f->thread];

	if (!f->leads || f->options->pid || f->options->threshold_ns || !rule_holds(f->scene, RULE_as_if_asked) || hangs_has_windows(f))
		return;
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];

		if (!is_long(f, e))
			continue;
		if (is_kept(f, e))
			offer(f, RULE_kept_on_the_way, e->start_ns, e->end_ns);
		else if (is_stuck(f, e))
			offer(f, RULE_as_if_asked, e->start_ns, e->end_ns);
	}
	if (rule_holds(f->scene, RULE_backs_off))
		find_backing_off(f, offer);
}
