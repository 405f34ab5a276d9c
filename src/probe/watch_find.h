/* Where the memory lies, in a process that runs, that a SPEC names. */
#ifndef PROBE_WATCH_FIND_H
#define PROBE_WATCH_FIND_H

#include "probe/process.h"
#include "probe/thread_block.h"
#include "probe/watch_spec.h"

#define WATCH_PIECES_MOST 4      /* a machine's watchpoints: what is not aligned takes several */

struct watch_place {
	const struct watch_spec *spec;
	pid_t pid;
	pid_t tid;               /* whose thread-local memory it is; 0: all threads' */
	uint64_t address;
	uint32_t bytes;          /* 1 to 8 */
	const char *file;        /* that it was found in, "" none */
	const char *place;       /* in words: "pool:queue->done" */
	uint64_t value;          /* when it was found */
	uint64_t memory;         /* a number that it has in all processes that share it; 0: its own */
};

/* Asked for the process's threads where a variable is each one's own. */
struct watch_threads {
	int (*list)(void *data, pid_t pid, const struct watch_thread **ret_threads, size_t *ret_count, struct err *err);
	void *data;
};

/* One place, or of a thread-local variable one a thread (of those that have it by now), at most so many.
 * -ENOENT: the process has not mapped the file; -EAGAIN: no thread has it. `threads` may be NULL: such ones are refused. */
int watch_find(struct arena *arena, const struct watch_spec *spec, const struct process *process, const struct watch_threads *threads,
	       struct watch_place *places, size_t most, size_t *ret_count, struct err *err);
/* Of a spec whose place registers tell: from where they led. */
int watch_find_from(struct arena *arena, const struct watch_spec *spec, const struct process *process, uint64_t address,
		    struct watch_place *ret_place, struct err *err);
/* Whether the file has the variable that the spec begins with. */
int watch_find_variable(struct arena *arena, const struct watch_spec *spec, const char *path, struct err *err);
/* The offset, in the file, of the code of such a spec. */
int watch_find_code(struct arena *arena, const struct watch_spec *spec, const char *path, uint64_t *ret_offset, struct err *err);
/* The aligned pieces, of sizes that a watchpoint can have, of a place; how many. */
size_t watch_pieces(uint64_t address, uint32_t bytes, uint64_t ret_addresses[WATCH_PIECES_MOST], uint32_t ret_bytes[WATCH_PIECES_MOST]);

#endif
