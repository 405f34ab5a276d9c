/* Two folds beside each other, line by line (path/tails.h): the slowest requests and the
 * middle ones, or a run now and then. */
#ifndef SESSION_PATH_COMPARED_H
#define SESSION_PATH_COMPARED_H

#include "base/json.h"
#include "path/tails.h"

/* The first lines: both times, and what. */
void path_compared_text(const struct tails *tails, size_t most, struct buf *buf);
/* All of them, as the array `name`; the times are members of these names. */
void path_compared_json(const struct tails *tails, const char *name, const char *first, const char *second, struct json *json);

#endif
