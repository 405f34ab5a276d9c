/* See file_opener.h. */
#include "symbols/file_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/helper.h"
#include "base/map.h"

#define PATIENCE_MS 1500u

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000u
#endif

struct file_opener {
	struct helpers *helpers;   /* NULL until they are needed */
	struct helper *helper;
	bool mounts_read;
	struct map disks;          /* ids of mounts of file systems on disks and in memory */
	struct map stuck;          /* hashes of folders and mount points that do not answer */
};

/* ---- what to expect of a file system ---- */

/* Those that answer, unless the machine itself is broken. */
static bool is_on_disk(const char *type)
{
	static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "tmpfs", "ramfs", "squashfs",
					     "erofs", "iso9660", "vfat", "exfat", "rootfs", "devtmpfs", "proc", "sysfs" };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i], type))
			return true;
	return false;
}

/* Lines of "id parent major:minor root point options... - type source options". */
static void read_mounts(struct file_opener *opener)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, type[64];
	size_t room = 0;
	unsigned id;

	opener->mounts_read = true;
	while (file && getline(&line, &room, file) > 0) {
		const char *behind = strstr(line, " - ");
		if (behind && sscanf(line, "%u", &id) == 1 && sscanf(behind, " - %63s", type) == 1 && is_on_disk(type))
			map_put(&opener->disks, id, 1);
	}
	free(line);
	if (file)
		fclose(file);
}

static uint64_t key_of(const char *path, size_t length)
{
	return hash_bytes(path, length) | 1;
}

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (size_t)(slash - path) : 0;
}

/* In a folder that did not answer, or below a mount that did not. */
static bool is_stuck(struct file_opener *opener, const char *path)
{
	for (size_t length = folder_length(path); opener->stuck.length && length > 0; length--)
		if ((path[length] == '/' || !path[length]) && map_find(&opener->stuck, key_of(path, length)))
			return true;
	return false;
}

/* The mount that the path lies below, by its name. */
static size_t mount_length(const char *path)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, point[PATH_MAX];
	size_t room = 0, longest = 0;

	while (file && getline(&line, &room, file) > 0) {
		size_t length = sscanf(line, "%*u %*u %*s %*s %4095s", point) == 1 ? strlen(point) : 0;
		if (length > longest && length > 1 && !strncmp(path, point, length) && path[length] == '/')
			longest = length;
	}
	free(line);
	if (file)
		fclose(file);
	return longest;
}

static void note_stuck(struct file_opener *opener, const char *path)
{
	size_t mount = mount_length(path);
	map_put(&opener->stuck, key_of(path, folder_length(path)), 1);
	if (mount)
		map_put(&opener->stuck, key_of(path, mount), 1);
}

/* ---- opening ---- */

static int statx_known(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID, ret) < 0 ? -errno : 0;
}

int file_opener_stat(int fd, struct stat *ret_stat)
{
	struct statx x;
	int r = statx_known(fd, &x);

	if (r)
		return r;
	*ret_stat = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor), .st_ino = x.stx_ino, .st_size = (off_t)x.stx_size, .st_mode = x.stx_mode,
		.st_mtim = { x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec }, .st_ctim = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec },
	};
	return 0;
}

/* For reading, what was found and is a regular file; ends `found`. */
static int open_found(int found)
{
	char path[64];
	struct stat st;

	int r = file_opener_stat(found, &st);
	if (!r && !S_ISREG(st.st_mode))
		r = -ENOEXEC;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	int fd = r ? r : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (!r && fd < 0)
		fd = -errno;
	close(found);
	return fd;
}

static int open_here(const char *path)
{
	int found = open(path, O_PATH | O_CLOEXEC);
	return found < 0 ? -errno : open_found(found);
}

/* Without asking any file system, on a disk: -EAGAIN where that cannot be. */
static int open_known(struct file_opener *opener, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	struct statx x;
	int found = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (found < 0)
		return errno == ENOENT || errno == ENOTDIR ? -errno : -EAGAIN;
	if (!opener->mounts_read)
		read_mounts(opener);
	if (statx_known(found, &x) || !(x.stx_mask & STATX_MNT_ID) || !map_find(&opener->disks, x.stx_mnt_id)) {
		close(found);
		return -EAGAIN;
	}
	return open_found(found);
}

/* The helper's: opens a file and reads of it, so that what does not answer shows. */
static void serve(struct helper_port *port, const struct helper_message *request)
{
	char byte;
	int fd = open_here(request->data);
	int64_t status = fd < 0 ? fd : pread(fd, &byte, 1, 0) < 0 ? -errno : 0;

	helper_answer(port, 1, &status, sizeof(status), status < 0 ? -1 : fd);
	if (fd >= 0)
		close(fd);
}

void file_opener_prepare(struct file_opener *opener)
{
	if (!opener->helpers && helpers_open(serve, false, &opener->helpers, NULL) < 0)
		opener->helpers = NULL;
}

static int open_by_helper(struct file_opener *opener, const char *path)
{
	struct helper_message answer;
	char absolute[2 * PATH_MAX] = "";
	int64_t status = -EPIPE;
	int fd = -1;

	file_opener_prepare(opener);
	if (!opener->helpers)
		return open_here(path);
	if (!opener->helper) {
		opener->helper = helper_open(opener->helpers);
		helper_patience(opener->helper, PATIENCE_MS);
	}
	/* helpers are elsewhere */
	if (path[0] != '/' && !getcwd(absolute, PATH_MAX))
		return -errno;
	if (snprintf(absolute + strlen(absolute), PATH_MAX, "%s%s", path[0] == '/' ? "" : "/", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	int r = helper_ask(opener->helper, 1, absolute, strlen(absolute), -1);
	while (!r && (r = helper_next(opener->helper, &answer)) == 1) {
		struct helper_reader reader = helper_read(&answer);
		helper_read_bytes(&reader, &status, sizeof(status));
		if (answer.fd >= 0 && fd < 0) {
			fd = answer.fd;
			answer.fd = -1;
		}
		helper_message_done(&answer);
		r = 0;
	}
	if (fd >= 0)
		return fd;
	if (r == -ETIMEDOUT)
		note_stuck(opener, path);
	return r ? r : status < 0 ? (int)status : -EPIPE;
}

int file_opener_open(struct file_opener *opener, const char *path, struct err *err)
{
	int fd;

	if (!opener) {
		fd = open_here(path);
	} else if (is_stuck(opener, path)) {
		fd = -ETIMEDOUT;
	} else {
		fd = open_known(opener, path);
		if (fd == -EAGAIN)
			fd = open_by_helper(opener, path);
	}
	if (fd == -ENOEXEC)
		return err_set(err, fd, "'%s' is not a regular file", path);
	if (fd == -ETIMEDOUT)
		return err_set(err, fd, "'%s' cannot be read: its file system does not answer", path);
	return fd < 0 ? err_sys(err, fd, "cannot open '%s'", path) : fd;
}

char *file_opener_real_path(struct file_opener *opener, const char *path)
{
	char link[64], real[PATH_MAX];
	int fd = file_opener_open(opener, path, NULL);

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, real, sizeof(real) - 1);
	close(fd);
	if (length <= 0)
		return NULL;
	real[length] = 0;
	return strdup(real);
}

struct file_opener *file_opener_new(void)
{
	return mem_zalloc(sizeof(struct file_opener));
}

void file_opener_free(struct file_opener *opener)
{
	if (!opener)
		return;
	helper_close(opener->helper);
	helpers_close(opener->helpers);
	map_done(&opener->disks);
	map_done(&opener->stuck);
	free(opener);
}
