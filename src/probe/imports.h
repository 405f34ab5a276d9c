/* Which functions of joined files a process's code calls by words in memory that its loader fills. */
#ifndef PROBE_IMPORTS_H
#define PROBE_IMPORTS_H

#include "probe/code.h"
#include "probe/process.h"

/* Fills `imports` of the code from the process's memory; a word that the loader has not filled yet, by its
 * function's name. `biases`: of each file, from its addresses as linked to where they lie. */
void imports_find(struct code *code, const struct process *process, const uint64_t biases[CODE_FILES]);

#endif
