/* Where a walk ends with a person: rule `person`. What windows and terminals bring was done by whoever sits before them, or a
 * program in their place, who owes the one that waits nothing. */
#ifndef DIAGNOSE_WALK_PERSON_H
#define DIAGNOSE_WALK_PERSON_H

#include "diagnose/ends.h"
#include "diagnose/walk.h"

/* A program with windows whose parent, on the way here, waits for its end, or for what it says: a dialog waits for its user,
 * whatever else sets its loop to work. */
bool walk_is_dialog(const struct walk *walk, uint32_t thread, uint32_t came);
/* Nothing but a person ends it: it reads from a terminal, or is a dialog's loop, which listens to several things. */
bool walk_awaits_person(const struct walk *walk, const struct wait *w, uint32_t came);
/* A person ended the wait, by way of the window server or of a terminal. */
bool walk_ended_by_person(const struct walk *walk, const struct wait *w, uint32_t came);
/* The wait is to write to a terminal at whose other side that thread only listened meanwhile, to several: its user had stopped it
 * (Ctrl-S), and let it go on. */
bool walk_listens_at_terminal(const struct scene *scene, const struct ends *ends, const struct wait *w, uint32_t other, uint64_t from, uint64_t to);
/* The wait is to write to a terminal whose other side is read, by one that only listens there: the output is stopped. That one, where nobody has let the
 * output go on, or another did; else 0. */
uint32_t walk_waits_for_output(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from, uint64_t to);

#endif
