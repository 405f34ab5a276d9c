/* Functions and stacks as tables, numbered as they are met: what profiles refer to. Two
 * nodes with the same function and module are one function; a stack is a state's name and
 * its frames, outermost first. */
#ifndef EXPORT_FRAMES_H
#define EXPORT_FRAMES_H

#include "base/map.h"
#include "base/vec.h"
#include "export/export.h"

#define FRAMES_DEPTH_MOST 512u

struct frame_name {
	const char *function, *module; /* module "" none */
};

struct frames {
	const struct export_source *source;
	struct arena arena;
	struct map by_text, by_node;   /* hash of texts, node of the trace -> number + 1 */
	struct vec(struct frame_name) list;
};

void frames_init(struct frames *frames, const struct export_source *source);
void frames_done(struct frames *frames);
/* Number of a function that only has this name, as a state. */
uint32_t frames_text(struct frames *frames, const char *text);
/* Numbers of an interval's frames: user frames, outermost first, then the kernel's. */
uint32_t frames_of(struct frames *frames, uint32_t ustack, uint32_t kstack, uint32_t numbers[FRAMES_DEPTH_MOST]);

#endif
