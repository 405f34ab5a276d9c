/* Loops that began before a part of a trace does. */
#ifndef DIAGNOSE_HANGS_CUT_H
#define DIAGNOSE_HANGS_CUT_H

#include <stdint.h>

struct hangs_cut;
struct hangs_options;
struct scene;

/* Tells the loops that look often enough to be a hang, may have begun before the scene
 * does, and end in the stretch: how long they were, and whom they waited for, shows in
 * what is before the scene. */
void hangs_cut_loops(const struct scene *scene, const struct hangs_options *options, uint64_t from_ns, uint64_t to_ns,
		     void (*tell)(void *data, const struct hangs_cut *cut), void *data);

#endif
