#include "record/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

/* The mark of deleted files is no part of the name. */
static void path_cut(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path);
	if (length > sizeof(deleted) - 1 && strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0)
		path[length - (sizeof(deleted) - 1)] = 0;
}

/* In lines paths come with newlines as \012. */
static void path_clean(char *path)
{
	char *to = path;
	path_cut(path);
	for (const char *from = path; *from;) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = 0;
}

/* A letter at its place in what is permitted ("rwxp", "rw-s"), and the flag by which the kernel is asked for those alone. */
struct wanted {
	unsigned place;
	char letter;
	uint64_t flag;
};

static const struct wanted executable = { 2, 'x', 0x04 }, shared = { 3, 's', 0x08 };

/* Of linux/fs.h as of Linux 6.11, which says what the fields are. */
struct query {
	uint64_t bytes, flags, address, start, end, vma_flags, page_bytes, offset, inode;
	uint32_t major, minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define QUERY_OR_NEXT 0x10u
#define NAME_BYTES 4352u /* a path, and the mark of deleted files */

/* The kernel leaves out the others, which are most, without a line for each. -ENOTTY: it cannot. */
static int read_by_query(int fd, pid_t pid, const struct wanted *wanted, proc_maps_found *found, void *data)
{
	char name[NAME_BYTES];
	struct query query = { 0 };

	for (;;) {
		query = (struct query){ .bytes = sizeof(query), .flags = wanted->flag | QUERY_OR_NEXT, .address = query.end,
					.name = (uint64_t)(uintptr_t)name, .name_bytes = sizeof(name) - 1 };
		if (ioctl(fd, QUERY, &query) < 0)
			return errno == ENOENT ? 0 : -errno;
		name[query.name_bytes < sizeof(name) ? query.name_bytes : 0] = 0;
		path_cut(name);
		found(data, &(struct module_source){ .pid = pid, .start = query.start, .end = query.end, .offset = query.offset, .inode = query.inode,
						     .device = makedev(query.major, query.minor), .path = name });
	}
}

static int read_by_lines(FILE *file, pid_t pid, const struct wanted *wanted, proc_maps_found *found, void *data)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	while ((length = getline(&line, &room, file)) > 0) {
		struct module_source source = { .pid = pid };
		const char *protection = strchr(line, ' ');
		unsigned major, minor;
		int name = 0;
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		if (!protection || strlen(protection) < 5 || protection[1 + wanted->place] != wanted->letter)
			continue;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*7s %" SCNx64 " %x:%x %" SCNu64 " %n", &source.start, &source.end,
			   &source.offset, &major, &minor, &source.inode, &name) < 6)
			continue;
		char *text = name ? line + name : line + strlen(line);
		if (strcmp(text, "[vsyscall]") == 0)
			continue;
		path_clean(text);
		source.device = makedev(major, minor);
		source.path = text;
		found(data, &source);
	}
	free(line);
	return 0;
}

static int read_maps(pid_t pid, const struct wanted *wanted, proc_maps_found *found, void *data)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return -errno;
	r = read_by_query(fileno(file), pid, wanted, found, data);
	if (r == -ENOTTY)
		r = read_by_lines(file, pid, wanted, found, data);
	fclose(file);
	return r;
}

int proc_maps_read(pid_t pid, proc_maps_found *found, void *data)
{
	return read_maps(pid, &executable, found, data);
}

int proc_maps_read_shared(pid_t pid, proc_maps_found *found, void *data)
{
	return read_maps(pid, &shared, found, data);
}
