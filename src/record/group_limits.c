/* See group_limits.h. */
#include "record/group_limits.h"

#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/name_counts.h"
#include "record/user_limits.h"

#define LEVELS_MOST 16
#define PROCESSES_MOST 4096
#define USED_PERCENT 95u      /* of the limit, more: it is used up */
#define UNLIMITED (1ull << 60)

struct group {
	char folder[PATH_MAX];    /* in the file system */
	size_t mount;             /* so much of that is where it is mounted */
	bool unified;             /* version 2 */
	struct group_limits_sink *sink;
};

/* Where the controller's hierarchy is mounted; NULL as controller: version 2's. */
static bool find_mount(const char *controller, char *to, size_t size)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	bool found = false;
	struct mntent *entry;

	while (!found && file && (entry = getmntent(file))) {
		found = controller ? !strcmp(entry->mnt_type, "cgroup") && hasmntopt(entry, controller) : !strcmp(entry->mnt_type, "cgroup2");
		if (found && snprintf(to, size, "%s", entry->mnt_dir) >= (int)size)
			found = false;
	}
	if (file)
		endmntent(file);
	return found;
}

static FILE *open_in(const struct group *group, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", group->folder, name);
	return fopen(path, "re");
}

/* Of a file of one number; "max", and what is as good as that, is none. */
static uint64_t read_number(const struct group *group, const char *name)
{
	FILE *file = open_in(group, name);
	uint64_t value = UINT64_MAX;

	if (file && fscanf(file, "%" SCNu64, &value) != 1)
		value = UINT64_MAX;
	if (file)
		fclose(file);
	return value;
}

static uint64_t resident_bytes(uint32_t pid)
{
	char path[64];
	uint64_t pages = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/statm", pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of the group itself: where it has none, those below it have it. */
static void find_most(const struct group *group, struct event_group_limit *limit)
{
	FILE *file = open_in(group, "cgroup.procs");
	uint32_t pid;

	for (unsigned i = 0; file && i < PROCESSES_MOST && fscanf(file, "%" SCNu32, &pid) == 1; i++) {
		uint64_t bytes = resident_bytes(pid);

		if (bytes <= limit->most_bytes)
			continue;
		limit->most_bytes = bytes;
		limit->most = pid;
	}
	if (file)
		fclose(file);
}

static int tell(const struct group *group, const struct event_group_limit *limit, struct err *err)
{
	return group->sink->limit(group->sink, 0, limit, group->folder + group->mount, err);
}

static int read_memory(const struct group *group, struct err *err)
{
	struct event_group_limit limit = { .kind = GROUP_LIMIT_memory };

	limit.limit = read_number(group, group->unified ? "memory.max" : "memory.limit_in_bytes");
	limit.used = read_number(group, group->unified ? "memory.current" : "memory.usage_in_bytes");
	if (limit.limit >= UNLIMITED || limit.used >= UNLIMITED || limit.used / 100 < limit.limit / 10000 * USED_PERCENT)
		return 0;
	find_most(group, &limit);
	return tell(group, &limit, err);
}

static int tell_device(const struct group *group, unsigned kind, unsigned major, unsigned minor, uint64_t value, struct err *err)
{
	struct event_group_limit limit = { .kind = (uint8_t)kind, .limit = value, .device = major << 20 | (minor & 0xfffff) };

	return value ? tell(group, &limit, err) : 0;
}

static int read_devices(const struct group *group, struct err *err)
{
	static const struct { const char *file, *word; unsigned kind; } limits[] = {
		{ "blkio.throttle.read_bps_device", "rbps=", GROUP_LIMIT_read_bytes },
		{ "blkio.throttle.write_bps_device", "wbps=", GROUP_LIMIT_write_bytes },
		{ "blkio.throttle.read_iops_device", "riops=", GROUP_LIMIT_read_requests },
		{ "blkio.throttle.write_iops_device", "wiops=", GROUP_LIMIT_write_requests },
	};
	FILE *unified = group->unified ? open_in(group, "io.max") : NULL;
	unsigned major, minor;
	char line[256];
	uint64_t value;
	int r = 0;

	while (!r && unified && fgets(line, sizeof(line), unified))
		for (size_t i = 0; !r && i < sizeof(limits) / sizeof(*limits); i++) {
			const char *at = sscanf(line, "%u:%u", &major, &minor) == 2 ? strstr(line, limits[i].word) : NULL;

			if (at && sscanf(at + strlen(limits[i].word), "%" SCNu64, &value) == 1)
				r = tell_device(group, limits[i].kind, major, minor, value, err);
		}
	if (unified)
		fclose(unified);
	for (size_t i = 0; !r && !group->unified && i < sizeof(limits) / sizeof(*limits); i++) {
		FILE *file = open_in(group, limits[i].file);

		while (!r && file && fscanf(file, "%u:%u %" SCNu64, &major, &minor, &value) == 3)
			r = tell_device(group, limits[i].kind, major, minor, value, err);
		if (file)
			fclose(file);
	}
	return r;
}

/* The first time that it is asked about. */
static bool is_new(struct buf *told, const char *folder)
{
	for (size_t at = 0; at < told->length; at += strlen(told->data + at) + 1)
		if (!strcmp(told->data + at, folder))
			return false;
	buf_add(told, folder, strlen(folder) + 1);
	return true;
}

/* The name of a process, which may hold any character, and how many threads it has: each counts. */
static unsigned read_name(uint32_t pid, char *comm, size_t size)
{
	char path[64], text[1024], *begin, *end;
	unsigned threads = 0;
	size_t length = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	file = fopen(path, "re");
	if (file)
		length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = 0;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (begin && end && begin < end) {
		*end = 0;
		snprintf(comm, size, "%s", begin + 1);
		if (sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u", &threads) != 1)
			threads = 1;
	}
	if (file)
		fclose(file);
	return threads;
}

/* Processes of one name, which have most of a group's threads. */
static void find_name(const struct group *group, struct event_group_limit *limit)
{
	struct name_counts counts = { 0 };
	FILE *file = open_in(group, "cgroup.procs");
	char comm[32];
	uint32_t pid;

	for (unsigned i = 0; file && i < PROCESSES_MOST && fscanf(file, "%" SCNu32, &pid) == 1; i++) {
		unsigned threads = read_name(pid, comm, sizeof(comm));

		if (threads)
			name_counts_add(&counts, comm, pid, threads, limit);
	}
	if (file)
		fclose(file);
}

static int read_processes(const struct group *group, struct err *err)
{
	struct event_group_limit limit = { .kind = GROUP_LIMIT_processes, .limit = read_number(group, "pids.max") };
	char line[64];
	FILE *file;

	if (limit.limit >= UNLIMITED)
		return 0;
	limit.used = read_number(group, "pids.current");
	if (limit.used >= UNLIMITED || limit.used < limit.limit)
		return 0;
	file = open_in(group, "pids.events");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "max %" SCNu32, &limit.refused) == 1)
			break;
	if (file)
		fclose(file);
	find_name(group, &limit);
	return tell(group, &limit, err);
}

