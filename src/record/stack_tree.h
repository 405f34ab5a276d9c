/* The calling-context tree while it grows: nodes, each once by parent, module, address
 * and status.
 *
 * A node's place in the tree is the agent's own; the number by which the trace knows it is
 * beside it. What nobody asks for any more is forgotten, and the others close ranks
 * (stack_tree_compact), so that the tree is as large as what is in use and not as what ever
 * was. Numbers are given in turn and are not used again in one file, nor soon in the files
 * of a ring: where they are at an end they begin anew.
 *
 * Not thread-safe. */
#ifndef RECORD_STACK_TREE_H
#define RECORD_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/tables.h"

#define STACK_TREE_PLACES (4u << 20)       /* in use at one time, at most */
#define STACK_TREE_RING_FILE (NODE_NUMBERS / 32) /* numbers of a file in a ring of at most so many */

struct stack_node {
	uint64_t address;
	uint32_t parent;           /* its place */
	uint32_t module : 24;
	uint32_t status : 8;
};

struct stack_tree {
	struct stack_node *nodes;  /* by place, from 1 on */
	uint32_t *numbers;         /* in the trace, by place */
	uint32_t *slots;           /* hash table of places, at most half full */
	uint32_t slot_count;       /* a power of two */
	uint32_t count;            /* places in use are below */
	uint32_t next_number;
	uint32_t numbers_left;     /* of the file that is being written */
	uint32_t numbers_begun;    /* that were left as it began */
	uint32_t numbers_most;     /* of a file in a ring */
};

int stack_tree_open(struct stack_tree *tree, struct err *err);
void stack_tree_close(struct stack_tree *tree);
/* The node's place, *ret_new when it was not there; 0 when there is no room. */
uint32_t stack_tree_node(struct stack_tree *tree, const struct stack_node *node, bool *ret_new);
/* A place for a node that is not known yet; 0 when there is no room. */
uint32_t stack_tree_reserve(struct stack_tree *tree);
/* Forgets all but those that are marked (by place) and their callers. Where each is now, by
 * the place that it had, 0 forgotten: the caller's to free. Those kept keep their order. */
uint32_t *stack_tree_compact(struct stack_tree *tree, uint8_t *marks);
/* A file of a ring begins: all get new numbers. */
void stack_tree_renumber(struct stack_tree *tree);
/* Stacks that are met from now on would soon have no number in this file. */
bool stack_tree_has_few(const struct stack_tree *tree);
/* Those in use took most of the file's numbers: what may help is to forget some, not another file alone. */
bool stack_tree_began_with_few(const struct stack_tree *tree);

#endif
