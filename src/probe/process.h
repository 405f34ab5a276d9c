/* A process that runs, looked at from outside: what it has mapped, its memory, its
 * threads. Nothing here stops or changes it. */
#ifndef PROBE_PROCESS_H
#define PROBE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "symbols/elf_file.h"

struct process_mapping {
	uint64_t start, end, offset;
	uint64_t device, inode;
	const char *path;          /* "" none; as the process sees it */
	uint8_t protection;        /* PROT_ */
	bool shared;
};

struct process {
	pid_t pid;
	const struct process_mapping *mappings; /* in the order of addresses */
	size_t count;
};

/* Reads the mappings. Refuses what cannot be looked into: no such process, another
 * user's, one of the kernel, a 32-bit program. */
int process_look(struct arena *arena, pid_t pid, struct process *ret_process, struct err *err);
/* The mapping that holds the address, NULL when none does. */
const struct process_mapping *process_mapping_at(const struct process *process, uint64_t address);
/* The first mapping of the file that is called so: its path, its name, or of a library
 * its name without version ("libfoo"); "" is the program itself. NULL when none is. */
const struct process_mapping *process_module(const struct process *process, const char *file);
/* The file of a mapping, also where its path has another one by now. */
int process_open_module(const struct process *process, const struct process_mapping *mapping, struct elf_file *ret_file, struct err *err);
/* A path by which the mapping's file can be opened, in the arena. */
const char *process_module_path(struct arena *arena, const struct process *process, const struct process_mapping *mapping);
/* What is to be added to the file's addresses as linked, in this process. */
bool process_bias(const struct process *process, const struct process_mapping *mapping, const struct elf_file *file, uint64_t *ret_bias);

/* A number that the same byte of memory has in all processes that share it; 0: the process's own. */
uint64_t process_shared_memory(const struct process *process, uint64_t address);

/* Exactly so many bytes, else -errno. */
int process_read(pid_t pid, uint64_t address, void *to, size_t bytes);
/* The threads that there are now, in ascending order. */
int process_threads(struct arena *arena, pid_t pid, pid_t **ret_threads, size_t *ret_count, struct err *err);

#endif
