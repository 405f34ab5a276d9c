/* Messages that were there before they were asked for: who took one did not wait, but would have if it came sooner. For
 * script.c. */
#ifndef PATH_SCRIPT_MESSAGES_H
#define PATH_SCRIPT_MESSAGES_H

#include "path/script.h"

/* It was sent, or taken. */
struct script_message {
	uint64_t ns;
	uint64_t number;          /* of the one that was sent */
	uint32_t thread;
};

struct script_messages {
	struct vec(struct script_message) sent, taken; /* by thread, then time */
};

/* Of programs, in the window. */
void script_messages_find(struct naming *naming, const struct script_question *question, struct script_messages *ret_messages);
void script_messages_done(struct script_messages *messages);

#endif
