/* Stacks in a recording: the agent's side of the unwinder.
 *
 * The kernel numbers stacks as it meets them and tells each new one once; here
 * they become nodes of the calling-context tree, and the numbers in the rings'
 * records are replaced before they reach the writer. A thread of its own keeps
 * the unwinder's maps up to date with what processes map, and unwinds the
 * copies of stacks that came too early. */
#ifndef RECORD_STACKS_H
#define RECORD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct agent;
struct helpers;
struct programs;
struct stacks;

/* Files that could not be looked at, for their file systems did not answer. */
struct stacks_unreached {
	uint32_t devices;          /* how many file systems */
	char example[256];         /* a file of one, "" none */
};

struct stacks_counts {
	uint64_t recognised, walked, told, copied, lost; /* stacks */
	uint64_t python, python_cut; /* walks of Python's frames to their end; not to it */
	uint64_t nodes, modules, processes;
	uint64_t table_bytes;      /* in the kernel */
	uint64_t tables_ns;        /* that making them took */
	uint64_t first_look_ns;    /* from the start until all running processes were known; 0 not yet */
};

/* Begins to make tables for what runs; before the programs are loaded, which
 * takes a while too. `hurry`: before what merely computes. A look of a moment does not: whoever
 * shares a processor with a loader of higher priority wakes tens of milliseconds late. */
int stacks_prepare(struct helpers *helpers, bool hurry, struct stacks **ret_stacks, struct err *err);
/* After the programs are loaded and before they are attached. `stream` is the
 * writer's stream for the agent's own records. */
int stacks_start(struct stacks *stacks, const struct programs *programs, struct agent *agent, uint32_t stream, struct err *err);
/* Waits until the unwinder can walk what ran before the recording, but no longer than `ms`. Accepts NULL. */
void stacks_await(struct stacks *stacks, uint32_t ms);
/* After the agent has ended and before the writer is closed: what is still to
 * be told goes to the trace. Frees. Accepts NULL. */
void stacks_stop(struct stacks *stacks, struct stacks_unreached *ret_unreached);

/* The writer's next file begins, with the agent's lock held: from now on stacks have the numbers
 * of that file. Accepts NULL. */
void stacks_begin_file(struct stacks *stacks, uint64_t from_ns);
/* The numbers that a file's stacks may have are nearly used up: without the next file those that are new would get none. Accepts NULL. */
bool stacks_few_numbers(const struct stacks *stacks);
/* So many have begun: numbers of stacks that were had in another hold in that one alone. */
uint32_t stacks_files(const struct stacks *stacks);
/* Tells it all that it needs to be read alone. Accepts NULL. */
void stacks_retell(struct stacks *stacks);

/* By the agent, with its lock held: takes in what the kernel told, so that
 * every number in records published before is known. Those records are to be
 * replaced before it is called again. Accepts NULL. */
void stacks_take(struct stacks *stacks);
/* The same at any moment; every number stays good. */
void stacks_take_early(struct stacks *stacks);
/* Replaces the numbers in a stretch of records. Accepts NULL. */
void stacks_replace(struct stacks *stacks, void *records, uint64_t bytes);

/* By anybody else: numbers that the kernel has given out become the trace's, 0 where
 * one is not known. */
void stacks_resolve(struct stacks *stacks, uint32_t *const *ids, size_t count);

/* The interpreter that a process runs; version 0: none that is known. */
void stacks_interpreter(struct stacks *stacks, uint32_t pid, uint32_t *ret_version, uint64_t *ret_key);

void stacks_count(struct stacks *stacks, struct stacks_counts *ret_counts);

#endif
