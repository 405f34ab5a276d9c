/* Work in progress, see hangs_work.h.
 *
 * The stretches in which any of those that were started was at work are put in order and
 * added up, each moment once. */
#include "diagnose/hangs_work.h"

#include <stdlib.h>

#include "base/map.h"
#include "diagnose/follow.h"
#include "diagnose/loops.h"
#include "diagnose/request.h"

struct stretch {
	uint64_t from_ns, to_ns;
};

struct stretches vec(struct stretch);

static int earlier(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

/* For the end, or the output, of what it started. */
static bool awaits_children(const struct finder *f, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_child:
	case WAIT_KIND_vfork:
		return true;
	case WAIT_KIND_signal:
		return w->end == WAIT_END_THREAD && !scene_same_process(f->scene, w->waker, w->thread) &&
		       scene_descends_from(f->scene, w->waker, scene_pid(f->scene, w->thread));
	case WAIT_KIND_read:
	case WAIT_KIND_poll:
		return w->end == WAIT_END_THREAD && scene_is_pipe(w->kind == WAIT_KIND_poll ? w->detail : w->object) &&
		       !scene_same_process(f->scene, w->waker, w->thread) &&
		       scene_descends_from(f->scene, w->waker, scene_pid(f->scene, w->thread));
	default:
		return false;
	}
}

static bool is_at_work(const struct scene *scene, const struct span *s)
{
	uint8_t kind = s->state == SPAN_WAITING ? scene->waits[span_wait(s)].kind : WAIT_KIND_none;

	return s->state == SPAN_RUNNING || s->state == SPAN_RUNNABLE || kind == WAIT_KIND_block_io || kind == WAIT_KIND_sync || kind == WAIT_KIND_fault;
}

/* One by which a script that nobody asks about takes its time: it does nothing else, and slept as long as it meant to, or sleeps still. */
static bool sleeps_on_purpose(const struct finder *f, const struct span *s)
{
	const struct wait *w = s->state == SPAN_WAITING ? &f->scene->waits[span_wait(s)] : NULL;

	const struct episode *e = w ? &f->scene->episodes[w->episode] : NULL;

	return w && w->kind == WAIT_KIND_sleep && (w->end == WAIT_END_TIMEOUT || (w->end == WAIT_END_OPEN && w->timeout_ns)) &&
	       (!loop_is(f->scene, e) || (e->end_ns - e->start_ns) / e->slices > limit_of(f->scene, LIMIT_look_ns)) &&
	       rule_holds(f->scene, RULE_takes_its_time) && hangs_is_unattended(f) && scene_is_sleeper(f->scene, w, true);
}

/* Adds when the thread was at work in the wait; returns how long it ran. */
static uint64_t gather(const struct finder *f, uint32_t thread, const struct episode *e, struct stretches *stretches)
{
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t ran = 0;
	uint32_t i;

	scene_need_spans(scene, thread);
	i = t->span_count && t->spans[0].start_ns > e->start_ns ? 0 : scene_span_index(scene, thread, e->start_ns);
	for (; i < t->span_count && t->spans[i].start_ns < e->end_ns; i++) {
		const struct span *s = &t->spans[i];
		uint64_t from = s->start_ns > e->start_ns ? s->start_ns : e->start_ns, to = span_end(s) < e->end_ns ? span_end(s) : e->end_ns;

		if (from >= to || !(is_at_work(scene, s) || sleeps_on_purpose(f, s)))
			continue;
		ran += s->state == SPAN_RUNNING ? to - from : 0;
		if (stretches->length && stretches->items[stretches->length - 1].to_ns == from)
			stretches->items[stretches->length - 1].to_ns = to;
		else
			vec_push(stretches, ((struct stretch){ from, to }));
	}
	scene_spare(scene);
	return ran;
}

static uint64_t together_ns(struct stretches *stretches)
{
	uint64_t ns = 0, until = 0;

	if (stretches->length)
		qsort(stretches->items, stretches->length, sizeof(*stretches->items), earlier);
	for (size_t i = 0; i < stretches->length; i++) {
		const struct stretch *s = &stretches->items[i];
		uint64_t from = s->from_ns > until ? s->from_ns : until;

		if (s->to_ns <= from)
			continue;
		ns += s->to_ns - from;
		until = s->to_ns;
	}
	return ns;
}

