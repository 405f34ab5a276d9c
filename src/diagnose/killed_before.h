/* Who looks again and again for something, and who was killed just before and may have left it behind: a lock that is a folder or a file, or that a
 * server keeps for it. */
#ifndef DIAGNOSE_KILLED_BEFORE_H
#define DIAGNOSE_KILLED_BEFORE_H

#include "diagnose/scene.h"

struct killed_before {
	uint32_t thread;
	uint64_t evidence;       /* of the signal */
	bool made;               /* what the looking one is refused to make: it alone had made such a thing and not taken it away; else both asked one server */
};

/* The only such one of the kin of the thread, which looks in that time. */
bool killed_before_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct killed_before *ret_killed);
/* The same where the episode is one of a loop's, or one sleep of many between which it asks. */
bool killed_before_loop(const struct scene *scene, const struct episode *episode, uint64_t to_ns, struct killed_before *ret_killed);
/* In that time the thread, or commands of its process that fail, are refused to make something, by the same call again and again. */
bool killed_before_refused(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

#endif
