/* A trace while it is composed: who there is, how far it is, and where it goes.
 * Used by compose.c; threads.c, put.c and part.c are its parts. */
#ifndef BENCH_COMPOSE_COMPOSITION_H
#define BENCH_COMPOSE_COMPOSITION_H

#include <stdio.h>

#include "output.h"
#include "recording.h"

#define FIRST_TID 40000u  /* of threads that do not last */

/* A thread of the composed trace. */
struct life {
	struct thread_state state;
	uint32_t tid;
	uint32_t entry;             /* of the recording's threads */
	bool lasting, ended;
};

struct change {
	const struct field_info *field;
	bool is_poll_detail;
};

struct composition {
	struct recording recording;
	struct composed out;
	FILE *truth;
	/* what is wanted */
	uint64_t events, seconds, rate;
	unsigned storms;
	/* how far it is */
	uint64_t start_ns, now_ns, written;
	uint64_t playing, shift_ns;
	size_t next_of[PART_KINDS];
	unsigned storms_played, hangs_played;
	uint64_t storm_end_ns;      /* of the one that rages or has raged last */
	/* threads */
	struct vec(struct life) lives;
	uint32_t *life_of;          /* by tid as written: place in lives + 1, TID_LIMIT */
	uint32_t *tid_of;           /* by tid as recorded: tid as written in this playing, TID_LIMIT */
	struct vec(uint32_t) named; /* that have an entry in tid_of */
	uint32_t next_tid;
	uint32_t *current;          /* by processor: tid as written */
	uint32_t cpus;              /* state has the stream behind them */
	struct vec(struct change) changes[EVENT_MAX];
	uint64_t data[64];
};

/* threads.c: lives by tid as written; NULL when there is none. */
struct life *life_of(struct composition *c, uint32_t tid);
struct life *life_add(struct composition *c, uint32_t tid, uint32_t recorded, uint64_t recorded_ns);
/* The tid as written, given when it is first met in this playing. */
uint32_t tid_of(struct composition *c, uint32_t recorded);
/* A number that is used again within the part is another thread's. */
void tid_forget_ended(struct composition *c, uint32_t recorded);
/* The lives that belonged to the playing are over. */
void lives_drop(struct composition *c);

/* put.c: records out, which move the threads on. */
int put(struct composition *c, const struct event *e, struct err *err);
/* Made up, a moment later; a switch from the processor's thread, a wake-up by nobody. */
int put_made(struct composition *c, unsigned type, uint32_t tid, uint32_t cpu, const void *data, struct err *err);
int put_switch(struct composition *c, uint32_t cpu, uint32_t next, const struct event_switch *wait, struct err *err);
int put_wake(struct composition *c, uint32_t cpu, uint32_t target, struct err *err);
/* Records of the state at the moment. */
int put_task(struct composition *c, const struct life *life, struct err *err);
int put_waiting(struct composition *c, const struct life *life, struct err *err);
/* What a file begins with, and a trace ends with. */
int put_head(struct composition *c, uint32_t reason, struct err *err);
int put_end(struct composition *c, struct err *err);

/* part.c */
void part_find_changes(struct composition *c);
/* Plays a part once, from the moment on; tells the truth about its hangs. */
int part_play(struct composition *c, const struct part *part, struct err *err);

#endif
