/* Stacks of threads that sleep, without BPF: the user's from a copy of its memory, by the
 * same tables and steps as in the kernel, from the two registers that /proc tells (`sp`
 * and `ip`): where a frame needs another one, the stack ends there and says so. The
 * kernel's by names alone, as far as /proc shows it. */
#ifndef RECORD_PROC_STACKS_H
#define RECORD_PROC_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/processes.h"
#include "record/state.h"

struct proc_stacks;

/* Forks: the sooner the better. Modules, mappings, frames and names go to the sink. */
int proc_stacks_open(struct state_sink *sink, struct proc_stacks **ret_stacks, struct err *err);
/* Accepts NULL. */
void proc_stacks_close(struct proc_stacks *stacks);

/* The stack's node in *ret_node, 0 none. `copy`: of the memory from place->sp on. Threads of one
 * process come one behind the other. A failure is the sink's. */
int proc_stacks_user(struct proc_stacks *stacks, uint32_t pid, const struct stack_place *place, const void *copy, size_t bytes,
		     uint32_t *ret_node, struct err *err);
/* The interpreter that the process runs whose stack was taken last; version 0: none that is known. */
struct async_process proc_stacks_interpreter(const struct proc_stacks *stacks);
/* `text`: of task/TID/stack; or of task/TID/wchan, of which it is the `innermost` function only. */
int proc_stacks_kernel(struct proc_stacks *stacks, const char *text, bool innermost, uint32_t *ret_node, struct err *err);

#endif
