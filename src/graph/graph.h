/* The event graph: who ran, who waited, and what made whom run.
 *
 * Rows are kept in columns, one row per *stretch*: a thread's time from one wait
 * (or split of a segment) to the next, together with the wait behind it; times in
 * which it was preempted lie inside. A *segment* is a
 * run of stretches of one thread and is named by the number of its first
 * stretch; a *wait* is named by the number of the stretch that it follows. So
 * segments, waits and stretches share one space of numbers. Per stretch the
 * graph keeps about 60 bytes; nothing is kept per event. What a row does not
 * hold (arguments, kernel stacks, the waker's stacks) is read from the trace
 * when it is asked for: graph_wait_event(), graph_events_of().
 *
 * Threads are entries of the trace's tables (tables.h), so numbers that are used
 * again are different threads. Behind them, numbers from graph_thread_count of
 * the tables on are pseudo-threads: tids the tables do not know, interrupt
 * sources (each interrupt that woke somebody is a segment of its source) and
 * gaps (each stretch of lost events is a segment of kind gap).
 *
 * Results are structs filled by value; iterators live on the caller's stack and
 * need no release. All times are the trace's (CLOCK_MONOTONIC, ns); event
 * numbers are the trace's. A graph may be read by several threads at once. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "rules/rules.h"
#include "trace/tables.h"
#include "trace/trace.h"

struct graph;

#define GRAPH_NONE UINT32_MAX

enum mechanism {
#define MECHANISM(number, name, confidence, doc) MECHANISM_##name = number,
#include "graph/mechanisms.def"
#undef MECHANISM
	MECHANISM_COUNT
};

struct mechanism_info {
	const char *name; /* NULL for numbers not used */
	const char *doc;
	uint8_t confidence;
};

extern const struct mechanism_info mechanism_infos[MECHANISM_COUNT];
/* 0 when there is no such kind of edge. */
unsigned mechanism_find(const char *name, size_t length);
/* Adds the default rules and the packs that the trace was recorded with: those of whose probes it has one. */
int graph_add_rules(struct rules *rules, const struct trace *trace, struct err *err);

enum graph_strength { GRAPH_WEAK, GRAPH_INFERRED, GRAPH_STRONG };

/* ---- building ---- */

/* Memory of a graph that has gone, for the next one: touching memory for the first time
 * costs as much as filling it. {0} at first. */
struct region {
	void *data;
	size_t capacity;
	size_t touched;             /* up to there its pages are made */
};
struct graph_room {
	struct region rows, preemptions;
};
void graph_room_done(struct graph_room *room);

struct graph_options {
	const struct rules *rules;  /* NULL: the default rules */
	struct graph_room *room;    /* NULL none; must stay as long as the graph */
	/* Sees each event that the build reads, so that nobody else need decode the trace. */
	void (*watch)(void *data, const struct event *e);
	/* Behind the last event, when the tables are there and the graph is not yet; with
	 * NULL should the build fail after that, before the tables go. */
	void (*watch_end)(void *data, const struct tables *tables);
	void *watch_data;
	const uint64_t *watch_fields; /* by type, as in a trace_filter: what it looks at */
};

/* `tables` and `trace` must outlive the graph; `tables` may be NULL: the graph
 * then builds and owns them. */
int graph_build(const struct trace *trace, const struct tables *tables, const struct graph_options *options,
		struct graph **ret_graph, struct err *err);
void graph_free(struct graph *graph);

const struct trace *graph_trace(const struct graph *graph);
const struct tables *graph_tables(const struct graph *graph);
/* Tables that the graph owns become the caller's, who keeps them as long as the
 * graph; NULL when they are not its own. */
struct tables *graph_take_tables(struct graph *graph);

/* Corrections after the build: applies cut, keep, join, idle and flag statements
 * at once, in milliseconds, replacing what an earlier call applied (so undo is a
 * call with the shorter set). With *ret_rebuild true, a statement was there that
 * only a build can apply (a boundary, an edge or peer rule); pass the same rules
 * to graph_build then. */
int graph_correct(struct graph *graph, const struct rules *corrections, bool *ret_rebuild, struct err *err);

