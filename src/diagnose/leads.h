/* Which thread stands for its process: what that one does is what a person calls the program's doing. */
#ifndef DIAGNOSE_LEADS_H
#define DIAGNOSE_LEADS_H

#include "diagnose/scene.h"

/* The first thread; or, where that does nothing for nearly all of its life but await the end of another, as a launcher does, that
 * other one. */
bool leads_process(const struct scene *scene, uint32_t thread);

/* The wait is a launcher's, as of its process nobody but it and the thread whose end it awaits was there when it began, and that one waits, too, for a
 * word of the process whose owner nobody keeps: both may wait until all others have ended. */
bool leads_in_rest(const struct scene *scene, const struct wait *wait);

#endif
