/* What an answer says of a wait that only the state found tells of: an owner that has
 * ended, a place in the kernel, who else could signal a condition. */
#ifndef DIAGNOSE_ANSWER_STANDING_H
#define DIAGNOSE_ANSWER_STANDING_H

#include "base/buf.h"
#include "base/buf.h"
#include "diagnose/describe.h"

/* Sentences, each with a space before it; foreign text is escaped. */
void answer_standing_text(const struct describer *d, const struct diagnosis *diagnosis, struct buf *buf);

#endif
