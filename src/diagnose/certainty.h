/* What an answer may be sure of because it stood for the whole window: owners that were
 * read from the locks' own memory, a circle that such owners close; and since when the
 * victim had been in its wait before the trace began. Private to the diagnosis. */
#ifndef DIAGNOSE_CERTAINTY_H
#define DIAGNOSE_CERTAINTY_H

#include "diagnose/investigation.h"

/* Behind the blame and the circle: raises the answer's confidence where the evidence
 * is more than a hint, and says what it rests on. */
void certainty_judge(struct investigation *v);

#endif
