/* A look at what stands still without BPF: over /proc and the memory of the processes
 * that the caller may look into. For who is not root, or on a kernel that lets nobody
 * load programs.
 *
 * What a thread does in between is not seen: two looks with the time between them tell
 * who has not moved, by the threads' counts of switches; of the others nothing is said.
 * The result is a trace like any other, of state records alone. */
#ifndef RECORD_PROC_LOOK_H
#define RECORD_PROC_LOOK_H

#include <stdint.h>

#include "base/err.h"

struct proc_look_seen {
	uint32_t processes;       /* looked into */
	uint32_t closed;          /* that belong to others, or are not dumpable, or are kept by ptrace_scope */
	uint32_t threads, still;  /* of those looked into; that have not moved */
	int ptrace_scope;         /* of Yama; -1 there is none */
};

/* Writes the trace; lasts so long. */
int proc_look(const char *path, uint64_t look_ns, struct proc_look_seen *ret_seen, struct err *err);

#endif
