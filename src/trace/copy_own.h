/* The part of a trace that a user may see: what the threads of the user's own processes did,
 * and who woke them.
 *
 * Of another user's thread it keeps its number and name, and that it woke one of the user's
 * or gave it the processor; not its stacks, system calls, objects, files or command line.
 * A program that runs with other rights than those of the user who started it (set-user-ID)
 * counts as another's. Addresses of the kernel's memory, which tell where the kernel lies, are
 * replaced by numbers that are only equal where the addresses were. */
#ifndef TRACE_COPY_OWN_H
#define TRACE_COPY_OWN_H

#include "trace/trace.h"
#include "trace/writer.h"

/* Of a part of a trace (part.h) what stood at its beginning, too. */
int trace_copy_own(const struct trace *trace, uint32_t uid, struct writer *writer, struct err *err);

#endif
