/* See kernel.h. */
#ifdef HAVE_BPF
#include "record/kernel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"
#include "record/kernel_types.h"

struct kernel_modules {
	struct vec(struct btf *) types;
};

static void read_modules(const struct kernel *kernel)
{
	DIR *folder = opendir("/sys/kernel/btf");
	struct dirent *entry;
	struct btf *btf;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") && (btf = btf__load_module_btf(entry->d_name, kernel->btf))) {
			vec_push(&kernel->modules->types, btf);
			kernel_types_add(kernel->types, btf);
		}
	if (folder)
		closedir(folder);
}

int kernel_open(struct kernel *ret_kernel, struct err *err)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int r;

	if (!btf) {
		r = -errno;
		return err_set(err, r == -ENOENT || r == -ESRCH ? -ENOENT : r,
			       "this kernel has no type information (/sys/kernel/btf/vmlinux): boot one built "
			       "with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels are");
	}
	ret_kernel->btf = btf;
	ret_kernel->modules = mem_zalloc(sizeof(*ret_kernel->modules));
	ret_kernel->types = kernel_types_new();
	kernel_types_add(ret_kernel->types, btf);
	read_modules(ret_kernel);
	ret_kernel->types_fd = kernel_types_file();
	ret_kernel->casts = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	return 0;
}

void kernel_close(struct kernel *kernel)
{
	for (size_t i = 0; kernel->modules && i < kernel->modules->types.length; i++)
		btf__free(kernel->modules->types.items[i]);
	if (kernel->modules)
		vec_done(&kernel->modules->types);
	free(kernel->modules);
	kernel_types_free(kernel->types);
	if (kernel->types_fd >= 0)
		close(kernel->types_fd);
	btf__free(kernel->btf);
	*kernel = (struct kernel){ .types_fd = -1 };
}

static int find(const struct kernel *kernel, const char *prefix, const char *name, unsigned kind)
{
	char full[160];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	return btf__find_by_name_kind(kernel->btf, full, kind);
}

bool kernel_has_tracepoint(const struct kernel *kernel, const char *name)
{
	char full[160];

	snprintf(full, sizeof(full), "btf_trace_%s", name);
	return kernel_types_has(kernel->types, full, BTF_KIND_TYPEDEF);
}

bool kernel_has_iterator(const struct kernel *kernel, const char *name)
{
	return find(kernel, "bpf_iter_", name, BTF_KIND_FUNC) > 0;
}

bool kernel_has_casts(const struct kernel *kernel)
{
	return kernel->casts;
}

int kernel_types_file(void)
{
	return memfd_create("types", MFD_CLOEXEC);
}

const char *kernel_types_path(int fd, char path[KERNEL_TYPES_PATH])
{
	snprintf(path, KERNEL_TYPES_PATH, "/proc/self/fd/%d", fd);
	return path;
}

int kernel_types_write(const struct kernel *kernel, const struct btf *object, int fd)
{
	size_t bytes, at = 0;
	char *data = kernel_types_for(kernel->types, object, &bytes);
	int r = ftruncate(fd, 0) ? -errno : 0;

	while (!r && at < bytes) {
		ssize_t done = pwrite(fd, data + at, bytes - at, (off_t)at);

		if (done > 0)
			at += (size_t)done;
		else if (errno != EINTR)
			r = -errno;
	}
	free(data);
	return r;
}

/* Offset of a per-CPU variable in the per-CPU area; -1 when there is none. */
static int64_t variable_offset(const struct kernel *kernel, const char *name, uint32_t *ret_bytes, int *ret_type)
{
	int section = btf__find_by_name_kind(kernel->btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *type = section > 0 ? btf__type_by_id(kernel->btf, (uint32_t)section) : NULL;

	if (!type)
		return -1;
	for (unsigned i = 0; i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *info = &btf_var_secinfos(type)[i];
		const struct btf_type *variable = btf__type_by_id(kernel->btf, info->type);

		if (strcmp(btf__name_by_offset(kernel->btf, variable->name_off), name))
			continue;
		if (ret_bytes)
			*ret_bytes = info->size;
		if (ret_type)
			*ret_type = (int)variable->type;
		return info->offset;
	}
	return -1;
}

static int64_t member_offset(const struct kernel *kernel, int type_id, const char *name)
{
	const struct btf_type *type = btf__type_by_id(kernel->btf, (uint32_t)type_id);

	if (!type || !btf_is_struct(type))
		return -1;
	for (unsigned i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];

		if (!strcmp(btf__name_by_offset(kernel->btf, member->name_off), name))
			return btf_member_bit_offset(type, i) / 8;
	}
	return -1;
}

static int64_t distance(int64_t from, int64_t to)
{
	return from < 0 || to < 0 ? PERCPU_ABSENT : to - from;
}

/* How many arguments a trace point passes, with the hidden context; 0 there is none. */
static unsigned tracepoint_arguments(const struct kernel *kernel, const char *name)
{
	int id = find(kernel, "btf_trace_", name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? btf__type_by_id(kernel->btf, (uint32_t)id) : NULL;

	while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
		type = btf__type_by_id(kernel->btf, type->type);
	return type && btf_is_func_proto(type) ? btf_vlen(type) : 0;
}

void kernel_configure(const struct kernel *kernel, struct record_config *config)
{
	int64_t queue = variable_offset(kernel, "runqueues", NULL, NULL), preempt;
	uint32_t bytes = 0;
	int type = 0;

	preempt = variable_offset(kernel, "__preempt_count", NULL, NULL);
	if (preempt < 0) {
		/* from 6.2 to 6.14 a member of the processor's hot words */
		int64_t hot = variable_offset(kernel, "pcpu_hot", NULL, &type);
		int64_t member = hot < 0 ? -1 : member_offset(kernel, type, "preempt_count");

		/* the members may lie in an unnamed structure at the start */
		for (int i = 0; hot >= 0 && member < 0 && i < 2; i++) {
			const struct btf_type *outer = btf__type_by_id(kernel->btf, (uint32_t)type);

			if (!outer || !btf_is_composite(outer) || !btf_vlen(outer))
				break;
			type = (int)btf_members(outer)[0].type;
			member = member_offset(kernel, type, "preempt_count");
		}
		preempt = member < 0 ? -1 : hot + member;
	}
	config->preempt_count = distance(queue, preempt);
	config->hrtimer_bases = distance(queue, variable_offset(kernel, "hrtimer_bases", NULL, NULL));
	config->softnet_data = distance(queue, variable_offset(kernel, "softnet_data", NULL, NULL));
	config->timer_bases = distance(queue, variable_offset(kernel, "timer_bases", &bytes, &type));
	if (config->timer_bases != PERCPU_ABSENT) {
		int64_t element = -1;
		const struct btf_type *array = btf__type_by_id(kernel->btf, (uint32_t)type);

		if (array && btf_is_array(array)) {
			config->timer_base_count = btf_array(array)->nelems;
			element = config->timer_base_count ? bytes / config->timer_base_count : 0;
		}
		if (element <= 0)
			config->timer_bases = PERCPU_ABSENT;
		else
			config->timer_base_bytes = (uint32_t)element;
	}
	/* the hidden context, then preempt, prev, next, prev_state */
	config->switch_has_state = tracepoint_arguments(kernel, "sched_switch") >= 5;
	/* the hidden context, ring, request, entry; before, the entry's parts */
	config->uring_passes_entry = tracepoint_arguments(kernel, "io_uring_complete") == 4;
}
#endif
