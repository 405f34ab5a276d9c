/* Tasks of event loops, as a snapshot has them: which stand, what each waits for and in which functions. A thread in epoll_wait
 * says nothing of these, nor does one that a task keeps from its loop. */
#ifndef SESSION_LOOP_TASKS_H
#define SESSION_LOOP_TASKS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "session/session.h"

struct loop_frame {
	const char *function, *file;
	uint32_t line;
};

struct loop_task {
	uint32_t thread, tid;       /* that runs its loop */
	const char *name;
	uint64_t number, awaits;    /* as the events have them */
	uint32_t others;
	uint8_t state;              /* ASYNC_STATE_ */
	bool cut;
	struct loop_frame *frames;  /* innermost first */
	size_t frame_count;
};

struct loop_tasks {
	struct loop_task *tasks;    /* by thread, those that run first, then by name */
	size_t count;
	uint32_t all;               /* that there were; more than a snapshot tells when it tells fewer */
};

/* Of a process, as the last snapshot between the times has them; none where no snapshot tells any. Lies in the arena. */
struct loop_tasks loop_tasks_find(struct arena *arena, const struct session *session, uint32_t pid, uint64_t from_ns, uint64_t to_ns);

/* Nothing where there are none. */
void loop_tasks_text(struct arena *arena, const struct loop_tasks *tasks, struct buf *buf);
/* The member "tasks", into an open object; not there where there are none. */
void loop_tasks_json(const struct loop_tasks *tasks, struct json *json);

#endif
