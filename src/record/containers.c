/* See containers.h.
 *
 * Control groups have ids; names are what managers keep in files of their own. Those
 * are read as anybody's: they may hold anything. */
#include "record/containers.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "record/cgroups.h"
#include "trace/container.h"

#define ID_BYTES 128
#define PREFIX_LEAST 4u
#define STATE_MOST (1u << 20)  /* bytes of a manager's file */

/* Files that managers keep of their containers, JSON each. */
static const struct manager {
	const char *files;     /* * is the container's id or name */
	const char *name;      /* member that holds its name; NULL: the file's folder is called so */
	const char *id;        /* member that holds its id; NULL: ... */
	const char *cgroup;    /* member that holds its control group */
} managers[] = {
	{ "/var/lib/docker/containers/*/config.v2.json", "Name", "ID", NULL },
	{ "/run/crun/*/status", NULL, NULL, "cgroup-path" },
};

struct search {
	struct cgroups_sink sink;
	const char *id;        /* sought */
	bool whole;            /* not by the beginning of it */
	char found[ID_BYTES];  /* "" none yet */
	uint64_t cgroup;
	size_t depth;          /* length of its path: the outermost group counts */
	bool several;
};

static bool is_sought(const struct search *s, const char *container)
{
	size_t length = strlen(s->id);

	return !strcmp(container, s->id) || (!s->whole && length >= PREFIX_LEAST && !strncmp(container, s->id, length));
}

static int take_cgroup(struct cgroups_sink *sink, const struct event_cgroup *cgroup, const char *path, struct err *err)
{
	struct search *s = (struct search *)sink;
	struct container c;

	(void)err;
	if (!container_of(path, &c) || !*c.container || !is_sought(s, c.container))
		return 0;
	if (*s->found && strcmp(s->found, c.container)) {
		s->several = true;
		return 0;
	}
	if (*s->found && strlen(path) >= s->depth)
		return 0;
	snprintf(s->found, sizeof(s->found), "%s", c.container);
	s->cgroup = cgroup->cgroup;
	s->depth = strlen(path);
	return 0;
}

static bool read_member(const char *text, size_t length, const char *member, char *to, size_t size)
{
	struct json_reader reader;
	char key[64];
	bool found = false;

	json_reader_init(&reader, text, length);
	if (!json_enter(&reader, '{'))
		return false;
	while (!found && json_key(&reader, key, sizeof(key)))
		if (strcmp(key, member) || !(found = json_string(&reader, to, size)))
			json_skip(&reader);
	return found;
}

/* What the file's folder is called. */
static void folder_name(const char *path, char *to, size_t size)
{
	const char *end = strrchr(path, '/'), *begin = end;

	while (begin > path && begin[-1] != '/')
		begin--;
	snprintf(to, size, "%.*s", (int)(end - begin), begin);
}

/* Whether the file tells of the container called so; its id, or its control group. */
static bool read_state(const struct manager *manager, const char *path, const char *name, char id[ID_BYTES], char cgroup[PATH_MAX])
{
	char *text = malloc(STATE_MOST), told[ID_BYTES] = "";
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, STATE_MOST, file) : 0;
	bool is;

	if (file)
		fclose(file);
	if (manager->name)
		read_member(text, length, manager->name, told, sizeof(told));
	else
		folder_name(path, told, sizeof(told));
	is = !strcmp(told + (told[0] == '/'), name) && (manager->id ? read_member(text, length, manager->id, id, ID_BYTES)
								     : read_member(text, length, manager->cgroup, cgroup, PATH_MAX));
	free(text);
	return is;
}

static int find_named(const char *name, char id[ID_BYTES], char cgroup[PATH_MAX])
{
	int r = -ENOENT;

	for (size_t i = 0; r && i < sizeof(managers) / sizeof(*managers); i++) {
		glob_t files;

		if (glob(managers[i].files, 0, NULL, &files))
			continue;
		for (size_t k = 0; r && k < files.gl_pathc; k++)
			if (read_state(&managers[i], files.gl_pathv[k], name, id, cgroup))
				r = 0;
		globfree(&files);
	}
	return r;
}

int containers_find(const char *name, uint64_t *ret_cgroup, struct err *err)
{
	char id[ID_BYTES] = "", cgroup[PATH_MAX] = "";
	struct search search = { .sink.cgroup = take_cgroup, .id = name };
	int r;

	if (!find_named(name, id, cgroup)) {
		if (*cgroup)
			return cgroups_find(cgroup, ret_cgroup, err);
		search.id = id;
		search.whole = true;
	}
	r = cgroups_read(&search.sink, err);
	if (r)
		return r;
	if (search.several)
		return err_set(err, -EEXIST, "the ids of several containers begin with '%s'", name);
	if (!*search.found)
		return err_set(err, -ENOENT, "no container '%s' runs here that its control group or docker or crun tells of; --cgroup PATH "
			       "takes any control group", name);
	*ret_cgroup = search.cgroup;
	return 0;
}
