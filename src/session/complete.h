/* Completion of a command line, for the shells: what may stand where its last word does.
 *
 * Everything comes from the tables of commands and options; what a value stands for is
 * known by the name of the value or of the option (a table in complete.c). The shells'
 * scripts (dist/completions) only pass the words on: `argus --complete WORD...` prints a
 * candidate a line, with a tab and its description, or one of
 *	:files          the shell's own completion of files, or of folders
 *	:folders
 *	:command N      from the Nth word on (argus is the 0th) it is another command's line */
#ifndef SESSION_COMPLETE_H
#define SESSION_COMPLETE_H

#include "base/arena.h"
#include "base/buf.h"

/* `words`: those behind `argus`, the last one begun (it may be ""). */
void complete_words(struct arena *arena, int count, char *const *words, struct buf *buf);

#endif
