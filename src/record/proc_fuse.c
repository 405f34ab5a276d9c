/* See proc_fuse.h. */
#include "record/proc_fuse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/proc_text.h"

#define MOUNTS_BYTES (256u * 1024)
#define PLACE "request_wait_answer"

/* Text of /proc/PID/NAME, as much of it as there is room for. */
static void read_all(uint32_t pid, const char *name, char *to, size_t size)
{
	char path[64];
	size_t length = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && length < size - 1 && (got = read(fd, to + length, size - 1 - length)) > 0)
		length += (size_t)got;
	if (fd >= 0)
		close(fd);
	to[length] = 0;
}

static bool read_link(uint32_t pid, const char *name, char *to, size_t size)
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	length = readlink(path, to, size - 1);
	to[length > 0 ? length : 0] = 0;
	return to[0] == '/';
}

static bool takes_descriptor(unsigned call)
{
	switch (call) {
	case SYS_read: case SYS_write: case SYS_close: case SYS_fstat: case SYS_lseek: case SYS_pread64: case SYS_pwrite64: case SYS_readv:
	case SYS_writev: case SYS_fsync: case SYS_fdatasync: case SYS_ftruncate: case SYS_getdents: case SYS_getdents64: case SYS_fchdir:
	case SYS_fstatfs: case SYS_flock: case SYS_fcntl: case SYS_preadv: case SYS_pwritev:
		return true;
	default:
		return false;
	}
}

/* The path on which the thread waits, absolute; "" not known. */
static void path_of(const struct task_found *found, const struct wait_found *wait, char *to, size_t size)
{
	bool of_descriptor = takes_descriptor(found->waiting.syscall);
	bool takes_directory = found->waiting.syscall >= SYS_openat; /* as its first argument */
	char name[32] = "cwd";
	size_t length;

	to[0] = 0;
	if (wait->path[0] == '/') {
		snprintf(to, size, "%s", wait->path);
		return;
	}
	if (!of_descriptor && !wait->path[0])
		return;
	if (of_descriptor || (takes_directory && (int)found->arguments[0] != AT_FDCWD))
		snprintf(name, sizeof(name), "fd/%d", (int)found->arguments[0]);
	if (!read_link(found->task.pid, name, to, size) || of_descriptor)
		return;
	length = strlen(to);
	snprintf(to + length, size - length, "/%s", wait->path);
}

uint32_t proc_fuse_asked(const struct task_found *found, const struct wait_found *wait)
{
	char name[64], place[128], path[512], *mounts;
	uint32_t connection;

	snprintf(name, sizeof(name), "task/%" PRIu32 "/wchan", found->tid);
	read_all(found->task.pid, name, place, sizeof(place));
	if (strncmp(place, PLACE, strlen(PLACE)))
		return 0;
	path_of(found, wait, path, sizeof(path));
	mounts = mem_alloc(MOUNTS_BYTES);
	read_all(found->task.pid, "mountinfo", mounts, MOUNTS_BYTES);
	connection = proc_text_fuse_mount(mounts, path);
	free(mounts);
	return connection;
}
