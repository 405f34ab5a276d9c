/* Ranked paths and functions as data, and as text, JSON and folded stacks: what
 * `infer` and `diff` have in common. */
#ifndef INFER_REPORT_H
#define INFER_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "infer/compare.h"
#include "infer/profile.h"
#include "infer/rank.h"

struct report {
	struct profile *profile;              /* the buggy run's in a comparison */
	const struct comparison *comparison;  /* NULL: one run */
	enum rank_time time;
	const int64_t *weights;               /* by node */
	const struct rank_path *paths;
	size_t path_count;
	const struct rank_function *functions;
	size_t function_count;                /* to show */
	uint64_t all_ns;                      /* of all programs looked at, that part of the time */
	const char *module;                   /* only paths and functions of this module; NULL all */
};

/* Ranks; keeps at most `top` paths and functions. `weights` as the report's time or
 * comparison has them. */
void report_make(struct arena *arena, struct profile *profile, const struct comparison *comparison,
		 enum rank_time time, const char *module, bool by_total, size_t top, struct report *ret_report);

void report_paths_text(struct buf *buf, const struct report *report, int width);
void report_functions_text(struct buf *buf, const struct report *report, bool by_total);
/* Instances that the profile kept, in the order of time; times from `start_ns`. */
void report_instances_text(struct buf *buf, const struct profile *profile, uint64_t start_ns);
void report_paths_json(struct json *json, const char *key, const struct report *report);
void report_functions_json(struct json *json, const char *key, const struct report *report);
void report_instances_json(struct json *json, const char *key, const struct profile *profile);
/* What was looked at: stacks, threads, programs, window. */
void report_counts_json(struct json *json, const char *key, const struct profile *profile);

/* One line a context: frames joined by semicolons, own time in microseconds; in a
 * comparison both runs' times, as differential flame graphs take them, the base's
 * scaled to the same work. */
void report_folded(struct buf *buf, const struct report *report);

/* "1.234 s", "56.1 ms"; with the sign. */
void report_duration(struct buf *buf, int64_t ns);
/* A function's name to read, to be escaped: C++ without parameters, cut to so many
 * characters (0 not) where it tells least. In the arena, or the name itself. */
const char *report_brief(struct arena *arena, const char *name, size_t width);
/* module's file name, or what stands for it */
const char *report_module(const struct function *function);
bool report_path_internal(const struct report *report, const struct rank_path *path, uint32_t *ret_look_at);

#endif