/* The root, which has no limits but, in version 1, of what goes to devices. */
static int read_root(struct buf *told, struct group_limits_sink *sink, struct err *err)
{
	struct group group = { .sink = sink };

	if (!find_mount("blkio", group.folder, sizeof(group.folder)))
		return 0;
	group.mount = strlen(group.folder);
	if (group.mount + 1 >= sizeof(group.folder))
		return 0;
	strcpy(group.folder + group.mount, "/");
	return is_new(told, group.folder) ? read_devices(&group, err) : 0;
}

/* The group and those above it, but for the root. */
static int read_group(const char *controller, const char *path, size_t length, bool processes, struct buf *told, struct group_limits_sink *sink,
		      struct err *err)
{
	struct group group = { .unified = !controller, .sink = sink };
	int r = 0;

	if (!find_mount(controller, group.folder, sizeof(group.folder)))
		return 0;
	group.mount = strlen(group.folder);
	if (length >= sizeof(group.folder) - group.mount)
		return 0;
	memcpy(group.folder + group.mount, path, length);
	group.folder[group.mount + length] = 0;
	for (unsigned level = 0; !r && level < LEVELS_MOST && strlen(group.folder) > group.mount + 1 && is_new(told, group.folder); level++) {
		if (processes)
			r = read_processes(&group, err);
		if (!processes && (!controller || !strcmp(controller, "memory")))
			r = read_memory(&group, err);
		if (!r && !processes && (!controller || !strcmp(controller, "blkio")))
			r = read_devices(&group, err);
		*strrchr(group.folder, '/') = 0;
	}
	return r;
}

/* Once for each user: `told` keeps what was counted. */
static void count_user(uint32_t user, struct buf *told, struct event_group_limit *limit)
{
	char words[96];
	int length = snprintf(words, sizeof(words), "user %" PRIu32 " ", user);

	for (size_t at = 0; at < told->length; at += strlen(told->data + at) + 1)
		if (!strncmp(told->data + at, words, (size_t)length) &&
		    sscanf(told->data + at + length, "%" SCNu64 " %" SCNu64 " %" SCNu32, &limit->used, &limit->most_bytes, &limit->most) == 3)
			return;
	user_limit_count(user, limit);
	snprintf(words + length, sizeof(words) - (size_t)length, "%" PRIu64 " %" PRIu64 " %" PRIu32, limit->used, limit->most_bytes, limit->most);
	buf_add(told, words, strlen(words) + 1);
}

static int read_user(uint32_t pid, struct buf *told, struct group_limits_sink *sink, struct err *err)
{
	struct event_group_limit limit;
	uint32_t user;
	char text[16];

	if (!user_limit_read(pid, &limit, &user))
		return 0;
	count_user(user, told, &limit);
	if (limit.used < limit.limit)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu32, user);
	return sink->limit(sink, pid, &limit, text, err);
}

int group_limits_read(uint32_t pid, bool processes, struct buf *told, struct group_limits_sink *sink, struct err *err)
{
	char path[64], line[PATH_MAX + 256], place[PATH_MAX + 256];
	FILE *file;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", pid);
	file = fopen(path, "re");
	while (!r && file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = 0;
		controllers++;
		size_t length = strcspn(group, "\n");

		/* most processes are in few groups, or in the root: where those lie is not looked up again */
		snprintf(place, sizeof(place), "%s:%.*s", controllers, (int)length, group);
		if ((length <= 1 && (processes || strcmp(controllers, "blkio"))) || !is_new(told, place))
			continue;
		if (length <= 1)
			r = read_root(told, sink, err);
		else if (!controllers[0])
			r = read_group(NULL, group, length, processes, told, sink, err);
		else if (processes ? !strcmp(controllers, "pids") : !strcmp(controllers, "memory") || !strcmp(controllers, "blkio"))
			r = read_group(controllers, group, length, processes, told, sink, err);
	}
	if (file)
		fclose(file);
	return r || !processes ? r : read_user(pid, told, sink, err);
}
