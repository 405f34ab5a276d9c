/* Who owes what a thread waits for, where only the state found tells: keepers of file
 * locks whose taker has ended, servers of file systems with requests unanswered. */
#ifndef DIAGNOSE_LOCK_KEEPER_H
#define DIAGNOSE_LOCK_KEEPER_H

#include "diagnose/ends.h"
#include "symbols/names.h"

/* The owner; or where he had ended before the trace, the oldest process that has the file
 * open and is not of the waiting thread's family, which has it open to wait; 0 nobody. */
uint32_t lock_keeper(const struct scene *scene, const struct ends *ends, uint32_t owner, uint64_t object, uint32_t waiter,
		     uint64_t time_ns);

/* Of a thread whose kernel stack says that it waits for a file system's server: that server;
 * 0 when it does not, or none is known. `sure`: there is only one with requests unanswered. Where
 * nobody counts those (over /proc), the only server that is known. */
uint32_t fuse_server_owing(struct names *names, const struct tables *tables, uint32_t kstack, uint64_t time_ns, bool *ret_sure);

#endif
