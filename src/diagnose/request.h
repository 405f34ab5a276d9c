/* The way that an answer came, looked at backwards.
 *
 * A thread that serves many rests in one place and is set to work again and again, for
 * one and for another. What it does at one moment it does because of what set it to work
 * at last: a message that it took, or who woke it. So from the moment of its answer the
 * way goes back to whoever set it to work for that, from there to who set that one to
 * work, and so on, over relays and pools, until nobody did: that one came by itself, was
 * at it all the time, or asked in the beginning. */
#ifndef DIAGNOSE_REQUEST_H
#define DIAGNOSE_REQUEST_H

#include "diagnose/ends.h"
#include "diagnose/walk.h"

/* The thread had the request from `from_ns` to `to_ns`. */
struct request_part {
	uint32_t thread;
	uint32_t episode;       /* that ended as the thread was set to work, index + 1; 0 none */
	uint64_t from_ns, to_ns;
	uint64_t evidence;      /* wake-up or message by which it handed on; 0 for the first */
	uint8_t link;           /* enum walk_link, how it did */
	uint8_t confidence;     /* per cent */
	bool by_timer;          /* it set itself to work, by a time limit of its own */
};

struct request_parts vec(struct request_part);

/* Appends the parts, the latest first; they adjoin, and cover the window. Returns how many:
 * 1 where nobody else set the thread to work in the window, 0 where they are too many. */
unsigned request_back(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		      struct request_parts *parts);

/* When the thread began what it waits for: back over short waits, and over those
 * before which it set nothing off, to where it last came from a long one. */
uint64_t request_start(const struct scene *scene, const struct episode *episode);

#endif
