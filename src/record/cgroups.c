/* See cgroups.h. */
#include "record/cgroups.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CGROUPS_MOST 8192
#define NS_PER_US 1000u

struct mount {
	char path[PATH_MAX];
	bool unified;       /* version 2 */
};

/* Where the processor controller is: in version 1's own hierarchy where there
 * is one, else in version 2's. */
static int find_mount(struct mount *ret_mount, struct err *err)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	int r = -ENOENT;

	while (file && (entry = getmntent(file))) {
		bool unified = !strcmp(entry->mnt_type, "cgroup2");

		if (!unified && (strcmp(entry->mnt_type, "cgroup") || !hasmntopt(entry, "cpu")))
			continue;
		if (unified && !r)
			continue;
		if (snprintf(ret_mount->path, sizeof(ret_mount->path), "%s", entry->mnt_dir) >= PATH_MAX)
			continue;
		ret_mount->unified = unified;
		r = 0;
	}
	if (file)
		endmntent(file);
	return r ? err_set(err, r, "no cgroup file system is mounted") : 0;
}

static FILE *open_in(const char *directory, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= PATH_MAX)
		return NULL;
	return fopen(path, "re");
}

/* A file of one signed number; `otherwise` when there is none. */
static int64_t read_number(const char *directory, const char *name, int64_t otherwise)
{
	FILE *file = open_in(directory, name);
	int64_t value;

	if (!file)
		return otherwise;
	if (fscanf(file, "%" SCNd64, &value) != 1)
		value = otherwise;
	fclose(file);
	return value;
}

static void read_quota(const char *directory, bool unified, struct event_cgroup *cgroup)
{
	int64_t quota = -1, period = 0;

	if (unified) {
		FILE *file = open_in(directory, "cpu.max");

		/* "max 100000" has no quota */
		if (file && fscanf(file, "%" SCNd64 " %" SCNd64, &quota, &period) != 2)
			quota = -1;
		if (file)
			fclose(file);
	} else {
		quota = read_number(directory, "cpu.cfs_quota_us", -1);
		period = read_number(directory, "cpu.cfs_period_us", 0);
	}
	if (quota > 0 && period > 0) {
		cgroup->quota_ns = (uint64_t)quota * NS_PER_US;
		cgroup->period_ns = (uint64_t)period * NS_PER_US;
	}
}

static void read_throttling(const char *directory, struct event_cgroup *cgroup)
{
	FILE *file = open_in(directory, "cpu.stat");
	char key[32];
	uint64_t value;

	if (!file)
		return;
	while (fscanf(file, "%31s %" SCNu64, key, &value) == 2) {
		if (!strcmp(key, "nr_throttled"))
			cgroup->throttled_count = (uint32_t)value;
		else if (!strcmp(key, "throttled_usec"))
			cgroup->throttled_ns = value * NS_PER_US;
		else if (!strcmp(key, "throttled_time"))
			cgroup->throttled_ns = value;
	}
	fclose(file);
}

int cgroups_read(struct cgroups_sink *sink, struct err *err)
{
	struct mount mount;
	char *roots[] = { mount.path, NULL };
	size_t length;
	FTSENT *entry;
	FTS *walk;
	int count = 0, r = 0;

	/* a machine without the file system has no groups to tell of */
	if (find_mount(&mount, NULL))
		return 0;
	length = strlen(mount.path);
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!walk)
		return 0;
	while (!r && count < CGROUPS_MOST && (entry = fts_read(walk))) {
		struct event_cgroup cgroup = { 0 };

		if (entry->fts_info != FTS_D)
			continue;
		cgroup.cgroup = entry->fts_statp->st_ino;
		read_quota(entry->fts_accpath, mount.unified, &cgroup);
		read_throttling(entry->fts_accpath, &cgroup);
		r = sink->cgroup(sink, &cgroup, entry->fts_path[length] ? entry->fts_path + length : "/", err);
		count++;
	}
	fts_close(walk);
	return r;
}

int cgroups_find(const char *path, uint64_t *ret_id, struct err *err)
{
	struct mount mount;
	struct stat status;
	char full[PATH_MAX];
	int r = find_mount(&mount, err);

	if (r)
		return r;
	if (!strncmp(path, mount.path, strlen(mount.path)))
		snprintf(full, sizeof(full), "%s", path);
	else if (snprintf(full, sizeof(full), "%s/%s", mount.path, path) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "the control group's path is too long");
	if (stat(full, &status))
		return err_sys(err, -errno, "control group '%s'", path);
	if (!S_ISDIR(status.st_mode))
		return err_set(err, -ENOTDIR, "'%s' is not a control group", path);
	*ret_id = status.st_ino;
	return 0;
}
