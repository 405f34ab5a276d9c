/* Inside of the building: the state of threads and processors during the one
 * pass over the events. */
#ifndef GRAPH_BUILD_H
#define GRAPH_BUILD_H

#include "graph/store.h"
#include "trace/probe_names.h"
#include "trace/roll_call.h"

/* Rules built into the code, for what the language cannot say. Their numbers
 * come before those of the rule files. */
enum builtin_rule {
	BUILTIN_none,
	BUILTIN_first,        /* a thread's first stretch */
	BUILTIN_found,        /* a wait found by the snapshot at the start */
	BUILTIN_switch,       /* came back to the processor within a segment */
	BUILTIN_interrupt,    /* an interrupt that woke somebody */
	BUILTIN_gap,          /* events were lost */
	BUILTIN_not_waiting,  /* a wake-up of a thread that was not waiting */
	BUILTIN_message,      /* send to receive, byte by byte */
	BUILTIN_reply,        /* receive to the send back on the same object */
	BUILTIN_fork,
	BUILTIN_exec,
	BUILTIN_file_lock,
	BUILTIN_wake,         /* a wake-up no rule speaks of */
	BUILTIN_lost,         /* the thread came back out of a gap, or ended in it */
	BUILTIN_COUNT
};

/* ---- rules, made ready for the pass ---- */

struct edge_end {
	const struct rule *rule;
	const struct rule_end *end;
	uint32_t table;         /* of keys */
	uint16_t number;        /* global */
};

struct boundary {
	const struct rule *rule;
	uint16_t number;        /* global */
	uint8_t row_rule;
};

struct event_program {
	struct vec(struct boundary) before, after, isolate, enter, leave;
	struct vec(struct edge_end) from, to;
	bool any;
};

struct keyed_begin {
	uint64_t ns;
	uint32_t event, row;
	uint32_t next;          /* later one of the same key, 0 none */
	uint32_t tid;
};

struct key_table {
	struct map heads;       /* key -> first beginning, from 1; the last of a list in the high half */
	uint32_t epoch;         /* of gaps, in fifo and all tables */
};

struct messages;            /* message.c */
struct file_locks;          /* lock.c */

/* Wake rules that can hold for a cause, a context and what the target waits on, in
 * their order, up to the first that always does. */
struct wake_list {
	uint8_t count;
	bool last_sure;         /* the last one needs no asking */
	uint8_t rules[];        /* places in wakes */
};

#define WAKE_CAUSES 16
#define WAKE_CONTEXTS 4
#define WAKE_WAITS 33         /* kinds of waits; the last one stands for all others, as the last state does */
#define WAKE_STATES 16
#define WAKE_LISTS (WAKE_CAUSES * WAKE_CONTEXTS * WAKE_WAITS * WAKE_STATES * 2)

struct program {
	struct wake_list **wake_lists; /* each made when it is first asked for */
	struct event_program events[EVENT_MAX];
	struct vec(struct boundary) wakes, cuts, peers, idles;
	struct vec(struct key_table) tables;
	struct map boundaries_at;  /* event -> row rule */
	uint64_t fields[EVENT_MAX]; /* that are looked at, a bit per offset */
};

/* ---- threads ---- */

enum slot_status { SLOT_new, SLOT_running, SLOT_waiting, SLOT_runnable, SLOT_gone };

/* A wake-up, as judged by the rules. */
struct wake_info {
	uint64_t ns;
	uint32_t event, row;
	uint32_t waker;         /* tid */
	uint8_t row_rule, cause;
	uint8_t result;         /* enum graph_wait_result, of the wait that it ends */
	bool removed, charge_source;
	struct event_wake said;
};

struct slot_more {
	uint64_t peer, sent_to;      /* whom the current segment receives from, sends to; 0 nobody yet */
	/* its last wake-up of another, which its send's record may follow */
	uint64_t woke_ns;
	uint32_t woke_event, woke_row, woke_tid;
	uint8_t callout_rules[64];   /* row rules of the callbacks it is in */
	uint8_t callout_kinds[64];
	/* its creation */
	uint64_t fork_ns;
	uint32_t fork_event, fork_row, fork_tid;
};

