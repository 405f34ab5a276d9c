/* What was found to hang in a stretch of blocks, as a note in the trace's index. */
#ifndef SESSION_HANG_NOTES_H
#define SESSION_HANG_NOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/hangs.h"

struct blocks;

#define HANGS_ELSEWHERE UINT32_MAX /* in place of a root: the recorded command is left out */

/* What a note must have been made for: another question may find others. */
struct hang_notes_key {
	size_t block;             /* that the stretch begins with */
	uint64_t to_ns;           /* its end; of the last one the trace's own */
	uint32_t root_pid, pid;
};

/* `thread` is the tid. */
struct hang_note {
	const struct hang *hangs;
	size_t count;
	/* waits and loops that ended there and began before what was laid out: who looks at more may find a hang */
	const struct hangs_cut *cuts;
	size_t cut_count;
};

/* What is read lies in the arena. False when nothing is noted, or by another build. */
bool hang_notes_read(struct arena *arena, struct blocks *blocks, const struct hang_notes_key *key, struct hang_note *ret_note);
void hang_notes_write(struct blocks *blocks, const struct hang_notes_key *key, const struct hang_note *note);

#endif
