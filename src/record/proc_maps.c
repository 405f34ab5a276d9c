#include "record/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Paths come with newlines as \012; the mark of deleted files is no part of the name. */
static void path_clean(char *path)
{
	static const char deleted[] = " (deleted)";
	char *to = path;
	size_t length = strlen(path);
	if (length > sizeof(deleted) - 1 && strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0)
		path[length - (sizeof(deleted) - 1)] = 0;
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

/* Those with the letter at that place of what is permitted ("rwxp", "rw-s"). */
static int read_maps(pid_t pid, unsigned place, char letter, proc_maps_found *found, void *data)
{
	char path[64], *line = NULL;
	size_t room = 0;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return -errno;
	while ((length = getline(&line, &room, file)) > 0) {
		struct module_source source = { .pid = pid };
		unsigned major, minor;
		char protection[8];
		int name = 0;
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &source.start, &source.end, protection,
			   &source.offset, &major, &minor, &source.inode, &name) < 7 || protection[place] != letter)
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
	fclose(file);
	return 0;
}

int proc_maps_read(pid_t pid, proc_maps_found *found, void *data)
{
	return read_maps(pid, 2, 'x', found, data);
}

int proc_maps_read_shared(pid_t pid, proc_maps_found *found, void *data)
{
	return read_maps(pid, 3, 's', found, data);
}
