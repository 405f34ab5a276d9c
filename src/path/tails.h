/* What the slowest requests of a server went through that the others did not: their paths,
 * folded, line by line, per request. */
#ifndef PATH_TAILS_H
#define PATH_TAILS_H

#include "path/critical.h"
#include "path/requests.h"

struct tail_line {
	const struct fold_row *slow, *middle; /* one of them may be NULL */
	double slow_ns, middle_ns;            /* per request */
};

struct tails {
	struct fold slow, middle;             /* finished; `middle` may be of another trace */
	size_t slow_count, middle_count;
	struct request example;               /* in the middle of the slow ones */
	struct vec(struct tail_line) lines;   /* what makes the most difference first */
};

/* Adds the paths of the requests from `first` to before `end`, at most `most` of them, evenly chosen;
 * returns how many. */
size_t tails_fold(struct critical *critical, const struct requests *requests, size_t first, size_t end, size_t most);
/* The folds are finished: compares them. */
void tails_compare(struct tails *tails);
void tails_done(struct tails *tails);

#endif
