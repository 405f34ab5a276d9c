/* See awaits_reply.h. */
#include "diagnose/awaits_reply.h"

#include <string.h>

#include "symbols/names.h"

#define FRAMES_LOOKED_AT 8

/* Parts of names of exported functions, each with a text that all such names hold, as a large library is not read for others: of libxcb, Xlib and
 * libwayland-client. */
static const struct {
	const char *name, *holds;
} functions[] = {
	{ "xcb_wait_for_reply", "wait_for_reply" }, { "_XReply", "_XReply" }, { "wl_display_roundtrip", "roundtrip" },
};

bool awaits_reply_by_name(struct names *names, const struct tables *tables, const struct wait *w)
{
	uint32_t node = w->ustack;

	for (unsigned at = 0; names && node && node < tables->frame_count && at < FRAMES_LOOKED_AT; at++, node = tables->frames[node].parent)
		for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
			if (names_may_hold(names, node, functions[i].holds) &&
			    !strncmp(names_frame(names, node)->function, functions[i].name, strlen(functions[i].name)))
				return true;
	return false;
}
