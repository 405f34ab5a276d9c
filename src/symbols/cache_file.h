/* Files kept between runs, of the user's own: $ARGUS_CACHE_DIR, else
 * /var/cache/argus for root, else $XDG_CACHE_HOME/argus or ~/.cache/argus; the
 * folder 0700, files 0600, never through links, written beside and moved into
 * place. What they hold is to be checked like any other input. */
#ifndef SYMBOLS_CACHE_FILE_H
#define SYMBOLS_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_FOLDER_BYTES (1ull << 30) /* of all files; the oldest go */

/* NAME's path in the folder, which is made when missing; -errno when there can be none. */
int cache_file_path(const char *name, char *path, size_t path_bytes);
/* The file's bytes, mapped: munmap() frees them. NULL when it is not there,
 * not a regular file of one's own, or larger than `most`. */
void *cache_file_map(const char *path, size_t most, size_t *ret_bytes);
/* The same, and the descriptor, which is the caller's. */
void *cache_file_map_open(const char *path, size_t most, size_t *ret_bytes, int *ret_fd);
/* False is no matter: what was to be kept is made anew next time. */
bool cache_file_write(const char *path, const void *data, size_t bytes);
/* Files begin with a magic number and a checksum of all behind both: sets the
 * checksum, writes the file, and keeps the folder within its size. */
void cache_file_keep(const char *path, char *data, size_t bytes);
/* True when the checksum is right; `bytes` are at least those two. */
bool cache_file_intact(const char *data, size_t bytes);
/* Removes the oldest files until no more than `most` bytes are left. */
void cache_file_trim(uint64_t most);

#endif
