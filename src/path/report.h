/* A folded path in words: as a table, a tree, lines for flame graphs, JSON. */
#ifndef PATH_REPORT_H
#define PATH_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "path/whatif.h"

/* "8.014 s", "35.0 ms"; the second in ten columns. */
void report_path_time(uint64_t ns, struct buf *buf);
void report_path_time_wide(uint64_t ns, struct buf *buf);
/* The row in one line, as a sentence's part: "journal_lock, held by worker in commit_journal". */
void report_path_row_words(const struct fold *fold, const struct fold_row *row, struct buf *buf);
/* "fsync 80 %, computing 5 %": shares of the whole path. */
void report_path_doings(const struct fold *fold, const struct fold_row *row, struct buf *buf);

/* Where the path of `who` went, in two sentences. */
void report_path_sentences(const struct fold *fold, const char *who, struct buf *buf);
void report_path_table(const struct fold *fold, size_t rows, struct buf *buf);
/* Nodes with at least this share of the path, per mille. */
void report_path_tree(const struct fold *fold, unsigned least, struct buf *buf);
/* Pools and stages; nothing where one thread alone has all of the path. */
void report_path_pools(const struct fold *fold, struct buf *buf);
/* The first lines of a path in which nothing is long: "86 % journal_lock, held by ... (1108 times, median 433 us)",
 * each behind `indent` columns. */
void report_path_brief(const struct fold *fold, size_t rows, int indent, struct buf *buf);
void report_path_folded(const struct fold *fold, struct buf *buf);
/* What would help, by replay. */
void report_path_changes(const struct fold *fold, const struct changes *changes, struct buf *buf);
void report_path_changes_json(const struct changes *changes, struct json *json);
void report_path_json(const struct fold *fold, struct json *json);

#endif
