/* What the pictures share. */
#ifndef INFER_SVG_H
#define INFER_SVG_H

#include "base/buf.h"

void svg_begin(struct buf *buf, double width, double height);
void svg_end(struct buf *buf);
/* Foreign text as XML wants it; what is no UTF-8 or a control character is shown as \xNN. */
void svg_text(struct buf *buf, const char *text);

#endif
