/* See watched.h. */
#include "diagnose/watched.h"

#include <string.h>

#include "diagnose/account.h"
#include "diagnose/judgement.h"

#define SNAPSHOT_TAKES_NS 1000000000u
#define FILES_MOST 32u
#define WRITES 2u

static bool is_group(uint64_t object)
{
	return object_kind(object) == OBJECT_KIND_inotify;
}

uint64_t watched_group(const struct scene *scene, const struct wait *w)
{
	if (w->kind == WAIT_KIND_read)
		return is_group(w->object) ? w->object : 0;
	if (w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll)
		return 0;
	if (is_group(w->detail))
		return w->detail;
	for (uint32_t i = scene->poll_item_count; i-- > 0; ) {
		const struct poll_item *p = &scene->poll_items[i];
		bool mine = w->kind == WAIT_KIND_epoll ? p->set && p->set == w->object :
							 !p->set && p->pid == scene_tid(scene, w->thread) && p->time >= w->start_ns;

		if (mine && is_group(p->object))
			return p->object;
	}
	return 0;
}

/* It keeps its file's folder as text: one that was removed says so behind its path. */
static bool lies_in(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	const char *name = path + length;

	if (length == 1 && folder[0] == '/')
		name = path;
	else if (!length || strncmp(path, folder, length))
		return false;
	return name[0] == '/' && name[1] && !strchr(name + 1, '/');
}

static bool is_watched(const struct watched_file *f, const struct descriptor *d)
{
	return d->at.object == f->object || (object_kind(f->object) == OBJECT_KIND_directory && lies_in(d->text, f->path));
}

/* A thread of the process that stands out so; 0 none. */
static uint32_t standing_out(const struct scene *scene, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	SCENE_EACH_MATE(scene, process, i) {
		const struct wait *w = scene->tables->threads[i].end_ns >= to_ns ? scene_stands_in(scene, i, from_ns, to_ns) : NULL;

		if (w && !w->idle && (w->kind == WAIT_KIND_stop || (wait_is_in_kernel(w) && w->kind != WAIT_KIND_vfork) ||
				      wait_has_owner(scene_slice_with_owner(scene, &scene->episodes[w->episode], to_ns))))
			return i;
	}
	return 0;
}

/* Whose files are as the last snapshot found them. */
static void add_writer(const struct scene *scene, const struct descriptor *d, const char *path, uint64_t from_ns, uint64_t to_ns, struct watched *w)
{
	uint32_t process = tables_process(scene->tables, d->pid, to_ns - 1), out = process ? standing_out(scene, process, from_ns, to_ns) : 0;

	if (!process || scene_is_system(scene, process))
		return;
	w->writers++;
	w->standing_out += out != 0;
	if (w->writer && (!out || w->standing_out > 1))
		return;
	w->writer = out ? out : process;
	w->path = path;
}

void watched_find(const struct scene *scene, const struct wait *w, uint64_t from_ns, uint64_t to_ns, struct watched *ret)
{
	const struct watched_file *files[FILES_MOST];
	const struct tables *tables = scene->tables;
	uint64_t group = watched_group(scene, w), newest = 0;
	uint32_t pid = scene_pid(scene, w->thread), seen[FILES_MOST], count = 0;

	*ret = (struct watched){ .path = "" };
	for (uint32_t i = group ? scene->watched_count : 0; i-- > 0 && ret->files < FILES_MOST; ) {
		const struct watched_file *f = &scene->watched[i];

		if (f->watcher != group || f->pid != pid || f->time > to_ns + SNAPSHOT_TAKES_NS)
			continue;
		newest = newest ? newest : f->time;
		if (f->time + limit_of(scene, LIMIT_one_snapshot_ns) < newest)
			break;
		files[ret->files++] = f;
	}
	if (!ret->files)
		return;
	ret->path = files[ret->files - 1]->path;
	for (size_t i = tables->descriptor_count; i-- > 0 && count < FILES_MOST; ) {
		const struct descriptor *d = &tables->descriptors[i];
		uint32_t known = 0, at = 0;

		if (d->time + SNAPSHOT_TAKES_NS < newest)
			break;
		if (d->pid == pid || d->at.kind != OBJECT_KIND_file || !(d->at.access & WRITES))
			continue;
		while (known < count && seen[known] != d->pid)
			known++;
		while (at < ret->files && !is_watched(files[at], d))
			at++;
		if (known < count || at == ret->files)
			continue;
		seen[count++] = d->pid;
		add_writer(scene, d, files[at]->path, from_ns, to_ns, ret);
	}
}
