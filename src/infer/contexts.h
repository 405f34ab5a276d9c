/* Calling contexts: Algorithm 1 of IntroPerf over the trace's own stack tree.
 *
 * Two trees. A *site* is a stack by its addresses: the trace's user frames,
 * above them the system call that the thread is in, above it the kernel's
 * frames. A *node* is a calling context by its functions; many sites fall on
 * one node. Each program (executable) is a root of its own, number 0 is none.
 * A stack is turned into its site once and then found by number. */
#ifndef INFER_CONTEXTS_H
#define INFER_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "infer/functions.h"

/* One frame of the trace's stack tree, as the owner of the names sees it. */
struct context_frame {
	uint32_t parent;      /* caller's frame, 0 outermost */
	uint32_t function;    /* in struct functions */
	uint32_t module;      /* of the trace, 0 none */
	uint64_t address;     /* of the code in the module */
	bool cut;             /* outermost frame of a stack that was not walked to its end */
};

/* Where frames come from: a trace, a text, a simulator. */
struct context_source {
	void *data;
	/* False when there is no such frame. */
	bool (*frame)(void *data, uint32_t number, struct context_frame *ret_frame);
};

struct site {
	uint32_t parent;      /* site of the caller; a program's site at depth 1 */
	uint32_t node;        /* function context */
	uint32_t function;    /* the node's, here to spare a look at it; 0 at a program */
	uint32_t depth;       /* 0 at a program */
	uint32_t module;      /* of the trace, 0 none */
	uint64_t address;     /* where the frame stands: behind its call of the next one */
	bool system_call;     /* the frame between program and kernel */
	bool kernel;          /* the system call's frame and all above it */
	bool cut;             /* in a stack that was not walked to its end */
};

struct node {
	uint32_t parent;
	uint32_t function;    /* 0 at a program */
	uint32_t depth;       /* 0 at a program */
	uint32_t program;     /* index of the program */
};

struct program {
	const char *path;     /* executable, or the thread's name in [] for the kernel's own */
	uint32_t site, node;
};

/* From a pair of numbers, the second not 0, to a site: as a map, with half of its
 * cache misses; each stack is looked up here. */
struct site_table {
	struct { uint64_t key; uint32_t site; } *slots;
	size_t capacity, length;
};

struct contexts {
	struct functions *functions;
	struct context_source source;
	struct vec(struct site) sites;      /* entry 0 unused */
	struct vec(struct node) nodes;      /* entry 0 unused */
	struct vec(struct program) programs;
	struct map children;                /* (node, function) -> node */
	struct map same_sites;              /* (parent, place) hashed -> site: the trace may number a frame twice */
	struct site_table user;             /* (program, frame) -> site */
	struct site_table calls;            /* (site, system call + 1) -> site */
	struct site_table user_calls;       /* (frame, program and system call) -> site: the two above in one */
	struct site_table kernel;           /* (site, frame) -> site */
	struct vec(uint32_t) system_calls;  /* number -> function + 1 */
	uint32_t cut_function;              /* stands for the frames that are missing */
};

#define CONTEXT_NO_CALL 0xffffu

void contexts_init(struct contexts *contexts, struct functions *functions, struct context_source source);
void contexts_done(struct contexts *contexts);
/* Index of the program with this path, a new one when it is not there yet. */
uint32_t contexts_program(struct contexts *contexts, const char *path);
/* The site of a stack; `user` and `kernel` are frames of the source, 0 none;
 * `call` a system call's number or CONTEXT_NO_CALL. 0 when nothing is known of
 * the stack: no frame at all and no system call. */
uint32_t contexts_site(struct contexts *contexts, uint32_t program, uint32_t user, uint32_t call, uint32_t kernel);
/* The child of a node; 0 when it is not there. */
uint32_t contexts_child(const struct contexts *contexts, uint32_t node, uint32_t function);

#endif
