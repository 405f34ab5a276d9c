/* Rules: how events become segments and edges, and what a person knows.
 *
 * A rule is one statement of a small language (docs/rules.md). A set holds the
 * statements of several files: the default pack, other packs, knowledge. A file
 * with an error adds nothing and leaves the set as it was; the error names file,
 * line and column. Parsed sets are immutable for their readers. */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rules;

/* An empty set. */
struct rules *rules_new(void);
void rules_free(struct rules *rules);

/* Adds the statements of a text; `name` is shown in errors and by the rules. */
int rules_add_text(struct rules *rules, const char *name, const char *text, size_t length, struct err *err);
int rules_add_file(struct rules *rules, const char *path, struct err *err);

/* The default rules, built in; shared, not to be freed. */
const struct rules *rules_default(void);

#endif
