/* Where a module's thread-local variables lie for a thread: the program's own at a fixed distance
 * before the thread pointer, a library's where the thread's table of such blocks says. */
#ifndef PROBE_THREAD_BLOCK_H
#define PROBE_THREAD_BLOCK_H

#include "probe/process.h"

struct watch_thread {
	pid_t tid;
	uint64_t pointer;          /* the thread pointer: fs's base */
};

/* How the module's blocks are found in any thread. */
struct thread_block {
	pid_t pid;
	bool fixed;
	uint64_t distance;         /* fixed: from the thread pointer down to the block */
	uint64_t module;           /* else: its number in the table */
};

/* `bias` is what was added to the file's addresses; `program`: it is the process's own file. */
int thread_block_find(const struct process *process, const struct elf_file *file, uint64_t bias, bool program,
		      struct thread_block *ret_block, struct err *err);
/* -EAGAIN: the thread has not used any variable of the module yet. */
int thread_block_of(const struct thread_block *block, const struct watch_thread *thread, uint64_t *ret_address, struct err *err);

#endif
