/* Notices that memory is about to run out, of the control group (v1, v2) or of the
 * machine, before the kernel kills without a word. */
#ifndef BASE_MEMORY_WATCH_H
#define BASE_MEMORY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Whose memory it is. */
struct memory_bound {
	char group[256];        /* control group; "" the machine */
	uint64_t limit_bytes;
	uint64_t own_bytes;     /* of this process, at the moment */
};

/* Called once, by another thread than those that work; may end the process. */
typedef void memory_short(void *data, const struct memory_bound *bound);

/* From now on until the process ends; only a process that itself takes a good part of
 * what there is counts. Does nothing where the system does not tell. */
void memory_watch(memory_short *call, void *data);

/* The tightest bound of this process. */
void memory_bound_find(struct memory_bound *ret_bound);
/* How many bytes more may be taken at this moment, as far as that bound goes. */
uint64_t memory_room(void);

#endif
