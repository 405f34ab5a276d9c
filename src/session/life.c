/* See life.h. */
#include "session/life.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/trace.h"

#define BIT(event, field) (1ull << offsetof(struct event_##event, field))

struct life_stay {
	uint64_t from_ns, to_ns;   /* to_ns UINT64_MAX: it is there still */
};

struct life {
	struct vec(struct life_stay) stays; /* one behind the other: numbers are used again */
	bool always;               /* nothing is known of its beginning and end */
};

struct watch {
	struct life *life;
	uint32_t number;
	bool of_thread;
	struct map alive;          /* its threads, or itself */
	struct map seen;           /* all that were ever told */
	uint64_t ended_ns;         /* when the stay before ended */
};

static bool is_asked(const struct watch *w, uint32_t tid, uint32_t pid)
{
	return (w->of_thread ? tid : pid) == w->number;
}

/* It is there since then; told again of one that is known it says nothing new. */
static void begins(struct watch *w, uint32_t tid, uint64_t from_ns)
{
	map_put(&w->seen, tid, 1);
	if (!w->alive.length)
		vec_push(&w->life->stays, ((struct life_stay){ from_ns, UINT64_MAX }));
	map_put(&w->alive, tid, 1);
}

static void ends(struct watch *w, uint32_t tid, uint64_t time_ns)
{
	if (!map_remove(&w->alive, tid) || w->alive.length)
		return;
	w->life->stays.items[w->life->stays.length - 1].to_ns = time_ns;
	w->ended_ns = time_ns;
}

static void see(struct watch *w, const struct event *e)
{
	switch (e->type) {
	case EVENT_fork:
		if (is_asked(w, event_as(e, fork)->child, event_as(e, fork)->child_pid))
			begins(w, event_as(e, fork)->child, e->time);
		break;
	case EVENT_task: /* where its birth was not seen, it may be as old as that */
		if (is_asked(w, e->tid, event_as(e, task)->pid))
			begins(w, e->tid, w->ended_ns);
		break;
	case EVENT_exec: /* another of its threads takes the first one's place and number */
		if (is_asked(w, e->tid, e->tid) && event_as(e, exec)->old_tid)
			begins(w, e->tid, w->ended_ns);
		if (event_as(e, exec)->old_tid && event_as(e, exec)->old_tid != e->tid)
			ends(w, event_as(e, exec)->old_tid, e->time);
		break;
	default:
		ends(w, e->tid, e->time);
		break;
	}
}

static void is_known(void *context, uint32_t tid, uint32_t pid)
{
	struct watch *w = context;

	if ((tid == w->number || is_asked(w, tid, pid)) && !map_find(&w->seen, tid))
		w->life->always = true;
}

static struct life *find(struct watch w, const struct trace *trace)
{
	static const uint64_t fields[EVENT_MAX] = { [EVENT_fork] = BIT(fork, child) | BIT(fork, child_pid), [EVENT_task] = BIT(task, pid),
						    [EVENT_exec] = BIT(exec, old_tid) };
	static const uint16_t types[] = { EVENT_fork, EVENT_task, EVENT_exec, EVENT_exit };
	struct trace_filter filter = { .whole = true, .unnumbered = true, .fields = fields };
	struct trace_cursor *cursor;

	w.life = mem_zalloc(sizeof(*w.life));
	map_init(&w.alive);
	map_init(&w.seen);
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		trace_filter_add(&filter, types[i]);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		if (e->data)
			see(&w, e);
	trace_cursor_free(cursor);
	trace_each_tid(trace, is_known, &w);
	map_done(&w.alive);
	map_done(&w.seen);
	return w.life;
}

struct life *life_of_process(const struct trace *trace, uint32_t pid)
{
	return find((struct watch){ .number = pid }, trace);
}

struct life *life_of_thread(const struct trace *trace, uint32_t tid)
{
	return find((struct watch){ .number = tid, .of_thread = true }, trace);
}

bool life_is_there(const struct life *life, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < life->stays.length; i++)
		if (life->stays.items[i].from_ns <= to_ns && life->stays.items[i].to_ns >= from_ns)
			return true;
	return life->always;
}

void life_free(struct life *life)
{
	if (!life)
		return;
	vec_done(&life->stays);
	free(life);
}
