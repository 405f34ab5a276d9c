/* A long trace closely: in which state each thread was, to the nanosecond.
 *
 * A tile is a block (trace/blocks.h), of which the events that tell of states are decoded
 * when it is first looked at, on a thread of its own, and kept as columns until others need
 * the room. So a look never waits: what is not decoded yet comes from the overview, as what
 * goes beyond a few blocks does, and a moment later from here. No scene is laid out. */
#ifndef SESSION_TILES_H
#define SESSION_TILES_H

#include "session/lane.h"
#include "session/session.h"

#define TILES_CLOSE 2u               /* so many blocks at once */

struct tiles;

/* Keeps at most so many bytes, besides what one look needs. The session must stay. */
struct tiles *tiles_new(const struct session *session, size_t most_bytes);
void tiles_free(struct tiles *tiles);
/* Whether the stretch lies within few enough blocks. */
bool tiles_fit(const struct tiles *tiles, uint64_t from_ns, uint64_t to_ns);
/* Whether what the stretch needs is there, so that tiles_lane() finds it: 1; 0 when it is
 * being decoded; an error when it cannot be. The last stretch asked for counts. */
int tiles_look(struct tiles *tiles, uint64_t from_ns, uint64_t to_ns, struct err *err);
/* Around tiles_lane(): nothing changes meanwhile. */
void tiles_hold(struct tiles *tiles);
void tiles_release(struct tiles *tiles);
/* As lane_add, of the stretch that was looked at last, or a part of it: the thread that had
 * the number from born_ns to gone_ns. */
void tiles_lane(const struct tiles *tiles, uint32_t tid, uint64_t born_ns, uint64_t gone_ns, uint64_t from_ns, uint64_t to_ns, unsigned most,
		struct lane_cells *cells);

#endif
