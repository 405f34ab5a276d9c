/* What the files of stacks share: stacks.c (the agent's thread),
 * stacks_loader.c and stacks_tell.c (the loader's). */
#ifndef RECORD_STACKS_INTERNAL_H
#define RECORD_STACKS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/agent.h"
#include "record/layouts.h"
#include "record/mapping_events.h"
#include "record/modules.h"
#include "record/python_texts.h"
#include "record/stack_copies.h"
#include "record/stack_maps.h"
#include "record/stack_tree.h"
#include "record/stacks.h"
#include "record/unwind_maps.h"
#include "symbols/kallsyms.h"

#define COPY_NODES 65536u          /* numbers of copies that records may still hold */
#define TREE_LIMIT (1u << 17)      /* nodes: fewer are not worth looking for those out of use */

/* A stack whose number is used once: of a copy, of a sleeper. */
struct once_node {
	uint32_t id, place;
	uint32_t number;           /* a copy's in the trace when it was taken */
	uint32_t generation : 31;  /* in which it came */
	uint32_t pending : 1;      /* a copy that is still to be unwound */
};

/* What the kernel has reported about a process since it was looked at last. */
struct process_news {
	pid_t pid;
	struct vec(struct module_source) sources; /* texts in stacks.news_texts */
	bool changed;              /* it is in stacks.changed */
	bool incomplete;           /* some of its mappings may not be known */
	bool ended;                /* its first thread */
	uint64_t started_ns;       /* when its program was started, 0 not seen */
	uint32_t before;           /* number of the layout it had until then, 0 none known */
};

struct ended_process {
	pid_t pid;
	uint64_t time_ns;
};

struct stacks {
	struct agent *agent;
	pid_t own_pid;
	uint32_t stream;
	struct unwind_maps maps;
	struct modules modules;
	struct layouts layouts;
	struct mapping_events *events;
	struct module_files held;        /* by which files are held while the loader is long about something */
	struct kallsyms kernel;
	int counts_fd, processes_fd;
	int functions_fd;                /* negative: no records name functions of the kernel */
	atomic_bool ready;               /* maps and agent are there */
	bool attached;                   /* ... and the loader uses them */
	atomic_bool laid;                /* the tables of what ran at the start are in the unwinder's maps */

	/* the agent's */
	struct ring_buffer *ring;
	struct stack_tree tree;          /* under layouts.lock */
	atomic_uint files;               /* that have begun since the first */
	atomic_bool few_numbers;         /* are left in the file */
	uint32_t tree_limit;             /* nodes at which those out of use are forgotten */
	uint32_t *nodes[2];              /* places by the kernel's number, for two generations */
	uint64_t *known_hashes;          /* the kernel's table: both halves */
	struct stack_now *now;           /* where the kernel reads it */
	uint32_t generation;
	uint64_t file_ns;                /* when the file began that is written; 0: it is the first */
	uint32_t file_generations;       /* that have begun since the file did */
	uint32_t known;                  /* stacks told in this generation */
	uint64_t taken_bytes;            /* of the ring, in the round of now */
	struct once_node *once_nodes;    /* by the id's lower bits */
	struct python_texts python;      /* of the code objects that stacks have met */
	uint64_t *python_told;           /* the kernel's table of those that it told */
	struct vec(struct python_message *) waiting; /* stacks whose C functions are still to be told */
	uint8_t stack_fields[EVENT_MAX][4]; /* offsets of fields to replace + 1 */

	/* from the agent to the loader */
	struct stack_copies copies;

	/* the loader's */
	pthread_t thread;
	bool started;
	bool hurry;
	atomic_bool stop;
	int wake_fd;
	int poll_fd;                     /* that and the ring of stacks, when it fills */
	struct map news;                 /* pid -> struct process_news * */
	struct vec(struct process_news *) changed;
	struct arena news_texts;
	struct map doubtful;             /* pid -> stacks that ended outside of its mappings */
	struct map to_publish;           /* pids whose mappings are new to the unwinder */
	struct vec(struct ended_process) ended; /* oldest first */
	size_t ended_first, ended_told;  /* those before are forgotten; those before are told */
	uint32_t modules_told, nodes_seen;
	struct map symbols_told;
	struct map jit_met;              /* modules of run-time code that stacks have met, to when their maps were read last */
	struct map jit_wanted;           /* modules of run-time code with frames that have no name yet */
	uint64_t functions_told_ns;      /* when the kernel's functions that records name were told last */
	uint64_t renewed_ns;             /* when the unwinder's maps began anew last */
	bool look_again;                 /* events were lost */
	bool had_news, brief;            /* in the last round; and whoever they were about is gone */
	atomic_bool retell;              /* a new file has begun */
	uint64_t start_ns;
	_Atomic uint64_t first_look_ns;
	_Atomic uint64_t processes;
};

uint64_t stacks_now_ns(void);
/* Nodes for addresses, innermost first, below a layout (kernel: NULL); writes
 * the new ones. The innermost one's place. The agent's lock and layouts.lock are held. */
uint32_t stacks_nodes(struct stacks *s, const struct layout *layout, const uint64_t *addresses, uint32_t count, int status,
		      uint64_t time_ns);
/* The same for a copy, at the place that was reserved for it. */
void stacks_nodes_of_copy(struct stacks *s, uint32_t id, const struct layout *layout, const uint64_t *addresses, uint32_t count,
			  int status, uint64_t time_ns);
void stacks_emit_node(struct stacks *s, uint32_t place, uint64_t time_ns);
/* One of our own records; the agent's lock is held. */
void stacks_emit(struct stacks *s, unsigned type, uint32_t tid, const void *data, const char *tail, size_t tail_length,
		 uint64_t time_ns);

/* Python's frames, as the kernel told them, joined with the C functions' whose stack they are in.
 * False: that stack is not known yet. */
bool stacks_take_python(struct stacks *s, const struct python_message *message, uint32_t base, uint32_t *ret_node);
void stacks_take_python_code(struct stacks *s, const struct python_code_message *message, size_t bytes);
/* All files and functions, for a new file of the trace. */
void stacks_tell_python(struct stacks *s);

/* The loader's thread. */
void stacks_wake(struct stacks *s);
int stacks_loader_start(struct stacks *s, struct err *err);
void stacks_loader_end(struct stacks *s);
void stacks_loader_free(struct stacks *s);

/* What the trace must know of modules met, of a process's mappings, of functions
 * that stacks have met, of the run-time code of a process (0: of all); all of it
 * again, for a new file. */
void stacks_tell_modules(struct stacks *s);
/* `but`: a layout that the process had before and that was told; NULL none. */
void stacks_tell_layout(struct stacks *s, pid_t pid, const struct layout *layout, const struct layout *but);
void stacks_tell_names(struct stacks *s, uint64_t now_ns);
void stacks_tell_jit_symbols(struct stacks *s, pid_t pid);
void stacks_tell_again(struct stacks *s);

#endif
