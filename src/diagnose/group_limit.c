/* See group_limit.h. */
#include "diagnose/group_limit.h"

#include <string.h>

/* The group is the thread's, or above it, in the hierarchy of that controller, or in version 2's. */
static bool is_its_group(const struct thread *t, const char *controller, const char *path)
{
	size_t length = strlen(path);

	for (const char *at = t->cgroups; length && *at; at += strcspn(at, " "), at += *at == ' ') {
		const char *name = strchr(at, ':'), *group = name ? strchr(name + 1, ':') : NULL;
		size_t size = name && group ? (size_t)(group - name - 1) : 0;

		if (!group)
			return false;
		group++;
		if ((!size || (size == strlen(controller) && !strncmp(name + 1, controller, size))) && !strncmp(group, path, length) &&
		    (group[length] == '/' || group[length] == ' ' || !group[length]))
			return true;
	}
	return false;
}

bool group_limit_is_of(const struct scene *scene, uint32_t thread, const struct group_limit *limit)
{
	return is_its_group(&scene->tables->threads[thread], limit->kind == GROUP_LIMIT_memory ? "memory" : "blkio", limit->path);
}

bool group_limit_of_device(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	for (uint32_t i = scene->group_limit_count; i-- > 0; ) {
		const struct group_limit *l = &scene->group_limits[i];

		if (l->kind != GROUP_LIMIT_memory && l->time >= from_ns && group_limit_is_of(scene, thread, l))
			return true;
	}
	return false;
}
