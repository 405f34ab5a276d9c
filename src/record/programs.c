/* See programs.h. */
#ifdef HAVE_BPF
#include "record/programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/tasks.h" /* what skeletons name */
#include "record/bpf/core.skel.h"
#include "record/bpf/core_copies.skel.h"
#include "record/bpf/probe.skel.h"
#include "record/bpf/probe_copies.skel.h"
#include "record/bpf/step.skel.h"
#include "record/bpf/step_copies.skel.h"
#include "record/bpf/syscall.skel.h"
#include "record/bpf/syscall_copies.skel.h"
#include "record/bpf/tasks.skel.h"
#include "record/bpf/tasks_copies.skel.h"
#include "record/bpf/watch.skel.h"
#include "record/bpf/watch_copies.skel.h"
#include "record/bpf/work.skel.h"
#include "record/bpf/work_copies.skel.h"
#include "record/links.h"
#include "record/ring.h"

#define OBJECTS_MAX 24
#define LINKS_MAX 128
#define ABSENT_MAX 64

struct programs {
	struct bpf_object *objects[OBJECTS_MAX];
	size_t object_count;
	struct bpf_link *links[LINKS_MAX];
	size_t link_count;
	const char *absent[ABSENT_MAX], *refused[ABSENT_MAX];
	size_t absent_count, refused_count;
};

enum when { WHEN_ALWAYS, WHEN_LEVEL, WHEN_FULL, WHEN_CALLS, WHEN_PROBES, WHEN_WATCHES, WHEN_STEPS };
enum kind { KIND_WHOLE, KIND_PARTS };

struct object_entry {
	const char *name;
	const void *(*bytes)(size_t *size);
	const void *(*bytes_copies)(size_t *size); /* for kernels without casts */
	enum when when;
	enum kind kind;
};

/* Of which something else holds than of its object. */
struct program_entry {
	const char *name;
	enum when when;
	enum kind kind;
};

static const struct object_entry entries[] = {
#define OBJECT(name, when, kind) { #name, name##__elf_bytes, name##_copies__elf_bytes, WHEN_##when, KIND_##kind },
#include "record/objects.def"
};

static const struct program_entry program_entries[] = {
#define PROGRAM(name, when, kind) { #name, WHEN_##when, KIND_##kind },
#include "record/objects.def"
};

#define TAKE_STACK "take_stack"

static const char *const stack_taken[] = {
#define STACK_TAKEN(name) #name,
#include "record/objects.def"
};

_Static_assert(sizeof(entries) / sizeof(entries[0]) <= OBJECTS_MAX, "room for all objects");

/* The library's own words go to whom asks for them by LIBBPF_LOG_LEVEL=debug;
 * failures are told in ours. */
static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	const char *wanted = getenv("LIBBPF_LOG_LEVEL");

	if (!wanted || (level == LIBBPF_DEBUG && strcmp(wanted, "debug")))
		return 0;
	return vfprintf(stderr, format, arguments);
}

/* Place of a variable in a section of the object's data; -1 when there is none
 * of this size. */
static long variable_offset(const struct bpf_object *object, const char *section_name, const char *name, size_t size)
{
	const struct btf *btf = bpf_object__btf(object);
	int section = btf__find_by_name_kind(btf, section_name, BTF_KIND_DATASEC);
	const struct btf_type *type = section > 0 ? btf__type_by_id(btf, (uint32_t)section) : NULL;

	for (unsigned i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *info = &btf_var_secinfos(type)[i];
		const struct btf_type *variable = btf__type_by_id(btf, info->type);

		if (!strcmp(btf__name_by_offset(btf, variable->name_off), name))
			return info->size == size ? (long)info->offset : -1;
	}
	return -1;
}

/* The map that holds a section of the object's data; NULL when it has none. */
static struct bpf_map *data_map(const struct bpf_object *object, const char *section)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const char *dot = strchr(bpf_map__name(map), '.');

		if (dot && !strcmp(dot, section))
			return map;
	}
	return NULL;
}

