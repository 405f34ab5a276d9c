/* Messages joined: which sends filled a receive, byte by byte.
 *
 * A call moved its bytes at some moment between its begin and its end, and that
 * is all that is known. So a send has a range of places in its channel's stream
 * at which it may have put its first byte: behind all that ended before it
 * began, at most behind all that began before it ended; likewise a receive. Where
 * both ranges are one place the join is certain; else every send that may have
 * filled the receive is named and marked as one of an ambiguous set. Datagrams
 * are joined the same way, counted instead of measured; of an eventfd a read
 * takes all that was written.
 *
 * A channel whose content is not known (after a gap, or at the start) is joined
 * again from the moment its queue's length is known: it was found in a state
 * record, seen empty, told by positions (TCP), or its socket is another one than before.
 *
 * Messages come in the order of their ends. Joins are handed out when no call
 * that could change them can still be under way, `horizon_ns` later; at most
 * JOIN_MOST messages of a channel are held until then. */
#ifndef GRAPH_JOIN_H
#define GRAPH_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/event.h"

#define JOIN_MOST 2048
#define JOIN_HORIZON_NS 1000000000ull

/* In place of a send: bytes that were queued before the recording. */
#define JOIN_BEFORE UINT64_MAX

struct join_message {
	uint64_t channel;
	uint64_t object;          /* own end */
	uint64_t begin_ns;        /* the bytes moved not before: the call's begin; of receives, when the
	                             thread came back from its last interruptible sleep, if that is later */
	uint64_t end_ns;
	uint64_t token;           /* the caller's */
	uint64_t position;        /* of TCP, 0 not known */
	uint32_t bytes;
	uint32_t peer;            /* the caller's */
	uint32_t tid;             /* the caller's */
	uint8_t kind;             /* MESSAGE_KIND_ */
	bool receives;
	bool empty;               /* a receive that found nothing: would have blocked, or the end of the file */
};

struct join_edge {
	uint64_t send, receive;   /* tokens; send may be JOIN_BEFORE */
	uint64_t channel;
	uint64_t sent_object;
	uint64_t sent_ns, received_ns; /* ends of the calls */
	uint32_t sent_bytes;
	uint32_t peer;            /* of the send */
	uint8_t kind;             /* MESSAGE_KIND_ */
	uint32_t bytes;           /* moved; at most so many when ambiguous */
	bool ambiguous;
};

struct joins {
	uint64_t horizon_ns;      /* JOIN_HORIZON_NS when 0 at the init */
	void (*edge)(struct joins *joins, const struct join_edge *edge);
	/* private */
	struct map channel_of;
	struct vec(struct join_channel *) channels;
	struct join_channel *recent[256]; /* by hash: most messages are of few channels */
	struct vec(struct join_placed) placed; /* of the sides' messages, during a join */
	struct vec(uint32_t) order, candidates;
	size_t next;              /* channel that is looked after next */
	uint32_t messages;        /* so far, wrapping */
	uint64_t gap_to_ns;       /* end of the latest loss, 0 none: what was sent before is not joined */
	bool start_known;
};

/* `edge` is called from join_message, join_queue and join_finish. */
void joins_init(struct joins *joins, uint64_t horizon_ns, void (*edge)(struct joins *joins, const struct join_edge *edge));
void joins_done(struct joins *joins);

void join_message(struct joins *joins, const struct join_message *message);
/* A state record of an end: channel, object, receives, end_ns; of the receiving end, so many
 * bytes (of datagram kinds: not their number) waited at that time. */
void join_queue(struct joins *joins, const struct join_message *state);
/* All queues that are not empty have been told: channels that appear from now on begin empty. */
void join_start(struct joins *joins);
/* Events were lost, up to that time: nothing before is joined with anything behind. */
void join_gap(struct joins *joins, uint64_t to_ns);
/* Who received from the channel last: end and tid; false when nobody did. */
bool join_reader(const struct joins *joins, uint64_t channel, uint64_t *ret_object, uint32_t *ret_tid);
/* Hands out all that is left. */
void join_finish(struct joins *joins);
/* Behind join_finish: calls back for what was sent and, as far as is known, never received. */
void join_unread(struct joins *joins, void (*unread)(void *data, const struct join_message *send), void *data);

#endif
