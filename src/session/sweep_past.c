/* See sweep_past.h. */
#include "session/sweep_past.h"

#include <linux/futex.h>

#include "base/vec.h"
#include "trace/blocks.h"
#include "trace/past.h"

#define LONG_NS 500000000ull   /* a wait that may be told */

/* A thread's process, and by whom that was started, as far as is known. */
struct kin {
	uint32_t tid, pid, parent;
};

struct kin_list vec(struct kin);

static bool sleeps_or_waits(const struct event *e, uint64_t now_ns, uint64_t look_ns)
{
	const struct event_switch *out = event_as(e, switch);

	if (out->state == TASK_STATE_running)
		return false;
	switch (out->wait) {
	case WAIT_KIND_sleep: case WAIT_KIND_child: return e->time + 2 * look_ns >= now_ns;
	case WAIT_KIND_futex: case WAIT_KIND_semaphore: case WAIT_KIND_queue: case WAIT_KIND_file_lock:
	case WAIT_KIND_read: case WAIT_KIND_write: case WAIT_KIND_splice: case WAIT_KIND_poll: case WAIT_KIND_connect: case WAIT_KIND_fuse:
		return e->time + LONG_NS <= now_ns;
	default: return false;
	}
}

static bool awaits_shared_word(const struct event *e)
{
	const struct event_switch *out = event_as(e, switch);

	return out->wait == WAIT_KIND_futex && out->argument && !(out->argument & FUTEX_PRIVATE_FLAG);
}

static uint32_t pid_of(const struct map *pids, uint32_t tid)
{
	const uint64_t *pid = map_find(pids, tid);

	return pid ? (uint32_t)*pid : tid;
}

static void find_kin(const struct standing_events *standing, struct map *pids, struct kin_list *kin)
{
	for (uint32_t i = 0; i < standing->count; i++) {
		const struct event *e = &standing->events[i];

		if (e->type == EVENT_task) {
			map_put(pids, e->tid, event_as(e, task)->pid);
			vec_push(kin, ((struct kin){ e->tid, event_as(e, task)->pid, event_as(e, task)->parent }));
		} else if (e->type == EVENT_fork) {
			const struct event_fork *fork = event_as(e, fork);

			map_put(pids, fork->child, fork->child_pid);
			vec_push(kin, ((struct kin){ fork->child, fork->child_pid, pid_of(pids, e->tid) }));
		}
	}
}

enum { KIN_own = 1, KIN_parent };

/* They, their processes, and those that started these. A thread's last switch stands, so the last that is met counts. */
static void find_processes(const struct standing_events *standing, uint64_t now_ns, uint64_t look_ns, const struct map *pids, const struct kin_list *kin,
			   struct map *processes, struct map *sharing, struct map *threads)
{
	struct map last; /* by thread: its last switch, 1 + its place */
	const struct map_slot *slot;

	map_init(&last);
	for (uint32_t i = 0; i < standing->count; i++) {
		const struct event *e = &standing->events[i];

		if (e->type == EVENT_switch)
			map_put(&last, e->tid ? e->tid : event_as(e, switch)->next, i);
	}
	for (size_t at = 0; (slot = map_next(&last, &at)); )
		if (standing->events[slot->value].tid == slot->key && sleeps_or_waits(&standing->events[slot->value], now_ns, look_ns)) {
			map_put(processes, pid_of(pids, (uint32_t)slot->key), KIN_own);
			map_put(threads, slot->key, 1);
			if (awaits_shared_word(&standing->events[slot->value]))
				map_put(sharing, pid_of(pids, (uint32_t)slot->key), 1);
		}
	for (size_t i = 0; i < kin->length; i++) {
		const uint64_t *own = map_find(processes, kin->items[i].pid);

		if (own && *own == KIN_own && kin->items[i].parent > 1 && !map_find(processes, kin->items[i].parent))
			map_put(processes, kin->items[i].parent, KIN_parent);
	}
	map_done(&last);
}

static void find_programs(const struct standing_events *standing, const struct map *sharing, struct map *programs)
{
	for (uint32_t i = 0; i < standing->count; i++) {
		uint64_t program = map_find(sharing, standing->events[i].tid) ? past_program(&standing->events[i]) : 0;

		if (program)
			map_put(programs, program, 1);
	}
}

void sweep_past(struct blocks *blocks, size_t block, uint64_t look_ns, struct map *threads, struct map *programs)
{
	struct standing_events standing;
	struct kin_list kin = { 0 };
	struct map pids, processes, sharing;
	struct arena arena;
	struct err err = { 0 };

	arena_init(&arena);
	map_init(&pids);
	map_init(&processes);
	map_init(&sharing);
	if (!blocks_standing(blocks, block, &arena, &standing, &err)) {
		find_kin(&standing, &pids, &kin);
		find_processes(&standing, blocks_at(blocks, block)->from_ns, look_ns, &pids, &kin, &processes, &sharing, threads);
		find_programs(&standing, &sharing, programs);
	}
	for (size_t i = 0; i < kin.length; i++) {
		const uint64_t *parent = map_find(&processes, kin.items[i].parent);

		if (map_find(&processes, kin.items[i].pid) || (parent && *parent == KIN_own))
			map_put(threads, kin.items[i].tid, 1);
	}
	vec_done(&kin);
	map_done(&pids);
	map_done(&processes);
	map_done(&sharing);
	arena_done(&arena);
}
