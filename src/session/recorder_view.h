/* The recorder in the background, and what is stuck right now, for the page: what the
 * commands `argus status` and `argus now` say as JSON, and the hangs that were saved. */
#ifndef SESSION_RECORDER_VIEW_H
#define SESSION_RECORDER_VIEW_H

#include "base/buf.h"

/* An object: `status` (docs/json.md, argus status), null with `error` where none runs, and
 * `saved`, the newest first: name, path, bytes, time (seconds). */
void recorder_view_json(const char *build, struct buf *buf);
/* An object: `now` (argus now), null with `error` where that could not be told. */
void recorder_view_now(const char *build, struct buf *buf);

#endif