/* Sets the object's constant `config`, where it has one. */
static int configure(struct bpf_object *object, const struct record_config *config)
{
	long offset = variable_offset(object, ".rodata", "config", sizeof(*config));
	struct bpf_map *map = data_map(object, ".rodata");
	const void *initial;
	size_t size;
	char *data;
	int r;

	if (offset < 0 || !map)
		return 0;
	initial = bpf_map__initial_value(map, &size);
	if (!initial || (size_t)offset + sizeof(*config) > size)
		return -EPROTO;
	data = mem_alloc(size);
	memcpy(data, initial, size);
	memcpy(data + offset, config, sizeof(*config));
	r = bpf_map__set_initial_value(map, data, size);
	free(data);
	return r;
}

static bool is_internal(const struct bpf_map *map)
{
	return strchr(bpf_map__name(map), '.') != NULL;
}

static int share_maps(const struct programs *programs, struct bpf_object *object, const struct programs_options *options)
{
	struct bpf_map *map;
	int r = 0, fd;

	bpf_object__for_each_map(map, object) {
		if (is_internal(map))
			continue;
		fd = programs_map(programs, bpf_map__name(map));
		if (fd >= 0) {
			r = bpf_map__reuse_fd(map, fd);
		} else if (!strcmp(bpf_map__name(map), "rings")) {
			r = bpf_map__set_value_size(map, (uint32_t)(RING_DATA + options->config.ring_bytes + RING_SLACK));
			if (!r)
				r = bpf_map__set_max_entries(map, options->cpus);
		} else if (!strcmp(bpf_map__name(map), "cache")) {
			/* so many for each processor */
			r = bpf_map__set_max_entries(map, bpf_map__max_entries(map) * options->cpus);
		} else if (!strcmp(bpf_map__name(map), "filter_set") && !options->config.filtered) {
			r = bpf_map__set_max_entries(map, 1);
		}
		if (r)
			return r;
	}
	return 0;
}

/* Trace points of two names, of which a kernel has one. */
static const char *other_name(const char *hook)
{
	static const char *const pairs[][2] = { { "io_uring_submit_req", "io_uring_submit_sqe" } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (unsigned side = 0; side < 2; side++)
			if (!strcmp(hook, pairs[i][side]))
				return pairs[i][!side];
	return NULL;
}

static bool is_for(enum when when, const struct programs_options *options)
{
	switch (when) {
	case WHEN_ALWAYS: return true;
	case WHEN_LEVEL: return !options->look;
	case WHEN_FULL: return options->full;
	case WHEN_CALLS: return options->calls;
	case WHEN_PROBES: return options->probes;
	case WHEN_WATCHES: return options->watches;
	case WHEN_STEPS: return options->steps;
	}
	return false;
}

static struct program_entry entry_of(const struct object_entry *object, const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);

	for (size_t i = 0; i < sizeof(program_entries) / sizeof(program_entries[0]); i++)
		if (!strcmp(program_entries[i].name, name))
			return program_entries[i];
	return (struct program_entry){ name, object->when, object->kind };
}

/* A look of a moment is to begin soon: what seldom says something about it is not loaded. */
static bool is_spared(const struct object_entry *object, const struct bpf_program *program, const struct programs_options *options)
{
	return !is_for(entry_of(object, program).when, options);
}

/* The program's hook if this kernel does not have it, else NULL. */
static const char *absent_hook(const struct bpf_program *program, const struct kernel *kernel)
{
	const char *section = bpf_program__section_name(program), *hook = strchr(section, '/');
	bool there = true;

	if (!hook)
		return NULL;
	hook++;
	if (!strncmp(section, "tp_btf/", 7))
		there = kernel_has_tracepoint(kernel, hook);
	else if (!strncmp(section, "iter", 4))
		there = kernel_has_iterator(kernel, hook);
	return there ? NULL : hook;
}

