/* Where what lies in a file system is seen, by the table of mounts: a mount may show a part of it alone, as that of a
 * subvolume or a bound folder does. Only a text is read: no file system is asked. */
#ifndef RECORD_MOUNT_PATH_H
#define RECORD_MOUNT_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* `within`: "/a/b" from the file system's own root, "" that one; `table` as /proc/self/mountinfo is. The mount that shows the
 * smallest part counts. False: it is seen nowhere, or the path is too long. */
bool mount_path(FILE *table, uint32_t device, const char *within, char *to, size_t size);

#endif
