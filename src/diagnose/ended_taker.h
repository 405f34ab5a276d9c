/* Words that processes share, each at an address of its own, as a semaphore's: who waits for the same, and who of the same
 * program came, ended, and may have taken with it what they wait for. Nobody keeps who has it. */
#ifndef DIAGNOSE_ENDED_TAKER_H
#define DIAGNOSE_ENDED_TAKER_H

#include "diagnose/scene.h"

/* Threads of two processes wait for one word: at one place in the program, and the one let the other go on by the word that it
 * waits for itself. */
bool ended_taker_same_word(const struct scene *scene, const struct wait *a, const struct wait *b);
/* The first thread of the process that may have taken it; 0: nobody, or not known which one. */
uint32_t ended_taker_find(const struct scene *scene, const struct episode *episode);

#endif
