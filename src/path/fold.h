/* The folded path: links of the critical path that are the same in kind, as one line.
 *
 * A link is a stretch of the path in which one thread did one thing. Two links are of a
 * kind when thread, function and what is done or waited for have the same names: threads by
 * their role, not by number. Lines are kept in two ways at once:
 * - rows: a lock with its holder, or a function of a thread, with all that it did there;
 * - a tree each wait along the path, and what went on during it.
 *
 * A fold is handed the parts of a trace from the last to the first, the links of each in
 * the order of time, and keeps names only: nothing of a part is needed afterwards. */
#ifndef PATH_FOLD_H
#define PATH_FOLD_H

#include <stdbool.h>

#include "path/line.h"
#include "path/texts.h"

/* What a link's time went to. */
enum link_class {
	CLASS_RUN,          /* on a processor */
	CLASS_QUEUED,       /* runnable, none free */
	CLASS_THROTTLED,    /* its group's quota was used up */
	CLASS_WAIT,
	CLASS_STOPPED,
	CLASS_UNKNOWN,      /* not seen, or events were lost */
	CLASS_CLASSES
};

/* A role: the program, and in it the thread's own name or the function it was started with. */
struct role_name {
	uint32_t program, thread; /* texts; equal for a process's first thread */
};

static inline bool role_is_same(struct role_name a, struct role_name b)
{
	return a.program == b.program && a.thread == b.thread;
}

/* A wait, or what went on inside of one. */
struct fold_key {
	struct role_name who;
	uint32_t function;        /* text, 0 not known */
	uint32_t what;            /* text: what was done or waited for */
	uint8_t doing;            /* enum link_class */
};

struct fold_node {
	struct fold_key key;
	uint32_t parent;          /* 0: the root's own */
	uint32_t stacks;          /* root of its samples in fold.stacks, 0 none */
	uint64_t own_ns, total_ns, longest_ns, count;
};

/* Where samples found a thread running; siblings in a list. */
struct fold_stack {
	uint32_t function;
	uint32_t child, next;
	uint32_t count;           /* with all below */
};

/* Durations of a row's links: all of them, or, where they are many, each so-and-so-manieth. */
struct durations {
	struct vec(uint64_t) kept;
	uint64_t every, seen;
};

struct row_doing {
	uint32_t what;
	uint8_t doing;
	uint64_t ns, count;
};

/* Who waited for the row's thread: how the path came to it. */
struct row_via {
	struct fold_key wait;
	uint64_t ns;
};

struct fold_row {
	uint32_t lock;            /* text of the lock that is held there, 0 none */
	struct role_name who;
	uint32_t function;
	uint32_t stood;           /* the function by the stacks around, where samples told a better one of a lock's holder; else the same */
	bool by_samples;          /* the function was found by samples */
	bool runs;                /* to be divided by samples at the end */
	uint32_t number;          /* as it was handed out */
	uint32_t became;          /* the row that most of it was moved to as it was divided; its own number */
	uint32_t stacks;
	uint64_t ns, count, longest_ns, median_ns;
	struct durations durations;
	struct vec(struct row_doing) doings;
	struct vec(struct row_via) vias;
};

/* Who stood for one lock, on the path and off it. */
struct fold_queue {
	uint32_t lock;
	uint64_t waited_ns, waits; /* of all threads */
	uint64_t held_ns;          /* time in which anybody stood there */
	uint32_t most;             /* at once */
	uint32_t threads;          /* at most, of one part */
};

/* What part of a row that ran went to which function. */
struct fold_share {
	struct role_name who;
	uint32_t from, to;        /* functions: by the stacks around, by samples */
	uint32_t part, of;        /* samples */
};

struct fold_link {
	uint32_t row;
	uint64_t tag;             /* links of one row with the same tag that adjoin are one */
	uint64_t start_ns, end_ns;
};

/* One that no other can adjoin any more. Of what there are millions: no holes between them. */
struct __attribute__((packed, aligned(4))) closed_link {
	uint64_t ns;
	uint32_t row;
};

/* Threads of one role: a pool of workers, a stage of a pipeline. Times are sums over them. */
struct fold_pool {
	struct role_name who;
	uint32_t threads;         /* at most, of one part */
	uint64_t lived_ns;
	uint64_t worked_ns;       /* ran, could run, waited for a clock or a device */
	uint64_t locks_ns;        /* stood for locks */
	uint64_t others_ns;       /* waited for other threads: for work, answers, room */
	uint64_t path_ns;         /* of the path */
};

struct fold {
	struct texts texts;
	struct vec(struct fold_node) nodes;    /* entry 0: the root */
	struct map node_by_key;
	struct vec(struct fold_stack) stacks;  /* entry 0 unused */
	struct vec(struct fold_row) rows;
	struct map row_by_key;
	struct vec(struct fold_share) shares;
	struct vec(struct fold_queue) queues;
	struct map queue_by_lock;
	struct vec(struct fold_pool) pools;    /* roles with a part in the path */
	struct map pids;                       /* of processes with one */
	struct path_line line;
	uint64_t short_below_ns, short_ns;     /* links shorter than that; their sum */
	/* of the part that is being added: */
	size_t part_links;
	struct fold_link first, last;
	struct vec(struct closed_link) closed; /* those between them */
	struct fold_link later;                /* first link of the part behind, not counted yet */
	bool has_later;
	uint64_t total_ns, unknown_ns;
	uint64_t by_class[CLASS_CLASSES];
	uint64_t links_seen;
	uint32_t last_doing_row, last_doing;
};

void fold_init(struct fold *fold);
void fold_done(struct fold *fold);

/* The node inside of another one; a wait that is the same as one further out is that one,
 * as threads in a queue wait for each other in the same way. */
uint32_t fold_child(struct fold *fold, uint32_t node, const struct fold_key *key);
uint32_t fold_row(struct fold *fold, uint32_t lock, struct role_name who, uint32_t function, bool runs);
/* The next stretch of the path: of the row and the leaf, which `via` (a node, 0 none) led to. */
void fold_add(struct fold *fold, uint32_t row, uint32_t node, uint32_t via, uint64_t tag, uint64_t start_ns, uint64_t end_ns);
/* A sample in that stretch: functions, the innermost first. */
void fold_sample(struct fold *fold, uint32_t row, uint32_t node, const uint32_t *functions, size_t count);
struct fold_queue *fold_queue(struct fold *fold, uint32_t lock);
/* All stretches of a part have been added. */
void fold_part_end(struct fold *fold);
/* One that a part is folded in for itself, to be joined. */
void fold_init_part(struct fold *part, const struct fold *fold);
/* The next part, whose end was not told, as if its stretches had been added here; its end is still to be told here. */
void fold_join(struct fold *fold, const struct fold *part);
/* All parts have: divides what ran by its samples, adds up, sorts rows, the largest first. */
void fold_finish(struct fold *fold);

#endif
