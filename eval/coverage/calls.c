/* Linked into programs that are built with -finstrument-functions: writes each call
 * and return into memory that is a file. What it does is not instrumented itself. */
#define _GNU_SOURCE
#include "calls.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WINDOW (32u << 20)
#define MAX_DEPTH 8192

#define SILENT __attribute__((no_instrument_function))

struct log {
	struct calls_record *at, *end;
	int fd;              /* 0 not open yet, -1 closed for good */
	uint64_t bytes;      /* of the file so far */
	uint32_t depth;
	uint64_t open[MAX_DEPTH];
	int busy;
};

static __thread struct log *current;
static const char *folder;
static uint64_t base;

SILENT void __cyg_profile_func_enter(void *function, void *site);
SILENT void __cyg_profile_func_exit(void *function, void *site);

static SILENT int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_addr;
	return 1;
}

static SILENT uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static SILENT void next_window(struct log *log)
{
	char *window;

	if (log->end)
		munmap((char *)log->end - WINDOW, WINDOW);
	if (ftruncate(log->fd, (off_t)(log->bytes + WINDOW))) {
		log->fd = -1;
		return;
	}
	window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, log->fd, (off_t)log->bytes);
	if (window == MAP_FAILED) {
		log->fd = -1;
		return;
	}
	log->bytes += WINDOW;
	log->at = (struct calls_record *)window;
	log->end = (struct calls_record *)(window + WINDOW);
}

static SILENT void put(struct log *log, uint64_t time, uint64_t place)
{
	if (log->fd < 0)
		return;
	if (log->at == log->end)
		next_window(log);
	if (log->fd < 0)
		return;
	*log->at++ = (struct calls_record){ time, place };
}

static SILENT void begin(struct log *log)
{
	struct calls_head head = { .magic = CALLS_MAGIC };
	char path[512];

	if (!base) {
		const char *asked = getenv("ARGUS_CALLS");

		/* A copy: servers write over their environment. */
		folder = asked && asked[0] ? strdup(asked) : NULL;
		dl_iterate_phdr(first_object, &base);
	}
	head.base = base;
	head.pid = (uint32_t)getpid();
	head.tid = (uint32_t)syscall(SYS_gettid);
	head.start_ns = now();
	log->fd = -1;
	if (folder) {
		snprintf(path, sizeof(path), "%s/%u.calls", folder, head.tid);
		log->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	}
	if (log->fd < 0)
		return;
	log->bytes = 0;
	log->at = log->end = NULL;
	next_window(log);
	if (log->fd < 0)
		return;
	memcpy(log->at, &head, sizeof(head));
	log->at += sizeof(head) / sizeof(*log->at);
	for (uint32_t i = 0; i < log->depth && i < MAX_DEPTH; i++)
		put(log, head.start_ns, log->open[i]);
}

/* The child of a fork writes a file of its own, from the calls that are open. */
static SILENT void in_child(void)
{
	struct log *log = current;

	if (!log)
		return;
	if (log->end)
		munmap((char *)log->end - WINDOW, WINDOW);
	if (log->fd > 0)
		close(log->fd);
	begin(log);
}

static SILENT struct log *log_of_thread(void)
{
	static __thread int starting;
	struct log *log;

	if (current || starting)
		return current;
	starting = 1;
	log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (log == MAP_FAILED)
		abort();
	begin(log);
	current = log;
	if ((pid_t)syscall(SYS_gettid) == getpid()) {
		pthread_atfork(NULL, NULL, in_child);
	}
	return log;
}

void __cyg_profile_func_enter(void *function, void *site)
{
	struct log *log = log_of_thread();

	(void)site;
	if (!log || log->busy)
		return;
	log->busy = 1;
	if (log->depth < MAX_DEPTH)
		log->open[log->depth] = (uint64_t)(uintptr_t)function << 1;
	log->depth++;
	put(log, now(), (uint64_t)(uintptr_t)function << 1);
	log->busy = 0;
}

void __cyg_profile_func_exit(void *function, void *site)
{
	struct log *log = current;

	(void)site;
	if (!log || log->busy)
		return;
	log->busy = 1;
	/* A new window's time is the function's, which is still on the stack. */
	if (log->fd >= 0 && log->at == log->end)
		next_window(log);
	put(log, now(), (uint64_t)(uintptr_t)function << 1 | 1);
	if (log->depth)
		log->depth--;
	log->busy = 0;
}
