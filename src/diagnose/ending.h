/* Of a process that was told to end by a signal, and goes about it: the thread that it made for that (rule `made_to_end`). */
#ifndef DIAGNOSE_ENDING_H
#define DIAGNOSE_ENDING_H

#include "diagnose/hangs.h"
#include "diagnose/scene.h"

/* Once, when the scene's signals are there. */
void ending_note_signals(struct scene *scene);
/* 0: none. *ret_signal: by which it was told. */
uint32_t ending_thread(const struct scene *scene, uint32_t pid, const struct sent_signal **ret_signal);
/* That thread hung: who ended the process waits for it. */
bool ending_is_kept(const struct scene *scene, const struct hang *hang);

#endif
