/* Entries of one processor to the bytes of a chunk. Each thread that packs has a
 * packer of its own; allocates nothing once it is made.
 *
 * A chunk's head names the threads that are new in the file, so heads
 * are made in the order in which the chunks come to lie in the file, and payloads,
 * which are nearly all of the work, in any. */
#ifndef TRACE_PACK_H
#define TRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/encode.h"

struct packer;

struct pack_entries {
	const unsigned char *bytes;  /* one entry behind the other */
	const uint32_t *places;      /* of the entries in them */
	const uint32_t *counts;      /* by type, EVENT_MAX */
	uint32_t count;
	uint16_t cpu;
	bool unsorted;
};

/* `entries_bytes`: the most that a chunk's entries have. */
int packer_new(uint32_t entries_bytes, int compression, struct packer **ret_packer, struct err *err);
void packer_free(struct packer *packer);

/* The payload; fills the head's fields about it. */
void packer_payload(struct packer *packer, const struct pack_entries *entries, struct chunk_head *head);
/* The head of the same entries but for its fixed part, right before the payload: where
 * the chunk begins. The fixed part is the caller's to put there. */
unsigned char *packer_head(struct packer *packer, struct thread_marks *marks, struct chunk_head *head);

/* Room for the payload of a chunk that is no processor's, and that payload packed; as above. */
unsigned char *packer_room(struct packer *packer, size_t *ret_bytes);
unsigned char *packer_bare(struct packer *packer, size_t bytes, struct chunk_head *head);

#endif
