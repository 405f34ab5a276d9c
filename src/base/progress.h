/* How far something long is, for whoever shows it.
 *
 * A process does one long thing at a time; whatever it does within that (read events,
 * for instance) is a part of it and does not count by itself. So this is one place for
 * the whole process, like errno: what works long writes here, on any thread, and only
 * the user interface reads. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool counts;        /* false: a part of something else, or not begun */
};

/* `doing` stays valid for ever: "looking for hangs"; total in events. */
void progress_begin(struct progress *progress, const char *doing, uint64_t total);
void progress_to(const struct progress *progress, uint64_t done);
void progress_end(struct progress *progress);

struct progress_now {
	const char *doing;
	uint64_t done, total;
	uint64_t begun_ns;  /* CLOCK_MONOTONIC */
};

/* False when nothing long is being done. */
bool progress_read(struct progress_now *ret_now);
/* Called as soon as something long begins. */
void progress_watch(void (*begun)(void));

#endif
