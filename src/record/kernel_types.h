/* The kernel's types as far as one BPF object asks for them. The library that relocates
 * programs goes through all names of the kernel's for each type that an object names: most
 * of what loading took outside of the kernel. Here they are indexed once, and each object is
 * handed those of the names it knows (btf_custom_path), under the numbers they have in the
 * kernel, for casts go by these; the others keep their place, without name and members.
 *
 * Filled once; then several threads may ask. */
#ifndef RECORD_KERNEL_TYPES_H
#define RECORD_KERNEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>

struct btf;
struct kernel_types;

struct kernel_types *kernel_types_new(void);
void kernel_types_free(struct kernel_types *types);
/* The kernel's own first, then modules', which are based on it; they stay the caller's and must live as long. */
void kernel_types_add(struct kernel_types *types, const struct btf *btf);
bool kernel_types_has(const struct kernel_types *types, const char *name, unsigned kind);

/* Type information with what is named as `object`'s types are; malloc'ed. */
void *kernel_types_for(const struct kernel_types *types, const struct btf *object, size_t *ret_bytes);

#endif