/* The object is one of ours from now on, which the names of what it lacks live in. */
static void keep_object(struct programs *programs, const struct object_entry *entry, struct bpf_object *object,
			const struct kernel *kernel, const struct programs_options *options)
{
	struct bpf_program *program;

	programs->objects[programs->object_count++] = object;
	bpf_object__for_each_program(program, object) {
		const char *hook = absent_hook(program, kernel);

		if (bpf_program__autoload(program) || is_spared(entry, program, options))
			continue;
		if (!hook && programs->refused_count < ABSENT_MAX)
			programs->refused[programs->refused_count++] = bpf_program__name(program);
		if (hook && !(other_name(hook) && kernel_has_tracepoint(kernel, other_name(hook))) && programs->absent_count < ABSENT_MAX)
			programs->absent[programs->absent_count++] = hook;
	}
}

static int not_allowed(struct err *err)
{
	return err_set(err, -EPERM,
		       "the kernel does not let this user load BPF programs: run as root (sudo argus ...), "
		       "or give CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; `argus doctor` tells more");
}

int programs_allowed(struct err *err)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int fd;

	/* before several threads load */
	libbpf_set_print(quiet);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	/* before 5.11 BPF memory counts as locked */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint64_t), 1, NULL);
	if (fd == -EPERM)
		return not_allowed(err);
	if (fd >= 0)
		close(fd);
	return 0;
}

static bool has_uprobe_multi(const struct kernel *kernel)
{
	return btf__find_by_name_kind(kernel->btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
}

/* Those that many places of one file can be given to at once. */
static bool takes_many_places(const struct bpf_program *program)
{
	static const char *const names[] = { "on_step", "on_probe_function", "on_probe_return" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(bpf_program__name(program), names[i]))
			return true;
	return false;
}

bool programs_uprobe_multi(const struct bpf_program *program)
{
	return (int)bpf_program__expected_attach_type(program) == TRACE_UPROBE_MULTI;
}

/* Opened, and prepared as it would be loaded. */
static int open_one(const struct programs *programs, const struct object_entry *entry, const struct kernel *kernel,
		    const struct programs_options *options, struct bpf_object **ret_object, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .object_name = entry->name);
	char types[KERNEL_TYPES_PATH];
	struct bpf_program *program;
	struct bpf_object *object;
	const void *bytes;
	size_t size;
	int r;

	if (kernel->types_fd >= 0)
		open.btf_custom_path = kernel_types_path(kernel->types_fd, types);
	bytes = kernel_has_casts(kernel) ? entry->bytes(&size) : entry->bytes_copies(&size);
	object = bpf_object__open_mem(bytes, size, &open);
	if (!object)
		return err_sys(err, -errno, "opening the BPF object '%s'", entry->name);
	r = configure(object, &options->config);
	if (!r)
		r = share_maps(programs, object, options);
	if (!r && kernel->types_fd >= 0)
		r = kernel_types_write(kernel, bpf_object__btf(object), kernel->types_fd);
	if (r) {
		bpf_object__close(object);
		return err_sys(err, r, "preparing the BPF object '%s'", entry->name);
	}
	bpf_object__for_each_program(program, object) {
		if (absent_hook(program, kernel) || is_spared(entry, program, options))
			bpf_program__set_autoload(program, false);
		if (takes_many_places(program) && has_uprobe_multi(kernel))
			bpf_program__set_expected_attach_type(program, TRACE_UPROBE_MULTI);
	}
	*ret_object = object;
	return 0;
}

static int program_info(const struct bpf_program *program, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);
	int fd = bpf_program__fd(program);

	memset(info, 0, sizeof(*info));
	return fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, info, &size);
}

static void tell_program(const struct object_entry *entry, const struct bpf_program *program, int status,
			 void (*take)(void *data, const struct program_check *check), void *data)
{
	struct bpf_prog_info info = { 0 };
	struct program_check check = { .object = entry->name, .name = bpf_program__name(program), .status = status,
				       .needed = entry->when == WHEN_ALWAYS && entry_of(entry, program).kind == KIND_WHOLE };

	if (!status && !program_info(program, &info))
		check.instructions = info.verified_insns;
	take(data, &check);
}

