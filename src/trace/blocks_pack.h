/* Bytes of an index's record, packed alone or against those of an earlier record (its key)
 * that they resemble. */
#ifndef TRACE_BLOCKS_PACK_H
#define TRACE_BLOCKS_PACK_H

#include <stddef.h>

#include "base/arena.h"

struct blob {
	const unsigned char *at;
	size_t size;
};

/* In the arena; size 0 when it can't be done. `key`: size 0, alone. */
struct blob blocks_pack(struct arena *arena, struct blob raw, struct blob key);
/* -EBADMSG unless `to` is filled with what was packed, with the same key. */
int blocks_unpack(unsigned char *to, size_t raw_size, struct blob packed, struct blob key);

#endif
