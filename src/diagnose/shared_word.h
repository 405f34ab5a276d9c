/* Who could end a wait for a word of memory that processes share: those that have it mapped, as the snapshots tell
 * (record/shared_words.h), but for who waits for the word itself, or for the end of who does. */
#ifndef DIAGNOSE_SHARED_WORD_H
#define DIAGNOSE_SHARED_WORD_H

#include "diagnose/ends.h"

#define WORD_SHARERS_MOST 16u

struct word_sharer {
	uint32_t thread;       /* of its process the one that stands out, or the first */
	bool rests;            /* each of its threads that could end it listens to those that it serves, or waits for work: it has nothing */
	bool stands_out;       /* stopped, or at work, or kept by a lock or inside the kernel, all the time */
};

struct word_sharers {
	struct word_sharer items[WORD_SHARERS_MOST];
	uint32_t count, standing_out;
	bool more;             /* than were looked at */
	uint32_t fellows;      /* threads that wait for the same */
	const char *name;      /* of the memory; "" it has none */
	bool unnamed;          /* no name leads to it any more, and no other process has the file open */
};

/* False where nothing is known of the memory; the wait's own process is one of those only with another thread. */
bool word_sharers_find(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns, uint64_t to_ns,
		       struct word_sharers *ret_sharers);
/* None that lives can end the wait, which has no limit: no other process has the memory mapped, but who waits for the same, and no other thread of its own
 * does anything else. `ret_named`: one that opens it anew could. */
bool word_lost(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns, bool *ret_named);
/* The end that the wait's process has of such a word; NULL: it is its own, or that is not known. */
const struct descriptor *word_shared(const struct ends *ends, const struct wait *w);

#endif
