/* Names of numbers that the kernel's interface fixes: system calls and signals. */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

#include <stddef.h>

/* NULL for a number without a name. x86-64's numbers. */
const char *syscall_name(unsigned number);
/* Number of the name, -ENOENT when there is none. */
int syscall_find(const char *name, size_t length);
/* "SIGTERM"; NULL for a number without a name. */
const char *signal_name(unsigned number);
int signal_find(const char *name, size_t length);

#endif
