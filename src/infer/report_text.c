/* See report.h: the text forms. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "infer/report.h"

static void add_name(struct buf *buf, const char *name, size_t width)
{
	struct arena arena;
	size_t end = buf->length + width;

	arena_init(&arena);
	name = report_brief(&arena, name, width);
	buf_escaped(buf, name, strlen(name), NULL);
	while (buf->length < end)
		buf_char(buf, ' ');
	arena_done(&arena);
}

static void add_duration(struct buf *buf, int64_t ns, int width)
{
	struct buf text;

	buf_init(&text);
	report_duration(&text, ns);
	buf_printf(buf, "%*s", width, buf_str(&text));
	buf_done(&text);
}

static double percent(const struct report *report, int64_t ns)
{
	return report->all_ns ? 100.0 * (double)ns / (double)report->all_ns : 0;
}

/* A run of frames that took no time of their own is told by its length. */
#define SHORT_RUN 3

static void add_frames(struct buf *buf, const struct report *report, const struct rank_path *path, uint32_t look_at)
{
	struct profile *profile = report->profile;
	const struct tree_cost *costs = profile->tree.costs.items;
	struct arena arena;
	uint32_t count, *nodes;

	arena_init(&arena);
	nodes = profile_path(&arena, profile, path->node, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct function *f = profile_function(profile, nodes[i]);
		uint32_t run = i, at = nodes[i];

		while (run < count && profile_function(profile, nodes[run]) == f)
			run++;
		if (run - i > SHORT_RUN) {
			/* Recursion: shown once, with what all of it weighs. */
			int64_t weight = 0;
			char deep[32];

			for (uint32_t r = i; r < run; r++)
				weight += report->weights[nodes[r]];
			add_duration(buf, (int64_t)rank_total(&costs[at], report->time), 14);
			add_duration(buf, weight, 14);
			buf_printf(buf, "%10" PRIu64 "  ", costs[at].count);
			snprintf(deep, sizeof(deep), "  (%u deep)", run - i);
			add_name(buf, f->name, 40 - strlen(deep));
			buf_printf(buf, "%s  ", deep);
			add_name(buf, report_module(f), 0);
			buf_char(buf, '\n');
			i = run - 1;
			continue;
		}
		add_duration(buf, (int64_t)rank_total(&costs[at], report->time), 14);
		add_duration(buf, report->weights[at], 14);
		buf_printf(buf, "%10" PRIu64 "  ", costs[at].count);
		add_name(buf, f->name, 40);
		buf_text(buf, "  ");
		add_name(buf, report_module(f), 0);
		if (at == look_at)
			buf_text(buf, "   <-- look here");
		else if (at == path->hot)
			buf_text(buf, "   <-- hottest");
		buf_char(buf, '\n');
	}
	arena_done(&arena);
}

/* How the path was made comparable, where the base has it. */
static void add_scale(struct buf *buf, const struct report *report, const struct rank_path *path)
{
	const struct comparison *c = report->comparison;
	uint32_t unit = c ? c->unit[path->hot] : 0;

	if (!c || !c->base_node[path->hot])
		return;
	if (unit) {
		uint64_t here = c->buggy->tree.costs.items[unit].count, base = c->base->tree.costs.items[c->base_node[unit]].count;

		buf_text(buf, here == 1 && base == 1 ? "    compared as a whole: one call of " : "    compared by calls of ");
		add_name(buf, profile_function(c->buggy, unit)->name, 0);
		if (here == 1 && base == 1)
			buf_text(buf, " in each run\n");
		else
			buf_printf(buf, ": %" PRIu64 " here, %" PRIu64 " in the base\n", here, base);
	} else {
		buf_printf(buf, "    compared by the lengths of the runs, which completed no call in common: the base's times are taken %.3g times\n",
			   c->factor[path->hot]);
	}
}

