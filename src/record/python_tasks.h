/* Tasks of asyncio's event loops, from the memory of a process that runs CPython: which there are, which runs, what each
 * awaits and in which functions.
 *
 * The way to them is the program's own: the module asyncio.tasks keeps all of them in a set, a task its coroutine, and a
 * coroutine that stands has on top of its stack what it awaits. The memory is another's and may change while it is read:
 * what is not there, or of another kind, ends that way; there are bounds for all lists and for all reads together. */
#ifndef RECORD_PYTHON_TASKS_H
#define RECORD_PYTHON_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define PYTHON_TASKS_MOST 256u      /* reported of a process */
#define PYTHON_TASK_FRAMES_MOST 24u /* of a task */
#define PYTHON_TASK_TEXT_MOST 256u  /* bytes of a name, with its NUL */
#define PYTHON_TASK_FILE_MOST 512u

struct python_tasks_memory {
	bool (*read)(void *data, uint64_t address, void *to, size_t bytes);
	/* So many bytes at each of the addresses, up to the first that is not there; how many were read. At most
	 * PYTHON_TASKS_AT_ONCE. */
	size_t (*read_each)(void *data, const uint64_t *addresses, size_t count, void *to, size_t bytes);
	void *data;
};
#define PYTHON_TASKS_AT_ONCE 256u

/* `thread`: in the process's own numbers, the one that runs the task's loop. */
struct python_tasks_sink {
	void (*task)(void *data, uint32_t thread, const struct event_async_task *task, const char *name);
	void (*frame)(void *data, const struct event_async_frame *frame, const char *function, const char *file);
	void *data;
};

struct python_tasks;

struct python_tasks *python_tasks_new(void);
void python_tasks_free(struct python_tasks *tasks);
/* `key`: as struct stack_process has it. Tasks whose loop does not run are left out. */
void python_tasks_read(struct python_tasks *tasks, const struct python_tasks_memory *memory, uint32_t version, uint64_t key,
		       const struct python_tasks_sink *sink);

#endif