struct graph_stats {
	uint64_t events;              /* seen by the builder */
	uint64_t stretches, segments, waits;
	uint64_t preemptions;         /* runnable times inside of stretches */
	uint64_t waits_ended;         /* the thread came back */
	uint64_t waits_unexplained;   /* ended, but neither waker nor named source is known */
	uint64_t waits_in_gap;        /* ended, and events were lost meanwhile */
	uint64_t waits_recorder;      /* ended, of the recorder's own threads, whose wake-ups it does not record; not among the above */
	uint64_t wakes_spurious;      /* wake-ups that ended no wait (filtered), all rules */
	uint64_t edges[MECHANISM_COUNT];
	uint64_t removed_by_rule;     /* edges cut by rules */
	uint64_t contradictions;      /* events that cannot be true after those before; see graph_contradictions */
	uint64_t load_ns, build_ns;   /* wall time of graph_build; of which building */
	uint64_t bytes;               /* memory of all columns */
};
const struct graph_stats *graph_stats(const struct graph *graph);

/* Contradictory evidence, by kind. */
enum graph_contradiction {
	CONTRADICTION_switch_not_running,  /* a switch from a thread that another processor runs */
	CONTRADICTION_wake_running,        /* a wake-up of a thread that runs and does not go to sleep after it */
	CONTRADICTION_in_without_wake,     /* a waiting thread ran again though nothing woke it */
	CONTRADICTION_event_not_running,   /* an event of a thread that is not on a processor */
	CONTRADICTION_dead,                /* an event of a thread that has ended */
	CONTRADICTION_callout,             /* an end of a callback that never began */
	CONTRADICTION_COUNT
};
struct graph_contradictions {
	uint64_t count[CONTRADICTION_COUNT];
	uint64_t first_event[CONTRADICTION_COUNT]; /* number of the first one, 0 not known */
};
extern const char *const graph_contradiction_names[CONTRADICTION_COUNT];
const struct graph_contradictions *graph_contradictions(const struct graph *graph);

/* ---- rules ---- */

/* Name of the rule by its number in a segment, edge or wait; never NULL. */
const char *graph_rule_name(const struct graph *graph, uint32_t rule);
/* Its text as written, with the file and line it stands in; "" for none. */
const char *graph_rule_text(const struct graph *graph, uint32_t rule);
/* What answers call what it makes (`called`), as written; "" nothing. */
const char *graph_rule_called(const struct graph *graph, uint32_t rule);
/* Of a callback's rule the field of its first event that says where threads wait for each other, NULL none; they
 * do so in the callback, or who is in it will come there. */
const char *graph_rule_meeting(const struct graph *graph, uint32_t rule, bool *ret_meets);
/* How many segments, edges and removals the rule made. */
uint64_t graph_rule_uses(const struct graph *graph, uint32_t rule);
uint32_t graph_rule_count(const struct graph *graph);

/* What a `flag` statement calls the address; NULL when none does. */
const char *graph_flag_name(const struct graph *graph, uint64_t address);

/* ---- threads and pseudo-threads ---- */

enum graph_thread_kind {
	GRAPH_THREAD,     /* an entry of the tables */
	GRAPH_UNKNOWN,    /* a tid that the tables do not know */
	GRAPH_SOURCE,     /* an interrupt source */
	GRAPH_GAPS        /* gaps of one processor */
};

struct graph_thread {
	uint32_t thread;
	enum graph_thread_kind kind;
	uint32_t tid, pid;       /* 0 for sources and gaps */
	uint8_t cause;           /* sources: WAKE_CAUSE_ */
	uint64_t number;         /* sources: interrupt number, device, ...; gaps: the processor */
	uint32_t stretches;
	const char *name;        /* comm, or words for a source: "network", "timer", "interrupt 24" */
};
uint32_t graph_thread_count(const struct graph *graph);
void graph_thread(const struct graph *graph, uint32_t thread, struct graph_thread *ret_thread);
/* Thread that had the tid at the time; GRAPH_NONE when it appears nowhere. */
uint32_t graph_thread_find(const struct graph *graph, uint32_t tid, uint64_t time_ns);

/* ---- segments ---- */