/* It waited for others that it had started about as long: each of them has as much to do. */
static bool is_usual(const struct finder *f, const struct episode *e)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	uint64_t least = part_of(f->scene, LIMIT_a_good_part, e->end_ns - e->start_ns);
	uint32_t others = 0;

	for (const struct episode *o = &f->scene->episodes[t->episode]; o < &f->scene->episodes[t->episode + t->episode_count]; o++)
		others += o != e && o->end_ns - o->start_ns > least && awaits_children(f, &f->scene->waits[o->last]);
	return others >= limit_of(f->scene, LIMIT_others_as_long);
}

struct work {
	uint64_t together;         /* some of them was at work */
	uint64_t longest;          /* that one process ran */
	uint32_t came;             /* processes that began in the wait, and worked */
};

/* Of all that descends from the process, in the wait. */
static struct work work_below(const struct finder *f, uint32_t pid, const struct episode *e)
{
	const struct scene *scene = f->scene;
	struct stretches stretches = { 0 };
	struct work work = { 0 };
	struct map ran; /* process -> how long */

	map_init(&ran);
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];
		size_t before = stretches.length;
		uint64_t *of_process;
		bool fresh;

		if (t->pid == pid || t->start_ns >= e->end_ns || t->end_ns <= e->start_ns || scene_is_system(scene, i) || !scene_descends_from(scene, i, pid))
			continue;
		of_process = map_at(&ran, t->pid, &fresh);
		if (fresh)
			*of_process = 0;
		*of_process += gather(f, i, e, &stretches);
		work.came += t->tid == t->pid && t->start_ns > e->start_ns && stretches.length > before;
		if (*of_process > work.longest)
			work.longest = *of_process;
	}
	work.together = together_ns(&stretches);
	map_done(&ran);
	vec_done(&stretches);
	return work;
}

bool hangs_is_worked_on(const struct finder *f, const struct episode *e)
{
	uint64_t length = e->end_ns - e->start_ns;
	struct work work;

	if (!rule_holds(f->scene, RULE_work_in_progress) || !awaits_children(f, &f->scene->waits[e->last]))
		return false;
	work = work_below(f, scene_pid(f->scene, f->thread), e);
	if (!nearly_all(f->scene, work.together, length))
		return false;
	return work.longest < limit_of(f->scene, LIMIT_busy_ns) || !most_of(f->scene, work.longest, length) || is_usual(f, e);
}

/* Of the threads on the way back from the wait's end the first of another process is one that this one started. */
static bool leads_to_children(const struct finder *f, const struct episode *e)
{
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count = follow_back(f->scene, e, path);

	for (unsigned i = 0; i < count; i++)
		if (!scene_same_process(f->scene, path[i].thread, f->thread))
			return scene_descends_from(f->scene, path[i].thread, scene_pid(f->scene, f->thread));
	return f->scene->waits[e->last].end == WAIT_END_OPEN;
}

static bool comes_and_goes(const struct finder *f, const struct episode *e, const struct work *work)
{
	uint64_t length = e->end_ns - e->start_ns;

	return rule_holds(f->scene, RULE_comes_and_goes) && work->came >= limit_of(f->scene, LIMIT_comers) &&
	       work->longest < part_of(f->scene, LIMIT_a_good_part, length) && leads_to_children(f, e);
}

/* The process that the thread set to work last before the wait, by a wake-up or by its birth, as far as its request goes back: one that
 * its own process had started, else 0. */
static uint32_t set_to_work(const struct scene *scene, const struct episode *e)
{
	uint64_t latest = request_start(scene, e);
	uint32_t last = 0;

	for (uint32_t i = scene_wakes_from(scene, e->thread, e->start_ns); !last && i-- > scene->threads[e->thread].wake; ) {
		const struct wake *wake = &scene->wakes[i];

		if (wake->time < latest)
			break;
		if (scene_same_process(scene, wake->target, e->thread) || scene_is_system(scene, wake->target))
			continue;
		last = wake->target;
		latest = wake->time;
	}
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->creator != e->thread || t->start_ns < latest || t->start_ns > e->start_ns || scene_same_process(scene, i, e->thread))
			continue;
		last = i;
		latest = t->start_ns;
	}
	return last && scene_descends_from(scene, last, scene_pid(scene, e->thread)) ? last : 0;
}

