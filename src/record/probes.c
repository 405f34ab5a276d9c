/* See probes.h. */
#ifdef HAVE_BPF
#include "record/probes.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/vec.h"
#include "record/links.h"

/* What a hit costs beyond the instruction itself, with what is recorded of it: measured, docs/probes.md. */
#define HIT_NS 1100
#define SLOW_HIT_NS 9800
#define RETURN_NS 400
#define PAUSE_SHORTEST_NS 10000000000ull
#define PAUSE_LONGEST_NS 320000000000ull

struct probe_state {
	uint64_t hits, before;     /* in the last round; at its end, since the start */
	uint64_t off_until_ns;     /* 0: it is on */
	uint64_t pause_ns;         /* the next one */
};

struct probes {
	const struct programs *programs;
	const struct probe_points *points;
	int hits_fd, cpus;
	uint64_t looked_ns;
	struct probe_state *states;    /* by point */
	uint64_t *counts;              /* of one probe by processor: where they are read to */
	size_t count;
	struct attached {
		struct attachment link;
		size_t point;
	} links[];
};

/* "none voluntary (full)": what a kernel that can choose has chosen. */
static bool chose_preemption(void)
{
	char text[128] = "";
	FILE *file = fopen("/sys/kernel/debug/sched/preempt", "re");

	if (!file)
		return true;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	return !strstr(text, "(none)") && !strstr(text, "(voluntary)");
}

bool probes_take_stacks(const struct kernel *kernel)
{
	struct utsname name;

	/* the programs switch preemption off, see bpf/probe.bpf.c */
	if (btf__find_by_name_kind(kernel->btf, "__bpf_trap", BTF_KIND_FUNC) > 0)
		return true;
	if (uname(&name) || !strstr(name.version, "PREEMPT"))
		return true;
	return strstr(name.version, "PREEMPT_DYNAMIC") && !chose_preemption();
}

/* ---- trace points ---- */

static FILE *open_format(const struct probe_point *point)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[512];
	FILE *file = NULL;

	if (strchr(point->provider, '/') || strchr(point->mark, '/') || point->provider[0] == '.' || point->mark[0] == '.')
		return NULL;
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots) && !file; i++) {
		snprintf(path, sizeof(path), "%s/events/%s/%s/format", roots[i], point->provider, point->mark);
		file = fopen(path, "re");
	}
	return file;
}

/* The first integers of a record, behind those that all records have. Of lines
 * such as "	field:pid_t pid;	offset:24;	size:4;	signed:1;" */
static void read_format(FILE *file, struct probe_fields *ret_fields)
{
	char line[512];
	unsigned found = 0;

	*ret_fields = (struct probe_fields){ 0 };
	while (found < PROBE_FIELDS && fgets(line, sizeof(line), file)) {
		const char *field = strstr(line, "field:"), *numbers = strstr(line, "offset:"), *name;
		unsigned offset, bytes, is_signed;

		if (!field || !numbers || sscanf(numbers, "offset:%u; size:%u; signed:%u;", &offset, &bytes, &is_signed) != 3)
			continue;
		name = field + strlen("field:");
		if (strstr(line, " common_") || strcspn(name, "[") < strcspn(name, ";") || strstr(line, "__data_loc") ||
		    strstr(line, "__rel_loc") || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || offset > UINT16_MAX)
			continue;
		ret_fields->at[found].offset = (uint16_t)offset;
		ret_fields->at[found].bytes = (uint8_t)bytes;
		ret_fields->at[found++].is_signed = is_signed != 0;
	}
}

static int attach_tracepoint(const struct programs *programs, const struct probe_point *point, uint32_t number,
			     struct attachment *ret_link, struct err *err)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = number);
	struct bpf_program *program = programs_find(programs, "on_probe_tracepoint");
	struct probe_fields fields;
	FILE *file = open_format(point);
	int r;

	if (!file)
		return err_set(err, -ENOENT, "--probe %s: this kernel has no trace point %s:%s (or tracefs is not mounted at "
			       "/sys/kernel/tracing)", point->written, point->provider, point->mark);
	read_format(file, &fields);
	fclose(file);
	r = bpf_map_update_elem(programs_map(programs, "probe_fields"), &number, &fields, BPF_ANY);
	if (r)
		return err_sys(err, r, "--probe %s", point->written);
	ret_link->link = bpf_program__attach_tracepoint_opts(program, point->provider, point->mark, &options);
	return ret_link->link ? 0 : err_sys(err, -errno, "--probe %s: attaching to the trace point", point->written);
}

