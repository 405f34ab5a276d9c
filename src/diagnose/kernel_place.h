/* Where in the kernel a thread sleeps, by the names of the functions on its kernel stack:
 * where the system call alone does not tell what it waits for. */
#ifndef DIAGNOSE_KERNEL_PLACE_H
#define DIAGNOSE_KERNEL_PLACE_H

#include "diagnose/scene.h"
#include "symbols/names.h"
#include "trace/tables.h"

enum kernel_place {
	KERNEL_PLACE_UNKNOWN,
	KERNEL_PLACE_FUSE,          /* for the answer of a file system's server */
	KERNEL_PLACE_FROZEN,        /* until a file system is thawed */
	KERNEL_PLACE_NFS,
	KERNEL_PLACE_BLOCK_IO,
	KERNEL_PLACE_JOURNAL,
	KERNEL_PLACE_LEASE,
	KERNEL_PLACE_LINGER,        /* until the other end has taken what was sent */
	KERNEL_PLACE_INODE,
	KERNEL_PLACE_FIFO,          /* until the other end is opened */
	KERNEL_PLACE_MEMORY,        /* until its control group, whose limit is used up, has memory */
};

/* `names` may be NULL. */
enum kernel_place kernel_place_of(struct names *names, const struct tables *tables, uint32_t kstack);
/* With what the call tells beside it, where the kernel shows its innermost function alone. */
enum kernel_place kernel_place_of_wait(struct names *names, const struct tables *tables, const struct wait *wait);
/* What it waits for, behind "waits"; NULL when it is not known. */
const char *kernel_place_words(enum kernel_place place);

#endif
