/* See sweep_begin.h. A part holds a wait that stands at its beginning whole, a loop of waits
 * not: so that one is followed back over the thread's switches alone, which is quick, with
 * what else it did. Where that is anything but to look, the loop began behind it. */
#include "session/sweep_begin.h"

#include "diagnose/hangs.h"
#include "diagnose/scene.h"

#define RAN_NS 2000000ull      /* looking takes no longer */
#define LATE_NS 500000000ull   /* it may have to wait for a processor */
#define STEPS 64

struct loop {
	uint32_t tid;
	struct event_switch wait;  /* as each of its waits begins */
	uint64_t first_ns;         /* begin of the first wait of the row that is followed, 0 none */
	uint64_t last_ns, in_ns, ran_ns;
	bool began;                /* another wait, or a deed, was seen before the row */
};

static bool is_same(const struct event_switch *a, const struct event_switch *b)
{
	return a->wait == b->wait && a->object == b->object && a->detail == b->detail && a->timeout_ns == b->timeout_ns && a->syscall == b->syscall;
}

static void end_row(struct loop *l)
{
	l->first_ns = 0;
	l->began = true;
}

static void see_out(struct loop *l, uint64_t time, const struct event_switch *s)
{
	l->ran_ns += l->in_ns && time > l->in_ns ? time - l->in_ns : 0;
	l->in_ns = 0;
	if (s->state == TASK_STATE_running)
		return;
	if (!is_same(s, &l->wait) || (l->first_ns && (l->ran_ns > RAN_NS || time - l->last_ns > s->timeout_ns + LATE_NS)))
		end_row(l);
	if (is_same(s, &l->wait)) {
		l->first_ns = l->first_ns ? l->first_ns : time;
		l->last_ns = time;
	}
	l->ran_ns = 0;
}

static void see(struct loop *l, const struct event *e)
{
	if (e->type == EVENT_switch && e->tid == l->tid)
		see_out(l, e->time, event_as(e, switch));
	else if (e->type == EVENT_switch && event_as(e, switch)->next == l->tid)
		l->in_ns = e->time;
	else if (e->tid == l->tid && ((e->type == EVENT_wake && event_as(e, wake)->context != CONTEXT_hardirq) ||
				      (e->type == EVENT_message && !(event_as(e, message)->flags & MESSAGE_FLAGS_would_block))))
		end_row(l);
}

/* The row of such waits that lasts to the moment; its begin, or that moment. */
static uint64_t row_before(struct loop *l, const struct trace *trace, uint64_t from_ns, uint64_t to_ns)
{
	struct trace_filter filter = { .from_ns = from_ns, .to_ns = to_ns - 1, .unnumbered = true };
	struct trace_cursor *cursor;

	trace_filter_add(&filter, EVENT_switch);
	trace_filter_add(&filter, EVENT_wake);
	trace_filter_add(&filter, EVENT_message);
	l->first_ns = l->last_ns = l->in_ns = l->ran_ns = 0;
	l->began = false;
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		see(l, e);
	trace_cursor_free(cursor);
	return l->first_ns && to_ns - l->last_ns <= l->wait.timeout_ns + LATE_NS ? l->first_ns : to_ns;
}

/* The first wait of the loop that the scene begins in; NULL it does not begin in one. */
static const struct wait *cut_wait(const struct scene *scene, const struct hang *hang)
{
	const struct episode *e = scene_episode(scene, hang->thread, hang->start_ns);
	const struct wait *w = e ? &scene->waits[e->first] : NULL;
	uint64_t since_ns = scene->threads[hang->thread].since_ns;

	if (!w || since_ns <= scene->reach_ns || e->slices < 2 || e->first != scene->threads[hang->thread].wait ||
	    scene->tables->threads[hang->thread].start_ns >= since_ns)
		return NULL;
	while (w->start_ns < since_ns && w < &scene->waits[e->last])
		w++; /* of one that stands the switch is not told */
	return w->timeout_ns && w->begin_event && w->start_ns - since_ns <= 2 * w->timeout_ns + LATE_NS ? w : NULL;
}

uint64_t sweep_begin(const struct trace *trace, const struct scene *scene, const struct hang *hang, uint64_t step_ns)
{
	const struct wait *w = hang_has_pieces(hang) ? NULL : cut_wait(scene, hang);
	uint64_t start_ns = trace_summary(trace)->start_ns, begin_ns = w ? w->start_ns : 0, before_ns;
	struct loop loop = { .tid = scene_tid(scene, hang->thread) };
	const struct event *e;
	struct arena arena;

	if (!w)
		return hang->start_ns;
	arena_init(&arena);
	e = trace_event(trace, &arena, w->begin_event);
	if (e && e->type == EVENT_switch && e->tid == loop.tid) {
		loop.wait = *event_as(e, switch);
		for (unsigned i = 0; i < STEPS && begin_ns > start_ns && !loop.began; i++, begin_ns = before_ns) {
			uint64_t step = step_ns > 2 * loop.wait.timeout_ns ? step_ns : 2 * loop.wait.timeout_ns;

			before_ns = row_before(&loop, trace, begin_ns - start_ns > step ? begin_ns - step : start_ns, begin_ns);
			if (before_ns == begin_ns)
				break;
		}
	}
	arena_done(&arena);
	return begin_ns < hang->start_ns ? begin_ns : hang->start_ns;
}
