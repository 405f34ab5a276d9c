/* Copies of stacks on their way from the agent's thread to the loader's, which
 * unwinds them when it knows the process's mappings.
 *
 * One thread adds, one takes. The room is large, for when many programs start at
 * once, but only as much of it is in memory as was waiting at one time: where
 * nothing waits, it is used from its beginning again (stack_copies_release). */
#ifndef RECORD_STACK_COPIES_H
#define RECORD_STACK_COPIES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "record/stack_maps.h"

#define STACK_COPIES_BYTES (32u << 20) /* a power of two */

struct pending_copy {
	uint32_t bytes;            /* that this takes; 0: the next one is at the beginning */
	struct stack_copy head;
	uint8_t data[];            /* head.bytes */
};

struct stack_copies {
	char *data;
	_Atomic uint64_t head, tail; /* bytes; modulo the room they are places */
	uint64_t touched;          /* of the room's bytes, since it was released */
};

int stack_copies_open(struct stack_copies *copies, struct err *err);
void stack_copies_close(struct stack_copies *copies);
bool stack_copies_empty(const struct stack_copies *copies);

/* By the thread that adds; false when there is no room. */
bool stack_copies_add(struct stack_copies *copies, const struct stack_copy *copy);
/* When nothing waits: the next one is put at the beginning, and much memory is given back. Nobody may add or take meanwhile. */
void stack_copies_release(struct stack_copies *copies);

/* By the thread that takes: the oldest, NULL when there is none; valid until the next call of stack_copies_drop. */
const struct pending_copy *stack_copies_first(struct stack_copies *copies);
void stack_copies_drop(struct stack_copies *copies);

#endif
