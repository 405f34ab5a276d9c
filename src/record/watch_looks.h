/* Which processes are to be looked into for what is to be watched: a command's children, or
 * all, as they come. A program maps its files some time after its process began, so each is
 * looked at again and again, ever more seldom. Nothing here looks itself. */
#ifndef RECORD_WATCH_LOOKS_H
#define RECORD_WATCH_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"

#define WATCH_SPECS_MOST 64u     /* a bit each */

struct watch_look {
	pid_t pid;
	uint64_t todo;           /* specs that it has not had yet, a bit each */
	uint64_t next_ns, wait_ns; /* when it is looked at again; how long behind the last time */
	uint32_t round;          /* in which it was last there */
};

struct watch_looks {
	int filter;              /* map of whom the recording follows; -1: all processes of the machine */
	uint64_t specs;          /* a bit each */
	struct vec(struct watch_look) items;
	struct map by_pid;       /* to index */
	uint32_t round;
};

void watch_looks_init(struct watch_looks *looks, int filter, size_t spec_count);
void watch_looks_done(struct watch_looks *looks);
/* Who is there now. */
void watch_looks_update(struct watch_looks *looks, uint64_t now_ns);
/* The process has what the spec names. */
void watch_looks_has(struct watch_looks *looks, pid_t pid, size_t spec);
/* One whose time has come, NULL when there is none; the time of its next look is set. */
struct watch_look *watch_looks_due(struct watch_looks *looks, uint64_t now_ns);

#endif
