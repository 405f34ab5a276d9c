/* The state found on the machine: open descriptors with their objects and
 * queues, what epoll sets and inotify groups watch, file locks held and waited
 * for. Taken at the start of a recording, at the head of each file of a ring,
 * when something waits for long, and at the end.
 *
 * It comes from BPF iterators and from one file of /proc that belongs to no
 * process, so no other process can make it wait. Made once with state_open();
 * afterwards nothing is allocated. One thread at a time. */
#ifndef RECORD_STATE_H
#define RECORD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "trace/event.h"

enum {
	STATE_DESCRIPTORS = 1,
	STATE_SETS = 2,          /* poll_item and watch; with STATE_DESCRIPTORS only */
	STATE_LOCKS = 4,
	STATE_ALL = 7
};

/* Where the state goes. `tid` is the head's: the process's first thread. */
struct state_sink {
	int (*event)(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload,
		     const char *tail, uint32_t tail_length, struct err *err);
};

struct kernel;
struct state;

/* -ENOTSUP when the kernel has no such iterators. `sleeps`: state_find_blocked will be asked, too. The kernel, which may
 * be NULL, is asked in here only. */
int state_open(const struct kernel *kernel, bool sleeps, struct state **ret_state, struct err *err);
/* The same in a thread of its own, for the kernel checks the programs for long; the end
 * waits for it, and the kernel must stay till then. Every begin has its end. */
struct state_opening;
struct state_opening *state_open_begin(const struct kernel *kernel);
int state_open_end(struct state_opening *opening, struct state **ret_state, struct err *err);
void state_close(struct state *state);

/* Hands what is found to the sink; of the process `only`, or of all when 0.
 * What cannot be read is left out; a failure of the sink ends it and is
 * returned. */
int state_record(struct state *state, unsigned what, pid_t only, struct state_sink *sink, struct err *err);

/* A thread in an uninterruptible sleep. The same `switches` later: the same sleep. */
struct state_blocked {
	uint32_t tid, pid;
	uint64_t switches;
	char comm[16];
};

/* Finds at most `most` of them; the number, or -errno. */
int state_find_blocked(struct state *state, struct state_blocked *blocked, unsigned most, struct err *err);

/* The same for locks alone, from the text of /proc/locks. */
int state_parse_locks(const char *text, pid_t only, struct state_sink *sink, struct err *err);

#endif