enum graph_segment_kind {
	SEGMENT_plain,       /* a thread's work between two waits */
	SEGMENT_callout,     /* a callback of a queue or loop */
	SEGMENT_work,        /* a work item of the kernel */
	SEGMENT_interrupt,   /* an interrupt, of its source */
	SEGMENT_maintenance, /* housekeeping of the kernel */
	SEGMENT_gap          /* events were lost here; no edge crosses it */
};

struct graph_segment {
	uint32_t segment;             /* its number */
	uint32_t thread;
	enum graph_segment_kind kind;
	uint32_t rule;                /* that began it */
	uint32_t last_stretch;
	uint32_t stretches;
	uint64_t start_ns, end_ns;    /* from the first stretch's begin to the last one's end; UINT64_MAX open */
	uint64_t run_ns;              /* on a processor */
	uint64_t first_event, last_event; /* first_event may be the switch that let it in */
	uint32_t wait;                /* wait that ended it, GRAPH_NONE when none did */
	uint32_t level;               /* callout level, 0 outside */
	bool begins_callout;          /* that level begins with it, by its first event; else it goes on */
	uint32_t interrupted;         /* interrupts and housekeeping: tid of the thread they interrupted, 0 idle */
};
/* False when there is no such segment. A stretch inside a segment gives the segment. */
bool graph_segment(const struct graph *graph, uint32_t number, struct graph_segment *ret_segment);
/* Neighbours in the same thread; GRAPH_NONE at the ends. */
uint32_t graph_stretch_next(const struct graph *graph, uint32_t stretch);
uint32_t graph_segment_next(const struct graph *graph, uint32_t segment);
uint32_t graph_segment_previous(const struct graph *graph, uint32_t segment);
/* The segment in which the thread was at the time, or, while it waited, the one before the wait. */
uint32_t graph_segment_at(const struct graph *graph, uint32_t thread, uint64_t time_ns);
/* The one that holds what it did then: an event whose thread and time are at hand. */
uint32_t graph_segment_with(const struct graph *graph, uint32_t thread, uint64_t time_ns, uint64_t event);
/* The segment, or the stretch in it, that holds an event; GRAPH_NONE for events of no thread. */
uint32_t graph_segment_of_event(const struct graph *graph, uint64_t event);
uint32_t graph_stretch_of_event(const struct graph *graph, uint64_t event);
/* The same with the event at hand. */
uint32_t graph_stretch_of(const struct graph *graph, const struct event *e);
/* Walks all segments, thread by thread: start with GRAPH_NONE; GRAPH_NONE at the end. */
uint32_t graph_segment_walk(const struct graph *graph, uint32_t segment);

/* ---- waits ---- */

enum graph_wait_result {
	RESULT_open,     /* had not ended at the end of the trace */
	RESULT_unknown,  /* ended, nothing tells how */
	RESULT_woken,    /* by a thread, or by an interrupt with a source */
	RESULT_timeout,  /* its own time limit ran out, or its sleep was over */
	RESULT_signal,   /* a signal broke it off */
	RESULT_error,    /* the call failed after it */
	RESULT_lost,     /* events were lost while it lasted */
	RESULT_gone      /* the thread ended (its last switch) */
};

