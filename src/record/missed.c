/* See missed.h. */
#include "record/missed.h"

bool missed_look(struct missed *missed, uint64_t count, uint64_t now_ns, struct missed_stretch *ret_stretch)
{
	bool more = count > missed->told;

	if (more)
		*ret_stretch = (struct missed_stretch){ missed->from_ns, now_ns, count - missed->told };
	if (count >= missed->told) {
		missed->told = count;
		missed->from_ns = now_ns;
	}
	return more;
}
