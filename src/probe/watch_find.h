/* Where the memory lies, in a process that runs, that a SPEC names. */
#ifndef PROBE_WATCH_FIND_H
#define PROBE_WATCH_FIND_H

#include "probe/process.h"
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
};

/* -ENOENT: the process has not mapped the file. */
int watch_find(struct arena *arena, const struct watch_spec *spec, const struct process *process, struct watch_place *ret_place,
	       struct err *err);
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
