/* Which process maps what: mappings with code, sorted, as the unwinder reads
 * them and as addresses are resolved afterwards.
 *
 * A layout is a process's list at some time; forked processes share it. A new
 * list is a new layout with a new number, so that a stack's addresses are
 * resolved by what was mapped when it was walked. A layout that nobody has any
 * more is kept for a while for the messages that are still on their way.
 * One thread changes layouts; others look them up while they hold the lock. */
#ifndef RECORD_LAYOUTS_H
#define RECORD_LAYOUTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/modules.h"

struct layout_mapping {
	uint64_t start, end, offset;
	const struct loaded_module *module;
};

struct layout {
	uint32_t number;
	uint32_t first, room;       /* in the map stack_mappings; room 0: not there */
	bool idle;                  /* no process of it has shown a stack since the last eviction */
	bool is_left;               /* among those without users */
	uint32_t users;
	uint32_t count;
	uint64_t left_ns;           /* since when it has no users */
	struct layout_mapping *mappings;
};

struct layouts {
	pthread_mutex_t lock;       /* of `list` and what it holds */
	struct modules *modules;
	struct unwind_maps *maps;
	int processes_fd;           /* the map stack_processes */
	struct map list;            /* number -> struct layout * */
	uint32_t last_number;
	struct vec(struct layout *) left; /* without users, oldest first; some have been taken up again */
	size_t left_first, left_timed; /* of them: those before are freed; those before have their time */
	struct map by_process;      /* pid -> number */
	uint32_t next_mapping;
	struct vec(uint32_t) free_rooms[16]; /* by log2 of the size */
};

void layouts_init(struct layouts *layouts, struct modules *modules);
/* The unwinder's maps; nothing can be published before. */
void layouts_attach(struct layouts *layouts, struct unwind_maps *maps, int processes_fd);
void layouts_done(struct layouts *layouts);

/* What /proc says now; -errno when the process is gone. *ret_layout is NULL
 * when nothing has changed. */
int layouts_read(struct layouts *layouts, pid_t pid, const struct layout **ret_layout);
/* What the process had, and then what the kernel's mapping events said, in their
 * order: right for that moment, also when the process has gone on. NULL when
 * nothing has changed. */
const struct layout *layouts_add(struct layouts *layouts, pid_t pid, const struct module_source *sources, size_t count);
/* Gives the unwinder what the process has now, or takes it away. Where its maps
 * are full, what has shown no stack for longest goes; whoever comes back is
 * published again (layouts_lacks). */
void layouts_publish(struct layouts *layouts, pid_t pid);
/* The same, and that the list is all there is: stacks that end outside of it end there. */
void layouts_settle(struct layouts *layouts, pid_t pid);
void layouts_withdraw(struct layouts *layouts, pid_t pid);
/* It is known here but not to the unwinder. */
bool layouts_lacks(const struct layouts *layouts, pid_t pid);
/* Begins the unwinder's maps anew; processes come back as they show stacks. */
void layouts_renew(struct layouts *layouts);
void layouts_fork(struct layouts *layouts, pid_t parent, pid_t child);
/* The process is gone or another program. */
void layouts_leave(struct layouts *layouts, pid_t pid, uint64_t now_ns);
/* Frees what was left before `before_ns`. */
void layouts_collect(struct layouts *layouts, uint64_t before_ns);

const struct layout *layout_of(const struct layouts *layouts, uint32_t number);
const struct layout *layout_of_process(const struct layouts *layouts, pid_t pid);
/* A mapping of the interpreter that its process runs; NULL none. */
const struct layout_mapping *layout_python(const struct layout *layout);
const struct layout_mapping *layout_find(const struct layout *layout, uint64_t address);

#endif
