/* The calling-context tree while it grows: nodes numbered from 1, each once by
 * parent, module, address and status.
 *
 * Room for nodes is reserved at the start and taken by the page; the table that
 * finds them grows with their number. Not thread-safe. */
#ifndef RECORD_STACK_TREE_H
#define RECORD_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define STACK_TREE_NODES (4u << 20)

struct stack_node {
	uint64_t address;
	uint32_t parent;
	uint32_t module : 24;
	uint32_t status : 8;
};

struct stack_tree {
	struct stack_node *nodes;
	uint32_t *slots;           /* hash table of node numbers, at most half full */
	uint32_t slot_count;       /* a power of two */
	uint32_t count;            /* numbers given are below */
};

int stack_tree_open(struct stack_tree *tree, struct err *err);
void stack_tree_close(struct stack_tree *tree);
/* The node's number, *ret_new when it was not there; 0 when the tree is full. */
uint32_t stack_tree_node(struct stack_tree *tree, const struct stack_node *node, bool *ret_new);
/* A number for a node that is not known yet; 0 when the tree is full. */
uint32_t stack_tree_reserve(struct stack_tree *tree);

#endif
