/* See process.h. */
#include "probe/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/map.h"
#include "base/options.h"
#include "base/vec.h"

/* Paths come with newlines as \012; the mark of deleted files is no part of the name. */
static const char *clean_path(struct arena *arena, const char *text)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(text);
	char *path, *to;

	if (length > sizeof(deleted) - 1 && !strcmp(text + length - (sizeof(deleted) - 1), deleted))
		length -= sizeof(deleted) - 1;
	path = to = arena_strndup(arena, text, length);
	for (const char *from = path; *from;) {
		bool newline = !strncmp(from, "\\012", 4);

		*to++ = newline ? '\n' : *from;
		from += newline ? 4 : 1;
	}
	*to = 0;
	return path;
}

static bool read_line(struct arena *arena, char *line, struct process_mapping *ret_mapping)
{
	struct process_mapping mapping = { 0 };
	unsigned major, minor;
	char protection[8];
	int name = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping.start, &mapping.end, protection,
		   &mapping.offset, &major, &minor, &mapping.inode, &name) < 7)
		return false;
	mapping.device = makedev(major, minor);
	mapping.path = name ? clean_path(arena, line + name) : "";
	mapping.protection = (uint8_t)((protection[0] == 'r' ? PROT_READ : 0) | (protection[1] == 'w' ? PROT_WRITE : 0) |
				       (protection[2] == 'x' ? PROT_EXEC : 0));
	mapping.shared = protection[3] == 's';
	*ret_mapping = mapping;
	return true;
}

static int check_program(pid_t pid, struct err *err)
{
	unsigned char head[EI_NIDENT] = { 0 };
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set(err, -ESRCH, "process %d is one of the kernel, or has ended", (int)pid);
	if (fd < 0)
		return err_sys(err, -errno, "looking at process %d", (int)pid);
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n == sizeof(head) && !memcmp(head, ELFMAG, SELFMAG) && head[EI_CLASS] != ELFCLASS64)
		return err_set(err, -ENOTSUP, "process %d is a 32-bit program: only 64-bit ones can be looked into", (int)pid);
	return 0;
}

int process_look(struct arena *arena, pid_t pid, struct process *ret_process, struct err *err)
{
	struct vec(struct process_mapping) mappings = { 0 };
	struct process_mapping mapping;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file && (errno == ENOENT || errno == ESRCH))
		return err_set(err, -ESRCH, "there is no process %d", (int)pid);
	if (!file && (errno == EACCES || errno == EPERM))
		return geteuid() ? err_set(err, -errno, "process %d is another user's: run argus as root (sudo argus ...)", (int)pid) :
				   err_set(err, -errno, "process %d may not be looked into, not even by root: a security module or its "
					   "user namespace protects it", (int)pid);
	if (!file)
		return err_sys(err, -errno, "reading the mappings of process %d", (int)pid);
	while (getline(&line, &room, file) > 0)
		if (read_line(arena, line, &mapping))
			vec_push(&mappings, mapping);
	free(line);
	fclose(file);
	r = check_program(pid, err);
	if (!r && !mappings.length)
		r = err_set(err, -ESRCH, "process %d has ended", (int)pid);
	if (!r)
		*ret_process = (struct process){ pid, arena_memdup(arena, mappings.items, mappings.length * sizeof(mapping)), mappings.length };
	vec_done(&mappings);
	return r;
}

