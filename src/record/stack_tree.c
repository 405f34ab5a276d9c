#include "record/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/map.h"

#define SLOTS_FIRST 8192u
#define FEW_PART 8u                /* of a file's numbers: so much comes before the next file has begun */
#define BEGUN_PART 4u              /* with less at its beginning another file would be no better as long as the same are in use */

int stack_tree_open(struct stack_tree *tree, struct err *err)
{
	*tree = (struct stack_tree){ .count = 1, .slot_count = SLOTS_FIRST, .next_number = 1, .numbers_most = STACK_TREE_RING_FILE };
	const char *most = getenv("ARGUS_STACK_NUMBERS"); /* for tests: a file's */
	if (most)
		tree->numbers_most = (uint32_t)strtoul(most, NULL, 10);
	tree->numbers_left = tree->numbers_begun = most ? tree->numbers_most : NODE_NUMBERS - 1;
	tree->nodes = mem_reserve(STACK_TREE_PLACES * sizeof(*tree->nodes));
	tree->numbers = mem_reserve(STACK_TREE_PLACES * sizeof(*tree->numbers));
	if (!tree->nodes || !tree->numbers) {
		stack_tree_close(tree);
		return err_sys(err, -ENOMEM, "reserving memory for stacks");
	}
	tree->slots = mem_zalloc(SLOTS_FIRST * sizeof(*tree->slots));
	return 0;
}

void stack_tree_close(struct stack_tree *tree)
{
	if (tree->nodes)
		munmap(tree->nodes, STACK_TREE_PLACES * sizeof(*tree->nodes));
	if (tree->numbers)
		munmap(tree->numbers, STACK_TREE_PLACES * sizeof(*tree->numbers));
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
		uint32_t place = tree->slots[at];
		const struct stack_node *n = &tree->nodes[place];
		if (place == 0 || (n->address == node->address && n->parent == node->parent && n->module == node->module &&
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

static void take_number(struct stack_tree *tree, uint32_t place)
{
	tree->numbers[place] = tree->next_number;
	tree->numbers_left--;
	if (++tree->next_number == NODE_NUMBERS)
		tree->next_number = 1;
}

uint32_t stack_tree_reserve(struct stack_tree *tree)
{
	if (tree->count >= STACK_TREE_PLACES || !tree->numbers_left)
		return 0;
	take_number(tree, tree->count);
	return tree->count++;
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

static void mark_callers(const struct stack_tree *tree, uint8_t *marks)
{
	for (uint32_t i = 1; i < tree->count; i++)
		for (uint32_t at = tree->nodes[i].parent; marks[i] && at && !marks[at]; at = tree->nodes[at].parent)
			marks[at] = 1;
}

/* Of the nodes in the table, which those that were only reserved are not. */
static void mark_found(const struct stack_tree *tree, const uint32_t *moved, uint8_t *found)
{
	for (uint32_t i = 0; i < tree->slot_count; i++)
		if (moved[tree->slots[i]])
			found[moved[tree->slots[i]]] = 1;
}

static void *page_behind(void *memory)
{
	return (void *)(((uintptr_t)memory + 4095) & ~(uintptr_t)4095);
}

/* Pages of places that nobody has any more. */
static void give_back(void *first_unused, void *end)
{
	char *from = page_behind(first_unused), *to = page_behind(end);
	if (from < to)
		madvise(from, (size_t)(to - from), MADV_DONTNEED);
}

static void lay_slots(struct stack_tree *tree, const uint8_t *found)
{
	while (tree->slot_count > SLOTS_FIRST && tree->count < tree->slot_count / 8)
		tree->slot_count /= 2;
	free(tree->slots);
	tree->slots = mem_zalloc(tree->slot_count * sizeof(*tree->slots));
	for (uint32_t i = 1; i < tree->count; i++)
		if (found[i])
			*find_slot(tree, &tree->nodes[i]) = i;
}

uint32_t *stack_tree_compact(struct stack_tree *tree, uint8_t *marks)
{
	uint32_t *moved = mem_zalloc(tree->count * sizeof(*moved)), kept = 1, before = tree->count;
	uint8_t *found = mem_zalloc(tree->count);
	mark_callers(tree, marks);
	for (uint32_t i = 1; i < before; i++)
		if (marks[i])
			moved[i] = kept++;
	mark_found(tree, moved, found);
	for (uint32_t i = 1; i < before; i++)
		if (moved[i]) {
			tree->nodes[moved[i]] = tree->nodes[i];
			tree->nodes[moved[i]].parent = moved[tree->nodes[i].parent];
			tree->numbers[moved[i]] = tree->numbers[i];
		}
	tree->count = kept;
	give_back(tree->nodes + kept, tree->nodes + before);
	give_back(tree->numbers + kept, tree->numbers + before);
	lay_slots(tree, found);
	free(found);
	return moved;
}

void stack_tree_renumber(struct stack_tree *tree)
{
	tree->numbers_left = tree->numbers_most;
	for (uint32_t i = 1; i < tree->count; i++)
		if (tree->numbers_left)
			take_number(tree, i);
		else
			tree->numbers[i] = 0;
	tree->numbers_begun = tree->numbers_left;
}

bool stack_tree_has_few(const struct stack_tree *tree)
{
	return tree->numbers_left < tree->numbers_most / FEW_PART;
}

bool stack_tree_began_with_few(const struct stack_tree *tree)
{
	return tree->numbers_begun <= tree->numbers_most / BEGUN_PART;
}
