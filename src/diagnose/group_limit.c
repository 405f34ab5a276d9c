/* See group_limit.h. */
#include "diagnose/group_limit.h"

#include <string.h>

#include "diagnose/judgement.h"

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
		/* version 2's root has no limits, and those of version 1's root are for nobody below that */
		if (((!size && path[1]) || (size == strlen(controller) && !strncmp(name + 1, controller, size))) && !strncmp(group, path, length) &&
		    (group[length] == '/' || group[length] == ' ' || !group[length]))
			return true;
	}
	return false;
}

bool group_limit_is_of(const struct scene *scene, uint32_t thread, const struct group_limit *limit)
{
	const char *controller = limit->kind == GROUP_LIMIT_memory ? "memory" : limit->kind == GROUP_LIMIT_processes ? "pids" : "blkio";

	return is_its_group(&scene->tables->threads[thread], controller, limit->path);
}

bool group_limit_of_device(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	for (uint32_t i = scene->group_limit_count; i-- > 0; ) {
		const struct group_limit *l = &scene->group_limits[i];

		if (l->kind != GROUP_LIMIT_memory && l->kind < GROUP_LIMIT_processes && l->time >= from_ns && group_limit_is_of(scene, thread, l))
			return true;
	}
	return false;
}

/* A program by which a script sleeps has nothing but its main function below that. */
static bool is_shallow(const struct scene *scene, uint32_t stack)
{
	uint32_t depth = stack && stack < scene->tables->frame_count ? scene->tables->frames[stack].depth : 0;

	return depth > 1 && depth <= limit_of(scene, LIMIT_sleeper_depth);
}

const struct group_limit *group_limit_of_processes(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	const struct episode *e = rule_holds(scene, RULE_no_more_processes) ? scene_episode(scene, thread, scene->end_ns - 1) : NULL;
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	if (!w || w->kind != WAIT_KIND_sleep || w->timeout_ns > limit_of(scene, LIMIT_no_more_again_ns) || is_shallow(scene, w->ustack))
		return NULL;
	for (uint32_t i = scene->group_limit_count; i-- > 0; ) {
		const struct group_limit *l = &scene->group_limits[i];

		if (l->time < from_ns)
			continue;
		if ((l->kind == GROUP_LIMIT_processes && l->refused && group_limit_is_of(scene, thread, l)) ||
		    (l->kind == GROUP_LIMIT_user_processes && l->pid == scene_pid(scene, thread)))
			return l;
	}
	return NULL;
}

/* What the thread started before, meanwhile and behind that. */
struct births {
	uint32_t ended;          /* of those before, that had ended by then */
	uint64_t last_ns, apart_ns; /* of those: the last, and the longest time between two */
	uint64_t within;
	uint64_t next_ns;        /* UINT64_MAX: none */
};

static struct births births_of(const struct scene *scene, const struct episode *e)
{
	struct births b = { .next_ns = UINT64_MAX };

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->creator != e->thread)
			continue;
		if (t->start_ns >= e->end_ns) {
			b.next_ns = t->start_ns < b.next_ns ? t->start_ns : b.next_ns;
		} else if (t->start_ns >= e->start_ns) {
			b.within++;
		} else {
			if (b.last_ns && t->start_ns > b.last_ns + b.apart_ns)
				b.apart_ns = t->start_ns - b.last_ns;
			b.last_ns = t->start_ns;
			b.ended += t->end_ns <= e->start_ns;
		}
	}
	return b;
}

const struct group_limit *group_limit_refuses(const struct scene *scene, const struct episode *e)
{
	const struct wait *w = &scene->waits[e->last];
	const struct group_limit *found = NULL;
	unsigned again = 0, more = 0;
	struct births b;

	if (w->kind != WAIT_KIND_sleep || e->slices < 2 || !rule_holds(scene, RULE_starts_no_other))
		return NULL;
	for (uint32_t i = 0; i < scene->group_limit_count; i++) {
		const struct group_limit *l = &scene->group_limits[i];

		if (l->kind != GROUP_LIMIT_processes || !l->refused || l->time < e->start_ns || l->time > e->end_ns || !group_limit_is_of(scene, e->thread, l))
			continue;
		again += found && !strcmp(found->path, l->path);
		more += found && !strcmp(found->path, l->path) && l->refused > found->refused;
		found = l;
	}
	/* looked at twice, it was refused more meanwhile */
	if (!found || (again && !more))
		return NULL;
	b = births_of(scene, e);
	if (b.within || b.ended < limit_of(scene, LIMIT_started_before) || e->end_ns - e->start_ns < b.apart_ns * limit_of(scene, LIMIT_started_late))
		return NULL;
	/* what ended it was that it could */
	if (w->end != WAIT_END_OPEN && scene->tables->threads[e->thread].end_ns > e->end_ns && b.next_ns > e->end_ns + limit_of(scene, LIMIT_look_ns))
		return NULL;
	return found;
}
