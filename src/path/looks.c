/* Whom loops of sleeps look for, see looks.h. */
#include "path/looks.h"

#include <math.h>
#include <stdlib.h>

#define LOOPS_LEAST 10u       /* of two sleeps or more: fewer do not tell */
#define LOOPS_MOST 256u       /* looked at */
#define SLEEPS_MOST 65536u
#define DEEDS_MOST 64u        /* kinds of what others did, told apart */
#define OTHERS_MOST 256u      /* threads that are looked at */
#define WAITS_MOST 64u        /* of one of them in a loop */
#define IN_STEP 0.85          /* of the loops */
#define SURELY 3.0            /* standard deviations above what chance would do */
#define LOCKS_MOST 3u         /* for which it stands to look */
#define PAUSE_TIMES 4u        /* so many times as long as a look, and ... */
#define PAUSE_MORE_NS 50000u  /* ... is work between two loops */

/* ---- loops of one thread at one place ---- */

static bool is_sleep_at(const struct wait *w, uint32_t site)
{
	return w->kind == WAIT_KIND_sleep && w->site == site && w->end == WAIT_END_TIMEOUT;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t ran_between(const struct scene *scene, const struct wait *before, const struct wait *w)
{
	struct state_times times;

	scene_state_times(scene, w->thread, before->end_ns, w->start_ns, &times);
	return times.ns[SPAN_RUNNING];
}

/* How long the thread may run between two sleeps of one loop. */
static uint64_t longest_look(const struct scene *scene, uint32_t thread, uint32_t site)
{
	uint32_t begin = scene->threads[thread].wait, end = scene_waits_end(scene, thread);
	struct vec(uint64_t) runs = { 0 };
	uint64_t ns = 0;

	for (uint32_t i = begin + 1; i < end && runs.length < SLEEPS_MOST; i++) {
		const struct wait *before = &scene->waits[i - 1], *w = &scene->waits[i];

		if (is_sleep_at(w, site) && is_sleep_at(before, site) && before->episode == w->episode)
			vec_push(&runs, ran_between(scene, before, w));
	}
	if (runs.length) {
		qsort(runs.items, runs.length, sizeof(*runs.items), by_value);
		ns = runs.items[runs.length / 4] * PAUSE_TIMES + PAUSE_MORE_NS;
	}
	vec_done(&runs);
	return ns;
}

/* The sleep is the loop's next one: the thread only looked again since its last one, and perhaps stood for a lock to do so. */
static bool goes_on(const struct scene *scene, const struct look *look, uint32_t sleep, uint64_t longest)
{
	const struct wait *last = &scene->waits[look->last], *w = &scene->waits[sleep];

	if (sleep == look->last + 1 ? last->episode != w->episode : sleep - look->last > LOCKS_MOST + 1)
		return false;
	for (uint32_t i = look->last + 1; i < sleep; i++)
		if (scene->waits[i].kind != WAIT_KIND_futex || scene->waits[i].end != WAIT_END_THREAD)
			return false;
	return ran_between(scene, last, w) <= longest;
}

/* Appends the thread's loops at the place to the list. */
static void add_loops(struct looks *looks, uint32_t thread, uint32_t site)
{
	const struct scene *scene = looks->scene;
	uint32_t begin = scene->threads[thread].wait, end = scene_waits_end(scene, thread), left = SLEEPS_MOST;
	uint64_t longest = longest_look(scene, thread, site);
	struct look *look = NULL;

	for (uint32_t i = begin; i < end && left; i++) {
		const struct wait *w = &scene->waits[i];

		if (!is_sleep_at(w, site))
			continue;
		left--;
		if (look && goes_on(scene, look, i, longest)) {
			look->last = i;
			look->end_ns = w->end_ns;
			look->count++;
			continue;
		}
		vec_push(&looks->list, ((struct look){ w->start_ns, w->end_ns, 0, i, i, 1, 0 }));
		look = &looks->list.items[looks->list.length - 1];
	}
}

/* When it had looked in vain for the last time. */
static uint64_t last_look(const struct scene *scene, const struct look *look)
{
	return look->count > 1 ? scene->waits[look->last - 1].end_ns : look->start_ns;
}

/* ---- what others did meanwhile ---- */

struct deed {
	uint64_t ns;
	uint32_t site, thread;
	bool ends;                /* a wait at the place, else began one */
};

enum { IN_TIME = 1, TOO_EARLY = 2 };

struct deed_kind {
	uint32_t site;
	bool ends;
	uint8_t loops[LOOPS_MOST];
};

struct deeds {
	struct looks *looks;
	uint32_t first, count;    /* loops */
	uint32_t step;            /* each so many of them counts */
	struct vec(struct deed_kind) kinds;
	struct vec(uint32_t) others;
};

static struct look *look_at(const struct deeds *d, uint32_t i)
{
	return &d->looks->list.items[d->first + i];
}

/* It may know, and change, what the thread looks at. */
static bool is_near(const struct scene *scene, uint32_t thread, uint32_t other)
{
	const struct thread *a = &scene->tables->threads[thread], *b = &scene->tables->threads[other];

	if (other == thread || scene_is_system(scene, other))
		return false;
	return a->pid == b->pid || b->parent_pid == a->pid || a->parent_pid == b->pid || (a->parent_pid == b->parent_pid && a->parent_pid > 1);
}

static bool sleeps_at(const struct scene *scene, uint32_t thread, uint32_t site)
{
	for (uint32_t i = scene->threads[thread].wait; i < scene_waits_end(scene, thread); i++)
		if (is_sleep_at(&scene->waits[i], site))
			return true;
	return false;
}

/* Who sleeps at the same place does the same, perhaps in step with it. */
static void find_others(struct deeds *d, uint32_t thread, uint32_t site)
{
	const struct scene *scene = d->looks->scene;

	for (uint32_t i = 1; i < scene->thread_count && d->others.length < OTHERS_MOST; i++) {
		if (!is_near(scene, thread, i))
			continue;
		scene_need(scene, i);
		if (!sleeps_at(scene, i, site))
			vec_push(&d->others, i);
	}
}

/* What the thread did in the loop by itself, one after the other; false when there is no more. `at`: in it, from 0 on. */
static bool next_deed(const struct scene *scene, uint32_t thread, const struct look *look, uint32_t *at, struct deed *ret_deed)
{
	uint32_t looking = scene->waits[look->first].thread;
	uint32_t next = scene_waits_from(scene, thread, look->start_ns), end = scene_waits_end(scene, thread);

	next -= next > scene->threads[thread].wait;
	for (; *at < WAITS_MOST * 2 && next + *at / 2 < end; ) {
		const struct wait *w = &scene->waits[next + *at / 2];
		bool ends = *at & 1;
		uint64_t ns = ends ? w->end_ns : w->start_ns;

		++*at;
		if (w->start_ns > look->end_ns)
			return false;
		if (ns <= look->start_ns || ns > look->end_ns || (ends && (w->end == WAIT_END_OPEN || w->waker == looking)))
			continue;
		*ret_deed = (struct deed){ ns, w->site, thread, ends };
		return true;
	}
	return false;
}

static void note(struct deeds *d, uint32_t loop, const struct deed *deed, uint64_t looked_ns)
{
	size_t i = 0;

	while (i < d->kinds.length && (d->kinds.items[i].site != deed->site || d->kinds.items[i].ends != deed->ends))
		i++;
	if (i == DEEDS_MOST)
		return;
	if (i == d->kinds.length)
		vec_push(&d->kinds, ((struct deed_kind){ .site = deed->site, .ends = deed->ends }));
	d->kinds.items[i].loops[loop] |= deed->ns > looked_ns ? IN_TIME : TOO_EARLY;
}

static void note_all(struct deeds *d)
{
	const struct scene *scene = d->looks->scene;

	for (size_t k = 0; k < d->others.length; k++)
		for (uint32_t i = 0; i < LOOPS_MOST && i * d->step < d->count; i++) {
			const struct look *look = look_at(d, i * d->step);
			uint64_t looked = last_look(scene, look);
			struct deed deed;
			uint32_t at = 0;

			while (look->count > 1 && next_deed(scene, d->others.items[k], look, &at, &deed))
				note(d, i, &deed, looked);
		}
}

/* The kind of deed with which the loops end; NULL when none surely is. */
static const struct deed_kind *find_kind(const struct deeds *d)
{
	const struct deed_kind *best = NULL;
	double all = 0, chance = 0, spread = 0;
	uint32_t most = 0;

	for (uint32_t i = 0; i < LOOPS_MOST && i * d->step < d->count; i++) {
		const struct look *look = look_at(d, i * d->step);
		double part = (double)(look->end_ns - last_look(d->looks->scene, look)) / (double)(look->end_ns - look->start_ns + 1);

		if (look->count < 2)
			continue;
		all++;
		chance += part;
		spread += part * (1 - part);
	}
	for (size_t i = 0; i < d->kinds.length; i++) {
		uint32_t in_time = 0;

		for (uint32_t k = 0; k < LOOPS_MOST; k++)
			in_time += d->kinds.items[i].loops[k] == IN_TIME;
		if (in_time > most) {
			most = in_time;
			best = &d->kinds.items[i];
		}
	}
	return all >= LOOPS_LEAST && most >= all * IN_STEP && most > chance + SURELY * sqrt(spread) ? best : NULL;
}

/* Who did it, and when, in each loop. */
static void tell_all(struct deeds *d, const struct deed_kind *kind)
{
	for (uint32_t i = 0; i < d->count; i++) {
		struct look *look = look_at(d, i);
		uint64_t looked = last_look(d->looks->scene, look);
		struct deed deed;

		for (size_t k = 0; k < d->others.length; k++)
			for (uint32_t at = 0; next_deed(d->looks->scene, d->others.items[k], look, &at, &deed); )
				if (deed.site == kind->site && deed.ends == kind->ends && deed.ns > looked &&
				    (!look->done_ns || deed.ns < look->done_ns)) {
					look->done_ns = deed.ns;
					look->other = deed.thread;
				}
	}
}

static struct looks_place find_place(struct looks *looks, uint32_t thread, uint32_t site)
{
	struct deeds d = { .looks = looks, .first = (uint32_t)looks->list.length };
	const struct deed_kind *kind = NULL;
	uint32_t several = 0;

	add_loops(looks, thread, site);
	d.count = (uint32_t)looks->list.length - d.first;
	d.step = d.count / LOOPS_MOST + 1;
	for (uint32_t i = 0; i < d.count; i++)
		several += look_at(&d, i)->count > 1;
	if (several >= LOOPS_LEAST) {
		find_others(&d, thread, site);
		note_all(&d);
		kind = find_kind(&d);
	}
	if (kind)
		tell_all(&d, kind);
	else
		looks->list.length = d.first;
	vec_done(&d.kinds);
	vec_done(&d.others);
	return (struct looks_place){ d.first, kind ? d.count : 0 };
}

void looks_init(struct looks *looks, const struct scene *scene)
{
	*looks = (struct looks){ .scene = scene };
	map_init(&looks->numbers);
}

void looks_done(struct looks *looks)
{
	map_done(&looks->numbers);
	vec_done(&looks->places);
	vec_done(&looks->list);
}

bool looks_find(struct looks *looks, const struct wait *wait, struct look *ret_look)
{
	uint32_t number = (uint32_t)(wait - looks->scene->waits), low, high;
	bool fresh = false;
	uint64_t *at;
	struct looks_place place;

	if (wait->kind != WAIT_KIND_sleep)
		return false;
	at = map_at(&looks->numbers, (uint64_t)wait->thread << 32 | wait->site, &fresh);
	if (fresh) {
		*at = looks->places.length;
		vec_push(&looks->places, find_place(looks, wait->thread, wait->site));
	}
	place = looks->places.items[*map_find(&looks->numbers, (uint64_t)wait->thread << 32 | wait->site)];
	low = place.first;
	high = place.first + place.count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (looks->list.items[middle].last < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == place.first + place.count || looks->list.items[low].first > number || !looks->list.items[low].done_ns)
		return false;
	*ret_look = looks->list.items[low];
	return true;
}
