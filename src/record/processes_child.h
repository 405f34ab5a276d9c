/* The child that reads processes, and what it says to its parent through a
 * pipe: a message for each thread. */
#ifndef RECORD_PROCESSES_CHILD_H
#define RECORD_PROCESSES_CHILD_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/processes.h"

#define PROCESSES_MESSAGE_MOST (PROCESSES_TEXT_MOST + PROCESSES_STACK_MOST + ASYNC_TASKS_BYTES + 2048u)

/* Followed by a struct wait_found, the thread's texts and the copy of its stack and its tasks. */
struct processes_message {
	uint32_t index;        /* of the thread */
	uint32_t bytes;
};

void processes_child(const struct task_found *found, const struct stack_place *places, const struct async_process *pythons,
		     size_t from, size_t count, int fd);
/* Of each thread's process only which of the words it has mapped. */
void processes_child_shares(const struct task_found *found, const struct shared_words *words, size_t from, size_t count, int fd);

#endif