struct graph_wait {
	uint32_t wait;                /* its number: the stretch it follows */
	uint32_t thread;
	uint32_t segment;             /* in which it is, or which it ends */
	uint32_t next_segment;        /* in which the thread came back; GRAPH_NONE while open */
	uint64_t out_ns, in_ns;       /* left the processor, came back (UINT64_MAX open) */
	uint64_t wake_ns;             /* made runnable; UINT64_MAX when no wake-up is known */
	uint64_t out_event, in_event, wake_event; /* 0 unknown */
	uint32_t waker;               /* thread or source that woke it; GRAPH_NONE unknown */
	uint32_t wake_segment;        /* its segment; GRAPH_NONE unknown */
	uint32_t armer;               /* where the waker is a timer: the thread that armed it; GRAPH_NONE unknown */
	enum graph_wait_result result;
	uint8_t kind;                 /* WAIT_KIND_ */
	uint8_t state;                /* TASK_STATE_ */
	uint8_t cause;                /* WAKE_CAUSE_ */
	uint8_t mechanism;            /* wake, release or timeout; 0 while no wake-up is known */
	uint8_t confidence;           /* of the wake-up */
	uint32_t wake_rule;           /* that made, or removed, the edge from the wake-up */
	bool removed;                 /* the edge is cut by a rule or the person */
	bool early;                   /* the wake-up came before the switch-out */
	bool idle;                    /* marked as harmless idling */
	uint16_t syscall;             /* SYSCALL_NONE outside of one */
	uint16_t cpu;                 /* processor it left */
	uint64_t object;              /* what it waits on; 0 unknown */
	uint64_t timeout_ns;          /* its own limit; 0 none known */
	uint32_t hint;                /* thread (entry, not tid) that could end it; GRAPH_NONE unknown; a hint only */
	uint8_t hint_kind;            /* HINT_KIND_ */
};
/* False when the stretch of this number is not followed by a wait. */
bool graph_wait(const struct graph *graph, uint32_t number, struct graph_wait *ret_wait);
/* The same without the segments, which take longer to find: they are GRAPH_NONE. */
bool graph_wait_plain(const struct graph *graph, uint32_t number, struct graph_wait *ret_wait);
/* The event that began it (EVENT_switch, or EVENT_waiting for one that the
 * snapshot found) with its stacks and arguments, copied into the arena; NULL when
 * the trace has none. */
const struct event *graph_wait_event(const struct graph *graph, struct arena *arena, uint32_t wait);
/* The wake-up that ended it (EVENT_wake) with the waker's stacks and object; NULL unknown. */
const struct event *graph_wake_event(const struct graph *graph, struct arena *arena, uint32_t wait);

/* Waits of a thread that overlap a window, in time order:
 *	struct graph_waits walk = graph_waits_of(graph, thread, from, to);
 *	for (struct graph_wait wait; graph_waits_next(&walk, &wait); ) ... */
