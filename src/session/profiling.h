/* What `infer` and `diff` share: options that choose threads and a window, and a
 * trace opened for inference. */
#ifndef SESSION_PROFILING_H
#define SESSION_PROFILING_H

#include "infer/report.h"
#include "session/command.h"

#define PROFILING_OPTIONS \
	{ "tid", 't', OPTION_TEXT, "TID|NAME", "only this thread, or threads or programs of this name" }, \
	{ "pid", 'p', OPTION_TEXT, "PID|NAME", "only threads of this process, or of programs of this name" }, \
	{ "kernel", 0, OPTION_FLAG, NULL, "kernel threads too" }, \
	{ "module", 'm', OPTION_TEXT, "NAME", "only what this module takes part in" }, \
	{ "time", 0, OPTION_WORD, "all|cpu|wait", "which time to rank by (all when threads or a window are chosen, else cpu)", \
	  .choices = "all cpu wait" }, \
	{ "top", 'n', OPTION_NUMBER, "N", "show at most N paths and functions (10)" }, \
	{ "tree", 0, OPTION_FLAG, NULL, "the annotated calling-context tree as text" }, \
	{ "map", 0, OPTION_FLAG, NULL, "the heat map of the ranked paths as text" }, \
	{ "least", 0, OPTION_NUMBER, "PERMILLE", "leave out contexts below this share of the time, in thousandths (5)", .most = 1000 }, \
	{ "folded", 0, OPTION_FLAG, NULL, "folded stacks, in microseconds, for flame graphs" }, \
	{ "paper", 0, OPTION_FLAG, NULL, "continuity by function alone, as IntroPerf has it" }, \
	{ "tree-svg", 0, OPTION_TEXT, "FILE", "the annotated tree as a picture (diff: of both runs, in two colours)" }, \
	{ "map-svg", 0, OPTION_TEXT, "FILE", "the heat map of the ranked paths as a picture" }, \
	{ "page", 0, OPTION_TEXT, "FILE", "tree, heat map and functions as a page for any browser, with search" }, \
	OPTION_SYMFS, \
	OPTION_JSON

/* What they and their commands' options say to each other. */
#define PROFILING_RULES \
	{ .one_of = "tid pid" }, { .one_of = "json folded tree map" }

struct profiling {
	struct trace *trace;
	struct tables *tables;
	struct names *names;
	struct profile *profile;
};

/* Reads scope and mode from the options; `from` and `to` are moments of this trace.
 * Results live in the arena. */
void profiling_options(struct command_context *context, struct profile_options *ret_options);
/* Opens the trace only, so that moments can be told. */
int profiling_open(struct profiling *profiling, const char *path, const char *symfs, struct err *err);
/* Looks at what the options name, else at what the recording was for; its lists lie in
 * the arena. */
int profiling_infer(struct arena *arena, struct profiling *profiling, const struct profile_options *options, struct functions *functions,
		    struct err *err);
void profiling_close(struct profiling *profiling);

/* `narrow`: threads or a window were chosen. */
enum rank_time profiling_time(const struct command_context *context, bool narrow);
const char *profiling_time_name(enum rank_time time);
/* The page that --page asks for; `base`: the path of the trace it was compared with, or NULL. */
int profiling_page(struct command_context *context, const struct profiling *profiling, const char *base, const struct report *report, struct err *err);
/* Notes about stacks that are missing or cut. */
void profiling_notes(struct command_context *context, const struct profiling *profiling);

#endif
