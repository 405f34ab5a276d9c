/* See watch_others.h. */
#ifdef HAVE_BPF
#include "record/watch_others.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/options.h"
#include "base/vec.h"
#include "record/watch_maps.h"

struct watch_others {
	struct bpf_program *program;   /* the iterator over threads; NULL: this kernel takes none */
	struct bpf_link *link;         /* NULL until asked for */
	int process_fd;
	struct vec(struct watch_thread) threads;
};

struct watch_others *watch_others_new(const struct programs *programs)
{
	struct watch_others *others = mem_zalloc(sizeof(*others));

	others->program = programs_find(programs, "watch_threads");
	others->process_fd = programs_map(programs, "watch_process");
	return others;
}

void watch_others_free(struct watch_others *others)
{
	if (!others)
		return;
	bpf_link__destroy(others->link);
	vec_done(&others->threads);
	free(others);
}

static int read_threads(struct watch_others *others, int fd, struct err *err)
{
	struct watch_thread_found found[64];

	others->threads.length = 0;
	for (;;) {
		ssize_t got = read(fd, found, sizeof(found));

		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return err_sys(err, -errno, "listing threads");
		if (!got)
			return 0;
		for (size_t i = 0; i < (size_t)got / sizeof(*found); i++)
			vec_push(&others->threads, ((struct watch_thread){ (pid_t)found[i].tid, found[i].pointer }));
	}
}

int watch_others_threads(void *data, pid_t pid, const struct watch_thread **ret_threads, size_t *ret_count, struct err *err)
{
	struct watch_others *others = data;
	uint32_t zero = 0, process = (uint32_t)pid;
	int fd, r;

	if (!others->link && others->program)
		others->link = bpf_program__attach_iter(others->program, NULL);
	if (!others->link || bpf_map_update_elem(others->process_fd, &zero, &process, BPF_ANY))
		return err_set(err, -ENOTSUP, "this kernel cannot list threads by BPF (5.8 or later is needed), so where they have their own "
			       "variables is not known: give an address");
	fd = bpf_iter_create(bpf_link__fd(others->link));
	if (fd < 0)
		return err_sys(err, -errno, "listing threads");
	r = read_threads(others, fd, err);
	close(fd);
	*ret_threads = others->threads.items;
	*ret_count = others->threads.length;
	return r;
}

/* Where the process has the same byte; 0 nowhere. */
static uint64_t same_memory(const struct process *process, const struct process_mapping *mapping, uint64_t offset)
{
	for (size_t i = 0; i < process->count; i++) {
		const struct process_mapping *m = &process->mappings[i];

		if (m->shared && m->inode == mapping->inode && m->device == mapping->device && offset >= m->offset &&
		    offset - m->offset < m->end - m->start)
			return m->start + (offset - m->offset);
	}
	return 0;
}

size_t watch_others_sharing(struct arena *arena, const struct watch_place *place, struct watch_place *places, size_t most)
{
	const struct process_mapping *mapping = NULL;
	DIR *folder = opendir("/proc");
	struct process process;
	struct dirent *entry;
	uint64_t number;
	size_t count = 0;

	if (folder && !process_look(arena, place->pid, &process, NULL))
		mapping = process_mapping_at(&process, place->address);
	while (mapping && count < most && (entry = readdir(folder))) {
		struct arena_mark mark = arena_mark(arena);
		uint64_t address = 0;

		if (parse_number(entry->d_name, &number) || !number || number > INT32_MAX || (pid_t)number == place->pid)
			continue;
		if (!process_look(arena, (pid_t)number, &process, NULL))
			address = same_memory(&process, mapping, mapping->offset + (place->address - mapping->start));
		arena_rewind(arena, mark);
		if (!address)
			continue;
		places[count] = *place;
		places[count].pid = (pid_t)number;
		places[count++].address = address;
	}
	if (folder)
		closedir(folder);
	return count;
}
#endif
