#include "record/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/map.h"

#define SLOTS_FIRST 8192u

int stack_tree_open(struct stack_tree *tree, struct err *err)
{
	void *nodes = mmap(NULL, STACK_TREE_NODES * sizeof(*tree->nodes), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*tree = (struct stack_tree){ .count = 1, .slot_count = SLOTS_FIRST };
	if (nodes == MAP_FAILED)
		return err_sys(err, -ENOMEM, "reserving memory for stacks");
	tree->nodes = nodes;
	tree->slots = mem_zalloc(SLOTS_FIRST * sizeof(*tree->slots));
	return 0;
}

void stack_tree_close(struct stack_tree *tree)
{
	if (tree->nodes)
		munmap(tree->nodes, STACK_TREE_NODES * sizeof(*tree->nodes));
	free(tree->slots);
	*tree = (struct stack_tree){ 0 };
}

static uint32_t first_slot(const struct stack_tree *tree, const struct stack_node *node)
{
	uint64_t hash = hash_u64(hash_u64(node->address ^ (uint64_t)node->parent << 40) ^ node->module ^ (uint64_t)node->status << 32);
	return (uint32_t)hash & (tree->slot_count - 1);
}

/* The slot of a node like this one, or the empty one where it belongs. */
static uint32_t *find_slot(const struct stack_tree *tree, const struct stack_node *node)
{
	for (uint32_t at = first_slot(tree, node);; at = (at + 1) & (tree->slot_count - 1)) {
		uint32_t number = tree->slots[at];
		const struct stack_node *n = &tree->nodes[number];
		if (number == 0 || (n->address == node->address && n->parent == node->parent && n->module == node->module &&
				    n->status == node->status))
			return &tree->slots[at];
	}
}

static void grow(struct stack_tree *tree)
{
	uint32_t *before = tree->slots, count = tree->slot_count;
	tree->slot_count *= 2;
	tree->slots = mem_zalloc(tree->slot_count * sizeof(*tree->slots));
	for (uint32_t i = 0; i < count; i++)
		if (before[i])
			*find_slot(tree, &tree->nodes[before[i]]) = before[i];
	free(before);
}

uint32_t stack_tree_reserve(struct stack_tree *tree)
{
	return tree->count < STACK_TREE_NODES ? tree->count++ : 0;
}

uint32_t stack_tree_node(struct stack_tree *tree, const struct stack_node *node, bool *ret_new)
{
	if (tree->count >= tree->slot_count / 2)
		grow(tree);
	uint32_t *slot = find_slot(tree, node);
	*ret_new = false;
	if (*slot == 0) {
		*slot = stack_tree_reserve(tree);
		if (*slot) {
			tree->nodes[*slot] = *node;
			*ret_new = true;
		}
	}
	return *slot;
}
