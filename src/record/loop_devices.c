/* See loop_devices.h. */
#include "record/loop_devices.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/proc_text.h"

#define MOUNTS_BYTES (256u * 1024)
#define DEVICES_MOST 256u

static void read_text(const char *path, char *to, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(to, 1, size - 1, file) : 0;

	to[length] = 0;
	if (file)
		fclose(file);
}

void loop_devices_find(struct buf *buf)
{
	DIR *folder = opendir("/sys/block");
	char *mounts = NULL;
	unsigned count = 0;

	for (const struct dirent *entry; folder && count < DEVICES_MOST && (entry = readdir(folder)); ) {
		char name[PATH_MAX], path[PATH_MAX];
		uint32_t connection;

		if (strncmp(entry->d_name, "loop", 4))
			continue;
		snprintf(name, sizeof(name), "/sys/block/%s/loop/backing_file", entry->d_name);
		read_text(name, path, sizeof(path));
		path[strcspn(path, "\n")] = 0;
		if (path[0] != '/')
			continue;
		if (!mounts) {
			mounts = mem_alloc(MOUNTS_BYTES);
			read_text("/proc/self/mountinfo", mounts, MOUNTS_BYTES);
		}
		connection = proc_text_fuse_mount(mounts, path);
		if (connection)
			buf_printf(buf, "%s%s=%" PRIu32, count++ ? "," : "loop_devices=", entry->d_name, connection);
	}
	if (count)
		buf_char(buf, 0);
	free(mounts);
	if (folder)
		closedir(folder);
}
