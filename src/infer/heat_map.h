/* The heat map of IntroPerf's Figure 7: a row for each ranked path, a column for
 * each frame from the outermost inwards, coloured by the logarithm of the time.
 * The hottest frame of a row has a 0, the others their distance from it; the
 * frame to look at is ringed. As SVG and as text. */
#ifndef INFER_HEAT_MAP_H
#define INFER_HEAT_MAP_H

#include "infer/report.h"

void heat_map_svg(struct buf *buf, const struct report *report, const char *title);
/* `colour`: with escape sequences; else digits stand for the powers of ten. */
void heat_map_text(struct buf *buf, const struct report *report, bool colour, int width);

#endif
