/* Work that is done once, by the first who needs it, while all others wait: the initialiser of a class, or what pthread_once calls. */
#ifndef DIAGNOSE_ONE_TIME_H
#define DIAGNOSE_ONE_TIME_H

#include <stdbool.h>

#include "diagnose/scene.h"

struct names;

/* It waits until another has done such work, as the names of the functions say in which it waits. `names` may be NULL: false. */
bool one_time_awaits(struct names *names, const struct tables *tables, const struct wait *wait);
/* It waits inside such work of its own, for whatever that is. */
bool one_time_does(struct names *names, const struct tables *tables, const struct wait *wait);

#endif
