#include "symbols/jit_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define MAP_BYTES_MAX (64u << 20)
#define NAME_BYTES_MAX 1024u

void jit_map_parse(const char *text, size_t length, struct symbol_table *table)
{
	char line[NAME_BYTES_MAX + 64];
	for (const char *at = text, *end = text + length; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		size_t bytes = (size_t)(stop - at);
		if (bytes >= sizeof(line))
			bytes = sizeof(line) - 1;
		memcpy(line, at, bytes);
		line[bytes] = 0;
		char *next, *name;
		uint64_t start = strtoull(line, &next, 16), size = strtoull(next, &name, 16);
		if (next > line && name > next && *name == ' ' && name[1] && size > 0)
			symbol_table_add_name(table, start, size, name + 1, 0);
		at = stop + 1;
	}
	symbol_table_sort(table);
}

/* The process's number as it knows it itself, and so names the file by. */
static pid_t own_number(pid_t pid)
{
	char path[64], line[256];
	pid_t number = pid;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return pid;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "NSpid:", 6) == 0) {
			const char *last = strrchr(line, '\t');
			number = last ? (pid_t)strtol(last, NULL, 10) : pid;
		}
	fclose(file);
	return number > 0 ? number : pid;
}

/* A pipe must not keep us waiting, nor a link lead us elsewhere. */
static int open_map(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

int jit_map_read(pid_t pid, uid_t user, struct symbol_table *table, struct err *err)
{
	char path[96], chunk[65536];
	struct buf text = { 0 };
	struct stat st;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)pid, (int)own_number(pid));
	int fd = open_map(path);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
		fd = open_map(path);
	}
	if (fd < 0)
		return err_sys(err, -errno, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, -EINVAL, "'%s' is not a regular file", path);
	}
	if (st.st_uid != user && st.st_uid != 0) {
		close(fd);
		return err_set(err, -EPERM, "'%s' is not of the user who runs process %d", path, (int)pid);
	}
	while (text.length < MAP_BYTES_MAX && (got = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(&text, chunk, (size_t)got);
	close(fd);
	jit_map_parse(buf_str(&text), text.length, table);
	buf_done(&text);
	return 0;
}
