/* The folder that holds the files of a ring.
 *
 * Files are numbered on and on, `argus-0000000042.trace`, also over recordings:
 * what an earlier recorder left behind (it was killed, the power failed) stays
 * readable until its room is needed. Only such files are ever removed, and their indexes
 * (`argus-0000000042.trace.index`), whose bytes count as theirs. */
#ifndef RECORD_RING_FOLDER_H
#define RECORD_RING_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RING_FILE_NAME_BYTES 32

struct ring_folder {
	const char *path;       /* the caller's, stays */
	uint64_t next;          /* number of the next file */
};

struct ring_folder_size {
	uint64_t bytes, files;
	uint64_t oldest;        /* number of the oldest file */
};

/* Makes the folder (0700) when it is not there; one that others may write to is refused. */
int ring_folder_open(struct ring_folder *folder, const char *path, struct err *err);
/* In a folder that gives its files its group (set-group-ID, as packages make it: root:argus)
 * the group may read them: whether it may enter the folder is `open`. */
void ring_folder_share(const struct ring_folder *folder, bool open);
/* The same of a file that has been created in it. */
void ring_folder_share_file(const struct ring_folder *folder, const char *path);
/* Name of the next file, with the folder's. */
int ring_folder_next(struct ring_folder *folder, char *ret_path, size_t size, struct err *err);
int ring_folder_size(const struct ring_folder *folder, struct ring_folder_size *ret_size, struct err *err);
/* Bytes that its disk has left; -ENOTSUP where the file system does not tell. */
int ring_folder_room(const struct ring_folder *folder, uint64_t *ret_bytes, struct err *err);
/* Makes room on the disk for so many bytes and a little more, by removing the oldest files: all but
 * the two newest, one of which is perhaps being finished; of a `full` disk also that one. Whether there
 * is room now. May be called from any thread. */
bool ring_folder_make_room(const struct ring_folder *folder, uint64_t bytes, bool full);
/* Removes the oldest files, never the `keep` newest, until all together have at most so many bytes. */
int ring_folder_trim(const struct ring_folder *folder, uint64_t bytes, size_t keep, struct err *err);

#endif
