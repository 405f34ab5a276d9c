/* Work in progress, see hangs_work.h.
 *
 * The stretches in which any of those that were started was at work are put in order and
 * added up, each moment once. */
#include "diagnose/hangs_work.h"

#include <stdlib.h>

#include "base/map.h"

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
	uint8_t kind = s->state == SPAN_WAITING ? scene->waits[s->wait].kind : WAIT_KIND_none;

	return s->state == SPAN_RUNNING || s->state == SPAN_RUNNABLE || kind == WAIT_KIND_block_io || kind == WAIT_KIND_sync || kind == WAIT_KIND_fault;
}

/* Adds when the thread was at work in the wait; returns how long it ran. */
static uint64_t gather(const struct scene *scene, uint32_t thread, const struct episode *e, struct stretches *stretches)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t i = t->span_count && t->spans[0].start_ns > e->start_ns ? 0 : scene_span_index(scene, thread, e->start_ns);
	uint64_t ran = 0;

	for (; i < t->span_count && t->spans[i].start_ns < e->end_ns; i++) {
		const struct span *s = &t->spans[i];
		uint64_t from = s->start_ns > e->start_ns ? s->start_ns : e->start_ns, to = span_end(s) < e->end_ns ? span_end(s) : e->end_ns;

		if (from >= to || !is_at_work(scene, s))
			continue;
		ran += s->state == SPAN_RUNNING ? to - from : 0;
		if (stretches->length && stretches->items[stretches->length - 1].to_ns == from)
			stretches->items[stretches->length - 1].to_ns = to;
		else
			vec_push(stretches, ((struct stretch){ from, to }));
	}
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

bool hangs_is_worked_on(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint32_t pid = scene_pid(scene, f->thread);
	struct stretches stretches = { 0 };
	uint64_t together, length = e->end_ns - e->start_ns, longest = 0;
	struct map ran; /* process -> how long */

	if (!rule_holds(scene, RULE_work_in_progress) || !awaits_children(f, &scene->waits[e->last]))
		return false;
	map_init(&ran);
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];
		uint64_t *of_process;
		bool fresh;

		if (t->pid == pid || t->start_ns >= e->end_ns || t->end_ns <= e->start_ns || scene_is_system(scene, i) || !scene_descends_from(scene, i, pid))
			continue;
		of_process = map_at(&ran, t->pid, &fresh);
		if (fresh)
			*of_process = 0;
		*of_process += gather(scene, i, e, &stretches);
		if (*of_process > longest)
			longest = *of_process;
	}
	together = together_ns(&stretches);
	map_done(&ran);
	vec_done(&stretches);
	if (!nearly_all(scene, together, length))
		return false;
	return longest < limit_of(scene, LIMIT_busy_ns) || !most_of(scene, longest, length) || is_usual(f, e);
}
