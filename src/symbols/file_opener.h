/* Opens files whose paths a trace or another file names, for reading: regular ones only (a
 * FIFO or a device does something when it is opened), and without waiting for ever for a file
 * system that no longer answers. A path that the kernel knows up to a disk's file is
 * opened at once; any other by a helper process (base/helper.h). Of one thread at a time. */
#ifndef SYMBOLS_FILE_OPENER_H
#define SYMBOLS_FILE_OPENER_H

#include <sys/stat.h>

#include "base/err.h"

struct file_opener;

struct file_opener *file_opener_new(void);
/* Forks what a helper comes from at once, not when the first is needed: for one whose memory is about to grow. */
void file_opener_prepare(struct file_opener *opener);
/* Accepts NULL. */
void file_opener_free(struct file_opener *opener);
/* A descriptor; -ENOEXEC for what is no regular file, -ETIMEDOUT where the file system did not
 * answer: then what lies beside the file is not asked for again. Without an opener (NULL) it is
 * opened here and now. */
int file_opener_open(struct file_opener *opener, const char *path, struct err *err);
/* The path of the file that `path` leads to, behind all links; NULL when there is none. To be freed. */
char *file_opener_real_path(struct file_opener *opener, const char *path);
/* What is known of a file that was opened, without asking its file system. */
int file_opener_stat(int fd, struct stat *ret_stat);

#endif
