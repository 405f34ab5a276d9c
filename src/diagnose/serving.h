/* Of those that could serve a request the one that does: who is at work, or waits for something else than new requests. */
#ifndef DIAGNOSE_SERVING_H
#define DIAGNOSE_SERVING_H

#include "diagnose/ends.h"

struct request_asked {
	uint32_t thread;          /* that asked, of another process */
	uint64_t since_ns;        /* when, at the earliest */
	uint64_t from_ns, to_ns;  /* what is looked at */
	bool unaccepted;          /* its connection: who serves another one does not come to accept it */
};

/* Before the trace, too; 0: not known. */
uint64_t serving_born(const struct scene *scene, uint32_t thread);
/* For the next request over one connection, and nothing else. */
bool serving_waits_for_one(const struct ends *ends, const struct wait *w);
/* When the thread asked for what the episode waits for: slices from the trace's begin on tell only that it was born before. */
uint64_t serving_asked_since(const struct scene *scene, const struct episode *episode);
/* Among the threads of the processes that have the row's descriptors; 0 where all of them rest. */
uint32_t serving_holder(const struct scene *scene, const struct ends *ends, struct row row, const struct request_asked *asked);
/* Among the threads of that one process. */
uint32_t serving_thread(const struct scene *scene, const struct ends *ends, uint32_t process, const struct request_asked *asked);
/* It runs, or waits for something else than another thread of its process. */
bool serving_is_known(const struct scene *scene, const struct ends *ends, uint32_t thread, const struct request_asked *asked);

#endif
