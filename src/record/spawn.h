/* Starting programs from the recorder: with a clean signal mask, without its
 * descriptors, and without waiting for them. */
#ifndef RECORD_SPAWN_H
#define RECORD_SPAWN_H

#include <sys/types.h>

/* The words end with NULL. The process's number, or -errno. */
pid_t spawn_program(const char *path, const char *const *words);
/* The same; what it writes can be read, without waiting, at *ret_fd. */
pid_t spawn_heard(const char *path, const char *const *words, int *ret_fd);

#endif
