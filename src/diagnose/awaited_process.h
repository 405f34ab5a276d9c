/* Whose end a thread awaits that never sleeps: again and again it asks the kernel whether a
 * process has ended (waitpid with WNOHANG, kill with signal 0), as its samples show. */
#ifndef DIAGNOSE_AWAITED_PROCESS_H
#define DIAGNOSE_AWAITED_PROCESS_H

#include "diagnose/walk.h"
#include "symbols/names.h"

struct awaited_process {
	uint32_t thread;           /* the process's first */
	enum walk_link link;
	uint8_t confidence;        /* per cent */
	uint64_t evidence;         /* the signal by which it was told to end, 0 none */
};

/* False where the thread does no such thing for a good part of its time, or nobody is known whom it may await. */
bool awaited_process_find(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			  struct awaited_process *ret_awaited);

#endif
