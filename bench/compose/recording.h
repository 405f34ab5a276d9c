/* A recording as material for larger traces: its parts, what each thread did where
 * a part begins, and the records that must stand at the head of every file.
 *
 * Parts are told by a list beside the trace (PATH.parts, written by bench/day.py):
 *
 *	part KIND NAME FROM_NS TO_NS           even, idle, storm or hang
 *	hang NAME FROM_NS TO_NS VICTIM CULPRIT in the part around FROM_NS
 *
 * Threads that live through all parts are lasting: they go on from part to part in
 * whatever order parts are played. All others belong to one playing of a part. */
#ifndef BENCH_COMPOSE_RECORDING_H
#define BENCH_COMPOSE_RECORDING_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/tables.h"
#include "trace/trace.h"

#define TID_LIMIT 4000000u
#define PART_NAME_BYTES 32

enum doing { UNKNOWN, RUNNING, RUNNABLE, WAITING, ENDED };

/* What a thread does at a moment. */
struct thread_state {
	uint8_t doing;
	uint16_t cpu;               /* RUNNING: where */
	uint64_t since_ns;          /* WAITING: since when, 0 not known */
	uint64_t woken_ns;          /* while it was running still */
	struct event_switch wait;   /* WAITING: how it left */
};

struct part_state {
	uint32_t tid;
	struct thread_state state;
};

struct part_states vec(struct part_state);

struct known_hang {
	char name[PART_NAME_BYTES];
	uint64_t from_ns, to_ns;
	uint32_t victim, culprit;
};

enum part_kind { PART_EVEN, PART_IDLE, PART_STORM, PART_HANG, PART_KINDS };

struct part {
	enum part_kind kind;
	char name[PART_NAME_BYTES];
	uint64_t from_ns, to_ns;
	uint64_t events;
	struct part_states begin, end;  /* threads that there are then */
	struct vec(struct known_hang) hangs;
};

struct parts vec(struct part);
struct records vec(struct event);

struct recording {
	struct arena arena;
	struct trace *trace;
	struct tables *tables;
	struct parts parts;
	bool *lasting;             /* by tid, TID_LIMIT */
	bool *leaves;              /* by tid: its switches are recorded */
	struct records state;      /* of lasting threads and of the machine, as found at the start */
	struct records dictionary; /* modules, frames, symbols: of all of it */
	struct map objects;        /* that lasting processes have had from the start, and futexes of theirs */
	struct part_state *first;  /* lasting threads at the start, by their waiting records */
	size_t first_count;
	bool full;                 /* it holds messages */
};

int recording_open(const char *path, struct recording *recording, struct err *err);
void recording_close(struct recording *recording);
/* Whether an object (or channel) stays what it is from one playing of a part to the next. */
bool recording_object_lasts(const struct recording *recording, uint64_t object);

/* A switch or wake-up goes by: what its threads do from now on. NULL: a thread that
 * is not followed. */
void state_leave(struct thread_state *state, const struct event *e);
void state_enter(struct thread_state *state, uint16_t cpu);
void state_wake(struct thread_state *state, uint64_t time_ns);
/* The same wait, as far as who waits is concerned. */
bool state_same_wait(const struct thread_state *a, const struct thread_state *b);

#endif
