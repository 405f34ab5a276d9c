/* In which state each thread was, and for how long: from switches and wake-ups, in one
 * pass. Running time is cut at CPU samples, so that each part has its sample's stack. An
 * interval is handed out when it ends, so what is kept grows with the number of threads,
 * not with the trace. A wait ends with the first wake-up behind the switch that began it
 * or, without one, with the last wake-up before it; what cannot be told (the thread came
 * to a processor, or left it, unseen) is unknown. */
#ifndef TRACE_STATES_H
#define TRACE_STATES_H

#include "trace/tables.h"

enum thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNNING,
	THREAD_RUNNABLE,   /* could run, has no processor */
	THREAD_WAITING,
	THREAD_STOPPED,    /* by a signal or tracer, or frozen */
	THREAD_STATES
};

/* "running", "waiting", ... */
const char *thread_state_name(enum thread_state state);

struct state_interval {
	uint64_t from_ns, to_ns;
	uint64_t object;         /* waiting: on what; 0 unknown */
	uint64_t end_event;      /* number of the event that ended it: a switch or wake-up; 0 none */
	uint32_t thread;         /* entry in the tables */
	uint32_t ustack, kstack; /* waiting: where; running: of the sample that it was cut at, or the last one before */
	uint16_t cpu;            /* running: on which */
	uint8_t state;           /* enum thread_state */
	uint8_t wait;            /* waiting, stopped: WAIT_KIND_ */
	bool open;               /* it lasted to the end of the trace */
};

struct states;
/* `interval` is called for each interval of a thread of the tables, in the order of their ends. */
struct states *states_new(const struct trace *trace, const struct tables *tables,
			  void (*interval)(void *data, const struct state_interval *interval), void *data);
/* Each event in the order of time; types that tell nothing of states are passed over. */
void states_take(struct states *states, const struct event *e);
/* Adds the types that it needs. */
void states_filter(struct trace_filter *filter);
/* The thread's interval so far: from the last change on. False: it is not there. */
bool states_now(const struct states *states, uint32_t thread, struct state_interval *ret_interval);
/* Hands out what lasts to the end of the trace, and frees all. */
void states_finish(struct states *states);

/* Time of each thread by state. */
struct state_totals {
	uint64_t ns[THREAD_STATES];
	uint64_t wait_ns[64];    /* of the waiting and stopped time, by WAIT_KIND_ */
};
/* By entry of the tables, in the arena. */
struct state_totals *states_total(struct arena *arena, const struct trace *trace, const struct tables *tables);

#endif