/* ---- functions and marks ---- */

static int attach_place(const struct programs *programs, const struct probe_point *point, const struct probe_place *place, uint32_t number,
			struct attachment *ret_link, struct err *err)
{
	bool returns = point->kind == PROBE_KIND_return;
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = number, .retprobe = returns);
	struct bpf_program *program = programs_find(programs, returns ? "on_probe_return" : "on_probe_function");

	if (bpf_map_update_elem(programs_map(programs, "probe_fields"), &number, &point->fields, BPF_ANY))
		return err_sys(err, -errno, "--probe %s", point->written);
	if (programs_uprobe_multi(program)) {
		uint64_t cookie = number;

		errno = -links_uprobe_multi(bpf_program__fd(program), &(struct uprobe_places){ place->open, &place->offset, &cookie, 1, point->pid,
											       returns }, ret_link);
		if (!errno)
			return 0;
	} else {
		ret_link->link = bpf_program__attach_uprobe_opts(program, point->pid ? point->pid : -1, place->open, place->offset, &options);
		if (ret_link->link)
			return 0;
	}
	if (errno == ENOENT)
		return err_set(err, -ENOENT, "--probe %s: this kernel has no uprobes (CONFIG_UPROBE_EVENTS)", point->written);
	if (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOTSUP)
		return err_set(err, -errno, "--probe %s: the kernel refuses a probe at 0x%" PRIx64 " of %s", point->written,
			       place->offset, place->file);
	return err_sys(err, -errno, "--probe %s: attaching to %s", point->written, place->file);
}

static int attach_mark(const struct programs *programs, const struct probe_point *point, uint32_t number, struct attachment *ret_link,
		       struct err *err)
{
	LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = number);
	struct bpf_program *program = programs_find(programs, "on_probe_usdt");

	if (bpf_map_update_elem(programs_map(programs, "probe_fields"), &number, &point->fields, BPF_ANY))
		return err_sys(err, -errno, "--probe %s", point->written);
	ret_link->link = bpf_program__attach_usdt(program, -1, point->file, point->provider, point->mark, &options);
	if (ret_link->link)
		return 0;
	if (errno == ENOENT)
		return err_set(err, -ENOENT, "--probe %s: %s has no mark %s:%s", point->written, point->file, point->provider, point->mark);
	return err_sys(err, -errno, "--probe %s: attaching to %s", point->written, point->file);
}

static size_t link_count(const struct probe_points *points)
{
	size_t count = points->count;

	for (size_t i = 0; i < points->count; i++)
		count += points->items[i].place_count;
	return count;
}

/* Where it cannot be placed, for a process has ended or a file has gone, none of it is. */
static int attach_point(struct probes *probes, size_t index, struct err *err)
{
	const struct probe_point *point = &probes->points->items[index];
	uint32_t number = (uint32_t)index + 1;
	struct attachment link = { NULL, -1 };
	int r = 0;

	for (size_t j = 0; j < point->place_count && !r; j++) {
		r = attach_place(probes->programs, point, &point->places[j], number, &link, err);
		if (!r)
			probes->links[probes->count++] = (struct attached){ link, index };
	}
	if (point->kind == PROBE_KIND_usdt)
		r = attach_mark(probes->programs, point, number, &link, err);
	else if (point->kind == PROBE_KIND_tracepoint)
		r = attach_tracepoint(probes->programs, point, number, &link, err);
	if (!r && (point->kind == PROBE_KIND_usdt || point->kind == PROBE_KIND_tracepoint))
		probes->links[probes->count++] = (struct attached){ link, index };
	return point->optional ? 0 : r;
}

/* What is attached of one point, or of all. */
static void detach(struct probes *probes, size_t index)
{
	struct vec(struct attachment) links = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < probes->count; i++) {
		struct attached *attached = &probes->links[i];

		if (index != SIZE_MAX && attached->point != index)
			probes->links[kept++] = *attached;
		else if (probes->points->items[attached->point].kind == PROBE_KIND_usdt)
			bpf_link__destroy(attached->link.link);
		else
			vec_push(&links, attached->link);
	}
	probes->count = kept;
	links_destroy(links.items, links.length);
	vec_done(&links);
}

