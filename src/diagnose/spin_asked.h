/* Whom a thread set to work just before it began to spin, and who rests again only since it stopped: that one was asked
 * for what the thread looks for, whatever memory tells it so. */
#ifndef DIAGNOSE_SPIN_ASKED_H
#define DIAGNOSE_SPIN_ASKED_H

#include "diagnose/scene.h"

struct spin_asked {
	uint32_t thread;
	uint64_t event;              /* wake-up that set it to work */
	uint64_t start_ns, end_ns;   /* of the spinning, as long as that one was away */
};

/* Of the spinning that is on in the middle of the stretch; false: nobody is known. That the thread spins, and
 * does not compute, is not asked here. */
bool spin_asked_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct spin_asked *ret_asked);
/* As long as it spins, who was asked ran for little of the time: the two do not share work out. */
bool spin_asked_is_away(const struct scene *scene, const struct spin_asked *asked);
/* It was asked before, often, and always came back much sooner. */
bool spin_asked_is_late(const struct scene *scene, uint32_t thread, const struct spin_asked *asked);

#endif
