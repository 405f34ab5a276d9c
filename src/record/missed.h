/* When events were lost of which the kernel keeps nothing but a count: between two looks at that. */
#ifndef RECORD_MISSED_H
#define RECORD_MISSED_H

#include <stdbool.h>
#include <stdint.h>

struct missed {
	uint64_t told;      /* of the count */
	uint64_t from_ns;   /* when it was last looked at: what comes next was lost behind that */
};

struct missed_stretch {
	uint64_t from_ns, to_ns;
	uint64_t lost;
};

/* The count as it was read by now; false: nothing was lost since the look before. Who read it before another looked tells nothing new. */
bool missed_look(struct missed *missed, uint64_t count, uint64_t now_ns, struct missed_stretch *ret_stretch);

#endif
