/* Who and what appears in a trace: threads, descriptors, modules, stacks.
 *
 * Built once from the state records and from fork, exec, exit and rename; held
 * by the trace's user, freed with tables_free. Numbers that are used again
 * (tids, inodes) are told apart by time: a thread is one entry, from its
 * creation to its end. */
#ifndef TRACE_TABLES_H
#define TRACE_TABLES_H

#include "trace/frame_table.h"
#include "trace/trace.h"

/* Entry 0 stands for the idle processors (tid 0). */
struct thread {
	uint32_t tid, pid;
	uint32_t parent_pid;
	uint32_t creator;        /* entry of the thread that forked it, 0 unknown */
	uint64_t start_ns;       /* 0: before the trace */
	uint64_t born_ns;        /* as a snapshot tells, which may be before the trace; 0 unknown */
	uint64_t end_ns;         /* UINT64_MAX: after the trace */
	int32_t exit_code;       /* with which it ended, as wait() reports it; 0 also: it has not */
	uint32_t uid, ns_tid;
	uint32_t flags;          /* TASK_FLAGS_ */
	uint32_t prio;
	uint64_t cgroup;         /* the last one */
	bool moved;              /* it was in another one before */
	const char *comm;        /* last name; never NULL, "?" unknown */
	const char *exe;         /* "" unknown */
	const char *command;     /* command line, arguments parted by spaces; "" unknown */
	const char *cgroups;     /* "" unknown */
};

struct module {
	uint32_t number, kind;   /* MODULE_KIND_ */
	uint64_t device, inode;
	const char *path, *build_id; /* "" unknown */
	const char *code;        /* "OFFSET BYTES ADDRESS ..." of its parts with code, "" unknown */
};

struct descriptor {
	uint64_t time;           /* when it was seen */
	struct event_descriptor at;
	const char *text;
	uint32_t pid;
};

/* A name that the trace itself tells. */
struct told_symbol {
	struct event_symbol at;
	const char *tail;        /* texts, each ended by a NUL, in so many bytes */
	uint32_t tail_length;
};

struct tables {
	struct arena arena;               /* owns all below */
	const struct thread *threads;     /* by creation; entry 0 idle */
	uint32_t thread_count;
	const struct module *modules;     /* index = number; entry 0 unused */
	uint32_t module_count;
	const struct frame *frames;       /* index = node; not all are told */
	uint32_t frame_count;             /* they are below */
	uint32_t node_count;              /* of those that are told; tables_next_node */
	const struct descriptor *descriptors; /* by time */
	size_t descriptor_count;
	const struct told_symbol *symbols;    /* by time */
	size_t symbol_count;
	struct frame_table *shared_frames;     /* private, as what follows */
	void *lookup;
};

/* The next frame that is told behind *node; 0 begins. False at the end. */
static inline bool tables_next_node(const struct tables *tables, uint32_t *node)
{
	return frame_table_next(tables->shared_frames, node);
}

/* Follows a cursor: gives the entry of a thread in constant time, as long as the
 * times asked for never go back. */
struct thread_tracker {
	const struct tables *tables;
	uint32_t *entries;       /* by tid, of the threads there are now */
	uint32_t limit;          /* tids below it are in `entries` */
	uint32_t next;           /* first entry not born yet */
	uint64_t next_ns;        /* its birth */
};

int tables_build(const struct trace *trace, struct tables **ret_tables, struct err *err);

/* What is wanted of them, for who needs no more: of a long trace all of it takes
 * hundreds of megabytes. The rest is empty. */
enum tables_part {
	TABLES_THREADS = 1,
	TABLES_STACKS = 2,       /* modules, frames, symbols */
	TABLES_DESCRIPTORS = 4,
	TABLES_ALL = 7
};
int tables_build_parts(const struct trace *trace, unsigned parts, struct tables **ret_tables, struct err *err);
/* What holds from from_ns to to_ns (0: to the end): read from the head of a file on, where
 * the state is told whole, to the next one. Of what ended before that head nothing is told. */
int tables_build_window(const struct trace *trace, unsigned parts, uint64_t from_ns, uint64_t to_ns, struct tables **ret_tables,
			struct err *err);

/* The same for who walks the trace anyway: each event in the order of time (those
 * that tell nothing are passed over at once); finish frees the gathering. */
struct tables_gathering;
struct tables_gathering *tables_gather(const struct trace *trace);
/* Of events of other types nothing is needed. */
bool tables_gather_wants(const struct tables_gathering *gathering, unsigned type);
/* False when the event tells the tables nothing. */
bool tables_gather_take(struct tables_gathering *gathering, const struct event *e);
/* The thread's end was lost: it is taken to have ended then; last_ns: when it was last heard of (roll_call.h). */
void tables_gather_missed(struct tables_gathering *gathering, uint32_t tid, uint64_t last_ns, uint64_t end_ns);
struct tables *tables_gather_finish(struct tables_gathering *gathering);
void tables_free(struct tables *tables);
/* The thread that had this tid at this time, 0 when none is known (or tid is 0). */
uint32_t tables_thread(const struct tables *tables, uint32_t tid, uint64_t time);
/* The tid that the hint of this thread's wait means, 0 none: what was read from a program's memory, a lock's owner say, is
 * inside of a pid namespace a number of that namespace's. Of several who have it there, the one of the thread's process
 * counts, else one of its control group. */
uint32_t tables_hint_tid(const struct tables *tables, uint32_t thread, uint32_t hint, uint32_t hint_kind, uint64_t time);
/* The leader of the process that had this pid at this time, else any thread of it; 0 none. */
uint32_t tables_process(const struct tables *tables, uint32_t pid, uint64_t time);
/* Name that the thread had at the time (names change by exec and rename). */
const char *tables_comm(const struct tables *tables, uint32_t thread, uint64_t time);
/* Name of the thread's process, where the thread itself has another; else NULL. */
const char *tables_program(const struct tables *tables, uint32_t thread, uint64_t time);

void thread_tracker_init(struct thread_tracker *tracker, const struct tables *tables);
void thread_tracker_done(struct thread_tracker *tracker);
/* For thread_tracker_find only: takes in the threads born up to now. */
void thread_tracker_advance(struct thread_tracker *tracker, uint64_t time);

/* As tables_thread. */
static inline uint32_t thread_tracker_find(struct thread_tracker *tracker, uint32_t tid, uint64_t time)
{
	if (__builtin_expect(time >= tracker->next_ns, 0))
		thread_tracker_advance(tracker, time);
	return __builtin_expect(tid < tracker->limit, 1) ? tracker->entries[tid] : tables_thread(tracker->tables, tid, time);
}

#endif