struct slot {
	struct rule_facts facts;
	uint32_t thread;        /* built thread; GRAPH_NONE before its first event */
	uint32_t row;           /* current one, or the last; GRAPH_NONE none */
	uint64_t woken_ns;      /* when it last came back from an interruptible sleep */
	uint16_t cpu;
	uint8_t status;         /* enum slot_status */
	uint8_t split_rule;     /* row rule that ends the segment at the next coming in; 0 none */
	uint8_t split_kind;     /* enum graph_segment_kind of the next segment */
	bool has_wake;          /* a wake-up came since it came in */
	bool recorder;          /* its own switches are not all recorded */
	uint32_t last_preemption; /* of the current row, 0 none */
	uint32_t last_wait;     /* last wait, to be told its call's result; GRAPH_NONE */
	struct wake_info wake;
	struct slot_more *more; /* NULL until needed */
};

struct built_thread {
	uint64_t first_ns;
	uint32_t tid, pid;
	uint32_t rows, last_row;
	uint8_t kind, cause;    /* enum graph_thread_kind; WAKE_CAUSE_ of sources */
	uint64_t number;
	uint64_t waits;         /* kinds of its waits, as bits */
};

struct cpu_state {
	uint64_t last_switch_ns;
	uint32_t current;       /* tid, UINT32_MAX unknown */
	uint32_t seen;          /* tid that was last seen on it while that is unknown; 0 none */
	uint32_t last_event;
	/* the interrupt that runs, as far as events tell */
	uint32_t node;          /* row, GRAPH_NONE */
	uint32_t node_event;
	uint64_t node_key;
	bool node_sends;        /* it sends a signal or queues work: the wake-up that follows is due to that */
	uint32_t woken;
	uint32_t first_target;  /* tid it woke first */
	uint32_t first_row;
	uint8_t first_armed;
};

struct builder {
	struct graph *graph;
	const struct graph_options *options;
	struct probe_names probes;
	struct tables_gathering *gathering; /* NULL: the tables are there */
	struct program program;
	struct slot **pages;    /* by tid / SLOT_PAGE */
	struct map far_slots;   /* tids too large for pages -> slot */
	struct arena arena;     /* slots, names */
	struct map comms;       /* hash -> interned text */
	struct vec(struct built_thread) threads;
	struct map sources;     /* cause and number -> built thread */
	struct vec(struct cpu_state) cpus;
	struct vec(struct keyed_begin) begins;
	uint32_t free_begin;
	struct messages *messages;
	struct file_locks *locks;
	uint64_t start_ns;      /* events before it only still stand (trace/part.h): they tell a state, and nothing of how it came about */
	uint64_t now_ns;
	uint32_t event;         /* number of the event at hand */
	uint16_t event_cpu;
	struct roll_call roll_call;
	size_t next_gap;
	uint64_t gap_to_ns;     /* end of the latest loss so far, 0 none */
	uint64_t few_to_ns;     /* ... of few events, nobody knows when: what is there is believed, what is missing may be among them */
	uint32_t recorder_pid;  /* 0 not known */
	uint32_t gap_epoch;
	bool callouts_cut;      /* probes that tell of callbacks were off in between */
	struct slot nobody;     /* facts of threads that are not known */
};

/* compile.c */
const struct wake_list *program_wake_list(struct program *program, const struct event_wake *wake, const struct rule_facts *waker,
					  const struct rule_facts *target);
int program_compile(struct builder *b, const struct rules *rules, struct err *err);
void program_done(struct program *program);
/* -1 when the row rules are used up. */
int program_row_rule(struct graph *graph, uint32_t number);

/* slots.c */
#define SLOT_PAGE 64
#define SLOT_PAGES (1u << 16) /* tids up to 4 million, Linux's limit */
struct slot *slot_at(struct builder *b, uint32_t tid);
struct slot *slot_find(struct builder *b, uint32_t tid); /* NULL when never seen */
struct slot_more *slot_more(struct builder *b, struct slot *slot);
const char *intern_comm(struct builder *b, const char *text, size_t length);
void slot_new_thread(struct builder *b, struct slot *slot);
uint32_t source_thread(struct builder *b, enum graph_thread_kind kind, uint8_t cause, uint64_t number);
/* The snapshot that is complete misses some: they have ended unseen. */
void slots_roll_call(struct builder *b);
void life_event(struct builder *b, const struct event *e, struct slot *slot);

