/* See sweep_lead.h. What stands at each block's beginning tells which threads sleep then: one that does
 * at several in a row, each time anew, loops. */
#include "session/sweep_lead.h"

#include "base/map.h"
#include "base/vec.h"
#include "trace/blocks.h"

/* A thread that sleeps, maybe in a loop. */
struct sleeper {
	uint64_t number;          /* of the switch by which it went to sleep; 0 it ran */
	uint32_t tid, ustack;
	uint16_t syscall;
	bool ended;               /* going back, the loop's beginning is passed */
};

/* Each thread's last switch at a block's beginning. */
struct moment {
	struct arena arena;
	struct standing_events standing;
	struct map switches;      /* tid -> place */
	uint64_t recent_ns;       /* who sleeps since before then does not look often */
};

static bool moment_open(struct moment *m, struct blocks *blocks, size_t block, uint64_t look_ns)
{
	uint64_t time_ns = blocks_at(blocks, block)->from_ns;
	struct err err = { 0 };

	*m = (struct moment){ .recent_ns = time_ns > 2 * look_ns ? time_ns - 2 * look_ns : 0 };
	arena_init(&m->arena);
	map_init(&m->switches);
	if (blocks_standing(blocks, block, &m->arena, &m->standing, &err))
		return false;
	for (uint32_t i = 0; i < m->standing.count; i++) {
		const struct event *e = &m->standing.events[i];

		if (e->type == EVENT_switch)
			map_put(&m->switches, e->tid ? e->tid : event_as(e, switch)->next, i);
	}
	return true;
}

static void moment_done(struct moment *m)
{
	map_done(&m->switches);
	arena_done(&m->arena);
}

static const struct event *last_switch(const struct moment *m, uint32_t tid)
{
	const uint64_t *at = map_find(&m->switches, tid);

	return at ? &m->standing.events[*at] : NULL;
}

static bool sleeps(const struct moment *m, const struct event *e)
{
	const struct event_switch *out = event_as(e, switch);

	return e->tid && out->wait == WAIT_KIND_sleep && out->state != TASK_STATE_running && e->time >= m->recent_ns;
}

struct sleepers vec(struct sleeper);

static void find_sleepers(const struct moment *m, struct sleepers *sleepers)
{
	for (uint32_t i = 0; i < m->standing.count; i++) {
		const struct event *e = &m->standing.events[i];

		if (e->type == EVENT_switch && sleeps(m, e) && last_switch(m, e->tid) == e)
			vec_push(sleepers, ((struct sleeper){ e->number, e->tid, event_as(e, switch)->ustack, event_as(e, switch)->syscall, false }));
	}
}

/* It sleeps there at this moment too, in another sleep; whoever runs just then may be at it. */
static bool goes_on(const struct moment *m, struct sleeper *s)
{
	const struct event *e = last_switch(m, s->tid);
	uint64_t later = s->number;

	if (!e)
		return false;
	s->number = e->tid ? e->number : 0;
	return !e->tid || (sleeps(m, e) && e->number != later && event_as(e, switch)->ustack == s->ustack && event_as(e, switch)->syscall == s->syscall);
}

size_t sweep_lead(struct blocks *blocks, size_t first, size_t least, size_t most, uint64_t look_ns)
{
	struct sleepers sleepers = { 0 };
	size_t lead = least, left = 1;

	/* what stands at the first itself is found only by who walks over it */
	for (size_t back = 1; left && back <= most && back <= first; back++) {
		struct moment moment;

		if (!moment_open(&moment, blocks, first - back, look_ns))
			left = 0;
		else if (back == 1)
			find_sleepers(&moment, &sleepers);
		if (back == 1)
			left = sleepers.length;
		for (size_t i = 0; left && back > 1 && i < sleepers.length; i++) {
			struct sleeper *s = &sleepers.items[i];

			if (s->ended || goes_on(&moment, s))
				continue;
			s->ended = true;
			left--;
			lead = back > lead ? back : lead;
		}
		moment_done(&moment);
	}
	vec_done(&sleepers);
	return lead;
}
