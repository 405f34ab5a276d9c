/* See mapped_libraries.h. */
#include "record/mapped_libraries.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "record/probe_points.h"
#include "record/proc_maps.h"

#define SILENT_MS 1500             /* a process whose mappings take longer is passed over */
#define PASSED_OVER_MOST 4u

void mapped_libraries_add(struct mapped_libraries *libraries, const char *name)
{
	if (mapped_libraries_name(libraries, name) == SIZE_MAX)
		vec_push(&libraries->names, name);
}

size_t mapped_libraries_name(const struct mapped_libraries *libraries, const char *name)
{
	for (size_t i = 0; i < libraries->names.length; i++)
		if (!strcmp(libraries->names.items[i], name))
			return i;
	return SIZE_MAX;
}

/* ---- the child that looks ---- */

struct search {
	const struct mapped_libraries *libraries;
	struct map seen;           /* files, by what the mappings say of them */
	pid_t from, pid;           /* with which it begins; whose turn it is */
	int told_to;               /* a pipe that gets each copy as it is found, and before a process one without a path: its pid */
};

/* "libx.so.0" is also called "libx.so.0.7.1"; one that was replaced has gone from its folder. */
static bool is_called(const char *path, const char *library)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	size_t length = strlen(library);

	return !strncmp(file, library, length) && (!file[length] || file[length] == '.' || file[length] == ' ');
}

static void tell(const struct search *s, const struct mapped_copy *copy)
{
	if (write(s->told_to, copy, sizeof(*copy)) != sizeof(*copy))
		_exit(1); /* nobody listens any more */
}

static void see_mapping(void *data, const struct module_source *source)
{
	struct search *s = data;
	struct mapped_copy copy = { source->device, source->inode, 0, "" };
	struct stat st;
	bool is_new;

	if (!source->path)
		return;
	map_at(&s->seen, hash_u64(source->inode) ^ source->device, &is_new);
	if (!is_new)
		return;
	for (size_t i = 0; i < s->libraries->names.length; i++) {
		if (!is_called(source->path, s->libraries->names.items[i]))
			continue;
		copy.library = (uint32_t)i;
		snprintf(copy.path, sizeof(copy.path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)s->pid, source->start, source->end);
		/* what maps say of the device differs from stat's on some file systems */
		if (!stat(copy.path, &st))
			copy.device = st.st_dev, copy.inode = st.st_ino;
		tell(s, &copy);
	}
}

static _Noreturn void search_processes(struct search *s)
{
	DIR *folder = opendir("/proc");

	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		s->pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (s->pid <= 0 || s->pid < s->from)
			continue;
		tell(s, &(struct mapped_copy){ .inode = (uint64_t)s->pid });
		proc_maps_read(s->pid, see_mapping, s);
	}
	_exit(0);
}

/* ---- the caller ---- */

static void take_copy(struct mapped_libraries *libraries, const struct mapped_copy *copy)
{
	unsigned of_library = 0;

	for (size_t i = 0; i < libraries->copies.length; i++) {
		const struct mapped_copy *other = &libraries->copies.items[i];

		if (other->library == copy->library && other->inode == copy->inode && other->device == copy->device)
			return;
		of_library += other->library == copy->library;
	}
	if (of_library < MAPPED_COPIES_MOST)
		vec_push(&libraries->copies, *copy);
}

/* The files that the names mean to us are the first of the copies. */
static void note_ours(struct arena *arena, struct mapped_libraries *libraries)
{
	const char *path;
	struct stat st;

	for (size_t i = 0; i < libraries->names.length; i++)
		if (probe_points_file(arena, libraries->names.items[i], &path, NULL) == 0 && stat(path, &st) == 0)
			vec_push(&libraries->copies, ((struct mapped_copy){ st.st_dev, st.st_ino, (uint32_t)i, "" }));
}

/* In a child: reading the mappings of a process whose memory is locked up can last for ever. The process behind the one
 * that it hangs at, 0 when it has ended. */
static pid_t look_from(struct mapped_libraries *libraries, pid_t from)
{
	struct pollfd ready = { .events = POLLIN };
	struct mapped_copy copy;
	bool ended;
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return 0;
	child = fork();
	if (child == 0)
		search_processes(&(struct search){ .libraries = libraries, .from = from, .told_to = ends[1] });
	close(ends[1]);
	ready.fd = ends[0];
	ended = child < 0;
	/* a pipe gives what was written at once whole */
	while (!ended && poll(&ready, 1, SILENT_MS) > 0) {
		ended = read(ends[0], &copy, sizeof(copy)) != sizeof(copy);
		if (!ended && copy.path[0])
			take_copy(libraries, &copy);
		else if (!ended)
			from = (pid_t)copy.inode + 1;
	}
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, ended ? 0 : WNOHANG); /* one that hangs is left behind */
	}
	return ended ? 0 : from;
}

void mapped_libraries_find(struct arena *arena, struct mapped_libraries *libraries)
{
	pid_t from = 1;

	note_ours(arena, libraries);
	for (unsigned i = 0; from && i <= PASSED_OVER_MOST && libraries->names.length; i++)
		from = look_from(libraries, from);
}

void mapped_libraries_done(struct mapped_libraries *libraries)
{
	vec_done(&libraries->names);
	vec_done(&libraries->copies);
}
