/* See report.h: making a report, and what its forms share. */
#include "infer/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

/* A path is of a module when one of the frames that it alone has is, or the
 * frame to look at. */
static bool of_module(const struct report *report, const struct rank_path *path)
{
	const struct profile *profile = report->profile;
	uint32_t look_at = profile_look_at(report->profile, path->hot);

	if (!strcmp(profile_function(profile, look_at)->module, report->module))
		return true;
	for (uint32_t at = path->node; at; at = profile->contexts.nodes.items[at].parent) {
		if (!strcmp(profile_function(profile, at)->module, report->module))
			return true;
		if (at == path->head)
			break;
	}
	return false;
}

static void keep_module(struct report *report, struct rank_path *paths, struct rank_function *functions, size_t top)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->path_count && kept < top; i++)
		if (!report->module || of_module(report, &paths[i]))
			paths[kept++] = paths[i];
	report->path_count = kept;
	kept = 0;
	for (size_t i = 0; i < report->function_count && kept < top; i++)
		if (!report->module ||
		    !strcmp(functions_get(report->profile->functions, functions[i].function)->module, report->module))
			functions[kept++] = functions[i];
	report->function_count = kept;
}

void report_make(struct arena *arena, struct profile *profile, const struct comparison *comparison,
		 enum rank_time time, const char *module, bool by_total, size_t top, struct report *ret_report)
{
	struct report report = { .profile = profile, .comparison = comparison, .time = time, .module = module };
	struct rank_path *paths;
	struct rank_function *functions;

	report.weights = comparison ? comparison->excess_ns : rank_own(arena, &profile->tree, time);
	paths = rank_paths(arena, &profile->tree, report.weights, module ? profile->tree.costs.length : top,
			   &report.path_count);
	functions = rank_functions(arena, &profile->tree, report.weights, time, by_total, &report.function_count);
	for (size_t i = 0; i < profile->contexts.programs.length; i++)
		report.all_ns += rank_total(&profile->tree.costs.items[profile->contexts.programs.items[i].node], time);
	keep_module(&report, paths, functions, top);
	report.paths = paths;
	report.functions = functions;
	*ret_report = report;
}

void report_duration(struct buf *buf, int64_t ns)
{
	double value = (double)ns, size = fabs(value);

	if (size < 1e3)
		buf_printf(buf, "%" PRId64 " ns", ns);
	else if (size < 1e6)
		buf_printf(buf, "%.2f us", value / 1e3);
	else if (size < 1e9)
		buf_printf(buf, "%.2f ms", value / 1e6);
	else
		buf_printf(buf, "%.3f s", value / 1e9);
}

const char *report_brief(struct arena *arena, const char *name, size_t width)
{
	size_t length;

	name = demangle_brief(arena, name);
	length = strlen(name);
	if (width <= 8 || length <= width)
		return name;
	/* Of a name in a name space the end is its own. */
	if (strstr(name, "::"))
		return arena_printf(arena, "...%s", name + length - width + 3);
	return arena_printf(arena, "%.*s...", (int)width - 3, name);
}

const char *report_module(const struct function *function)
{
	if (function->module[0])
		return function->module;
	return function->place == PLACE_system_call ? "system call" : function->place == PLACE_kernel ? "kernel" : "?";
}

bool report_path_internal(const struct report *report, const struct rank_path *path, uint32_t *ret_look_at)
{
	*ret_look_at = profile_look_at(report->profile, path->hot);
	return profile_place(report->profile, *ret_look_at) == PLACE_program;
}

static void folded_stack(struct buf *buf, const struct profile *profile, uint32_t node)
{
	const struct node *n = &profile->contexts.nodes.items[node];

	if (!n->function) {
		const char *name = path_file_name(profile->contexts.programs.items[n->program].path);

		buf_escaped(buf, name, strlen(name), ";");
		return;
	}
	folded_stack(buf, profile, n->parent);
	buf_char(buf, ';');
	buf_escaped(buf, profile_function(profile, node)->name, strlen(profile_function(profile, node)->name), "; ");
}

void report_folded(struct buf *buf, const struct report *report)
{
	const struct profile *profile = report->profile;

	for (uint32_t i = 1; i < profile->contexts.nodes.length; i++) {
		int64_t now = report->weights[i], before = 0;

		if (!profile->contexts.nodes.items[i].function)
			continue;
		if (report->comparison) {
			before = report->comparison->expected_ns[i];
			now = report->comparison->excess_ns[i] + before;
		}
		if (now / 1000 <= 0 && before / 1000 <= 0)
			continue;
		folded_stack(buf, profile, i);
		if (report->comparison)
			buf_printf(buf, " %" PRId64, before / 1000);
		buf_printf(buf, " %" PRId64 "\n", now / 1000);
	}
}
