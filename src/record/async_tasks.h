/* How a snapshot comes to the tasks of event loops (record/python_tasks.h): the child that reads processes lays them out behind
 * what it tells of the thread that runs the loop, its parent makes events of that.
 *
 * The thread may go on while its process is read: where it has waited meanwhile it is read again, and where it never
 * stands for long enough none of its tasks are told. */
#ifndef RECORD_ASYNC_TASKS_H
#define RECORD_ASYNC_TASKS_H

#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"

#define ASYNC_TASKS_BYTES (128u << 10) /* of one thread's */

/* The interpreter that a process runs, as struct stack_process names it. */
struct async_process {
	uint32_t version;           /* 0: none whose tasks can be read */
	uint64_t key;
};

struct async_reader;

/* The child's. Memory of other processes is all that it touches. */
struct async_reader *async_reader_new(void);
/* Tasks of the loop that the thread runs; bytes laid out in `to`, of ASYNC_TASKS_BYTES. */
uint32_t async_reader_copy(struct async_reader *reader, uint32_t pid, uint32_t tid, uint32_t ns_tid, const struct async_process *process,
			   char *to);

/* The parent's: each of them as an event. The first result that is not 0 ends it. */
int async_tasks_each(const char *data, uint32_t bytes,
		     int (*event)(void *context, enum event_type type, const void *payload, const char *tail, uint32_t tail_length, struct err *err),
		     void *context, struct err *err);

#endif
