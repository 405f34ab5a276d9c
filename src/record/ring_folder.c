/* See ring_folder.h. */
#include "record/ring_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/vec.h"

#define NAME_DIGITS 10
#define SPARE_BYTES_MOST (16u << 20) /* left free on the disk */
#define INDEX_NAME_BYTES (RING_FILE_NAME_BYTES + 8)

struct ring_file {
	uint64_t number, bytes;
};

struct ring_files vec(struct ring_file);

static bool parse_name(const char *name, uint64_t *ret_number)
{
	static const char before[] = "argus-", after[] = ".trace";
	char *end;

	if (strncmp(name, before, sizeof(before) - 1) || strlen(name) != sizeof(before) - 1 + NAME_DIGITS + sizeof(after) - 1)
		return false;
	name += sizeof(before) - 1;
	for (int i = 0; i < NAME_DIGITS; i++)
		if (name[i] < '0' || name[i] > '9')
			return false;
	*ret_number = strtoull(name, &end, 10);
	return !strcmp(end, after);
}

static void format_name(char to[RING_FILE_NAME_BYTES], uint64_t number)
{
	snprintf(to, RING_FILE_NAME_BYTES, "argus-%0*" PRIu64 ".trace", NAME_DIGITS, number % 10000000000u);
}

static void format_index_name(char to[INDEX_NAME_BYTES], uint64_t number)
{
	format_name(to, number);
	strcat(to, ".index");
}

/* Of files that have gone. */
static void remove_lone_indexes(int folder)
{
	int copy = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir && copy >= 0)
		close(copy);
	if (dir)
		rewinddir(dir);
	while (dir && (entry = readdir(dir))) {
		char name[INDEX_NAME_BYTES], own[INDEX_NAME_BYTES];
		size_t length = strlen(entry->d_name);
		uint64_t number;
		struct stat info;

		if (length <= 6 || length >= sizeof(name) || strcmp(entry->d_name + length - 6, ".index"))
			continue;
		memcpy(name, entry->d_name, length - 6);
		name[length - 6] = 0;
		if (!parse_name(name, &number) || !fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW))
			continue;
		format_index_name(own, number);
		unlinkat(folder, own, 0);
	}
	if (dir)
		closedir(dir);
}

static uint64_t index_bytes(int folder, uint64_t number)
{
	char name[INDEX_NAME_BYTES];
	struct stat info;

	format_index_name(name, number);
	return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode) ? 0 : (uint64_t)info.st_size;
}

static int by_number(const void *a, const void *b)
{
	const struct ring_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* The ring's files, oldest first, and a descriptor of the folder (or -errno). */
static int list(const struct ring_folder *folder, struct ring_files *files, struct err *err)
{
	int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return err_sys(err, -errno, "opening the ring's folder '%s'", folder->path);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir) {
		int r = -errno;

		close(fd);
		if (copy >= 0)
			close(copy);
		return err_sys(err, r, "reading the ring's folder '%s'", folder->path);
	}
	while ((entry = readdir(dir))) {
		struct ring_file file;
		struct stat info;

		if (!parse_name(entry->d_name, &file.number) || fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(info.st_mode))
			continue;
		file.bytes = (uint64_t)info.st_size + index_bytes(fd, file.number);
		vec_push(files, file);
	}
	closedir(dir);
	if (files->length)
		qsort(files->items, files->length, sizeof(files->items[0]), by_number);
	return fd;
}

/* Parents too, so that the default place needs no preparation. */
static int make_folder(const char *path, struct err *err)
{
	char copy[PATH_MAX];

	if (strlen(path) >= sizeof(copy))
		return err_set(err, -ENAMETOOLONG, "the folder's name '%.64s...' is too long", path);
	strcpy(copy, path);
	for (char *at = copy + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = 0;
		if (mkdir(copy, 0755) && errno != EEXIST)
			return err_sys(err, -errno, "making the folder '%s'", copy);
		*at = '/';
	}
	if (mkdir(copy, 0700) && errno != EEXIST)
		return err_sys(err, -errno, "making the ring's folder '%s'", copy);
	return 0;
}

int ring_folder_open(struct ring_folder *folder, const char *path, struct err *err)
{
	struct ring_files files = { 0 };
	struct stat info;
	int r = make_folder(path, err), fd;

	if (r)
		return r;
	folder->path = path;
	fd = list(folder, &files, err);
	if (fd < 0)
		return fd;
	/* others could put links there, or take our files away */
	if (fstat(fd, &info) || info.st_uid != geteuid() || info.st_mode & (S_IWGRP | S_IWOTH)) {
		vec_done(&files);
		close(fd);
		return err_set(err, -EPERM, "the ring's folder '%s' is another user's or open to others for writing", path);
	}
	remove_lone_indexes(fd);
	if (files.length && files.items[files.length - 1].number >= folder->next)
		folder->next = files.items[files.length - 1].number + 1;
	vec_done(&files);
	close(fd);
	return 0;
}

