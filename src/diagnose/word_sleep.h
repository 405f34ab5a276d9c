/* Sleeps that a program makes of a wait for a word of its own memory, with a time limit: interpreters and runtimes do, so that
 * they can break them off. */
#ifndef DIAGNOSE_WORD_SLEEP_H
#define DIAGNOSE_WORD_SLEEP_H

#include <stdbool.h>

#include "diagnose/scene.h"

struct names;

/* The wait is one: a function on its stack is called so. `names` may be NULL: false. */
bool word_sleep_is(struct names *names, const struct tables *tables, const struct wait *wait);
/* Whatever it waits for, a function below which it does is called a sleep. */
bool word_sleep_named(struct names *names, const struct tables *tables, const struct wait *w);

#endif
