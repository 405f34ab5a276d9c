/* What only /proc and a process's own memory tell of it: executable, command
 * line, control groups, the owner of the lock it waits for.
 *
 * Reading these can hang (a process that holds its mmap lock for ever), so a
 * forked child does it, under a time limit: where it does not get on, it is
 * killed, the process in question is left out, and another child goes on behind
 * it. As long as such a child cannot even be killed, its process is not asked
 * again: a recorder takes many snapshots. */
#ifndef RECORD_PROCESSES_H
#define RECORD_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/async_tasks.h"
#include "record/shared_words.h"
#include "record/tasks.h"

#define PROCESSES_TEXT_MOST 6144u  /* of one thread's texts together */
#define PROCESSES_POLLED_MOST 64u

/* Where a thread sleeps, for who wants a copy of its stack; `sp` 0: not of this one. */
struct stack_place {
	uint64_t ip, sp;
};
#define PROCESSES_STACK_MOST 65536u

/* What a thread's memory says of the wait that the iterator found. */
struct wait_found {
	uint64_t timeout_ns;
	uint32_t hint;
	uint8_t hint_kind;
	uint8_t polled;            /* entries of `poll` */
	uint32_t stack_bytes;      /* of the copy of its stack, which lies behind its texts */
	uint32_t async_bytes;      /* of the tasks of its event loop, behind that (async_tasks_each) */
	struct { int fd; uint32_t events; } poll[PROCESSES_POLLED_MOST];
	char address[112];         /* to which it connects, as a listener's is told, or of the FIFO that it opens; "" none */
	uint64_t fifo;             /* number of that FIFO as an object */
	char path[128];            /* that it opens or asks about; "" none, cut where it is longer */
	struct shared_word word;   /* that processes share, where it waits for one */
	uint64_t shares;           /* of the words asked about those that its process has mapped, by bits */
};

/* The descriptor record of what it connects to, as that of a connection would be; length of
 * its text, 0: it does not connect. */
uint32_t wait_found_connecting(const struct task_found *found, const struct wait_found *wait, struct event_descriptor *ret_descriptor,
			       char *text, size_t size);

/* Called in the order of the threads given; `texts` are the executable, the
 * command line and the control groups, each ended by a NUL. For a thread that
 * could not be read in time texts are empty and `wait` is zero. */
struct processes_sink {
	int (*thread)(struct processes_sink *sink, const struct task_found *found, const char *texts,
		      size_t texts_bytes, const struct wait_found *wait, struct err *err);
};

/* Children that were left behind. */
struct processes {
	struct map stuck;          /* processes that they hang at */
	struct vec(int) left;      /* the children's pidfds */
	uint32_t unread;           /* threads that the last reading handed over unread */
};

void processes_done(struct processes *processes);
/* `places`, `pythons`: one for each thread, NULL: no stacks, no tasks of event loops are wanted. `limit_ms`: for all
 * together; what is behind it is handed over unread. */
int processes_read(struct processes *processes, const struct task_found *found, const struct stack_place *places,
		   const struct async_process *pythons, size_t count, int limit_ms, struct processes_sink *sink, struct err *err);
/* Called for each of the words and each process that has it mapped, with the end that it has of it. */
typedef int processes_shares(void *context, uint32_t pid, const struct shared_word *word, const struct event_descriptor *end, struct err *err);
/* Of the processes of those threads. */
int processes_share(struct processes *processes, const struct task_found *found, size_t count, const struct shared_words *words,
		    int limit_ms, processes_shares *shares, void *context, struct err *err);
/* It waits for a word that processes share: the end that its process has of that, whose text is the word's name. */
bool wait_found_word(const struct task_found *found, const struct wait_found *wait, struct shared_words *words,
		     struct event_descriptor *ret_descriptor);
/* It opens a FIFO whose other end nobody has: the end that it is about to have, whose text is the FIFO's path. */
bool wait_found_fifo(const struct task_found *found, const struct wait_found *wait, struct event_descriptor *ret_descriptor);
/* What the snapshot says of the wait, and what the thread's memory does. */
struct event_waiting wait_found_waiting(const struct task_found *found, const struct wait_found *wait);

#endif