/* The nth of an object's programs by itself; false when there are no more. */
static bool check_nth(const struct object_entry *entry, const struct kernel *kernel, const struct programs_options *options, size_t n,
		      void (*take)(void *data, const struct program_check *check), void *data)
{
	struct programs alone = { 0 };
	struct bpf_program *program, *chosen = NULL;
	struct bpf_object *object;
	size_t at = 0;

	if (open_one(&alone, entry, kernel, options, &object, NULL))
		return false;
	bpf_object__for_each_program(program, object) {
		if (at++ == n && bpf_program__autoload(program))
			chosen = program;
		else
			bpf_program__set_autoload(program, false);
	}
	if (chosen)
		tell_program(entry, chosen, bpf_object__load(object), take, data);
	bpf_object__close(object);
	return n < at;
}

static void check_one(const struct object_entry *entry, const struct kernel *kernel, const struct programs_options *options,
		      void (*take)(void *data, const struct program_check *check), void *data)
{
	struct programs alone = { 0 };
	struct bpf_program *program;
	struct bpf_object *object;
	int r;

	if (open_one(&alone, entry, kernel, options, &object, NULL))
		return;
	r = bpf_object__load(object);
	if (!r)
		bpf_object__for_each_program(program, object)
			if (bpf_program__autoload(program))
				tell_program(entry, program, 0, take, data);
	bpf_object__close(object);
	for (size_t n = 0; r && check_nth(entry, kernel, options, n, take, data);)
		n++;
}

void programs_check(const struct kernel *kernel, const struct programs_options *options,
		    void (*take)(void *data, const struct program_check *check), void *data)
{
	libbpf_set_print(quiet);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (is_for(entries[i].when, options))
			check_one(&entries[i], kernel, options, take, data);
}

struct refusals {
	const struct object_entry *entry;
	struct bpf_object *object;
	size_t count;
	bool needed;               /* one without which there is no recording is among them */
};

static void leave_out(void *data, const struct program_check *check)
{
	struct refusals *refusals = data;
	struct bpf_program *program = check->status ? bpf_object__find_program_by_name(refusals->object, check->name) : NULL;

	if (!program)
		return;
	bpf_program__set_autoload(program, false);
	refusals->count++;
	refusals->needed |= entry_of(refusals->entry, program).kind == KIND_WHOLE;
}

/* An object that the kernel has refused, without those of its programs that it refuses. */
static int load_rest(const struct programs *programs, const struct object_entry *entry, const struct kernel *kernel,
		     const struct programs_options *options, struct bpf_object **ret_object)
{
	struct refusals refusals = { .entry = entry };
	int r = open_one(programs, entry, kernel, options, &refusals.object, NULL);

	if (r)
		return r;
	check_one(entry, kernel, options, leave_out, &refusals);
	r = refusals.count && !refusals.needed ? bpf_object__load(refusals.object) : -ENOEXEC;
	if (r)
		bpf_object__close(refusals.object);
	else
		*ret_object = refusals.object;
	return r;
}

static int load_one(struct programs *programs, const struct object_entry *entry, const struct kernel *kernel,
		    const struct programs_options *options, struct err *err)
{
	struct bpf_object *object;
	int r = open_one(programs, entry, kernel, options, &object, err);

	if (r)
		return r;
	r = bpf_object__load(object);
	if (r) {
		bpf_object__close(object);
		if (r == -EPERM)
			return not_allowed(err);
		if (load_rest(programs, entry, kernel, options, &object))
			return err_sys(err, r, "loading the BPF object '%s' (`argus doctor` tells which program the kernel refuses, "
				       "LIBBPF_LOG_LEVEL=info its words)", entry->name);
	}
	keep_object(programs, entry, object, kernel, options);
	return 0;
}

int programs_load(const struct kernel *kernel, const struct programs_options *options, struct programs **ret_programs,
		  struct err *err)
{
	struct programs *programs = mem_zalloc(sizeof(*programs));
	int r;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!is_for(entries[i].when, options))
			continue;
		r = load_one(programs, &entries[i], kernel, options, err);
		if (r) {
			programs_free(programs);
			return r;
		}
	}
	*ret_programs = programs;
	return 0;
}

