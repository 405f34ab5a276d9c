/* What looks wrong in the graph itself, most harmful first: segments that serve
 * several applications (over-connections: a boundary is missing), and waits and
 * poll loops without a cause and values that probes see wander between threads
 * (under-connections: an edge is missing). */
#ifndef GRAPH_CHECK_H
#define GRAPH_CHECK_H

#include "base/buf.h"
#include "graph/graph.h"

enum graph_flaw_kind {
	FLAW_over,        /* a segment receives from, or sends to, two or more applications */
	FLAW_unwoken,     /* waits that ended though nothing woke them */
	FLAW_poll_loop,   /* sleeps or polls again and again with short time limits */
	FLAW_handed_over  /* what one probe saw another sees again, in another thread */
};

/* Flaws of the same kind, thread and object are one, with a count. */
struct graph_flaw {
	enum graph_flaw_kind kind;
	uint32_t thread;
	uint32_t segment;          /* the worst one */
	uint64_t first_event;
	uint64_t count;
	uint64_t harm_ns;          /* time of others that hangs on it */
	uint64_t object;           /* futex, descriptor's object; 0 unknown */
	uint64_t period_ns;        /* poll loops */
	uint64_t last_ns;          /* poll loops: end of the last turn; 0 not known */
	bool always;               /* poll loops: the thread did nothing else; likely its way of life, so it comes last */
	uint64_t flag;             /* poll loops: address of the shared flag that they read most; 0 none seen */
	uint16_t syscall;
	uint8_t wait;              /* WAIT_KIND_ */
	bool receives, sends;      /* over: from, to several in one segment */
	uint32_t peer_count;
	uint32_t peers[4];         /* over: threads of the applications (entries) */
	uint64_t peer_events[4];   /* over: the events that talk to them */
	const char *words;         /* handed over: which values of which probes; NULL else */
	const char *proposal;      /* a rule that would mend it, in the rules' language; "" none */
};

/* Sorted, in the arena. */
struct graph_flaw *graph_check(struct arena *arena, const struct graph *graph, size_t limit, size_t *ret_count);

/* check_probes.c: hand-overs between probes that no rule tells; how many were written. */
size_t graph_check_probes(struct arena *arena, const struct graph *graph, struct graph_flaw *flaws, size_t most);

#endif