const struct process_mapping *process_mapping_at(const struct process *process, uint64_t address)
{
	for (size_t i = 0; i < process->count; i++)
		if (address >= process->mappings[i].start && address < process->mappings[i].end)
			return &process->mappings[i];
	return NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_called(const struct process_mapping *mapping, const char *file, const struct stat *st)
{
	const char *name = last_part(mapping->path);
	size_t length = strlen(file);

	if (mapping->path[0] != '/')
		return false;
	if (strchr(file, '/'))
		return !strcmp(mapping->path, file) || (st && st->st_ino == mapping->inode && st->st_dev == mapping->device);
	if (!strcmp(name, file))
		return true;
	/* libfoo of libfoo.so.6, libfoo-1.2.so; libfoo.so of libfoo.so.6 */
	return !strncmp(name, file, length) && !strncmp(file, "lib", 3) && (name[length] == '.' || (name[length] == '-' && strstr(name, ".so")));
}

const struct process_mapping *process_module(const struct process *process, const char *file)
{
	struct stat st;
	bool known = strchr(file, '/') && !stat(file, &st);
	char exe[64], path[4096];
	ssize_t length;

	if (!file[0]) {
		snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)process->pid);
		length = readlink(exe, path, sizeof(path) - 1);
		if (length <= 0 || stat(exe, &st))
			return NULL;
		path[length] = 0;
		for (size_t i = 0; i < process->count; i++)
			if (!strcmp(process->mappings[i].path, path) ||
			    (process->mappings[i].inode == st.st_ino && process->mappings[i].device == st.st_dev))
				return &process->mappings[i];
		return NULL;
	}
	for (size_t i = 0; i < process->count; i++)
		if (is_called(&process->mappings[i], file, known ? &st : NULL))
			return &process->mappings[i];
	return NULL;
}

const char *process_module_path(struct arena *arena, const struct process *process, const struct process_mapping *mapping)
{
	const char *path = arena_printf(arena, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)process->pid, mapping->start, mapping->end);

	if (!access(path, R_OK))
		return path;
	path = arena_printf(arena, "/proc/%d/root%s", (int)process->pid, mapping->path);
	return access(path, R_OK) ? mapping->path : path;
}

int process_open_module(const struct process *process, const struct process_mapping *mapping, struct elf_file *ret_file, struct err *err)
{
	struct arena arena;
	int r;

	arena_init(&arena);
	r = elf_file_open(process_module_path(&arena, process, mapping), ret_file, err);
	arena_done(&arena);
	return r;
}

bool process_bias(const struct process *process, const struct process_mapping *mapping, const struct elf_file *file, uint64_t *ret_bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < process->count; i++) {
		const struct process_mapping *m = &process->mappings[i];

		if (m->inode != mapping->inode || m->device != mapping->device)
			continue;
		for (uint32_t j = 0; j < file->segment_count; j++) {
			const Elf64_Phdr *segment = &file->segments[j];

			if (segment->p_type != PT_LOAD || (segment->p_offset & ~(page - 1)) != m->offset)
				continue;
			*ret_bias = m->start - (segment->p_vaddr & ~(page - 1));
			return true;
		}
	}
	return false;
}

uint64_t process_shared_memory(const struct process *process, uint64_t address)
{
	const struct process_mapping *mapping = process_mapping_at(process, address);

	if (!mapping || !mapping->shared || !mapping->inode)
		return 0;
	return hash_u64(hash_u64(mapping->device ^ hash_u64(mapping->inode)) ^ (mapping->offset + address - mapping->start)) | 1;
}

int process_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)address, bytes };
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EFAULT;
}

static int by_number(const void *a, const void *b)
{
	return *(const pid_t *)a < *(const pid_t *)b ? -1 : *(const pid_t *)a > *(const pid_t *)b;
}

int process_threads(struct arena *arena, pid_t pid, pid_t **ret_threads, size_t *ret_count, struct err *err)
{
	struct vec(pid_t) threads = { 0 };
	struct dirent *entry;
	uint64_t number;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT ? err_set(err, -ESRCH, "there is no process %d", (int)pid) :
					 err_sys(err, -errno, "listing the threads of process %d", (int)pid);
	while ((entry = readdir(folder)))
		if (!parse_number(entry->d_name, &number) && number && number <= INT32_MAX)
			vec_push(&threads, (pid_t)number);
	closedir(folder);
	if (!threads.length)
		return err_set(err, -ESRCH, "process %d has ended", (int)pid);
	qsort(threads.items, threads.length, sizeof(pid_t), by_number);
	*ret_threads = arena_memdup(arena, threads.items, threads.length * sizeof(pid_t));
	*ret_count = threads.length;
	vec_done(&threads);
	return 0;
}
