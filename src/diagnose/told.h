/* Signals for a condition that came, but went to another of those who waited for it. */
#ifndef DIAGNOSE_TOLD_H
#define DIAGNOSE_TOLD_H

#include "diagnose/scene.h"

/* The wait of another thread of the process for the same condition that was ended while this
 * one waited, until its limit ran out; NULL when there is none. */
const struct wait *told_instead(const struct scene *scene, const struct episode *episode);

#endif
