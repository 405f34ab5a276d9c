#include "base/sparse.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SPARSE_LEAST ((size_t)64 << 10)
#define ASIDE_LEAST ((size_t)1 << 20)
#define ROOM_LEAST ((uint64_t)1 << 30)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *folder;

void sparse_lie_in(const char *path)
{
	char *copy = path ? strdup(path) : NULL;

	pthread_mutex_lock(&lock);
	free(folder);
	folder = copy;
	pthread_mutex_unlock(&lock);
}

/* A page for which the disk has no room ends the process. */
static bool has_room(int fd)
{
	struct statfs about;

	return !fstatfs(fd, &about) && about.f_type != TMPFS_MAGIC && (uint64_t)about.f_bavail * (uint64_t)about.f_bsize >= ROOM_LEAST;
}

static int file_without_name(size_t bytes)
{
	int fd = -1;

	pthread_mutex_lock(&lock);
	if (folder)
		fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	pthread_mutex_unlock(&lock);
	if (fd >= 0 && (!has_room(fd) || ftruncate(fd, (off_t)bytes) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The same array in a file; false where there can be none. */
static bool lay_aside(struct sparse *sparse, size_t bytes)
{
	int fd = file_without_name(bytes);
	void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (sparse->memory) {
		memcpy(memory, sparse->memory, sparse->bytes);
		munmap(sparse->memory, sparse->bytes);
	}
	sparse->memory = memory;
	sparse->bytes = bytes;
	sparse->file = fd + 1;
	return true;
}

void sparse_reach(struct sparse *sparse, size_t bytes)
{
	size_t wanted = sparse->bytes ? sparse->bytes : SPARSE_LEAST;
	void *memory = MAP_FAILED;

	if (bytes <= sparse->bytes)
		return;
	while (wanted < bytes)
		wanted *= 2;
	if (sparse->aside && !sparse->file && wanted >= ASIDE_LEAST && lay_aside(sparse, wanted))
		return;
	if (!sparse->memory)
		memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	else if (!sparse->file || !ftruncate(sparse->file - 1, (off_t)wanted))
		memory = mremap(sparse->memory, sparse->bytes, wanted, MREMAP_MAYMOVE);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "argus: out of memory (%zu bytes wanted)\n", wanted);
		abort();
	}
	sparse->memory = memory;
	sparse->bytes = wanted;
}

void sparse_done(struct sparse *sparse)
{
	if (sparse->memory)
		munmap(sparse->memory, sparse->bytes);
	if (sparse->file)
		close(sparse->file - 1);
	*sparse = (struct sparse){ .aside = sparse->aside };
}
