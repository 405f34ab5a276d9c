#include "record/stack_tree.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"

#define SLOTS (STACK_TREE_NODES * 2u)

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

int stack_tree_open(struct stack_tree *tree, struct err *err)
{
	*tree = (struct stack_tree){ .count = 1 };
	tree->nodes = reserve(STACK_TREE_NODES * sizeof(*tree->nodes));
	tree->slots = reserve(SLOTS * sizeof(*tree->slots));
	if (!tree->nodes || !tree->slots) {
		stack_tree_close(tree);
		return err_sys(err, -ENOMEM, "reserving memory for stacks");
	}
	return 0;
}

void stack_tree_close(struct stack_tree *tree)
{
	if (tree->nodes)
		munmap(tree->nodes, STACK_TREE_NODES * sizeof(*tree->nodes));
	if (tree->slots)
		munmap(tree->slots, SLOTS * sizeof(*tree->slots));
	*tree = (struct stack_tree){ 0 };
}

uint32_t stack_tree_reserve(struct stack_tree *tree)
{
	return tree->count < STACK_TREE_NODES ? tree->count++ : 0;
}

uint32_t stack_tree_node(struct stack_tree *tree, const struct stack_node *node, bool *ret_new)
{
	uint64_t hash = hash_u64(hash_u64(node->address ^ (uint64_t)node->parent << 40) ^ node->module ^ (uint64_t)node->status << 32);
	*ret_new = false;
	for (uint32_t at = (uint32_t)hash & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
		uint32_t number = tree->slots[at];
		if (number == 0) {
			number = stack_tree_reserve(tree);
			if (number) {
				tree->nodes[number] = *node;
				tree->slots[at] = number;
				*ret_new = true;
			}
			return number;
		}
		const struct stack_node *n = &tree->nodes[number];
		if (n->address == node->address && n->parent == node->parent && n->module == node->module && n->status == node->status)
			return number;
	}
}
