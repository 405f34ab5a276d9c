/* What a process's user may have: as many processes and threads as its limit (RLIMIT_NPROC) says, counted over all that the user has. Of the first
 * user there is no limit. */
#ifndef RECORD_USER_LIMITS_H
#define RECORD_USER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"

/* True where the process's limit is used up: it can start no other. */
bool user_limit_read(uint32_t pid, struct event_group_limit *ret_limit, uint32_t *ret_user);

#endif
