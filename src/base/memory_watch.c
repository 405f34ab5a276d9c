/* See memory_watch.h. A thread looks at what the process itself takes, and only when
 * that is much at the group's own counters; the closer to the limit, the more often.
 * Page cache does not count: the kernel takes it back. */
#include "base/memory_watch.h"
#include "base/quiet_thread.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNLIMITED (1ull << 60)      /* groups without a limit say something greater */
#define SELDOM_NS 20000000u
#define OFTEN_NS 1000000u
#define BYTES_A_NS 16               /* faster than memory can be taken */
#define OWN_SHARE 4                 /* of the limit: what makes this process matter */
#define MARGIN_SHARE 32             /* of the limit, kept free; at least MARGIN_BYTES, at most a quarter */
#define MARGIN_BYTES (16u << 20)

struct watch {
	memory_short *call;
	void *data;
	struct memory_bound bound;
	bool old;                   /* a group of version 1 */
	char path[512];             /* of the group's files */
};

/* The number behind `key` in a file of lines "key number" (or "key: number kB"); false when it is not there. */
static bool read_keyed(const char *path, const char *key, uint64_t *ret_value)
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		size_t length = strlen(key);

		if (strncmp(line, key, length) || (line[length] != ' ' && line[length] != ':'))
			continue;
		*ret_value = strtoull(line + length + 1, NULL, 10);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

static bool read_number(const char *path, uint64_t *ret_value)
{
	char text[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	text[n] = 0;
	*ret_value = strtoull(text, NULL, 10);
	return true;
}

/* That no file holds. */
static uint64_t own_bytes(void)
{
	unsigned long long size, resident, shared;
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- which bound ---- */

static void take_group(struct watch *watch, const char *root, const char *group, bool old)
{
	char file[768];
	uint64_t limit;

	snprintf(file, sizeof(file), "%s%s/%s", root, group, old ? "memory.limit_in_bytes" : "memory.max");
	if (!read_number(file, &limit) || limit >= UNLIMITED || limit >= watch->bound.limit_bytes)
		return;
	watch->bound.limit_bytes = limit;
	watch->old = old;
	snprintf(watch->bound.group, sizeof(watch->bound.group), "%.200s", *group ? group : "/");
	snprintf(watch->path, sizeof(watch->path), "%.100s%.400s", root, group);
}

/* The group and those around it. In a name space of its own the path may not be visible; then it is the root. */
static void take_groups(struct watch *watch, const char *root, char *group, bool old)
{
	for (;;) {
		char *slash = strrchr(group, '/');

		if (slash && !slash[1])
			*slash = 0;
		take_group(watch, root, group, old);
		slash = strrchr(group, '/');
		if (!slash)
			return;
		*slash = 0;
	}
}

static void find_groups(struct watch *watch)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		if (!strcmp(controllers + 1, "memory"))
			take_groups(watch, "/sys/fs/cgroup/memory", group, true);
		else if (!controllers[1])
			take_groups(watch, "/sys/fs/cgroup", group, false);
	}
	if (file)
		fclose(file);
}

static void find_bound(struct watch *watch)
{
	uint64_t total = 0, swap = 0;

	watch->bound.limit_bytes = UINT64_MAX;
	if (read_keyed("/proc/meminfo", "MemTotal", &total))
		watch->bound.limit_bytes = total * 1024;
	find_groups(watch);
	if (!*watch->bound.group && read_keyed("/proc/meminfo", "SwapTotal", &swap))
		watch->bound.limit_bytes += swap * 1024;
}

void memory_bound_find(struct memory_bound *ret_bound)
{
	struct watch watch = { 0 };

	find_bound(&watch);
	*ret_bound = watch.bound;
	ret_bound->own_bytes = own_bytes();
}

/* ---- how much of it is taken ---- */

static uint64_t taken_of_machine(const struct watch *watch)
{
	uint64_t available = 0, swap = 0, bytes;

	if (!read_keyed("/proc/meminfo", "MemAvailable", &available))
		return 0;
	read_keyed("/proc/meminfo", "SwapFree", &swap);
	bytes = (available + swap) * 1024;
	return bytes < watch->bound.limit_bytes ? watch->bound.limit_bytes - bytes : 0;
}

static uint64_t taken(const struct watch *watch)
{
	static const char *const caches[2][2] = { { "inactive_file", "active_file" }, { "total_inactive_file", "total_active_file" } };
	uint64_t usage, cache;
	char file[768];

	if (!*watch->bound.group)
		return taken_of_machine(watch);
	snprintf(file, sizeof(file), "%s/%s", watch->path, watch->old ? "memory.usage_in_bytes" : "memory.current");
	if (!read_number(file, &usage))
		return 0;
	snprintf(file, sizeof(file), "%s/memory.stat", watch->path);
	for (int i = 0; i < 2; i++)
		if (read_keyed(file, caches[watch->old][i], &cache))
			usage -= cache < usage ? cache : usage;
	return usage;
}

uint64_t memory_room(void)
{
	struct watch watch = { 0 };
	uint64_t all;

	find_bound(&watch);
	all = taken(&watch);
	return watch.bound.limit_bytes > all ? watch.bound.limit_bytes - all : 0;
}

/* Until so many bytes more could have been taken. */
static void rest(uint64_t bytes)
{
	uint64_t ns = bytes / BYTES_A_NS;
	struct timespec pause = { 0, (long)(ns < OFTEN_NS ? OFTEN_NS : ns > SELDOM_NS ? SELDOM_NS : ns) };

	nanosleep(&pause, NULL);
}

static uint64_t margin_of(uint64_t limit)
{
	uint64_t margin = limit / MARGIN_SHARE < MARGIN_BYTES ? MARGIN_BYTES : limit / MARGIN_SHARE;

	return margin < limit / 4 ? margin : limit / 4;
}

static void *look(void *argument)
{
	struct watch *watch = argument;
	uint64_t limit = watch->bound.limit_bytes, most = limit - margin_of(limit), own, all;

	for (;; rest(most - (all > own ? all : own))) {
		own = own_bytes();
		all = own < limit / OWN_SHARE ? 0 : taken(watch);
		if (all < most && own < most)
			continue;
		watch->bound.own_bytes = own;
		watch->call(watch->data, &watch->bound);
		return NULL;
	}
}

void memory_watch(memory_short *call, void *data)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	pthread_t thread;

	if (!watch)
		return;
	watch->call = call;
	watch->data = data;
	find_bound(watch);
	if (watch->bound.limit_bytes == UINT64_MAX || quiet_thread(&thread, look, watch))
		free(watch);
	else
		pthread_detach(thread);
}
