/* Which threads a recording is about. Wake-ups, owners and peers are recorded
 * of all; what others cost the machine (stacks, samples, system calls) is
 * spared. */
#ifndef RECORD_FILTER_H
#define RECORD_FILTER_H

#include "trace/event.h"

/* Keys of the map `filter_set`: a kind in the top byte, a value below. */
enum filter_kind { FILTER_PID = 1, FILTER_TID, FILTER_CPU, FILTER_CGROUP, FILTER_USER, FILTER_KINDS };

#define FILTER_SHIFT 56
#define FILTER_KEY(kind, value) ((u64)(kind) << FILTER_SHIFT | ((u64)(value) & ((1ull << FILTER_SHIFT) - 1)))
#define FILTER_KEYS_MOST 16384

#ifndef __bpf__

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "record/config.h"

struct filter {
	struct vec(u64) keys;
	bool kinds[FILTER_KINDS];   /* which are asked for */
	bool follow_forks;          /* children of filtered processes too */
	bool may_be_gone;           /* who has ended by the time is passed over */
};

void filter_done(struct filter *filter);
void filter_add(struct filter *filter, enum filter_kind kind, u64 value);

/* From the command line; lists are parted by commas. */
int filter_add_pids(struct filter *filter, const char *text, struct err *err);
int filter_add_tids(struct filter *filter, const char *text, struct err *err);
int filter_add_cpus(struct filter *filter, const char *text, struct err *err);  /* "0-3,8" */
int filter_add_cgroup(struct filter *filter, const char *text, struct err *err);
/* A container by its name, its id or the beginning of it. */
int filter_add_container(struct filter *filter, const char *text, struct err *err);
int filter_add_users(struct filter *filter, const char *text, struct err *err); /* names or numbers */

void filter_configure(const struct filter *filter, struct record_config *config);
/* Whether the processes, threads and processors are there. */
int filter_check(const struct filter *filter, struct err *err);
/* Puts the keys into the map. */
int filter_apply(const struct filter *filter, int map_fd, struct err *err);

#endif
#endif
