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

struct probes {
	size_t count;
	struct bpf_link *links[];
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
			     struct bpf_link **ret_link, struct err *err)
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
	*ret_link = bpf_program__attach_tracepoint_opts(program, point->provider, point->mark, &options);
	return *ret_link ? 0 : err_sys(err, -errno, "--probe %s: attaching to the trace point", point->written);
}

/* ---- functions and marks ---- */

static int attach_place(const struct programs *programs, const struct probe_point *point, const struct probe_place *place, uint32_t number,
			struct bpf_link **ret_link, struct err *err)
{
	bool returns = point->kind == PROBE_KIND_return;
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = number, .retprobe = returns);
	struct bpf_program *program = programs_find(programs, returns ? "on_probe_return" : "on_probe_function");

	if (bpf_map_update_elem(programs_map(programs, "probe_fields"), &number, &point->fields, BPF_ANY))
		return err_sys(err, -errno, "--probe %s", point->written);
	*ret_link = bpf_program__attach_uprobe_opts(program, point->pid ? point->pid : -1, place->open, place->offset, &options);
	if (*ret_link)
		return 0;
	if (errno == ENOENT)
		return err_set(err, -ENOENT, "--probe %s: this kernel has no uprobes (CONFIG_UPROBE_EVENTS)", point->written);
	if (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOTSUP)
		return err_set(err, -errno, "--probe %s: the kernel refuses a probe at 0x%" PRIx64 " of %s", point->written,
			       place->offset, place->file);
	return err_sys(err, -errno, "--probe %s: attaching to %s", point->written, place->file);
}

static int attach_mark(const struct programs *programs, const struct probe_point *point, uint32_t number, struct bpf_link **ret_link,
		       struct err *err)
{
	LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = number);
	struct bpf_program *program = programs_find(programs, "on_probe_usdt");

	*ret_link = bpf_program__attach_usdt(program, -1, point->file, point->provider, point->mark, &options);
	if (*ret_link)
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

int probes_attach(const struct programs *programs, const struct probe_points *points, struct probes **ret_probes, struct err *err)
{
	struct probes *probes = mem_zalloc(sizeof(*probes) + link_count(points) * sizeof(probes->links[0]));
	int r = 0;

	for (size_t i = 0; i < points->count && !r; i++) {
		const struct probe_point *point = &points->items[i];
		uint32_t number = (uint32_t)i + 1;

		for (size_t j = 0; j < point->place_count && !r; j++)
			r = attach_place(programs, point, &point->places[j], number, &probes->links[probes->count++], err);
		if (point->kind == PROBE_KIND_usdt)
			r = attach_mark(programs, point, number, &probes->links[probes->count++], err);
		else if (point->kind == PROBE_KIND_tracepoint)
			r = attach_tracepoint(programs, point, number, &probes->links[probes->count++], err);
	}
	if (r) {
		probes_detach(probes);
		return r;
	}
	*ret_probes = probes;
	return 0;
}

void probes_detach(struct probes *probes)
{
	if (!probes)
		return;
	while (probes->count)
		bpf_link__destroy(probes->links[--probes->count]);
	free(probes);
}
#endif