static bool is_hook(const char *section)
{
	return !strncmp(section, "tp_btf/", 7) || !strncmp(section, "raw_tp/", 7) || !strncmp(section, "tp/", 3);
}

static int keep_link(struct programs *programs, struct bpf_link *link, const char *where, struct err *err)
{
	if (!link) {
		int r = errno ? -errno : -ENOSPC;

		programs_detach(programs);
		return err_sys(err, r, "attaching to '%s'", where);
	}
	programs->links[programs->link_count++] = link;
	return 0;
}

/* Before the programs whose stacks it takes: what is attached first runs first. */
static int attach_take_stack(struct programs *programs, struct err *err)
{
	struct bpf_program *taker = programs_find(programs, TAKE_STACK);
	int r = 0;

	for (size_t i = 0; taker && !r && i < sizeof(stack_taken) / sizeof(stack_taken[0]); i++) {
		struct bpf_program *program = programs_find(programs, stack_taken[i]);
		const char *hook = program ? strchr(bpf_program__section_name(program), '/') : NULL;

		if (hook)
			r = keep_link(programs, bpf_program__attach_raw_tracepoint(taker, hook + 1), hook + 1, err);
	}
	return r;
}

int programs_attach(struct programs *programs, struct err *err)
{
	struct bpf_program *program;
	struct bpf_link *link;
	int r = attach_take_stack(programs, err);

	for (size_t i = 0; !r && i < programs->object_count; i++) {
		bpf_object__for_each_program(program, programs->objects[i]) {
			if (r || !bpf_program__autoload(program) || !is_hook(bpf_program__section_name(program)))
				continue;
			link = programs->link_count < LINKS_MAX ? bpf_program__attach(program) : NULL;
			r = keep_link(programs, link, bpf_program__section_name(program), err);
		}
	}
	return r;
}

void programs_detach(struct programs *programs)
{
	while (programs->link_count)
		bpf_link__destroy(programs->links[--programs->link_count]);
}

void programs_free(struct programs *programs)
{
	if (!programs)
		return;
	programs_detach(programs);
	while (programs->object_count)
		bpf_object__close(programs->objects[--programs->object_count]);
	free(programs);
}

struct bpf_program *programs_find(const struct programs *programs, const char *name)
{
	for (size_t i = 0; i < programs->object_count; i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(programs->objects[i], name);

		if (program)
			return bpf_program__autoload(program) ? program : NULL;
	}
	return NULL;
}

int programs_map(const struct programs *programs, const char *name)
{
	for (size_t i = 0; i < programs->object_count; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(programs->objects[i], name);

		if (map)
			return bpf_map__fd(map);
	}
	return -ENOENT;
}

uint64_t programs_missed(const struct programs *programs)
{
	struct bpf_program *program;
	struct bpf_prog_info info;
	uint64_t missed = 0;

	/* of the stacks' only a stack is missed */
	for (size_t i = 0; i < programs->object_count; i++)
		bpf_object__for_each_program(program, programs->objects[i])
			if (strcmp(bpf_program__name(program), TAKE_STACK) && !program_info(program, &info))
				missed += info.recursion_misses;
	return missed;
}

void programs_cost(const struct programs *programs, uint64_t *ret_ns, uint64_t *ret_runs)
{
	struct bpf_program *program;
	struct bpf_prog_info info;

	*ret_ns = *ret_runs = 0;
	for (size_t i = 0; i < programs->object_count; i++)
		bpf_object__for_each_program(program, programs->objects[i])
			if (!program_info(program, &info)) {
				*ret_ns += info.run_time_ns;
				*ret_runs += info.run_cnt;
			}
}

const char *programs_absent(const struct programs *programs, size_t n)
{
	return n < programs->absent_count ? programs->absent[n] : NULL;
}

const char *programs_refused(const struct programs *programs, size_t n)
{
	return n < programs->refused_count ? programs->refused[n] : NULL;
}
#endif
