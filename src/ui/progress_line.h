/* A line on the terminal that tells how far something is, once it has taken a second:
 * what is done, per cent, events, time left. It is gone before anything else is written. */
#ifndef UI_PROGRESS_LINE_H
#define UI_PROGRESS_LINE_H

#include <stdbool.h>

/* On standard error, when that is a terminal. */
void progress_line_open(void);
/* Something else is about to be written to the terminal; `last`: and the terminal is then
 * another program's. */
void progress_line_clear(bool last);

#endif
