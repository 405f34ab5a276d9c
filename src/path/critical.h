/* The critical path of one thread through a part of a trace: the diagnosis's clipped
 * backward walk (diagnose/walk.h), added to a fold.
 *
 * Parts come from the last to the first. Whoever waits where a part ends was woken in the
 * next one: that is carried over, so the walk of a part is a piece of the walk of the whole. */
#ifndef PATH_CRITICAL_H
#define PATH_CRITICAL_H

#include "path/holds.h"
#include "path/looks.h"

/* How waits end that stand where a part begins. */
struct standing_end {
	uint64_t end_event;
	uint32_t tid;             /* who waits */
	uint32_t waker_tid;       /* who ends it, or made the thread that does; 0 nobody */
	uint8_t end, cause, confidence; /* as in struct wait */
};

struct standing_ends vec(struct standing_end);

struct critical {
	struct naming *naming;
	struct diagnoser *diagnoser;
	struct fold *fold;
	uint64_t whole_ns;        /* of the path that is asked for; this may be a part of it */
	struct holds holds;       /* of the naming's scene */
	struct looks looks;
	uint32_t root_pid;        /* of whom the path is */
	uint8_t *of_root;         /* by thread, whether the root's process made it, + 1; 0 not looked at */
	uint32_t noted_pid;       /* the process that was noted last to have a part in the path */
};

/* A stretch in which a thread did one thing, in words. */
struct stretch_words {
	struct fold_key key;
	uint32_t lock;            /* that it had, 0 none */
	uint32_t function;        /* of its row: where the lock is taken, where it is in that */
	bool runs;                /* the function is to be found by samples */
};

/* `wait`: in which it was, or NULL; `doing`: enum link_class of what it did else. */
struct stretch_words critical_words(struct naming *naming, uint32_t thread, const struct wait *wait, uint8_t doing, const struct hold *hold,
				    uint64_t time_ns);

/* Tells the scene, which is the caller's own and laid out thread by thread, how its open waits end; the ends must stay. */
void critical_apply(struct scene *scene, struct standing_ends *ends);
/* What the part before this one must know: of waits that stand at `from_ns`; `ends` are those that were applied. */
void critical_carry(const struct scene *scene, uint64_t from_ns, const struct standing_ends *ends, struct standing_ends *ret_before);

/* The caller fills in what is before `holds`. */
void critical_begin(struct critical *critical);
void critical_end(struct critical *critical);
/* The thread's path between two moments of the scene, as stretches of the fold's part at hand. */
void critical_add(struct critical *critical, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

#endif
