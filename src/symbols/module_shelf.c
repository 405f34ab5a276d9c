/* See module_shelf.h. */
#include "symbols/module_shelf.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

#define KEPT_MOST 24u  /* beyond those in use; a large library's symbols take megabytes */

struct shelved {
	struct module_names names;
	struct module module;      /* its own texts */
	struct arena arena;
	uint64_t key;
	uint64_t used;             /* turn in which it was taken last */
};

struct module_shelf {
	struct file_opener *opener;
	struct vec(struct shelved *) items;
	uint64_t turn;
};

struct module_shelf *module_shelf_new(void)
{
	struct module_shelf *shelf = mem_zalloc(sizeof(*shelf));

	shelf->opener = file_opener_new();
	return shelf;
}

static void shelved_free(struct shelved *item)
{
	module_names_done(&item->names);
	arena_done(&item->arena);
	free(item);
}

void module_shelf_free(struct module_shelf *shelf)
{
	if (!shelf)
		return;
	for (size_t i = 0; i < shelf->items.length; i++)
		shelved_free(shelf->items.items[i]);
	vec_done(&shelf->items);
	file_opener_free(shelf->opener);
	free(shelf);
}

struct file_opener *module_shelf_opener(const struct module_shelf *shelf)
{
	return shelf->opener;
}

static uint64_t key_of(const struct module *module)
{
	uint64_t key = hash_u64(module->kind ^ hash_u64(module->device ^ hash_u64(module->inode)));

	key = hash_u64(key ^ hash_bytes(module->path, strlen(module->path)));
	key = hash_u64(key ^ hash_bytes(module->build_id, strlen(module->build_id)));
	return hash_u64(key ^ hash_bytes(module->code, strlen(module->code)));
}

static bool is_one(const struct module *a, const struct module *b)
{
	return a->kind == b->kind && a->device == b->device && a->inode == b->inode && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->build_id, b->build_id) == 0 && strcmp(a->code, b->code) == 0;
}

struct module_names *module_shelf_take(struct module_shelf *shelf, const struct module *module)
{
	uint64_t key = key_of(module);
	struct shelved *item;

	for (size_t i = 0; i < shelf->items.length; i++) {
		item = shelf->items.items[i];
		if (item->key == key && is_one(&item->module, module)) {
			item->used = shelf->turn;
			return &item->names;
		}
	}
	item = mem_zalloc(sizeof(*item));
	arena_init(&item->arena);
	item->key = key;
	item->used = shelf->turn;
	item->module = *module;
	item->module.path = arena_strdup(&item->arena, module->path);
	item->module.build_id = arena_strdup(&item->arena, module->build_id);
	item->module.code = arena_strdup(&item->arena, module->code);
	item->names.module = &item->module;
	vec_push(&shelf->items, item);
	return &item->names;
}

static int by_use(const void *a, const void *b)
{
	const struct shelved *x = *(struct shelved *const *)a, *y = *(struct shelved *const *)b;

	return x->used > y->used ? -1 : x->used < y->used;
}

void module_shelf_put_back(struct module_shelf *shelf)
{
	shelf->turn++;
	if (shelf->items.length <= KEPT_MOST)
		return;
	qsort(shelf->items.items, shelf->items.length, sizeof(*shelf->items.items), by_use);
	while (shelf->items.length > KEPT_MOST)
		shelved_free(shelf->items.items[--shelf->items.length]);
}
