/* Adding up what was inferred in a second thread.
 *
 * Instances, stretches and samples are taken in batches of columns, and the tree gets
 * them from a helper while the next batch fills: adding to a tree that is larger than a
 * processor's cache takes as long as inferring. Sums do not depend on the order, so the
 * tree is the same with and without a helper. */
#ifndef INFER_TALLY_H
#define INFER_TALLY_H

#include "infer/tree.h"

struct tally;

/* Nobody else touches the tree until tally_finish. */
struct tally *tally_new(struct tree *tree);
void tally_instance(struct tally *tally, const struct latency_instance *instance);
void tally_stretch(struct tally *tally, uint32_t sure, uint64_t ns, bool idle);
void tally_sample(struct tally *tally, uint32_t node);
/* All is in the tree; the tally is gone. NULL does nothing. */
void tally_finish(struct tally *tally);

#endif
