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

static bool has_room(int fd)
{
	struct statfs about;

	return !fstatfs(fd, &about) && about.f_type != TMPFS_MAGIC && (uint64_t)about.f_bavail * (uint64_t)about.f_bsize >= ROOM_LEAST;
}

/* With room on the disk for all of it: a page that finds none as it is touched would end the process. */
static int file_without_name(size_t bytes)
{
	int fd = -1;

	pthread_mutex_lock(&lock);
	if (folder)
		fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	pthread_mutex_unlock(&lock);
	if (fd >= 0 && (!has_room(fd) || posix_fallocate(fd, 0, (off_t)bytes))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The array at another place, of so many bytes; false where there is no room there. */
static bool move(struct sparse *sparse, size_t bytes, int fd)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return false;
	if (sparse->memory) {
		memcpy(memory, sparse->memory, sparse->bytes);
		munmap(sparse->memory, sparse->bytes);
	}
	if (sparse->file)
		close(sparse->file - 1);
	*sparse = (struct sparse){ .memory = memory, .bytes = bytes, .aside = sparse->aside, .file = fd + 1 };
	return true;
}

/* Larger at its place, or where the kernel moves it to. */
static bool stretch(struct sparse *sparse, size_t bytes)
{
	void *memory;

	if (sparse->file && posix_fallocate(sparse->file - 1, 0, (off_t)bytes))
		return false;
	memory = mremap(sparse->memory, sparse->bytes, bytes, MREMAP_MAYMOVE);
	if (memory == MAP_FAILED)
		return false;
	sparse->memory = memory;
	sparse->bytes = bytes;
	return true;
}

static bool lay_aside(struct sparse *sparse, size_t bytes)
{
	int fd = file_without_name(bytes);

	if (fd >= 0 && move(sparse, bytes, fd))
		return true;
	if (fd >= 0)
		close(fd);
	return false;
}

void sparse_reach(struct sparse *sparse, size_t bytes)
{
	size_t wanted = sparse->bytes ? sparse->bytes : SPARSE_LEAST;

	if (bytes <= sparse->bytes)
		return;
	while (wanted < bytes)
		wanted *= 2;
	if (sparse->aside && !sparse->file && wanted >= ASIDE_LEAST && lay_aside(sparse, wanted))
		return;
	if (sparse->memory && stretch(sparse, wanted))
		return;
	/* the first, or the disk is full */
	if (!move(sparse, wanted, -1)) {
		fprintf(stderr, "argus: out of memory (%zu bytes wanted)\n", wanted);
		abort();
	}
}

void sparse_done(struct sparse *sparse)
{
	if (sparse->memory)
		munmap(sparse->memory, sparse->bytes);
	if (sparse->file)
		close(sparse->file - 1);
	*sparse = (struct sparse){ .aside = sparse->aside };
}
