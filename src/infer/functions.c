/* See functions.h. */
#include "infer/functions.h"

#include <string.h>

void functions_init(struct functions *functions, struct arena *arena)
{
	const struct function none = { .name = "", .module = "", .path = "" };

	*functions = (struct functions){ .arena = arena };
	map_init(&functions->by_hash);
	vec_push(&functions->list, none);
	vec_push(&functions->next, 0);
}

void functions_done(struct functions *functions)
{
	map_done(&functions->by_hash);
	vec_done(&functions->list);
	vec_done(&functions->next);
}

const char *path_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

uint32_t functions_add(struct functions *functions, const char *name, const char *path, enum place place)
{
	const char *module = path_file_name(path);
	uint64_t hash = hash_bytes(name, strlen(name)) * 31 + hash_bytes(module, strlen(module)) + (uint64_t)place;
	uint64_t *first = map_at(&functions->by_hash, hash, NULL);
	struct function added = { .place = place };

	for (uint32_t i = (uint32_t)*first; i; i = functions->next.items[i]) {
		const struct function *f = &functions->list.items[i];

		if (f->place == place && !strcmp(f->name, name) && !strcmp(f->module, module))
			return i;
	}
	added.name = arena_strdup(functions->arena, name);
	added.path = arena_strdup(functions->arena, path);
	added.module = path_file_name(added.path);
	vec_push(&functions->list, added);
	vec_push(&functions->next, (uint32_t)*first);
	*first = functions->list.length - 1;
	return (uint32_t)*first;
}
