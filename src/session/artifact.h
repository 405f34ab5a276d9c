/* Files that commands leave beside their results: pages, exports, pictures, folded stacks.
 *
 * A file comes to its name when it is whole: a command that fails or is interrupted leaves
 * what was there before, and nothing half. */
#ifndef SESSION_ARTIFACT_H
#define SESSION_ARTIFACT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct artifact {
	FILE *file;
	const char *path;
	struct buf passing;   /* name until it is whole, for file systems that need one */
	bool in_place;        /* a device or a pipe is written to, not replaced */
};

/* `path` is kept. */
int artifact_open(struct artifact *artifact, const char *path, mode_t mode, struct err *err);
/* With status 0 the file gets its name; what was there is replaced, never written through a link.
 * Otherwise it is gone. Returns the status, or what went wrong with the rest. */
int artifact_close(struct artifact *artifact, int status, struct err *err);
/* The same at once, for a file of mode 0600. */
int artifact_write(const char *path, const struct buf *text, struct err *err);

#endif