bool hangs_has_work_done(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count = hangs_is_unattended(f) && rule_holds(scene, RULE_work_in_progress) ? follow_back(scene, e, path) : 0;
	bool open = scene->waits[e->last].end == WAIT_END_OPEN && hangs_is_unattended(f) && rule_holds(scene, RULE_work_in_progress);
	uint32_t at_work = open ? set_to_work(scene, e) : 0;

	if (at_work && most_of(scene, work_below(f, scene_pid(scene, at_work), e).together, e->end_ns - e->start_ns))
		return true;
	for (unsigned i = 0; i < count; i++)
		if (!scene_same_process(scene, path[i].thread, f->thread))
			return !scene_is_system(scene, path[i].thread) && !scene_descends_from(scene, f->thread, scene_pid(scene, path[i].thread)) &&
			       most_of(scene, work_below(f, scene_pid(scene, path[i].thread), e).together, e->end_ns - e->start_ns);
	return false;
}

bool hangs_own_threads_work(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	struct stretches stretches = { 0 };
	uint64_t together;

	if (!hangs_is_unattended(f) || !rule_holds(scene, RULE_work_in_progress) || (w->kind != WAIT_KIND_futex && w->kind != WAIT_KIND_semaphore) ||
	    w->end != WAIT_END_THREAD || !scene_same_process(scene, w->waker, f->thread))
		return false;
	SCENE_EACH_MATE(scene, f->thread, i)
		if (i != f->thread)
			gather(f, i, e, &stretches);
	together = together_ns(&stretches);
	vec_done(&stretches);
	return nearly_all(scene, together, e->end_ns - e->start_ns);
}

/* Its next wait, if any is seen, is a sleep as well. */
static bool looks_on(const struct scene *scene, const struct episode *e)
{
	return e->last + 1 >= scene_waits_end(scene, e->thread) || scene->waits[e->last + 1].kind == WAIT_KIND_sleep;
}

/* A loop of looks, `look_ns` each, whose last sleep this is, met the end of the child: that ended while the loop slept for the last time,
 * or the time before, for it takes a little to be gone, or before it looked behind that, which is late on a busy machine. */
static bool met_end(const struct scene *scene, const struct wait *last, uint64_t look_ns, uint32_t child)
{
	const struct thread *c = &scene->tables->threads[child];
	uint32_t next = (uint32_t)(last - scene->waits) + 1;
	uint64_t looked_ns = last->end_ns + look_ns, late_ns = looked_ns + limit_of(scene, LIMIT_look_queued_ns);

	if (next < scene_waits_end(scene, last->thread) && scene->waits[next].start_ns > looked_ns)
		looked_ns = scene->waits[next].start_ns < late_ns ? scene->waits[next].start_ns : late_ns;
	return c->tid == c->pid && c->end_ns + 2 * look_ns >= last->end_ns && c->end_ns <= looked_ns && scene_has_started(scene, last->thread, child);
}

bool hangs_awaited_ends(const struct scene *scene, uint64_t from_ns, const struct wait *last, uint64_t look_ns)
{
	struct stretches lives = { 0 };
	bool met = false;
	uint64_t there;

	for (uint32_t i = 1; i < scene->thread_count && rule_holds(scene, RULE_polls_children); i++) {
		const struct thread *t = &scene->tables->threads[i];
		uint64_t from = t->start_ns > from_ns ? t->start_ns : from_ns, to = t->end_ns < last->end_ns ? t->end_ns : last->end_ns;

		/* one that is there for no longer is itself how a script sleeps */
		if (t->tid != t->pid || to <= from + 2 * look_ns || !scene_has_started(scene, last->thread, i))
			continue;
		met |= met_end(scene, last, look_ns, i);
		vec_push(&lives, ((struct stretch){ from, to }));
	}
	there = together_ns(&lives);
	vec_done(&lives);
	return met && nearly_all(scene, there, last->end_ns - from_ns);
}

/* A child whose end the loop met, or awaits still. */
static bool is_looked_for(const struct scene *scene, uint32_t child, const struct episode *e)
{
	const struct thread *c = &scene->tables->threads[child];

	return met_end(scene, &scene->waits[e->last], (e->end_ns - e->start_ns) / (e->slices ? e->slices : 1), child) ||
	       (c->tid == c->pid && c->end_ns >= e->end_ns && looks_on(scene, e) && scene_has_started(scene, e->thread, child));
}

