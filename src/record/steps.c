/* See steps.h. */
#ifdef HAVE_BPF
#include "record/steps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/step_maps.h"

/* As in linux/bpf.h since 6.6. */
#define TRACE_UPROBE_MULTI 48

struct multi_link {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, multi_flags, pid, zero;
};

struct steps {
	struct step_wish *wish;     /* shared with the program */
	int multi;                  /* all places at once, -1: one by one */
	size_t count;
	struct bpf_link *links[];
};

static int attach_all(int program, const struct step_wishes *wishes)
{
	struct multi_link link = {
		.program_fd = (uint32_t)program, .attach_type = TRACE_UPROBE_MULTI, .path = (uintptr_t)wishes->path,
		.offsets = (uintptr_t)wishes->offsets, .count = (uint32_t)wishes->count, .pid = (uint32_t)wishes->pid,
	};
	union bpf_attr attr = { 0 };
	int fd;

	_Static_assert(sizeof(link) <= sizeof(attr), "the call's argument holds it");
	memcpy(&attr, &link, sizeof(link));
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

static int attach_each(struct bpf_program *program, const struct step_wishes *wishes, struct steps *steps, struct err *err)
{
	for (size_t i = 0; i < wishes->count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = false);

		steps->links[i] = bpf_program__attach_uprobe_opts(program, wishes->pid ? wishes->pid : -1, wishes->path, wishes->offsets[i], &options);
		if (!steps->links[i])
			return err_sys(err, -errno, "attaching to offset 0x%llx of %s", (unsigned long long)wishes->offsets[i], wishes->path);
		steps->count++;
	}
	return 0;
}

int steps_attach(const struct programs *programs, const struct step_wishes *wishes, struct steps **ret_steps, struct err *err)
{
	struct bpf_program *program = programs_find(programs, "on_step");
	struct step_wish wish = { .pid = (uint32_t)wishes->pid, .tid = (uint32_t)wishes->tid, .most = wishes->most };
	int map = programs_map(programs, "step_wishes"), r = 0;
	struct steps *steps;

	if (!program || map < 0)
		return err_set(err, -ENOENT, "the stepping program is missing");
	steps = mem_zalloc(sizeof(*steps) + wishes->count * sizeof(steps->links[0]));
	steps->multi = -1;
	steps->wish = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (steps->wish == MAP_FAILED) {
		free(steps);
		return err_sys(err, -errno, "mapping the stepping program's settings");
	}
	*steps->wish = wish;
	if (programs_uprobe_multi(programs)) {
		steps->multi = attach_all(bpf_program__fd(program), wishes);
		if (steps->multi < 0)
			r = err_sys(err, steps->multi, "attaching to %zu places of %s", wishes->count, wishes->path);
	} else {
		r = attach_each(program, wishes, steps, err);
	}
	if (r) {
		steps_detach(steps);
		return r;
	}
	*ret_steps = steps;
	return 0;
}

void steps_detach(struct steps *steps)
{
	if (!steps)
		return;
	if (steps->multi >= 0)
		close(steps->multi);
	while (steps->count)
		bpf_link__destroy(steps->links[--steps->count]);
	munmap(steps->wish, (size_t)sysconf(_SC_PAGESIZE));
	free(steps);
}

uint64_t steps_taken(const struct steps *steps)
{
	uint64_t taken = __atomic_load_n(&steps->wish->taken, __ATOMIC_RELAXED);

	return taken < steps->wish->most ? taken : steps->wish->most;
}
#endif
