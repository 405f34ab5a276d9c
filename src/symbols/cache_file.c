#include "symbols/cache_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

static int make_folder(const char *path)
{
	struct stat st;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	/* somebody else's folder would let him choose our tables */
	if (lstat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

static int folder(char *path, size_t path_bytes)
{
	const char *own = getenv("ARGUS_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int length;

	if (own && own[0] == '/') {
		length = snprintf(path, path_bytes, "%s", own);
	} else if (geteuid() == 0) {
		length = snprintf(path, path_bytes, "/var/cache/argus");
	} else if (cache && cache[0] == '/') {
		length = snprintf(path, path_bytes, "%s/argus", cache);
	} else if (home && home[0] == '/') {
		char above[4096];
		snprintf(above, sizeof(above), "%s/.cache", home);
		mkdir(above, 0700);
		length = snprintf(path, path_bytes, "%s/argus", above);
	} else {
		return -ENOENT;
	}
	return length < 0 || (size_t)length >= path_bytes ? -ENAMETOOLONG : make_folder(path);
}

int cache_file_path(const char *name, char *path, size_t path_bytes)
{
	char above[4000];
	int r = folder(above, sizeof(above));
	if (r < 0)
		return r;
	int length = snprintf(path, path_bytes, "%s/%s", above, name);
	return length < 0 || (size_t)length >= path_bytes ? -ENAMETOOLONG : 0;
}

void *cache_file_map_open(const char *path, size_t most, size_t *ret_bytes, int *ret_fd)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size <= 0 || (uint64_t)st.st_size > most) {
		close(fd);
		return NULL;
	}
	/* a file of our own, which is replaced and never written in place */
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	*ret_bytes = (size_t)st.st_size;
	*ret_fd = fd;
	return data;
}

void *cache_file_map(const char *path, size_t most, size_t *ret_bytes)
{
	int fd;
	void *data = cache_file_map_open(path, most, ret_bytes, &fd);

	if (data)
		close(fd);
	return data;
}

static bool write_all(int fd, const void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(fd, (const char *)data + done, bytes - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

bool cache_file_write(const char *path, const void *data, size_t bytes)
{
	char temporary[4200];
	snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool written = write_all(fd, data, bytes);
	close(fd);
	written = written && rename(temporary, path) == 0;
	if (!written)
		unlink(temporary);
	return written;
}

struct kept_file {
	int64_t changed_ns;
	uint64_t bytes;
	char *name;
};

static int by_age(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;
	return x->changed_ns < y->changed_ns ? -1 : x->changed_ns > y->changed_ns;
}

void cache_file_trim(uint64_t most)
{
	struct vec(struct kept_file) files = { 0 };
	char path[4000];
	uint64_t bytes = 0;
	struct dirent *entry;
	DIR *open_folder = folder(path, sizeof(path)) == 0 ? opendir(path) : NULL;

	while (open_folder && (entry = readdir(open_folder))) {
		struct stat st;
		if (fstatat(dirfd(open_folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		struct kept_file file = { st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec, (uint64_t)st.st_size, strdup(entry->d_name) };
		bytes += file.bytes;
		vec_push(&files, file);
	}
	if (files.length)
		qsort(files.items, files.length, sizeof(files.items[0]), by_age);
	for (size_t i = 0; i < files.length; i++) {
		if (bytes > most && unlinkat(dirfd(open_folder), files.items[i].name, 0) == 0)
			bytes -= files.items[i].bytes;
		free(files.items[i].name);
	}
	vec_done(&files);
	if (open_folder)
		closedir(open_folder);
}

#define SEAL_BYTES (2 * sizeof(uint64_t))

void cache_file_keep(const char *path, char *data, size_t bytes)
{
	uint64_t checksum = hash_bytes(data + SEAL_BYTES, bytes - SEAL_BYTES);

	memcpy(data + sizeof(checksum), &checksum, sizeof(checksum));
	if (cache_file_write(path, data, bytes))
		cache_file_trim(CACHE_FOLDER_BYTES);
}

bool cache_file_intact(const char *data, size_t bytes)
{
	uint64_t checksum;

	memcpy(&checksum, data + sizeof(checksum), sizeof(checksum));
	return checksum == hash_bytes(data + SEAL_BYTES, bytes - SEAL_BYTES);
}
