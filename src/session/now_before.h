/* Since when those stood or looked that were asked about, as the look before told: a longer one, which is taken then, knows nothing of what went before. */
#ifndef SESSION_NOW_BEFORE_H
#define SESSION_NOW_BEFORE_H

#include "base/vec.h"
#include "diagnose/standing.h"

struct now_stood {
	uint32_t tid;
	uint64_t since_ns, object, detail;   /* of the wait in which it stood */
	uint8_t kind;
};

struct now_before {
	struct vec(struct now_stood) items;
};

void now_before_note(struct now_before *before, const struct scene *scene, const struct standing *standing);
/* By the clock that all looks have; 0 not known, not before `from_ns`, or it has gone on and waits for something else. */
uint64_t now_before_since(const struct now_before *before, const struct scene *scene, uint32_t thread, uint64_t from_ns);

#endif