/* One after the other, as one that runs tests has. */
static bool polls_children(const struct scene *scene, const struct episode *e)
{
	if (!rule_holds(scene, RULE_polls_children) || scene->waits[e->last].kind != WAIT_KIND_sleep || !loop_is(scene, e))
		return false;
	for (uint32_t i = 1; i < scene->thread_count; i++)
		if (is_looked_for(scene, i, e))
			return true;
	return false;
}

/* For a program that was started for it, not one that was there and is asked. */
static bool awaits_program(const struct finder *f, const struct wait *w, uint64_t since_ns)
{
	return awaits_children(f, w) &&
	       (!w->waker || f->scene->tables->threads[w->waker].start_ns + limit_of(f->scene, LIMIT_look_queued_ns) >= since_ns);
}

/* It sleeps and looks, or waits with a limit that runs out again and again. */
static bool looks(const struct scene *scene, const struct episode *e)
{
	const struct wait *w = &scene->waits[e->last];

	return rule_holds(scene, RULE_polls_children) &&
	       (w->kind == WAIT_KIND_sleep ? loop_is(scene, e) : w->end == WAIT_END_TIMEOUT && e->slices >= limit_of(scene, LIMIT_loop_looks));
}

/* The thread, of the same process, that ended the wait had waited for what the process started, or looked for its end, for most of it.
 * Where that is `busy` nearly all the time it is that, too, for which the thread looks, or that it was there and is asked, as a pool is. */
static bool own_thread_awaits_children(const struct finder *f, const struct episode *e, bool busy)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint64_t awaited = 0;
	uint32_t episode = UINT32_MAX;
	bool polls = false;

	if (w->kind != WAIT_KIND_futex || w->end != WAIT_END_THREAD || !scene_same_process(scene, w->waker, w->thread))
		return false;
	/* the one that had begun before, too */
	for (uint32_t next = scene_waits_from(scene, w->waker, e->start_ns), i = next > scene->threads[w->waker].wait ? next - 1 : next;
	     i < scene_waits_end(scene, w->waker); i++) {
		const struct wait *its = &scene->waits[i];

		if (its->end_ns <= e->start_ns)
			continue;
		if (its->start_ns >= e->end_ns)
			break;
		if (its->episode != episode) {
			episode = its->episode;
			polls = (busy && looks(scene, &scene->episodes[episode])) || polls_children(scene, &scene->episodes[episode]);
		}
		if (polls || (busy && awaits_children(f, its)) || awaits_program(f, its, e->start_ns))
			awaited += (its->end_ns < e->end_ns ? its->end_ns : e->end_ns) - (its->start_ns > e->start_ns ? its->start_ns : e->start_ns);
	}
	return most_of(scene, awaited, e->end_ns - e->start_ns);
}

/* It waits for a child's end or output, which may only wait in turn, or for a thread of its own that does, but what that started works;
 * or it looks while that works nearly all the time, for what comes of it. */
static bool works_below(const struct finder *f, const struct episode *e, const struct work *work)
{
	const struct wait *w = &f->scene->waits[e->last];
	bool busy = nearly_all(f->scene, work->together, e->end_ns - e->start_ns);

	return rule_holds(f->scene, RULE_work_in_progress) &&
	       (w->kind == WAIT_KIND_child || awaits_program(f, w, e->start_ns) || own_thread_awaits_children(f, e, busy) ||
		(busy && looks(f->scene, e)));
}

/* Who reads what it writes to a pipe has work done by others meanwhile. */
static bool reader_has_work_done(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	return rule_holds(f->scene, RULE_work_in_progress) && w->kind == WAIT_KIND_write && scene_is_pipe(w->object) && w->end == WAIT_END_THREAD &&
	       w->cause != WAKE_CAUSE_signal && !scene_ended_by_signal(f->scene, w) && !scene_same_process(f->scene, w->waker, w->thread) &&
	       most_of(f->scene, work_below(f, scene_pid(f->scene, w->waker), e).together, e->end_ns - e->start_ns);
}

bool hangs_goes_on(const struct finder *f, const struct episode *e)
{
	struct work work;

	if (!hangs_is_unattended(f))
		return false;
	if (reader_has_work_done(f, e))
		return true;
	work = work_below(f, scene_pid(f->scene, f->thread), e);
	return most_of(f->scene, work.together, e->end_ns - e->start_ns) &&
	       (comes_and_goes(f, e, &work) || polls_children(f->scene, e) || works_below(f, e, &work));
}
