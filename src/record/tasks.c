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
#include "record/stacks.h"

struct tasks {
	struct bpf_link *link;
	int want_fd;
	void *mapped;
	size_t mapped_bytes;
	struct task_found *found;
	struct stacks *stacks;    /* NULL: none are taken */
	struct task_seen *seen;   /* where the program reads it */
	size_t held;              /* bytes of the list */
	uint32_t seen_file;       /* in which its stacks' numbers hold */
};

#define FOUND_KEPT_BYTES (1u << 20) /* fewer are not worth giving back */
#define SEEN_BYTES (TASKS_SEEN * sizeof(struct task_seen))
#define RESOLVED_AT_ONCE 256u

/* Without it, no stacks are taken. */
static void map_seen(struct tasks *tasks, const struct programs *programs, struct stacks *stacks)
{
	int fd = stacks ? programs_map(programs, "tasks_seen") : -1;
	void *seen = fd >= 0 ? mmap(NULL, SEEN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (seen == MAP_FAILED)
		return;
	tasks->seen = seen;
	tasks->stacks = stacks;
}

int tasks_open(const struct programs *programs, struct stacks *stacks, struct tasks **ret_tasks, struct err *err)
{
	struct bpf_program *program = programs_find(programs, "tasks_each");
	struct tasks *tasks;
	int r;

	if (!program)
		return err_set(err, -ENOTSUP, "this kernel cannot list its threads by BPF (5.8 or later is needed)");
	tasks = mem_zalloc(sizeof(*tasks));
	tasks->want_fd = programs_map(programs, "tasks_want");
	tasks->link = tasks->want_fd >= 0 ? bpf_program__attach_iter(program, NULL) : NULL;
	if (!tasks->link) {
		r = tasks->want_fd >= 0 ? -errno : tasks->want_fd;
		free(tasks);
		return err_sys(err, r, "the iterator over threads cannot be attached");
	}
	/* address space only; pages are taken as threads are found */
	tasks->mapped_bytes = TASKS_MOST * sizeof(struct task_found);
	tasks->mapped = mem_reserve(tasks->mapped_bytes);
	if (!tasks->mapped) {
		r = -ENOMEM;
		bpf_link__destroy(tasks->link);
		free(tasks);
		return err_sys(err, r, "making room for the list of threads");
	}
	tasks->found = tasks->mapped;
	map_seen(tasks, programs, stacks);
	*ret_tasks = tasks;
	return 0;
}

void tasks_close(struct tasks *tasks)
{
	if (!tasks)
		return;
	bpf_link__destroy(tasks->link);
	munmap(tasks->mapped, tasks->mapped_bytes);
	if (tasks->seen)
		munmap(tasks->seen, SEEN_BYTES);
	free(tasks);
}

static void note_seen(struct tasks *tasks, const struct task_found *t)
{
	tasks->seen[t->tid & (TASKS_SEEN - 1)] = (struct task_seen){
		.start_ns = t->task.start_ns, .switches = t->switches, .tid = t->tid, .ustack = t->waiting.ustack, .kstack = t->waiting.kstack
	};
}

/* In another file of the trace the stacks of those that sleep on have other numbers. */
static void forget_seen(struct tasks *tasks)
{
	uint32_t file = stacks_files(tasks->stacks);

	if (file != tasks->seen_file)
		memset(tasks->seen, 0, SEEN_BYTES);
	tasks->seen_file = file;
}

/* The trace's numbers of the stacks, at once: the ring that tells of them must not fill. */
static void resolve_stacks(struct tasks *tasks, struct task_found *found, size_t count)
{
	uint32_t *ids[2 * RESOLVED_AT_ONCE];

	for (size_t at = 0, n; at < count; at += n) {
		size_t id_count = 0;

		n = count - at < RESOLVED_AT_ONCE ? count - at : RESOLVED_AT_ONCE;
		for (size_t i = at; i < at + n; i++) {
			if (found[i].stacks != TASK_STACKS_NEW)
				continue;
			ids[id_count++] = &found[i].waiting.ustack;
			ids[id_count++] = &found[i].waiting.kstack;
		}
		stacks_resolve(tasks->stacks, ids, id_count);
		for (size_t i = at; i < at + n; i++)
			if (found[i].stacks == TASK_STACKS_NEW)
				note_seen(tasks, &found[i]);
	}
}

void tasks_release(struct tasks *tasks)
{
	if (tasks->held > FOUND_KEPT_BYTES)
		madvise(tasks->mapped, tasks->mapped_bytes, MADV_DONTNEED);
	tasks->held = 0;
}

int tasks_find(struct tasks *tasks, const struct tasks_want *want, const struct task_found **ret_found,
	       size_t *ret_count, struct err *err)
{
	struct tasks_want asked = *want;
	size_t held = 0, resolved = 0;
	uint32_t zero = 0;
	int fd, r;

	asked.stacks = want->stacks && tasks->stacks;
	if (asked.stacks)
		forget_seen(tasks);
	r = bpf_map_update_elem(tasks->want_fd, &zero, &asked, BPF_ANY);
	if (r)
		return err_sys(err, r, "asking for the list of threads");
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
		if (asked.stacks) {
			resolve_stacks(tasks, tasks->found + resolved, held / sizeof(struct task_found) - resolved);
			resolved = held / sizeof(struct task_found);
		}
	}
	close(fd);
	tasks->held = held;
	if (r)
		return r;
	*ret_found = tasks->found;
	*ret_count = held / sizeof(struct task_found);
	return 0;
}
#endif
