/* One side of a channel during the join (join.h): its sends, or its receives, in
 * the order of their ends, and the places in the stream that each may have. */
#ifndef GRAPH_JOIN_SIDE_H
#define GRAPH_JOIN_SIDE_H

#include "graph/join.h"

/* A send or a receive, on one cache line. */
struct moved {
	uint64_t begin_ns, end_ns;
	uint64_t token, object;
	uint64_t total;           /* length of all up to and with this one */
	uint64_t length;          /* bytes, or 1 of datagrams */
	uint32_t bytes, peer;
	bool used;                /* eventfd: read; datagram: lost on the way */
};

/* What is known of its place in the stream. */
struct join_placed {
	uint64_t least, most;     /* place of its first byte: from, to */
	uint64_t end;             /* most and its length */
	uint64_t least_behind;    /* least of this and all behind */
};

struct side {
	struct vec(struct moved) items;
	size_t first;             /* items before are dropped */
	uint64_t total;           /* length of all that ever came */
	uint64_t dropped;         /* ... and of what was dropped */
	uint64_t count;           /* of all that ever came */
	uint64_t overlapped;      /* count when one came that began before the one before had ended */
	uint64_t position;        /* of the last one, 0 not known */
};

static inline size_t side_count(const struct side *side)
{
	return side->items.length - side->first;
}

static inline struct moved *side_at(const struct side *side, size_t i)
{
	return &side->items.items[side->first + i];
}

static inline uint64_t minimum(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t maximum(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Where the stream is behind so many bytes; what was queued before, or lost since, aside. */
static inline uint64_t place(int64_t before, uint64_t total)
{
	int64_t at = before + (int64_t)total;

	return at > 0 ? (uint64_t)at : 0;
}

/* Whether each item that is held ended before the next began: then their places
 * are certain. */
static inline bool side_serial(const struct side *side)
{
	return side->overlapped <= side->count - side_count(side) + 1;
}

void side_clear(struct side *side);
/* Counts the items that came so far as one each, whatever their bytes. */
void side_recount(struct side *side);
void side_add(struct side *side, const struct join_message *m, uint64_t length);
/* Lets go of the first ones. */
void side_drop(struct side *side, size_t count);
/* How many of the first `count` ended before any of the others began. */
size_t side_over(const struct side *side, size_t count);
/* Length of all that had ended before the time. */
uint64_t side_ended(const struct side *side, uint64_t time_ns);
/* True when a call was under way at the time. */
bool side_busy(const struct side *side, uint64_t from_ns, uint64_t to_ns);
/* Where each item may begin: behind all that ended before it began, at most
 * behind all that began before it ended. Into `placed`, one for each up to the last
 * one that began by `until_ns`, as if the later ones were not: what was over by then
 * has nothing to do with them. How many were placed. */
size_t side_place(struct joins *joins, const struct side *side, int64_t before, uint64_t until_ns, struct join_placed *placed);

#endif