/* stretch.c */
struct row *slot_row(struct builder *b, const struct slot *slot);
uint32_t row_begin(struct builder *b, struct slot *slot, uint64_t ns, uint32_t event, uint16_t cpu, unsigned rule, bool continues);
void slot_come_in(struct builder *b, struct slot *slot, uint64_t ns, uint16_t cpu);
/* Makes sure that the thread has a stretch now, for an event of its own. */
void slot_ensure(struct builder *b, struct slot *slot, uint16_t cpu);
/* Its end was lost: it was then, as far as is known. */
void slot_end_unseen(struct builder *b, struct slot *slot, uint64_t end_ns);
/* When it was last heard of, 0 never. */
uint64_t slot_last_ns(struct builder *b, const struct slot *slot);
void slot_split(struct builder *b, struct slot *slot, bool before, unsigned row_rule, enum graph_segment_kind kind);
void switch_event(struct builder *b, const struct event *e);
void waiting_event(struct builder *b, const struct event *e);
void wait_told_result(struct builder *b, struct slot *slot, int64_t result, uint64_t began_ns, unsigned syscall);
void contradict(struct builder *b, enum graph_contradiction kind);

/* wake.c */
void wake_event(struct builder *b, const struct event *e);
/* The wake-up ends (or will end) the wait behind the slot's row. */
void wake_attach(struct builder *b, struct slot *slot, const struct wake_info *wake);
/* Judges a wake-up that came before the switch-out, now that the wait is known. */
void wake_judge_again(struct builder *b, struct slot *slot);
/* A wake-up that ends no wait. */
void wake_spurious(struct builder *b);

/* node.c */
uint32_t node_isolate(struct builder *b, const struct event *e, const struct boundary *boundary);
/* Whether the interrupt that runs on the event's processor made this wake-up too:
 * nothing else happened there since its last one. */
bool node_goes_on(struct builder *b, const struct event *e, const struct event_wake *wake);
uint32_t node_of_wake(struct builder *b, const struct event *e, const struct event_wake *wake, bool goes_on);
bool is_recorder(const struct builder *b, const struct slot *slot);
void gaps_until(struct builder *b, uint64_t ns);

/* build_edges.c; from, to: NULL: the threads of the rows */
void edge_add(struct builder *b, const struct stored_edge *edge, const struct slot *from, const struct slot *to);
/* Global number of the rule that cuts it, 0 none. */
uint32_t edge_cut(struct builder *b, const struct stored_edge *edge, const struct slot *from, const struct slot *to);
unsigned edge_cut_by(struct builder *b, unsigned mechanism, unsigned confidence, const struct slot *from, const struct slot *to);
void edges_of_event(struct builder *b, const struct event *e, struct slot *slot, uint32_t row);

/* message.c */
void messages_init(struct builder *b);
void messages_done(struct builder *b);
void message_event(struct builder *b, const struct event *e, struct slot *slot);
/* State records: queues found, snapshots begun and ended. */
void message_state(struct builder *b, const struct event *e);
void messages_gap(struct builder *b, uint64_t to_ns);
void messages_finish(struct builder *b);

/* lock.c */
void locks_init(struct builder *b);
void locks_done(struct builder *b);
void file_lock_event(struct builder *b, const struct event *e, struct slot *slot);

static inline bool before_start(const struct builder *b)
{
	return b->now_ns < b->start_ns;
}

/* dispatch.c */
void builder_event(struct builder *b, const struct event *e);

/* feed.c */
void feed_all(struct builder *b);

/* What rules can ask about an event of the thread. */
static inline struct rule_scene scene_of(const struct builder *b, const struct event *e, const struct slot *slot)
{
	struct rule_scene scene = { .data = e->data, .thread = &slot->facts, .tail = e->tail, .cpu = e->cpu };

	if (__builtin_expect(e->type == EVENT_probe, 0))
		scene.probe = probe_name(&b->probes, event_as(e, probe)->probe)->name;
	return scene;
}

static inline uint16_t row_rule_number(const struct builder *b, unsigned row_rule)
{
	return b->graph->row_rules[row_rule];
}

static inline void rule_used(struct builder *b, unsigned number)
{
	b->graph->rules.items[number].uses++;
}

#endif
