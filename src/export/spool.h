/* Intervals of many threads, written as they end, read again thread by thread: they lie in
 * a file without a name, in blocks, so that only a block of each thread is in memory. */
#ifndef EXPORT_SPOOL_H
#define EXPORT_SPOOL_H

#include "base/err.h"
#include "trace/states.h"

struct spooled {
	uint64_t from_ns, to_ns;
	uint32_t ustack, kstack;
	uint32_t state;          /* export_state */
};

struct spool;
int spool_new(uint32_t threads, struct spool **ret_spool, struct err *err);
void spool_free(struct spool *spool);
void spool_add(struct spool *spool, uint32_t thread, const struct spooled *item);
uint64_t spool_count(const struct spool *spool, uint32_t thread);
/* Each item of the thread in the order of time. -errno, with words, when the file could not
 * be written or read. */
int spool_read(struct spool *spool, uint32_t thread, void (*item)(void *data, const struct spooled *item), void *data,
	       struct err *err);

#endif
