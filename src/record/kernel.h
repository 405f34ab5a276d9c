/* What the running kernel offers the recorder, from its type information (BTF)
 * and a few probes; the recorder's start and `doctor` both ask here. */
#ifndef RECORD_KERNEL_H
#define RECORD_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "record/config.h"

#define KERNEL_TYPES_PATH 32

struct btf;
struct kernel_modules;
struct kernel_types;

struct kernel {
	struct btf *btf;
	struct kernel_modules *modules;  /* their types */
	struct kernel_types *types;      /* the names of all */
	int types_fd;                    /* for objects that are loaded one after the other: kernel_types_file */
	bool casts;
};

/* -ENOENT, with the way out, when the kernel has no type information. */
int kernel_open(struct kernel *ret_kernel, struct err *err);
void kernel_close(struct kernel *kernel);

/* True when the kernel or a module that is loaded has the trace point. */
bool kernel_has_tracepoint(const struct kernel *kernel, const char *name);
/* True when the kernel knows such an iterator: "task", "task_file". */
bool kernel_has_iterator(const struct kernel *kernel, const char *name);

/* True when programs may read kernel memory through casts (Linux 6.2). */
bool kernel_has_casts(const struct kernel *kernel);

/* A file without a name, for the types that an object asks for (kernel_types.h); below 0 when there can be none, and the
 * library is to look for itself. An object is opened with the path, and loaded when its types are written. */
int kernel_types_file(void);
const char *kernel_types_path(int fd, char path[KERNEL_TYPES_PATH]);
int kernel_types_write(const struct kernel *kernel, const struct btf *object, int fd);

/* Fills what depends on the kernel: distances of per-CPU variables, ... */
void kernel_configure(const struct kernel *kernel, struct record_config *config);

#endif
