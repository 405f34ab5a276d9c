/* Waits that a clock ends, see script_clocks.h. */
#include "path/script_clocks.h"

#include <stdlib.h>

#define REGULAR 64u          /* part of a period by which clocked ends may be off */
#define LATE_NS 200000u      /* a sleep may end so much later than it was to */
#define SERIES_LEAST 8u      /* sleeps, seen or passed, that make a series */

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= (a > b ? a : b) / REGULAR;
}

/* The thread's wait before it at the same place; NULL none near. */
static const struct wait *wait_before(const struct scene *scene, const struct wait *w)
{
	const struct wait *first = &scene->waits[scene->threads[w->thread].wait];

	for (const struct wait *at = w; at-- > first && w - at < 8; )
		if (at->site == w->site)
			return at;
	return NULL;
}

bool script_is_clocked(const struct scene *scene, const struct script_clocks *clocks, const struct wait *w)
{
	const struct wait *before = wait_before(scene, w), *first = before ? wait_before(scene, before) : NULL;

	if (object_kind(w->object) == OBJECT_KIND_timerfd || (w->kind == WAIT_KIND_poll && object_kind(w->detail) == OBJECT_KIND_timerfd))
		return w->end == WAIT_END_SOURCE || w->end == WAIT_END_TIMEOUT;
	if (w->kind != WAIT_KIND_sleep || w->end != WAIT_END_TIMEOUT)
		return false;
	return (clocks && map_find(&clocks->waits, (uint64_t)(w - scene->waits))) ||
	       (first && !is_near(w->timeout_ns, before->timeout_ns) &&
		is_near(w->end_ns - before->end_ns, before->end_ns - first->end_ns));
}

uint64_t script_clock_set(const struct scene *scene, const struct script_clocks *clocks, uint32_t thread, uint64_t from_ns)
{
	const struct wait *first = NULL, *w, *end = scene->waits + scene_waits_end(scene, thread);

	for (w = scene->waits + scene_waits_from(scene, thread, from_ns); w < end; w++) {
		if ((first && w->site != first->site) || !script_is_clocked(scene, clocks, w))
			continue;
		if (first)
			break;
		first = w;
	}
	if (!first || w == end || first->end_ns < w->end_ns - first->end_ns + from_ns)
		return UINT64_MAX;
	return first->end_ns - (w->end_ns - first->end_ns);
}

/* ---- sleeps that were over before they began ---- */

struct series {
	uint32_t thread, wait, waits_end; /* its sleeps: those at the place and in the call of the first */
	const struct sleep_over *over;
	uint32_t count;           /* of those that were over */
	uint64_t start_ns;        /* when the first one ended */
	double period_ns;
	uint32_t seen;
};

static bool is_of(const struct series *s, const struct wait *w, const struct wait *like)
{
	return w->kind == WAIT_KIND_sleep && w->end == WAIT_END_TIMEOUT && w->site == like->site && w->syscall == s->over[0].syscall;
}

typedef bool on_sleep(struct series *s, uint32_t at, uint64_t ns, const struct wait *w, void *data);

/* Each sleep of the series, seen or over, in the order of time; false as soon as one is not accepted. */
static bool each(const struct scene *scene, struct series *s, on_sleep *accept, void *data)
{
	uint32_t over = 0, at = 0;

	for (uint32_t i = s->wait; i < s->waits_end || over < s->count; ) {
		const struct wait *w = i < s->waits_end ? &scene->waits[i] : NULL;

		if (w && (over == s->count || w->start_ns < s->over[over].ns)) {
			if (is_of(s, w, &scene->waits[s->wait]) && !accept(s, at++, w->end_ns, w, data))
				return false;
			i++;
		} else if (!accept(s, at++, s->over[over++].ns, NULL, data)) {
			return false;
		}
	}
	return at >= SERIES_LEAST;
}

/* The period, of the first seen one and the last. */
static bool measure(struct series *s, uint32_t at, uint64_t ns, const struct wait *w, void *data)
{
	(void)data;
	if (!w)
		return at;
	if (!s->seen++)
		s->start_ns = ns;
	else
		s->period_ns = (double)(ns - s->start_ns) / at;
	return s->seen > 1 || !at;
}

static uint64_t until(const struct series *s, uint32_t at)
{
	return s->start_ns + (uint64_t)(s->period_ns * at);
}

/* Who sleeps until a moment sleeps less the later it comes; who comes behind it does not sleep. */
static bool fits(struct series *s, uint32_t at, uint64_t ns, const struct wait *w, void *data)
{
	uint64_t end = until(s, at), slack = (uint64_t)s->period_ns / REGULAR + LATE_NS / 2;

	(void)data;
	return w ? ns + slack >= end && ns <= end + slack + LATE_NS : ns + slack >= end;
}

static bool tell(struct series *s, uint32_t at, uint64_t ns, const struct wait *w, void *data)
{
	struct script_clocks *clocks = data;

	if (!w)
		vec_push(&clocks->passed, ((struct clock_passed){ ns, until(s, at), s->thread }));
	return true;
}

/* True where the sleeps were not all equally long: then they are until a moment. */
static bool differ(const struct scene *scene, const struct series *s)
{
	const struct wait *first = &scene->waits[s->wait];

	for (uint32_t i = s->wait + 1; i < s->waits_end; i++)
		if (is_of(s, &scene->waits[i], first) && !is_near(scene->waits[i].timeout_ns, first->timeout_ns))
			return true;
	return false;
}

static void find_series(const struct scene *scene, struct series *s, struct script_clocks *clocks)
{
	while (s->wait < s->waits_end && !is_of(s, &scene->waits[s->wait], &scene->waits[s->wait]))
		s->wait++;
	if (s->wait == s->waits_end || scene->waits[s->wait].start_ns > s->over[0].ns || !differ(scene, s) ||
	    !each(scene, s, measure, NULL) || s->period_ns <= 0 || !each(scene, s, fits, NULL))
		return;
	each(scene, s, tell, clocks);
	for (uint32_t i = s->wait; i < s->waits_end; i++)
		if (is_of(s, &scene->waits[i], &scene->waits[s->wait]))
			map_put(&clocks->waits, i, 1);
}

static int by_time(const void *a, const void *b)
{
	const struct clock_passed *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

void script_clocks_find(const struct scene *scene, const struct script_question *q, struct script_clocks *ret_clocks)
{
	*ret_clocks = (struct script_clocks){ 0 };
	map_init(&ret_clocks->waits);
	for (size_t i = 0, end; i < q->over_count; i = end) {
		struct series s = { .thread = q->over[i].thread, .over = &q->over[i] };

		for (end = i; end < q->over_count && q->over[end].thread == s.thread && q->over[end].syscall == s.over[0].syscall; end++)
			;
		s.count = (uint32_t)(end - i);
		s.wait = scene->threads[s.thread].wait;
		s.waits_end = scene_waits_end(scene, s.thread);
		find_series(scene, &s, ret_clocks);
	}
	if (ret_clocks->passed.length)
		qsort(ret_clocks->passed.items, ret_clocks->passed.length, sizeof(*ret_clocks->passed.items), by_time);
}

void script_clocks_done(struct script_clocks *clocks)
{
	vec_done(&clocks->passed);
	map_done(&clocks->waits);
}
