/* Names of code made at run time: /tmp/perf-PID.map, as perf, Node.js, Java
 * agents and others write it. Anybody may put a file there: only one of the
 * process's own user, or root's, is read, and it is not trusted either. */
#ifndef SYMBOLS_JIT_MAP_H
#define SYMBOLS_JIT_MAP_H

#include <sys/types.h>

#include "base/err.h"
#include "symbols/symbol_table.h"

/* Adds the process's names and sorts the table; in the process's own view of
 * the files when it still runs, else here. `user` runs or ran it. */
int jit_map_read(pid_t pid, uid_t user, struct symbol_table *table, struct err *err);
/* Lines of START SIZE NAME, numbers in hexadecimal. Later lines come last, and
 * hold, where code was replaced. */
void jit_map_parse(const char *text, size_t length, struct symbol_table *table);

#endif
