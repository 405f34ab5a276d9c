/* A trace's stacks, inferred: contexts, annotated tree, what each module is.
 *
 * Everything hangs on the profile and goes with profile_free; the trace, its
 * tables and names must stay as long. Two profiles that are to be compared
 * share one struct functions. */
#ifndef INFER_PROFILE_H
#define INFER_PROFILE_H

#include "infer/modules.h"
#include "infer/observe.h"
#include "infer/rest.h"
#include "infer/tree.h"
#include "symbols/names.h"

/* Instances of chosen functions, as columns would be read: by begin. */
struct profile_instances {
	struct vec(struct latency_instance) list;
	bool all;                     /* keep every instance */
	const char *function;         /* else only those of functions with this name; NULL none */
	size_t max;                   /* no more than this, 0 no limit */
	uint64_t passed_over;         /* beyond max */
};

struct profile_options {
	struct observe_scope scope;
	bool by_function;             /* continuity as the paper has it */
	const char *instances_of;     /* keep instances of this function */
	bool all_instances;
	size_t max_instances;
};

struct profile {
	struct arena arena;
	struct functions *functions;
	struct functions own_functions;
	struct contexts contexts;
	struct tree tree;
	struct tally *tally;          /* while it is built */
	struct pace pace;
	struct rest rest;
	struct observer observer;
	struct modules *modules;
	struct profile_instances instances;
	struct source *source;
};

/* `functions` NULL: the profile's own. */
int profile_build(const struct trace *trace, const struct tables *tables, struct names *names,
		  const struct profile_options *options, struct functions *functions, struct profile **ret_profile,
		  struct err *err);
void profile_free(struct profile *profile);

/* What the node's function is to its program. */
enum place profile_place(struct profile *profile, uint32_t node);
const struct function *profile_function(const struct profile *profile, uint32_t node);
/* The frame to look at on the way to a frame: itself, or the nearest caller that
 * is not the C library's or the kernel's. */
uint32_t profile_look_at(struct profile *profile, uint32_t node);
/* Frames from the outermost (not the program) to the node; `ret_count` of them. */
uint32_t *profile_path(struct arena *arena, const struct profile *profile, uint32_t node, uint32_t *ret_count);

#endif
