/* Names of code made at run time from a jitdump, as V8, .NET, LLVM and OpenJDK's
 * agents write it for perf: records of code that was loaded and moved. The
 * program maps the file as code, which is how it is found. It is somebody
 * else's file, written while we read. */
#ifndef SYMBOLS_JIT_DUMP_H
#define SYMBOLS_JIT_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "symbols/symbol_table.h"

/* Reads up to `bytes` at `at`; the number that were there. */
typedef size_t jit_dump_bytes(void *data, void *to, size_t bytes, uint64_t at);

/* Is this the path of a jitdump, .../jit-PID.dump? */
bool jit_dump_path(const char *path);
/* Adds what the file at `path`, as the process sees it or as it is here, names,
 * and sorts the table. `user` runs or ran the process. */
int jit_dump_read(pid_t pid, uid_t user, const char *path, struct symbol_table *table, struct err *err);
/* Up to the first record that makes no sense; -EPROTO when the head makes none. */
int jit_dump_parse(jit_dump_bytes *read, void *data, struct symbol_table *table);

#endif
