/* The nodes of the calling-context tree, as a trace tells them: a stack is the number of its innermost frame's node.
 *
 * A long trace's files tell hundreds of thousands, the first part of them in each file's beginning, and every part of a
 * file that is read needs those before it: so the parts of a file may share them. Within a file numbers are not used again. */
#ifndef TRACE_FRAME_TABLE_H
#define TRACE_FRAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sparse.h"

struct event;
struct trace;

/* Of what there are millions: no holes between them. */
struct __attribute__((packed, aligned(4))) frame {
	uint64_t address;        /* file offset in the module, or the address itself */
	uint32_t parent;         /* caller's node, 0 outermost */
	uint32_t module : 24;    /* 0 none */
	uint32_t status : 8;     /* STACK_STATUS_, on outermost nodes */
	uint32_t depth;          /* 1 at the outermost; 0: it is not told */
};
_Static_assert(sizeof(struct frame) == 20, "no holes");

/* Numbers of nodes are below. In a ring that has gone on for long they may be anywhere in between. */
#define NODE_NUMBERS (1u << 25)
#define MODULE_NUMBERS (1u << 24)

struct frame_table {
	struct frame *items;     /* index = node; not all are told */
	uint32_t count;          /* they are below */
	uint32_t told;           /* so many are, a caller of which nothing is told among them */
	uint64_t *bits;          /* which */
	struct sparse memory, bits_memory; /* private, as what follows */
	unsigned users;
};

/* Made anew, one user has it, who takes events and then finishes it. */
struct frame_table *frame_table_new(void);
void frame_table_take(struct frame_table *frames, const struct event *e);
void frame_table_finish(struct frame_table *frames);
/* What is told from the one moment to the other, both inclusive. */
struct frame_table *frame_table_read(const struct trace *trace, uint64_t from_ns, uint64_t to_ns);
/* The next one that is told behind *node, by its number; 0 begins. False at the end. */
bool frame_table_next(const struct frame_table *frames, uint32_t *node);
/* One user more, one less; threads may do that at once. */
struct frame_table *frame_table_use(struct frame_table *frames);
void frame_table_leave(struct frame_table *frames);

#endif
