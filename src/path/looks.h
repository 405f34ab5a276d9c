/* Loops that sleep and look again, many times in a run at one place, for what another thread does: nothing wakes them, so
 * no edge tells who that is. What that one did as the loops ended does: it went to wait at one place, or came back from
 * there, behind a loop's last look in vain in nearly all of them, and before that in none. */
#ifndef PATH_LOOKS_H
#define PATH_LOOKS_H

#include "base/map.h"
#include "base/vec.h"
#include "diagnose/scene.h"

/* One such loop. */
struct look {
	uint64_t start_ns, end_ns; /* of its first sleep and its last */
	uint64_t done_ns;          /* when what it looked for was done; 0 not known */
	uint32_t first, last;      /* sleeps, waits of the scene */
	uint32_t count;            /* of sleeps */
	uint32_t other;            /* who did it */
};

struct looks_place {
	uint32_t first, count;     /* in the list; none where it is not known whom they are for */
};

/* Of a scene; threads are looked at when they are asked about. */
struct looks {
	const struct scene *scene;
	struct map numbers;        /* thread and place -> number of looks_place */
	struct vec(struct looks_place) places;
	struct vec(struct look) list;
};

void looks_init(struct looks *looks, const struct scene *scene);
void looks_done(struct looks *looks);
/* The loop that the wait is a part of, where it is known whom it is for. */
bool looks_find(struct looks *looks, const struct wait *wait, struct look *ret_look);

#endif
