/* What took long and may be meant to: on the way to where the time went all rest, sleep their time, work as they were told, or wait for a
 * person or for news, and nothing is in anybody's way. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_MEANT_H
#define DIAGNOSE_HANGS_MEANT_H

#include "diagnose/hangs_rest.h"

/* Sets the rule by which it may be, RULE_NONE where it hangs, and where it is served. */
void hangs_mean(const struct finder *f, struct hang *hang);

/* On its way another has what is needed, is stopped, stands inside the kernel, or does not take what is written; or they wait for each other. */
bool hangs_way_is_kept(const struct finder *f, const struct hang *hang);

#endif
