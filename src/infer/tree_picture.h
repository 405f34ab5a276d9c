/* The annotated tree as a picture (IntroPerf's Figure 6) and as text.
 *
 * Of a comparison it shows both runs in one tree: red the buggy run, blue the
 * base scaled to the same work, each as thick as it took long. Contexts that
 * took too little to matter are left out. */
#ifndef INFER_TREE_PICTURE_H
#define INFER_TREE_PICTURE_H

#include "infer/report.h"

/* Contexts that took less than `least` of the whole (0.01: a hundredth) are left out. */
void tree_picture_svg(struct buf *buf, const struct report *report, const char *title, double least);
/* The same contexts as an object of columns, each behind the one that called it (`parent`, -1: a
 * program): function, module, time here and in the base scaled to the same work, calls. */
void tree_picture_json(struct json *json, const char *key, const struct report *report, double least);
void tree_picture_text(struct buf *buf, const struct report *report, double least);

#endif
