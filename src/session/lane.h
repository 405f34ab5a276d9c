/* A thread's time as a picture needs it: no more cells than can be told apart.
 *
 * A lane is the thread's spans inside a range. Where there are more than a picture has
 * room for, neighbours that are shorter than a cell become one mixed cell, which keeps
 * how much of it each state took; what is longer stays as it is. */
#ifndef SESSION_LANE_H
#define SESSION_LANE_H

#include "base/vec.h"
#include "diagnose/scene.h"

enum lane_state {
	LANE_UNKNOWN, LANE_RUNNING, LANE_RUNNABLE, LANE_WAITING, LANE_STOPPED, LANE_ABSENT, /* as enum span_state */
	LANE_THROTTLED,     /* runnable, its group's quota is used up */
	LANE_MIXED          /* several, each too short to be shown */
};

/* It ends where the next one begins, the last one at the range's end. */
struct lane_cell {
	uint64_t start_ns;
	uint32_t wait;       /* waiting and stopped: index into the scene's waits; else 0 */
	uint8_t state;       /* enum lane_state */
	uint8_t running;     /* mixed: per cent of it that it ran, ... */
	uint8_t runnable;    /* ... and that it stood in the queue */
	uint8_t unknown;     /* ... and that was not seen, or before its creation or behind its end */
};

struct lane_cells vec(struct lane_cell);

/* Pieces of a lane in the order of time, those that are shorter than the least one together. */
struct lane_mixing {
	struct lane_cells *cells;
	uint64_t least_ns;
	double running_ns, runnable_ns, unknown_ns; /* private, as what follows */
	uint64_t total_ns;
	struct lane_cell only;   /* while it is alone; and where they began */
	unsigned pieces;
};
/* How short a piece may be where there are so many and about `most` are wanted. */
uint64_t lane_least(uint64_t from_ns, uint64_t to_ns, size_t pieces, unsigned most);
void lane_mix(struct lane_mixing *mixing, const struct lane_cell *cell, uint64_t end_ns);
void lane_mix_end(struct lane_mixing *mixing);

/* Adds the cells of the thread from from_ns to to_ns, about `most` at most; nothing where
 * the scene does not reach, or for thread 0. */
void lane_add(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned most, struct lane_cells *cells);

#endif
