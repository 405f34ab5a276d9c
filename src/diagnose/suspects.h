/* Who should have ended a wait that a timeout ended, or that nothing ended.
 *
 * Everything the trace knows is asked: hints read from memory, the holder of a
 * file lock, the server of a file system, the child, what became of the thread's
 * last request (follow.h), the other end of the pipe or socket, who did not do its
 * part when a similar wait ended well (baseline.h), and the threads of its own process. Each answer is a suspect
 * with a confidence; the best is followed, the others are the alternatives. */
#ifndef DIAGNOSE_SUSPECTS_H
#define DIAGNOSE_SUSPECTS_H

#include "diagnose/baseline.h"
#include "diagnose/follow.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"

struct suspect {
	struct hop hops[WALK_MAX_HOPS];
	unsigned hop_count;        /* the last hop is the suspect */
	uint8_t confidence;
	uint8_t end;               /* enum trail_end, where it was followed */
	bool followed;
	enum rule_id rule;         /* that speaks for it */
	const struct baseline *baseline; /* that speaks for it; NULL none */
};

struct suspects vec(struct suspect);

static inline uint32_t suspects_thread(const struct suspect *suspect)
{
	return suspect->hops[suspect->hop_count - 1].thread;
}

struct inquiry {
	const struct scene *scene;
	const struct ends *ends;
	struct arena *arena;       /* of the baselines that suspects rest on */
	struct side *now, *base;   /* `base`: another trace in which all went well, or NULL; `now` NULL: nothing is compared */
	struct trails trails;      /* scratch */
	struct retries retries;    /* the last that were looked at, of this thread, with their partner */
	uint32_t retrying, retry_partner;
	bool lockstep;
	struct at_work {           /* the last that was found, as it is asked for again and again */
		const struct wait *wait;
		uint32_t process, found;
		uint64_t asked_ns, to_ns;
		unsigned waiting_count;
	} at_work;
};

void inquiry_done(struct inquiry *inquiry);

/* Best first. `waiting` are the threads that wait for this one already. With
 * *ret_alone true, no other thread could have ended the wait: it waits for
 * itself. */
void suspects_find(struct inquiry *inquiry, const struct episode *episode, uint64_t from_ns, uint64_t to_ns,
		   const uint32_t *waiting, unsigned waiting_count, struct suspects *suspects, bool *ret_alone);

/* The process (its first thread) that this one sent a signal to, and whose end ended
 * the poll loop; 0 none. *ret_evidence is the signal's event. */
uint32_t suspects_told_to_end(const struct scene *scene, const struct episode *episode, uint64_t *ret_evidence);
/* The file lock that the thread was refused, or waited for, in the window; NULL
 * when there was none. */
const struct file_lock *suspects_refused_lock(const struct scene *scene, const struct wait *wait, uint64_t from_ns, uint64_t to_ns);
/* It sleeps, tries for a file lock that it is refused, and sleeps again. */
bool suspects_tries_for_lock(const struct scene *scene, const struct episode *episode);
/* The same by the children of a script that looks by them, refused each time. */
const struct file_lock *suspects_refused_children(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* The longest part of the window in which the thread was refused that lock and never granted it. */
void suspects_refused_longest(const struct scene *scene, const struct file_lock *refused, uint64_t from_ns, uint64_t to_ns,
			      uint64_t *ret_from_ns, uint64_t *ret_to_ns);
/* The thread (its process's first) that held the lock then, 0 unknown. */
uint32_t suspects_lock_holder(const struct scene *scene, const struct file_lock *refused);

/* Who is to bring what the thread looks for again and again, as its calls tell; false: nobody is known. */
bool suspects_by_looks(struct inquiry *inquiry, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct hop *ret_hop);

/* The process (its first thread) at the other end of what was found open: as it was reported, or the one that receives
 * there, or that has not accepted it; 0 unknown. */
uint32_t suspects_neighbour(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t from_ns, uint64_t to_ns);

/* Another process than the reader's has the end of the pipe by which it is filled. */
bool suspects_others_write(const struct ends *ends, uint64_t object, const struct wait *w);

/* What was sent over the connection was found unread at its other end, whenever that was looked at in the time. */
bool suspects_leave_unread(const struct ends *ends, const struct descriptor *d, uint64_t from_ns, uint64_t to_ns);

/* Of the children of the thread's process the only one that stood stopped, or kept by a lock or inside the kernel; 0 none, or several. */
uint32_t suspects_kept_child(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

/* Who keeps the lock that this thread took, when it has ended: its process's creator has
 * the file open, too. */
uint32_t suspects_lock_keeper(const struct scene *scene, uint32_t thread, uint64_t time);

#endif
