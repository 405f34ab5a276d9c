/* Rules and limits by which the diagnosis judges, in words. */
#ifndef SESSION_RULE_TEXT_H
#define SESSION_RULE_TEXT_H

#include "base/buf.h"
#include "diagnose/judgement.h"

/* The rule's line, and one for each of its limits. */
void rule_text(struct buf *buf, enum rule_id rule);
/* The rule of this name, or that which has the limit of this name; RULE_NONE there is none. */
enum rule_id rule_named(const char *name);

#endif
