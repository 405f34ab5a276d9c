/* Loops that began before a part of a trace does. */
#ifndef DIAGNOSE_HANGS_CUT_H
#define DIAGNOSE_HANGS_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct hangs_options;
struct scene;

/* True when a loop that looks often enough to be a hang may have begun before the scene
 * does, and ends in the stretch: how long it was, and whom it waited for, shows in what is
 * before the scene. */
bool hangs_loop_is_cut(const struct scene *scene, const struct hangs_options *options, uint64_t from_ns, uint64_t to_ns);

#endif