int probes_attach(const struct programs *programs, const struct probe_points *points, struct probes **ret_probes, struct err *err)
{
	struct probes *probes = mem_zalloc(sizeof(*probes) + link_count(points) * sizeof(probes->links[0]));
	int r = 0;

	probes->programs = programs;
	probes->points = points;
	probes->states = mem_zalloc(points->count * sizeof(*probes->states));
	probes->hits_fd = programs_map(programs, "probe_hits");
	probes->cpus = libbpf_num_possible_cpus();
	probes->counts = mem_zalloc((size_t)(probes->cpus > 0 ? probes->cpus : 1) * sizeof(*probes->counts));
	for (size_t i = 0; i < points->count && !r; i++)
		r = attach_point(probes, i, err);
	if (r) {
		probes_detach(probes);
		return r;
	}
	*ret_probes = probes;
	return 0;
}

/* ---- the budget ---- */

static void tell_switch(const struct probes *probes, size_t index, bool on, struct snapshot_sink *sink)
{
	struct event_probe_switch e = { .hits = probes->states[index].hits, .probe = (uint32_t)index + 1, .on = on };

	/* a failure of the trace is the agent's to report */
	sink->event(sink, 0, EVENT_probe_switch, &e, NULL, 0, NULL);
}

static void count_hits(struct probes *probes)
{
	for (uint32_t i = 0; i < probes->points->count; i++) {
		struct probe_state *state = &probes->states[i];
		uint32_t number = i + 1;
		uint64_t hits = 0;

		if (probes->cpus < 1 || bpf_map_lookup_elem(probes->hits_fd, &number, probes->counts))
			continue;
		for (int cpu = 0; cpu < probes->cpus; cpu++)
			hits += probes->counts[cpu];
		state->hits = hits - state->before;
		state->before = hits;
	}
}

static uint64_t cost_of(const struct probes *probes, size_t index)
{
	const struct probe_point *point = &probes->points->items[index];

	return point->pack ? probes->states[index].hits * ((point->slow ? SLOW_HIT_NS : HIT_NS) + (point->kind == PROBE_KIND_return ? RETURN_NS : 0)) : 0;
}

static bool together(const struct probe_point *a, const struct probe_point *b)
{
	return a == b || (a->pack && b->pack && a->group && a->group == b->group && !strcmp(a->pack, b->pack));
}

static void turn_off(struct probes *probes, size_t hottest, uint64_t now_ns, struct snapshot_sink *sink)
{
	for (size_t i = 0; i < probes->points->count; i++) {
		struct probe_state *state = &probes->states[i];

		if (state->off_until_ns || !together(&probes->points->items[i], &probes->points->items[hottest]))
			continue;
		state->pause_ns = !state->pause_ns ? PAUSE_SHORTEST_NS : state->pause_ns < PAUSE_LONGEST_NS ? state->pause_ns * 2 : PAUSE_LONGEST_NS;
		state->off_until_ns = now_ns + state->pause_ns;
		detach(probes, i);
		tell_switch(probes, i, false, sink);
	}
}

static void turn_on(struct probes *probes, uint64_t now_ns, struct snapshot_sink *sink)
{
	for (size_t i = 0; i < probes->points->count; i++) {
		struct probe_state *state = &probes->states[i];

		if (!state->off_until_ns || state->off_until_ns > now_ns)
			continue;
		/* a file that has gone meanwhile stays without */
		state->off_until_ns = attach_point(probes, i, NULL) ? UINT64_MAX : 0;
		if (!state->off_until_ns)
			tell_switch(probes, i, true, sink);
	}
}

void probes_keep_budget(struct probes *probes, double share, uint64_t now_ns, struct snapshot_sink *sink)
{
	uint64_t budget = (uint64_t)((double)(now_ns - probes->looked_ns) * share), cost = 0;
	bool first = !probes->looked_ns;

	count_hits(probes);
	probes->looked_ns = now_ns;
	if (first)
		return;
	turn_on(probes, now_ns, sink);
	for (size_t i = 0; i < probes->points->count; i++)
		cost += cost_of(probes, i);
	while (cost > budget) {
		size_t hottest = 0;

		for (size_t i = 1; i < probes->points->count; i++)
			if (cost_of(probes, i) > cost_of(probes, hottest))
				hottest = i;
		if (!cost_of(probes, hottest))
			break;
		turn_off(probes, hottest, now_ns, sink);
		for (size_t i = 0; i < probes->points->count; i++)
			if (probes->states[i].off_until_ns && cost_of(probes, i)) {
				cost -= cost_of(probes, i);
				probes->states[i].hits = 0;
			}
	}
}

void probes_detach(struct probes *probes)
{
	if (!probes)
		return;
	detach(probes, SIZE_MAX);
	free(probes->states);
	free(probes->counts);
	free(probes);
}
#endif
