/* See user_limits.h. */
#include "record/user_limits.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "record/name_counts.h"

#define SPARED (UINT64_C(1) << 21 | UINT64_C(1) << 24) /* CAP_SYS_ADMIN, CAP_SYS_RESOURCE */

/* Of all tasks that there are. */
static uint64_t count_tasks(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	uint64_t count = UINT64_MAX;

	if (file && fscanf(file, "%*f %*f %*f %*u/%" SCNu64, &count) != 1)
		count = UINT64_MAX;
	if (file)
		fclose(file);
	return count;
}

struct status {
	char comm[32];
	uint32_t user, threads;    /* the real user counts */
	uint64_t privileges;       /* CAP_ */
};

/* False: it is not there. The kernel tells a name with its control characters escaped; it may be empty. */
static bool read_status(uint32_t pid, struct status *ret_status)
{
	unsigned known = 0;
	char path[64], line[256];
	FILE *file;

	*ret_status = (struct status){ 0 };
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	file = fopen(path, "re");
	while (file && known < 4 && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "Name:\t", 6)) {
			line[strcspn(line, "\n")] = 0;
			snprintf(ret_status->comm, sizeof(ret_status->comm), "%.31s", line + 6);
			known++;
		}
		known += sscanf(line, "Uid: %" SCNu32, &ret_status->user) == 1 || sscanf(line, "Threads: %" SCNu32, &ret_status->threads) == 1 ||
			 sscanf(line, "CapEff: %" SCNx64, &ret_status->privileges) == 1;
	}
	if (file)
		fclose(file);
	return known == 4;
}

void user_limit_count(uint32_t user, struct event_group_limit *limit)
{
	struct name_counts counts = { 0 };
	DIR *dir = opendir("/proc");
	struct status status;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		uint32_t pid = isdigit((unsigned char)entry->d_name[0]) ? (uint32_t)strtoul(entry->d_name, NULL, 10) : 0;

		if (!pid || !read_status(pid, &status) || status.user != user)
			continue;
		limit->used += status.threads;
		name_counts_add(&counts, status.comm, pid, status.threads, limit);
	}
	if (dir)
		closedir(dir);
}

/* The soft one. The call may be refused where the file is not. */
static uint64_t read_limit(uint32_t pid)
{
	struct rlimit limit;
	uint64_t value;
	char path[64], line[256];
	FILE *file;

	if (!prlimit((pid_t)pid, RLIMIT_NPROC, NULL, &limit))
		return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/limits", pid);
	file = fopen(path, "re");
	value = UINT64_MAX;
	while (file && value == UINT64_MAX && fgets(line, sizeof(line), file))
		if (sscanf(line, "Max processes %" SCNu64, &value) != 1)
			value = UINT64_MAX;
	if (file)
		fclose(file);
	return value;
}

bool user_limit_read(uint32_t pid, struct event_group_limit *ret_limit, uint32_t *ret_user)
{
	uint64_t limit = read_limit(pid);
	struct status status;

	/* the number of all tasks spares the rest nearly always */
	if (limit == UINT64_MAX || limit > count_tasks() || !read_status(pid, &status) || !status.user || status.privileges & SPARED)
		return false;
	*ret_limit = (struct event_group_limit){ .kind = GROUP_LIMIT_user_processes, .limit = limit };
	*ret_user = status.user;
	return true;
}
