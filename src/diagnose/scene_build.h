/* A scene in the making: the gatherer takes what the graph does not hold from the
 * pass that builds it, and scene_lay lays the graph out beside it. Private to the
 * scene's files. */
#ifndef DIAGNOSE_SCENE_BUILD_H
#define DIAGNOSE_SCENE_BUILD_H

#include "base/vec.h"
#include "diagnose/scene.h"
#include "diagnose/wait_details.h"

/* A state record of what a thread waits on; it may know more than the switch did. */
struct wait_found {
	uint64_t time;
	struct event_waiting said;
};

/* The thread's quota was found used up, or there is some again. */
struct throttling {
	uint64_t time;
	bool throttled;
};

struct scene_gathered {
	struct vec(struct wait_found) found;
	struct vec(struct throttling) throttlings;
};

/* What is frequent, in the order of time; `thread` is a tid until it is taken. */
struct scene_frequent {
	struct vec(struct kept_message) messages;
	struct vec(struct message_end) ends;
	struct map long_messages;
	struct vec(struct sample) samples;
	struct vec(struct yield) yields;
};

/* Into a scene that has its tables and threads, which owns the memory then. */
void scene_take_frequent(struct scene *scene, struct scene_frequent *frequent);

struct gatherer;

struct gatherer *gatherer_new(const struct trace *trace);
void gatherer_free(struct gatherer *gatherer);
/* Events in the order of time, with at least these fields (by type); all of the
 * trace. */
void gatherer_see(void *gatherer, const struct event *e);
const uint64_t *gatherer_fields(const struct gatherer *gatherer);
/* Time of the last event seen, or end of the trace. */
uint64_t gatherer_end_ns(const struct gatherer *gatherer);
struct scene_frequent *gatherer_frequent(struct gatherer *gatherer);
/* All but what is frequent, into a scene that has its tables, threads, beginning and end. */
void gatherer_give(struct gatherer *gatherer, struct scene *scene);

/* Lays spans, waits and wake-ups out from the scene's graph, in place of those laid out
 * before; scene_join_waits is due then. For good: nobody corrects it, and what only that needs is forgotten. */
void scene_lay(struct scene *scene, bool for_good);
/* Part of it: the wake-ups, from the waits. */
void scene_lay_wakes(struct scene *scene);
/* By which another thread ended the wait. */
static inline bool scene_is_wake(const struct wait *w)
{
	return w->end == WAIT_END_THREAD && w->end_event;
}

static inline bool scene_wake_is_later(const struct wake *a, const struct wake *b)
{
	return a->time > b->time || (a->time == b->time && a->number > b->number);
}

/* All of it, thread by thread, as they are asked for; waits are joined then, too. */
void scene_lay_lazily(struct scene *scene);
/* Of a poll's array what it asks for is what is left, and what the wait is for, before waits are laid out. */
void scene_narrow_polls(struct scene *scene);
/* What a thread waits for in calls on files while the request is open; its waits are there. */
void scene_lay_fuse_wait(struct scene *scene, const struct fuse_request *request);
/* Two sleeps, as long, of one loop, called by ways that differ by an interpreter's own frames only. */
bool scene_sleeps_on(const struct scene *scene, const struct wait *before, const struct wait *after);
void scene_lazy_free(struct scene_lazy *lazy);

#endif