struct graph_waits {
	const struct graph *graph;
	uint32_t at;
	uint64_t from_ns, to_ns;
	bool plain;                  /* set it to walk as graph_wait_plain does */
};
struct graph_waits graph_waits_of(const struct graph *graph, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
bool graph_waits_next(struct graph_waits *walk, struct graph_wait *ret_wait);

/* True when one of the thread's waits is of a kind in the set (bits by WAIT_KIND_). */
bool graph_waits_for(const struct graph *graph, uint32_t thread, uint64_t kinds);
/* All waits whose wake-up is known, in the order of the threads that woke them: those of thread i from ret_first[i] up to
 * ret_first[i + 1]. Both are to be freed. */
uint32_t *graph_waits_by_waker(const struct graph *graph, uint32_t **ret_first);

/* ---- a thread's timeline: every nanosecond of a window, once ---- */

enum graph_interval_kind {
	INTERVAL_running,
	INTERVAL_runnable,   /* preempted, or woken and not yet let in */
	INTERVAL_waiting,
	INTERVAL_unknown,    /* before the thread is first seen */
	INTERVAL_lost,       /* events were lost, and the thread came out in another state than it went in */
	INTERVAL_absent      /* before its creation, after its end */
};

struct graph_interval {
	enum graph_interval_kind kind;
	uint64_t start_ns, end_ns;   /* clipped to the window; never empty */
	uint32_t segment;            /* GRAPH_NONE where there is none */
	uint32_t stretch;            /* running: the stretch; waiting and runnable: the stretch before (the wait's number) */
	uint16_t cpu;                /* running: on it; runnable: where it came in, UINT16_MAX unknown */
};

struct graph_timeline {
	const struct graph *graph;
	uint32_t thread, at, next;
	uint64_t now_ns, to_ns, end_ns; /* end_ns: when the next stretch begins */
	unsigned phase;
	uint32_t preemption;
	uint16_t cpu;                /* on which it runs */
	bool plain;                  /* set it to leave intervals' segments out, which take longer to find */
};
/* Intervals adjoin, the first begins at from_ns, the last ends at to_ns. */
struct graph_timeline graph_timeline_of(const struct graph *graph, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
bool graph_timeline_next(struct graph_timeline *timeline, struct graph_interval *ret_interval);

/* Who had a processor during a window, from the trace's switches: calls visit
 * for each stay, in time order (thread 0: idle); stops when visit returns false. */
int graph_cpu_stays(const struct graph *graph, uint32_t cpu, uint64_t from_ns, uint64_t to_ns,
		    bool (*visit)(void *data, uint32_t thread, uint64_t start_ns, uint64_t end_ns), void *data);

/* ---- edges ---- */

struct graph_edge {
	enum mechanism kind;
	enum graph_strength strength;
	uint8_t confidence;           /* per cent */
	bool removed;                 /* cut by a rule or by the person; shown, not followed */
	uint32_t rule;
	uint32_t from, to;            /* segments */
	uint32_t from_thread, to_thread;
	uint64_t from_event, to_event;
	uint64_t from_ns, to_ns;
	uint32_t wait;                /* wake, release, timeout, wait: the wait; else GRAPH_NONE */
};

/* Edges into or out of a segment, strong and inferred first, then weak; removed
 * ones only when asked for. */
enum graph_edge_choice { EDGES_STRONG = 1, EDGES_WEAK = 2, EDGES_REMOVED = 4, EDGES_ALL = 3 };

struct graph_edges {
	const struct graph *graph;
	uint32_t segment, stretch;    /* stretch: at hand, GRAPH_NONE behind the last */
	uint64_t at;
	unsigned choice, phase;
	bool into, entered;
};
struct graph_edges graph_edges_into(const struct graph *graph, uint32_t segment, unsigned choice);
struct graph_edges graph_edges_from(const struct graph *graph, uint32_t segment, unsigned choice);
bool graph_edges_next(struct graph_edges *walk, struct graph_edge *ret_edge);

/* The first edge of the kind that leads from the event, an event of the thread at
 * the time; removed ones too. False when there is none. */
bool graph_edge_of_event(const struct graph *graph, uint32_t thread, uint64_t time_ns, uint64_t event, enum mechanism kind,
			 struct graph_edge *ret_edge);

/* True when events were lost somewhere between the two times. */
bool graph_gap_between(const struct graph *graph, uint64_t from_ns, uint64_t to_ns);

/* ---- messages ---- */

/* A message that lay unread for long (GRAPH_UNREAD_NS and more), or to the end. */
#define GRAPH_UNREAD_NS 100000000ull
struct graph_unread {
	uint64_t channel;
	uint64_t object;              /* the sender's end */
	uint64_t receiver_object;     /* the receiver's end, 0 unknown */
	uint64_t send_event, send_ns;
	uint64_t read_event, read_ns; /* 0, UINT64_MAX: never read */
	uint32_t sender;              /* thread */
	uint32_t receiver;            /* thread that read it, or last read the channel before; GRAPH_NONE unknown */
	uint32_t receiver_pid;        /* as the sender's record tells; 0 unknown */
	uint64_t bytes;
	uint8_t kind;                 /* MESSAGE_KIND_ */
};
/* By time of sending. */
const struct graph_unread *graph_unread(const struct graph *graph, size_t *ret_count);

/* Events of a thread in a window, from the trace; `types` as in trace_filter; with
 * `unnumbered` only those that it recorded itself, from the processors it ran on, which
 * is a good deal faster. Free with graph_events_done. An event is valid until the next call. */
struct graph_events {
	struct trace_cursor *cursor;
	const struct graph *graph;
	uint32_t thread, tid;
};
struct graph_events graph_events_of(const struct graph *graph, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
				    const struct trace_filter *types);
const struct event *graph_events_next(struct graph_events *walk);
void graph_events_done(struct graph_events *walk);

/* ---- transactions: what a segment set off ---- */

/* Breadth first along strong and inferred edges that lead forward in time, at
 * most `limit` segments; written to the arena in the order found. */
uint32_t *graph_forward(struct arena *arena, const struct graph *graph, uint32_t segment, size_t limit,
			size_t *ret_count);

/* A snapshot of a thread that was read while it waited before the wait that began then on
 * that object, and written only now: since when a thread waits is known within milliseconds. */
static inline bool waiting_is_stale(const struct event_waiting *found, uint64_t object, uint64_t began_ns)
{
	return (object && found->object && object != found->object) || (found->since_ns && found->since_ns + 10000000 < began_ns);
}

#endif
