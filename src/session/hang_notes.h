/* What was found to hang in a stretch of blocks, as a note in the trace's index. */
#ifndef SESSION_HANG_NOTES_H
#define SESSION_HANG_NOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/hangs.h"

struct blocks;

/* What a note must have been made for: another question may find others. */
struct hang_notes_key {
	size_t block;             /* that the stretch begins with */
	uint64_t to_ns;           /* its end; of the last one the trace's own */
	uint32_t root_pid, pid;
};

/* `thread` is the tid; texts are in the arena. False when nothing is noted, or by another build. `*ret_cut`: of a loop
 * that ended there only the end was seen, so that who has more memory may find another hang. */
bool hang_notes_read(struct arena *arena, struct blocks *blocks, const struct hang_notes_key *key, const struct hang **ret_hangs,
		     size_t *ret_count, bool *ret_cut);
void hang_notes_write(struct blocks *blocks, const struct hang_notes_key *key, const struct hang *hangs, size_t count, bool cut);

#endif
