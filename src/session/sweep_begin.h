/* Where a loop of waits began that is longer than what was laid out. */
#ifndef SESSION_SWEEP_BEGIN_H
#define SESSION_SWEEP_BEGIN_H

#include <stdint.h>

struct hang;
struct scene;
struct trace;

/* The hang's begin, or that of its waits before the scene, which is a part of the trace:
 * where the thread did nothing but begin the same wait anew when its limit had passed.
 * Reads the trace's switches back from there, `step_ns` at once. */
uint64_t sweep_begin(const struct trace *trace, const struct scene *scene, const struct hang *hang, uint64_t step_ns);

#endif
