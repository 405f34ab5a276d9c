/* The page that shows an answer (src/ui/page), as one file or served. It is built with
 * esbuild; a build without that has none, and says so. */
#ifndef UI_PAGE_H
#define UI_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* In pieces, made by page/embed.py: what stands before the policy's element, between it
 * and the data, behind them; and what of a policy allows the page's script and style. */
extern const char page_before[], page_middle[], page_behind[], page_sums[], page_served_policy[];
extern const size_t page_before_length, page_middle_length, page_behind_length; /* 0: this build has none */

/* -ENOTSUP, with words, where this build has no page. */
int page_check(struct err *err);
/* The whole page around a JSON document; as a file that needs nothing else or, `served`,
 * without its policy, which is then the reply's. */
void page_write(const struct buf *document, bool served, struct buf *buf);
/* The same as a file, or -ENOTSUP (command.h). */
int page_make(const struct buf *document, struct buf *page, struct err *err);
const char *page_policy(void);

#endif
