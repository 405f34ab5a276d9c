/* A compressed tar archive of small texts, made in memory. */
#ifndef BASE_ARCHIVE_H
#define BASE_ARCHIVE_H

#include "base/buf.h"
#include "base/err.h"

struct archive {
	struct buf tar;
};

void archive_init(struct archive *archive);
void archive_done(struct archive *archive);
/* `name` is a relative path of at most 99 bytes. */
void archive_add(struct archive *archive, const char *name, const struct buf *text);
/* The archive, as gzip's format has it. */
int archive_pack(struct archive *archive, struct buf *ret_packed, struct err *err);

#endif
