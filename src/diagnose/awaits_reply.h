/* Who waits for the reply to what it asked a window server for, and not for whatever may come next over the same connection. */
#ifndef DIAGNOSE_AWAITS_REPLY_H
#define DIAGNOSE_AWAITS_REPLY_H

#include <stdbool.h>

#include "diagnose/scene.h"

struct names;

/* As the names of the functions say in which it waits. `names` may be NULL: false. */
bool awaits_reply_by_name(struct names *names, const struct tables *tables, const struct wait *wait);

#endif
