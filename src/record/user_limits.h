/* What a process's user may have: as many processes and threads as its limit (RLIMIT_NPROC) says, counted over all that the user has. Of the first
 * user there is no limit. */
#ifndef RECORD_USER_LIMITS_H
#define RECORD_USER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"

/* The process's limit, and whose it is. False where the machine has fewer tasks than that, or its privileges spare it the limit. */
bool user_limit_read(uint32_t pid, struct event_group_limit *ret_limit, uint32_t *ret_user);
/* How many the user has, and the program with most of them: looks at all processes. */
void user_limit_count(uint32_t user, struct event_group_limit *limit);

#endif
