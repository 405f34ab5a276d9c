/* Who had the processor while a thread was runnable: other threads, or a quota. */
#ifndef DIAGNOSE_STARVED_H
#define DIAGNOSE_STARVED_H

#include "diagnose/scene.h"

struct starved {
	uint32_t hog;              /* thread that had the processors it was queued on longest, 0 none */
	uint64_t before_ns;        /* of threads with a better priority */
	uint64_t raised_ns;        /* of those that asked to come before all */
	uint64_t hog_ns;
	uint64_t running_ns, runnable_ns; /* of the thread, in the window */
	uint64_t throttled_ns;     /* of that, with the quota known or inferred to be used up */
	const struct quota *quota; /* the group's, NULL none known */
	uint32_t group_hog;        /* thread of the group that used most of the quota, 0 none */
	uint64_t group_hog_ns, group_ns;
};

/* Of what of the window the thread ran in or could have. True when one thread, those that come before it or a quota kept it off:
 * sharing a busy machine with others is slow, but not starvation. */
bool starved_judge(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct starved *ret_starved);

/* Who had the processors on which the thread stood in the queue, the longest first; nobody who only looks, as the recorder does. */
#define KEEPERS_TOLD 3u
struct keepers {
	struct keeper {
		uint32_t thread;
		uint64_t ns;
	} items[KEEPERS_TOLD];
	unsigned count;
	uint16_t cpu, idle_cpu;    /* it stood on the first all the time ... */
	uint64_t idle_ns;          /* ... while the second was idle for so long; 0: not so */
};
void starved_by(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct keepers *ret_keepers);

#endif
