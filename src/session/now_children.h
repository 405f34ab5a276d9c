/* Of who looks at something again and again by programs that it starts: which, and how often in the look. */
#ifndef SESSION_NOW_CHILDREN_H
#define SESSION_NOW_CHILDREN_H

#include "base/buf.h"
#include "diagnose/scene.h"

/* A line; none where it started different programs, or too few. */
void now_children_text(const struct scene *scene, uint32_t thread, uint64_t from_ns, struct buf *buf);

#endif
