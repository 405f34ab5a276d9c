/* See tasks.h. */
#ifdef HAVE_BPF
#include "record/tasks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/programs.h"

#define TASKS_MOST 131072u /* address space only; pages are taken as threads are found */

struct tasks {
	struct bpf_link *link;
	struct tasks_want *want;  /* in the program's data */
	void *mapped;
	size_t mapped_bytes;
	struct task_found *found;
};

int tasks_open(const struct programs *programs, struct tasks **ret_tasks, struct err *err)
{
	struct bpf_program *program = programs_find(programs, "tasks_each");
	struct tasks *tasks;
	int r;

	if (!program)
		return err_set(err, -ENOTSUP, "this kernel cannot list its threads by BPF (5.8 or later is needed)");
	tasks = mem_zalloc(sizeof(*tasks));
	tasks->want = programs_data(programs, "tasks", ".bss", "tasks_want", sizeof(*tasks->want));
	tasks->link = tasks->want ? bpf_program__attach_iter(program, NULL) : NULL;
	if (!tasks->link) {
		r = tasks->want ? -errno : -ENOENT;
		free(tasks);
		return err_sys(err, r, "the iterator over threads cannot be attached");
	}
	tasks->mapped_bytes = TASKS_MOST * sizeof(struct task_found);
	tasks->mapped = mmap(NULL, tasks->mapped_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tasks->mapped == MAP_FAILED) {
		r = -errno;
		bpf_link__destroy(tasks->link);
		free(tasks);
		return err_sys(err, r, "making room for the list of threads");
	}
	tasks->found = tasks->mapped;
	*ret_tasks = tasks;
	return 0;
}

void tasks_close(struct tasks *tasks)
{
	if (!tasks)
		return;
	bpf_link__destroy(tasks->link);
	munmap(tasks->mapped, tasks->mapped_bytes);
	free(tasks);
}

int tasks_find(struct tasks *tasks, const struct tasks_want *want, const struct task_found **ret_found,
	       size_t *ret_count, struct err *err)
{
	size_t held = 0;
	int fd, r = 0;

	*tasks->want = *want;
	fd = bpf_iter_create(bpf_link__fd(tasks->link));
	if (fd < 0)
		return err_sys(err, -errno, "the iterator over threads cannot be started");
	while (held < tasks->mapped_bytes) {
		ssize_t got = read(fd, (char *)tasks->mapped + held, tasks->mapped_bytes - held);

		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			r = err_sys(err, -errno, "listing threads");
		if (got <= 0)
			break;
		held += (size_t)got;
	}
	close(fd);
	if (r)
		return r;
	*ret_found = tasks->found;
	*ret_count = held / sizeof(struct task_found);
	return 0;
}
#endif
