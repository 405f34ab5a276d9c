/* See filter.h. */
#include "record/filter.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "record/cgroups.h"
#include "record/containers.h"

#ifdef HAVE_BPF
#include <bpf/bpf.h>
#endif

void filter_done(struct filter *filter)
{
	vec_done(&filter->keys);
}

void filter_add(struct filter *filter, enum filter_kind kind, u64 value)
{
	filter->kinds[kind] = true;
	vec_push(&filter->keys, FILTER_KEY(kind, value));
}

/* Calls `take` for each part of a list. */
static int each_part(const char *text, int (*take)(struct filter *filter, const char *part, struct err *err),
		     struct filter *filter, struct err *err)
{
	char part[64];
	int r = 0;

	while (!r && *text) {
		size_t length = strcspn(text, ",");

		if (!length || length >= sizeof(part))
			return err_set(err, -EINVAL, "'%s' is not a list", text);
		memcpy(part, text, length);
		part[length] = 0;
		text += length;
		if (*text == ',' && !*++text)
			return err_set(err, -EINVAL, "a list ends with a comma");
		r = take(filter, part, err);
	}
	return r;
}

static int take_number(struct filter *filter, enum filter_kind kind, const char *what, const char *part, struct err *err)
{
	u64 number;

	if (parse_number(part, &number) || !number || number > INT32_MAX)
		return err_set(err, -EINVAL, "'%s' is not a %s", part, what);
	filter_add(filter, kind, number);
	return 0;
}

static int take_pid(struct filter *filter, const char *part, struct err *err)
{
	return take_number(filter, FILTER_PID, "process number", part, err);
}

static int take_tid(struct filter *filter, const char *part, struct err *err)
{
	return take_number(filter, FILTER_TID, "thread number", part, err);
}

#define CPUS_MOST 8192

static int take_cpus(struct filter *filter, const char *part, struct err *err)
{
	char *dash = strchr(part, '-');
	u64 first, last;

	if (dash)
		*dash = 0;
	if (parse_number(part, &first) || (dash ? parse_number(dash + 1, &last) : (last = first, 0)) || last < first ||
	    last >= CPUS_MOST)
		return err_set(err, -EINVAL, "'%s%s%s' does not name processors", part, dash ? "-" : "", dash ? dash + 1 : "");
	for (u64 cpu = first; cpu <= last; cpu++)
		filter_add(filter, FILTER_CPU, cpu);
	return 0;
}

static int take_user(struct filter *filter, const char *part, struct err *err)
{
	struct passwd *user;
	u64 number;

	if (!parse_number(part, &number) && number < UINT32_MAX) {
		filter_add(filter, FILTER_USER, number);
		return 0;
	}
	user = getpwnam(part);
	if (!user)
		return err_set(err, -EINVAL, "there is no user '%s'", part);
	filter_add(filter, FILTER_USER, user->pw_uid);
	return 0;
}

int filter_add_pids(struct filter *filter, const char *text, struct err *err)
{
	return each_part(text, take_pid, filter, err);
}

int filter_add_tids(struct filter *filter, const char *text, struct err *err)
{
	return each_part(text, take_tid, filter, err);
}

int filter_add_cpus(struct filter *filter, const char *text, struct err *err)
{
	return each_part(text, take_cpus, filter, err);
}

int filter_add_users(struct filter *filter, const char *text, struct err *err)
{
	return each_part(text, take_user, filter, err);
}

int filter_add_cgroup(struct filter *filter, const char *text, struct err *err)
{
	u64 id;
	int r = cgroups_find(text, &id, err);

	if (r)
		return r;
	filter_add(filter, FILTER_CGROUP, id);
	return 0;
}

int filter_add_container(struct filter *filter, const char *text, struct err *err)
{
	uint64_t id;
	int r = containers_find(text, &id, err);

	if (!r)
		filter_add(filter, FILTER_CGROUP, id);
	return r;
}

void filter_configure(const struct filter *filter, struct record_config *config)
{
	config->filter_pids = filter->kinds[FILTER_PID];
	config->filter_tids = filter->kinds[FILTER_TID];
	config->filter_cpus = filter->kinds[FILTER_CPU];
	config->filter_cgroups = filter->kinds[FILTER_CGROUP];
	config->filter_users = filter->kinds[FILTER_USER];
	for (unsigned kind = 0; kind < sizeof(filter->kinds) / sizeof(filter->kinds[0]); kind++)
		config->filtered |= filter->kinds[kind];
	config->follow_forks = filter->follow_forks;
}

int filter_check(const struct filter *filter, struct err *err)
{
	for (size_t i = 0; i < filter->keys.length; i++) {
		u64 kind = filter->keys.items[i] >> FILTER_SHIFT;
		pid_t number = (pid_t)filter->keys.items[i];

		if (!filter->may_be_gone && (kind == FILTER_PID || kind == FILTER_TID) && kill(number, 0) && errno == ESRCH)
			return err_set(err, -ESRCH, "there is no %s %d", kind == FILTER_PID ? "process" : "thread",
				       (int)number);
		if (kind == FILTER_CPU && number >= sysconf(_SC_NPROCESSORS_CONF))
			return err_set(err, -EINVAL, "there is no processor %d: this machine has 0 to %ld", (int)number,
				       sysconf(_SC_NPROCESSORS_CONF) - 1);
	}
	return 0;
}

#ifdef HAVE_BPF
int filter_apply(const struct filter *filter, int map_fd, struct err *err)
{
	u8 one = 1;

	for (size_t i = 0; i < filter->keys.length; i++)
		if (bpf_map_update_elem(map_fd, &filter->keys.items[i], &one, BPF_ANY))
			return err_sys(err, -errno, "setting the filter (at most %d processes, threads and users)",
				       FILTER_KEYS_MOST);
	return 0;
}
#endif
