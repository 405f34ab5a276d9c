/* What took long and may be meant to: on the way to where the time went all rest, sleep their time, work as they were told, or wait for a
 * person or for news, and nothing is in anybody's way. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_MEANT_H
#define DIAGNOSE_HANGS_MEANT_H

#include "diagnose/hangs_rest.h"

/* The rule by which it may be; RULE_NONE: it hangs. */
enum rule_id hangs_meant(const struct finder *f, const struct hang *hang);

/* On its way another has what is needed, is stopped, stands inside the kernel, or does not take what is written; or they wait for each other. */
bool hangs_way_is_kept(const struct finder *f, const struct hang *hang);

#endif
