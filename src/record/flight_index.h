/* The index of a flight recorder's files, made while it records: another process of this
 * program (`argus index --background`) finds the hangs in what was written and notes
 * them beside the files, at the lowest priority and with a bounded share of a processor, so
 * that a question after a hang finds them noted. */
#ifndef RECORD_FLIGHT_INDEX_H
#define RECORD_FLIGHT_INDEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"

struct flight_index {
	const char *folder;      /* of the ring; NULL: none is made */
	pid_t pid;               /* of the process that makes it, 0 none */
	int process;             /* the same as a descriptor, -1 none */
	pthread_mutex_t lock;    /* of that descriptor: it is for all threads */
	int fd;                  /* reads what it says, -1 */
	uint64_t least;          /* events that must be new */
	bool at_once;            /* no matter when the last one was */
	uint64_t next_ns;        /* not before */
	uint64_t events;         /* of the ring when it began last */
	uint64_t cpu_us;         /* of all that have ended */
	char line[160];          /* of what it says, not yet whole */
	unsigned line_bytes;
	/* what it said last */
	uint64_t hangs, groups_left, until_s;
	uint64_t memory;         /* that one of them took at most, bytes */
	char paused[96];
};

void flight_index_init(struct flight_index *index, const char *folder);
/* Now and then: begins when there is enough that is new; `events` so far. */
void flight_index_look(struct flight_index *index, uint64_t now_ns, uint64_t events);
/* A child of the recorder has ended; true when it was this one. */
bool flight_index_child(struct flight_index *index, pid_t pid, const struct rusage *used, uint64_t now_ns);
void flight_index_describe(const struct flight_index *index, struct buf *buf);
/* By any thread: a full disk gets back what the process holds open of files that were removed. What it
 * wrote is whole, and another one goes on later. */
void flight_index_let_go(struct flight_index *index);
void flight_index_stop(struct flight_index *index);

#endif
