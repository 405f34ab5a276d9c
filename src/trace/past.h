/* What some threads did before a part of a trace begins. What stands there (standing.h) tells of a thread its last switch
 * alone: whether it has looped for long shows in those before. They are handed out with what stands, as events of
 * before the part.
 *
 * It is read block by block, and of each block what those threads did that did little there is kept, packed: whoever
 * asks about the next part asks about nearly the same blocks. Threads that do much loop in another way, and memory is
 * bounded by leaving them out. */
#ifndef TRACE_PAST_H
#define TRACE_PAST_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/standing.h"

struct trace;

/* A block's, by the threads that did little there. */
struct past_block {
	unsigned char *bytes;              /* packed */
	size_t size, raw_size;
	uint32_t *busy;                    /* the other threads */
	size_t busy_count;
};

/* Given all events of a block in order, with all fields, for who reads it anyway; up to that moment, inclusive. */
struct past_gather;
struct past_gather *past_gather_new(uint64_t to_ns);
void past_gather_see(struct past_gather *gather, const struct event *e);
void past_gather_end(struct past_gather *gather, struct past_block *ret_block);
/* NULL is taken. */
void past_gather_drop(struct past_gather *gather);
/* The same from the trace: from the one moment to the other, both inclusive. */
void past_block_read(const struct trace *trace, uint64_t from_ns, uint64_t to_ns, struct past_block *ret_block);
void past_block_done(struct past_block *block);

struct past_events vec(struct event);

/* A thread that was met. */
struct past_doer {
	uint32_t tid;
	uint32_t count;                    /* how often */
	uint32_t out;                      /* the last switch by which it left, of those that are not told; 0 none, else place + 1 */
	bool woken;                        /* by one that is told, and has not gone on since */
	uint64_t since_ns;                 /* it is told from then on; UINT64_MAX it is not */
};

#define PAST_RECENT 64u

struct past {
	struct map threads;                /* by number: whose, and since when; those that they make meanwhile are added */
	struct map programs;               /* by past_program: whoever is told to run one is added */
	bool counting;                     /* that is not known yet: all who did little so far */
	uint64_t floor_ns;                 /* up to where */
	struct arena *arena;               /* of what is handed out */
	struct past_events events;
	struct map busy;                   /* by thread, until when it did much */
	struct vec(struct past_doer) doers;
	struct map places;                 /* by thread, its place among them */
	uint32_t recent[PAST_RECENT];      /* places by the number's last bits */
	struct past_events outs;
};

/* What an event says that the thread runs, as a key; 0: it says nothing of that. */
uint64_t past_program(const struct event *e);

/* All blocks are met first, in their order; each ends before `to_ns`. */
void past_meet(struct past *past, const struct past_block *block, uint64_t to_ns);
/* Then the threads that are not busy up to the floor are known; each is told from when it was so no more. */
void past_begin(struct past *past, uint64_t since_ns);
/* Then what each block begins with, where somebody is told since then, and the block. */
bool past_begins_at(const struct past *past, uint64_t from_ns);
void past_stand(struct past *past, uint64_t from_ns, const struct standing_events *standing);
void past_take(struct past *past, const struct past_block *block);
/* What is to be handed out before the part that begins at the floor, where that stands. The threads and programs are the caller's. */
void past_end(struct past *past, const struct standing_events *at, struct standing_events *ret_events);

#endif
