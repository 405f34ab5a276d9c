/* Epoll sets on the way of an answer of which a snapshot could not tell all: who else is in them is not known. */
#ifndef SESSION_CUT_SETS_H
#define SESSION_CUT_SETS_H

#include "diagnose/diagnosis.h"
#include "diagnose/scene.h"
#include "session/command.h"

/* A line for each. */
void cut_sets_note(struct arena *arena, const struct scene *scene, const struct diagnosis *diagnosis, struct sink *notes);

#endif
