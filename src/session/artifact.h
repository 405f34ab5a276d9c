/* Files that commands leave beside their results: pictures, folded stacks. */
#ifndef SESSION_ARTIFACT_H
#define SESSION_ARTIFACT_H

#include "base/buf.h"
#include "base/err.h"

/* Writes the text as a file of mode 0600, whole or not at all; what was there is
 * replaced, never written through a link. */
int artifact_write(const char *path, const struct buf *text, struct err *err);

#endif
