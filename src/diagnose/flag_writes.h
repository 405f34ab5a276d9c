/* What a recording has seen of flags: memory that a thread looks at again and again until
 * another one has changed it (watchpoints, imported text). Nothing wakes the one that looks, so
 * the write is the only thing that tells who ended its loop. */
#ifndef DIAGNOSE_FLAG_WRITES_H
#define DIAGNOSE_FLAG_WRITES_H

#include "base/map.h"
#include "base/vec.h"
#include "diagnose/scene.h"

/* Of one that changed the value. */
struct flag_write {
	uint64_t time, number;    /* event */
	uint64_t address, value;
	uint32_t thread;
	uint32_t watch;           /* index into points + 1; 0 none */
	uint32_t ustack;
};

struct flag_point {
	uint32_t number, pid;
	uint64_t memory;          /* the same byte of memory that processes share; 0: its own */
	const char *name;
};

struct flag_writes {
	struct vec(struct flag_write) writes; /* by time */
	struct vec(struct flag_point) points;
	struct map read;          /* hashes of a thread and an address that it read */
	struct map readers;       /* threads that are seen to read any */
	struct arena arena;
};

/* Reads the trace. */
struct flag_writes *flag_writes_new(const struct scene *scene);
void flag_writes_free(struct flag_writes *flags);

/* The last write in the stretch, by another thread, of what the thread looks at: of flags that
 * it is seen to read where reads were recorded, else of its process's. NULL: none. */
const struct flag_write *flag_writes_last(const struct flag_writes *flags, const struct scene *scene, uint32_t looker,
					  uint64_t from_ns, uint64_t to_ns);
/* The last one that the thread itself made of it. */
const struct flag_write *flag_writes_by(const struct flag_writes *flags, const struct scene *scene, uint32_t writer, uint32_t looker,
					uint64_t from_ns, uint64_t to_ns);
/* The one that ended a loop, by when: behind its last look but one. */
const struct flag_write *flag_writes_ended(const struct flag_writes *flags, const struct scene *scene, const struct episode *loop);
/* What the person who set the watchpoint calls it; NULL: not known. */
const char *flag_write_name(const struct flag_writes *flags, const struct flag_write *write);

#endif
