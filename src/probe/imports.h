/* Which functions of joined files a process's code calls by words in memory that its loader fills. */
#ifndef PROBE_IMPORTS_H
#define PROBE_IMPORTS_H

#include "probe/code.h"
#include "probe/process.h"

/* Fills `imports` of the code from the process's memory; a word that the loader has not filled yet, by its
 * function's name. `biases`: of each file, from its addresses as linked to where they lie. Process NULL: all by name. */
void imports_find(struct code *code, const struct process *process, const uint64_t biases[CODE_FILES]);
/* Name of the other file's function that the call or jump at the address, or the stub there, leads to; NULL when
 * it is none. Valid as long as the code. */
const char *imports_name(struct code *code, uint64_t address);

#endif