void report_paths_text(struct buf *buf, const struct report *report, int width)
{
	(void)width;
	for (size_t i = 0; i < report->path_count; i++) {
		const struct rank_path *path = &report->paths[i];
		const struct tree_cost *hot = &report->profile->tree.costs.items[path->hot];
		const struct function *f;
		uint32_t look_at;
		bool internal = report_path_internal(report, path, &look_at);

		f = profile_function(report->profile, look_at);
		buf_printf(buf, "%s#%zu  ", i ? "\n" : "", i + 1);
		report_duration(buf, path->new_ns);
		if (report->comparison)
			buf_printf(buf, " more%s", report->comparison->base_node[path->hot] ? "" : " (only in this run)");
		else
			buf_printf(buf, "  %.1f %%", percent(report, path->new_ns));
		buf_text(buf, "  in ");
		add_name(buf, f->name, 0);
		buf_text(buf, ", ");
		add_name(buf, report_module(f), 0);
		buf_printf(buf, ": %s, %s\n", place_name(profile_place(report->profile, look_at)),
			   internal ? "internal" : "external");
		add_scale(buf, report, path);
		buf_printf(buf, "    the hottest frame: %" PRIu64 " call%s", hot->count, hot->count == 1 ? "" : "s");
		if (hot->merged && hot->count == 1)
			buf_printf(buf, " (may be several, about %" PRIu64 ")", hot->calls);
		else if (hot->merged)
			buf_printf(buf, " (%" PRIu64 " may be several, about %" PRIu64 " in all)", hot->merged, hot->calls);
		buf_text(buf, ", ");
		report_duration(buf, (int64_t)hot->min_ns);
		buf_text(buf, " to ");
		report_duration(buf, (int64_t)hot->max_ns);
		buf_text(buf, " each; in all between ");
		report_duration(buf, (int64_t)hot->lower_ns);
		buf_text(buf, " and ");
		report_duration(buf, (int64_t)hot->upper_ns);
		buf_char(buf, '\n');
		buf_printf(buf, "%14s%14s%10s  function\n", "total", report->comparison ? "own, more" : "own", "calls");
		add_frames(buf, report, path, look_at);
	}
}

void report_functions_text(struct buf *buf, const struct report *report, bool by_total)
{
	buf_printf(buf, "%14s%8s%14s%10s  %-40s  module\n", report->comparison ? "own, more" : "own",
		   report->comparison ? "" : "%", "total", "calls", by_total ? "function, by total" : "function");
	for (size_t i = 0; i < report->function_count; i++) {
		const struct rank_function *ranked = &report->functions[i];
		const struct function *f = functions_get(report->profile->functions, ranked->function);

		add_duration(buf, ranked->own_ns, 14);
		if (report->comparison)
			buf_printf(buf, "%8s", "");
		else
			buf_printf(buf, "%8.1f", percent(report, ranked->own_ns));
		add_duration(buf, (int64_t)ranked->total_ns, 14);
		buf_printf(buf, "%10" PRIu64 "  ", ranked->count);
		add_name(buf, f->name, 40);
		buf_text(buf, "  ");
		add_name(buf, report_module(f), 0);
		buf_printf(buf, " (%s)\n", place_name(profile_place(report->profile, ranked->node)));
	}
}

void report_instances_text(struct buf *buf, const struct profile *profile, uint64_t start_ns)
{
	buf_printf(buf, "%14s%8s%14s%14s%14s%14s%14s%14s\n", "first seen", "tid", "conservative", "aggressive",
		   "no more than", "estimate", "waiting", "calls");
	for (size_t i = 0; i < profile->instances.list.length; i++) {
		const struct latency_instance *one = &profile->instances.list.items[i];

		buf_printf(buf, "%14.6f%8u", (double)(one->first - start_ns) / 1e9,
			   profile->observer.threads.items[one->thread].tid);
		add_duration(buf, (int64_t)latency_conservative(one), 14);
		add_duration(buf, (int64_t)latency_aggressive(one), 14);
		add_duration(buf, (int64_t)(one->after - one->before), 14);
		add_duration(buf, (int64_t)(one->end - one->begin), 14);
		add_duration(buf, (int64_t)one->off_ns, 14);
		buf_printf(buf, "%13u%s%s%s\n", one->calls, one->flags & LATENCY_merged ? "+" : " ",
			   one->flags & LATENCY_open_begin ? "  begin not seen" : "",
			   one->flags & LATENCY_open_end ? "  end not seen" : "");
	}
}
