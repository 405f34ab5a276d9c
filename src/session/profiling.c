/* See profiling.h. */
#include "session/profiling.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "infer/tree_picture.h"
#include "session/artifact.h"
#include "session/recorded.h"

static bool is_number(const char *text, uint64_t *ret_number)
{
	return !parse_number(text, ret_number) && *ret_number && *ret_number <= UINT32_MAX;
}

void profiling_options(struct command_context *context, struct profile_options *ret_options)
{
	const struct options *options = context->options;
	const char *thread = options_text(options, "tid", NULL), *process = options_text(options, "pid", NULL);
	struct observe_scope *scope = &ret_options->scope;
	uint32_t *number;
	uint64_t value;

	*ret_options = (struct profile_options){ .by_function = options_has(options, "paper") };
	scope->kernel_threads = options_has(options, "kernel");
	if (!thread && !process)
		return;
	if (!is_number(thread ? thread : process, &value)) {
		scope->name = thread ? thread : process;
		return;
	}
	number = arena_new(context->arena, uint32_t);
	*number = (uint32_t)value;
	if (thread) {
		scope->tids = number;
		scope->tid_count = 1;
	} else {
		scope->pids = number;
		scope->pid_count = 1;
	}
}

int profiling_open(struct profiling *profiling, const char *path, const char *symfs, struct err *err)
{
	const struct names_options names = { .symfs = symfs };
	int result;

	*profiling = (struct profiling){ 0 };
	result = trace_open(path, &profiling->trace, err);
	if (!result)
		result = tables_build_parts(profiling->trace, TABLES_THREADS | TABLES_STACKS, &profiling->tables, err);
	if (!result)
		result = names_open(profiling->trace, profiling->tables, &names, &profiling->names, err);
	if (result)
		profiling_close(profiling);
	return result;
}

int profiling_infer(struct arena *arena, struct profiling *profiling, const struct profile_options *options,
		    struct functions *functions, struct err *err)
{
	struct profile_options chosen = *options;

	recorded_scope(arena, profiling->trace, profiling->tables, &chosen.scope);
	return profile_build(profiling->trace, profiling->tables, profiling->names, &chosen, functions, &profiling->profile, err);
}

void profiling_close(struct profiling *profiling)
{
	profile_free(profiling->profile);
	if (profiling->names)
		names_close(profiling->names);
	if (profiling->tables)
		tables_free(profiling->tables);
	if (profiling->trace)
		trace_close(profiling->trace);
	*profiling = (struct profiling){ 0 };
}

enum rank_time profiling_time(const struct command_context *context, bool narrow)
{
	const char *word = options_text(context->options, "time", narrow ? "all" : "cpu");

	return !strcmp(word, "all") ? RANK_all : !strcmp(word, "cpu") ? RANK_cpu : RANK_wait;
}

const char *profiling_time_name(enum rank_time time)
{
	switch (time) {
	case RANK_all: return "all";
	case RANK_cpu: return "cpu";
	case RANK_wait: return "wait";
	}
	return "";
}

void profiling_notes(struct command_context *context, const struct profiling *profiling)
{
	const struct observe_counts *counts = &profiling->profile->observer.counts;
	const char *complaint;

	command_note_damage(context, profiling->trace);
	if (counts->broken + counts->cut)
		sink_printf(context->notes, "%s: %" PRIu64 " of %" PRIu64 " stacks were not walked to their end (%" PRIu64
			    " of them passed over)\n", trace_path(profiling->trace), counts->broken + counts->cut,
			    counts->stacks + counts->broken, counts->broken);
	if (counts->missing)
		sink_printf(context->notes, "%s: %" PRIu64 " events had no user stack\n", trace_path(profiling->trace),
			    counts->missing);
	if (counts->gaps)
		sink_printf(context->notes, "%s: events were lost at %" PRIu64 " places; nothing is inferred across them\n",
			    trace_path(profiling->trace), counts->gaps);
	for (uint32_t i = 0; (complaint = names_complaint(profiling->names, i)); i++)
		sink_printf(context->notes, "%s\n", complaint);
}

static void page_json(struct command_context *context, const struct profiling *p, const char *base, const struct report *report, struct buf *document)
{
	struct json json;

	json_init(&json, document);
	json_object(&json, NULL);
	json_u64(&json, "version", 1);
	json_object(&json, "profile");
	json_text(&json, "argus", context->build);
	json_text(&json, "trace", trace_path(p->trace));
	json_text(&json, "base", base);
	json_text(&json, "time", profiling_time_name(report->time));
	json_u64(&json, "all_ns", report->all_ns);
	report_counts_json(&json, "looked_at", p->profile);
	tree_picture_json(&json, "tree", report, (double)options_number(context->options, "least", 5) / 1000);
	report_paths_json(&json, "paths", report);
	report_functions_json(&json, "functions", report);
	json_end(&json);
	json_end(&json);
}

int profiling_page(struct command_context *context, const struct profiling *p, const char *base, const struct report *report, struct err *err)
{
	const char *path = options_text(context->options, "page", NULL);
	struct buf document, page;
	int r;

	if (!path)
		return 0;
	buf_init(&document);
	buf_init(&page);
	page_json(context, p, base, report, &document);
	r = context->page(&document, &page, err);
	if (!r)
		r = artifact_write(path, &page, err);
	buf_done(&page);
	buf_done(&document);
	return r;
}
