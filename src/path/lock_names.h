/* Names of locks that are variables of a program: by the address that was waited on, where
 * the program's files were mapped, and the symbols of those files. A lock in allocated
 * memory has none. */
#ifndef PATH_LOCK_NAMES_H
#define PATH_LOCK_NAMES_H

#include "base/arena.h"
#include "trace/trace.h"

struct lock_names;

/* Of what is met from the one moment to the other. Reads nothing yet; the trace must stay. */
struct lock_names *lock_names_new(const struct trace *trace, uint64_t from_ns, uint64_t to_ns);
/* For one whose memory is about to grow: see file_opener_prepare. What was mapped where is read meanwhile by a thread of
 * its own: of a long trace that takes a while, in which else everybody who asks would stand still. */
void lock_names_prepare(struct lock_names *names);
/* Accepts NULL. */
void lock_names_free(struct lock_names *names);
/* NULL when it is no variable that the files name; the name lies in the arena. Several threads may ask. */
const char *lock_names_find(struct lock_names *names, struct arena *arena, uint32_t pid, uint64_t address);

#endif