static bool gives_group(const struct ring_folder *folder, struct stat *info)
{
	return !stat(folder->path, info) && S_ISDIR(info->st_mode) && info->st_uid == geteuid() && info->st_mode & S_ISGID;
}

void ring_folder_share(const struct ring_folder *folder, bool open)
{
	struct stat info;
	mode_t mode = S_ISGID | (open ? 0750 : 0700);

	if (gives_group(folder, &info) && (info.st_mode & 07777) != mode && chmod(folder->path, mode))
		return; /* it stays as it was set up */
}

void ring_folder_share_file(const struct ring_folder *folder, const char *path)
{
	struct stat info;

	if (gives_group(folder, &info) && chmod(path, 0640))
		return; /* root's alone */
}

int ring_folder_next(struct ring_folder *folder, char *ret_path, size_t size, struct err *err)
{
	char name[RING_FILE_NAME_BYTES];

	format_name(name, folder->next);
	if ((size_t)snprintf(ret_path, size, "%s/%s", folder->path, name) >= size)
		return err_set(err, -ENAMETOOLONG, "the folder's name '%.64s...' is too long", folder->path);
	folder->next++;
	return 0;
}

int ring_folder_size(const struct ring_folder *folder, struct ring_folder_size *ret_size, struct err *err)
{
	struct ring_files files = { 0 };
	int fd = list(folder, &files, err);

	if (fd < 0)
		return fd;
	*ret_size = (struct ring_folder_size){ .files = files.length, .oldest = files.length ? files.items[0].number : 0 };
	for (size_t i = 0; i < files.length; i++)
		ret_size->bytes += files.items[i].bytes;
	vec_done(&files);
	close(fd);
	return 0;
}

int ring_folder_room(const struct ring_folder *folder, uint64_t *ret_bytes, struct err *err)
{
	struct statvfs disk;

	if (statvfs(folder->path, &disk))
		return err_sys(err, -errno, "asking for the room left at '%s'", folder->path);
	if (!disk.f_blocks)
		return err_set(err, -ENOTSUP, "the file system of '%s' does not tell its room", folder->path);
	*ret_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	return 0;
}

int ring_folder_trim(const struct ring_folder *folder, uint64_t bytes, size_t keep, struct err *err)
{
	struct ring_files files = { 0 };
	uint64_t total = 0;
	int fd = list(folder, &files, err), r = 0;

	if (fd < 0)
		return fd;
	for (size_t i = 0; i < files.length; i++)
		total += files.items[i].bytes;
	for (size_t i = 0; !r && i + keep < files.length && total > bytes; i++) {
		char name[RING_FILE_NAME_BYTES], index[INDEX_NAME_BYTES];

		format_name(name, files.items[i].number);
		format_index_name(index, files.items[i].number);
		unlinkat(fd, index, 0); /* which need not be there */
		if (unlinkat(fd, name, 0) && errno != ENOENT)
			r = err_sys(err, -errno, "removing '%s/%s'", folder->path, name);
		total -= files.items[i].bytes;
	}
	vec_done(&files);
	close(fd);
	return r;
}

/* Bytes that the disk lacks for so many more; 0 where it does not tell: the next write will. */
static uint64_t lacking(const struct ring_folder *folder, uint64_t bytes, bool with_spare)
{
	struct statvfs disk;
	uint64_t room, spare;

	if (statvfs(folder->path, &disk))
		return 0;
	room = (uint64_t)disk.f_bavail * disk.f_frsize;
	spare = (uint64_t)disk.f_blocks * disk.f_frsize / 64;
	if (with_spare)
		bytes += spare < SPARE_BYTES_MOST ? spare : SPARE_BYTES_MOST;
	return disk.f_blocks && room < bytes ? bytes - room : 0;
}

bool ring_folder_make_room(const struct ring_folder *folder, uint64_t bytes, bool full)
{
	uint64_t lacks = lacking(folder, bytes, true), left = UINT64_MAX;
	struct ring_folder_size size;

	/* a file that somebody holds open gives no room when it goes: on a full disk the next one does */
	while (lacks && !ring_folder_size(folder, &size, NULL) && size.bytes < left) {
		left = size.bytes;
		ring_folder_trim(folder, left > lacks ? left - lacks : 0, full ? 1 : 2, NULL);
		lacks = lacking(folder, bytes, true);
		if (!full)
			break;
	}
	return !lacks || !lacking(folder, bytes, false);
}
