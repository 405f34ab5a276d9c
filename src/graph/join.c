/* See join.h. */
#include "graph/join_side.h"

#define SIZES_SEARCHED 64      /* datagrams looked through for one of the right size */
#define LOOK_AROUND 8          /* messages between two looks at quiet channels */
#define PACKET_MOST 4096u      /* bytes: a larger write to a pipe of packets makes several */
#define TOLD_MOST 32           /* receives held behind their joins where too much is held */

struct join_channel {
	uint64_t id;
	struct side sends, receives;
	size_t told;              /* first receives that are joined; held for later ones that may have come before them */
	uint64_t sender, receiver; /* objects of this life, 0 not known yet */
	int64_t before;           /* bytes that were queued before the first send; less what was lost since */
	uint64_t queue_ns;        /* a state record that may tell `before`; 0 none */
	uint64_t queue_bytes;
	uint64_t settle_ns;       /* not before */
	uint8_t kind;
	bool synced;              /* `before` is known */
	bool began_empty;         /* ... if the state record tells nothing */
	bool packets;             /* a pipe of packets: what is left of one after a read is gone */
	bool used;
	uint64_t reader_object;   /* who received last */
	uint32_t reader_tid;
};

void joins_init(struct joins *joins, uint64_t horizon_ns, void (*edge)(struct joins *joins, const struct join_edge *edge))
{
	*joins = (struct joins){ .horizon_ns = horizon_ns ? horizon_ns : JOIN_HORIZON_NS, .edge = edge };
	map_init(&joins->channel_of);
}

void joins_done(struct joins *joins)
{
	for (size_t i = 0; i < joins->channels.length; i++) {
		vec_done(&joins->channels.items[i]->sends.items);
		vec_done(&joins->channels.items[i]->receives.items);
		free(joins->channels.items[i]);
	}
	vec_done(&joins->channels);
	vec_done(&joins->placed);
	vec_done(&joins->order);
	vec_done(&joins->candidates);
	map_done(&joins->channel_of);
}

static bool counts_datagrams(unsigned kind)
{
	return kind == MESSAGE_KIND_unix_dgram || kind == MESSAGE_KIND_unix_seqpacket || kind == MESSAGE_KIND_udp ||
	       kind == MESSAGE_KIND_netlink || kind == MESSAGE_KIND_accept || kind == MESSAGE_KIND_connect ||
	       kind == MESSAGE_KIND_fuse;
}

static bool counts(const struct join_channel *c)
{
	return c->packets || counts_datagrams(c->kind);
}

/* One read takes all that was written; of terminals the line discipline changes the bytes. */
static bool takes_all(unsigned kind)
{
	return kind == MESSAGE_KIND_eventfd || kind == MESSAGE_KIND_tty;
}

/* Kinds whose receives no send fills. */
static bool has_sends(unsigned kind)
{
	return kind != MESSAGE_KIND_signalfd && kind != MESSAGE_KIND_timerfd && kind != MESSAGE_KIND_inotify;
}

static bool can_lose(unsigned kind)
{
	return kind == MESSAGE_KIND_udp;
}

/* Forgets what is queued; `before` counts from here. */
static void restart(struct join_channel *c, bool synced)
{
	side_clear(&c->sends);
	side_clear(&c->receives);
	c->told = 0;
	c->before = 0;
	c->queue_ns = 0;
	c->began_empty = false;
	c->synced = synced;
}

static struct join_channel *channel_at(struct joins *joins, uint64_t id)
{
	const size_t recent = hash_u64(id) % (sizeof(joins->recent) / sizeof(joins->recent[0]));
	bool new;
	uint64_t *index;

	if (joins->recent[recent] && joins->recent[recent]->id == id)
		return joins->recent[recent];
	index = map_at(&joins->channel_of, id, &new);
	if (new) {
		struct join_channel *c = mem_zalloc(sizeof(*c));

		*index = joins->channels.length;
		c->id = id;
		c->synced = joins->start_known;
		vec_push(&joins->channels, c);
	}
	joins->recent[recent] = joins->channels.items[*index];
	return joins->recent[recent];
}

static void emit(struct joins *joins, const struct join_channel *c, const struct moved *send, const struct moved *receive,
		 uint64_t bytes, bool ambiguous)
{
	struct join_edge edge = {
		.send = send ? send->token : JOIN_BEFORE,
		.receive = receive->token,
		.channel = c->id,
		.sent_object = send ? send->object : 0,
		.sent_ns = send ? send->end_ns : 0,
		.received_ns = receive->end_ns,
		.sent_bytes = send ? send->bytes : 0,
		.peer = send ? send->peer : 0,
		.kind = c->kind,
		.bytes = (uint32_t)(bytes > UINT32_MAX ? UINT32_MAX : bytes),
		.ambiguous = ambiguous,
	};

	if (!send || minimum(send->end_ns, receive->end_ns) >= joins->gap_to_ns)
		joins->edge(joins, &edge);
}

/* Bytes of the join: of datagrams the datagram's. */
static uint64_t bytes_of(const struct join_channel *c, const struct moved *send, const struct moved *receive, uint64_t length)
{
	return counts(c) ? minimum(send->bytes, receive->bytes) : length;
}

static bool size_fits(const struct join_channel *c, const struct moved *send, const struct moved *receive)
{
	if (!counts(c) || c->kind == MESSAGE_KIND_accept || c->kind == MESSAGE_KIND_connect)
		return true;
	/* a datagram may have been cut to the receiver's buffer */
	return send->bytes >= receive->bytes;
}

/* Where a receive may lie in the stream. */
struct span {
	const struct moved *moved;
	uint64_t least, most;
};

/* May the send have filled the receive? */
static bool may_fill(const struct join_channel *c, const struct join_placed *at, const struct moved *send, const struct span *receive)
{
	return at->least < receive->most + receive->moved->length && at->end > receive->least && !send->used &&
	       send->begin_ns <= receive->moved->end_ns && size_fits(c, send, receive->moved);
}

/* `first`: sends before it are used up. */
static void join_one(struct joins *joins, struct join_channel *c, const struct join_placed *sends, size_t count,
		     const struct span *receive, size_t first)
{
	uint64_t from = receive->least, to = receive->most + receive->moved->length;
	uint64_t before = c->before > 0 ? (uint64_t)c->before : 0;
	bool exact = receive->least == receive->most;
	size_t candidates = from < before ? 1 : 0;

	vec_clear(&joins->candidates);
	for (size_t i = first; i < count && sends[i].least_behind < to; i++)
		if (sends[i].least < to && sends[i].end > from && may_fill(c, &sends[i], side_at(&c->sends, i), receive))
			vec_push(&joins->candidates, (uint32_t)i);
	candidates += joins->candidates.length;
	if (from < before)
		emit(joins, c, NULL, receive->moved, minimum(minimum(before, to) - from, receive->moved->length), !exact && candidates > 1);
	for (size_t k = 0; k < joins->candidates.length; k++) {
		const struct join_placed *at = &sends[joins->candidates.items[k]];
		const struct moved *send = side_at(&c->sends, joins->candidates.items[k]);
		uint64_t overlap = minimum(at->end, to) - maximum(at->least, from);

		overlap = minimum(minimum(overlap, send->length), receive->moved->length);
		emit(joins, c, send, receive->moved, bytes_of(c, send, receive->moved, overlap),
		     candidates > 1 && !(exact && at->least == at->most));
	}
}

static void join_takes_all(struct joins *joins, struct join_channel *c, const struct moved *receive)
{
	for (size_t i = 0; i < side_count(&c->sends); i++) {
		struct moved *send = side_at(&c->sends, i);
		bool certain = send->end_ns < receive->begin_ns;

		if (send->used || send->begin_ns > receive->end_ns)
			continue;
		emit(joins, c, send, receive, send->bytes, !certain || c->kind == MESSAGE_KIND_tty);
		send->used = certain;
	}
}

/* A datagram was lost on the way when none that may be next has the right
 * size: the sends before the first one that fits are gone. */
static void skip_lost(struct join_channel *c, struct join_placed *sends, size_t count, const struct span *receive, size_t first)
{
	size_t fits = SIZE_MAX, at = SIZE_MAX;
	uint64_t lost;

	for (size_t i = first; i < count && i < first + SIZES_SEARCHED; i++) {
		const struct moved *send = side_at(&c->sends, i);
		bool same = send->bytes == receive->moved->bytes;

		if (same && may_fill(c, &sends[i], send, receive))
			return;
		if (at == SIZE_MAX && sends[i].most >= receive->least)
			at = i;
		if (same && fits == SIZE_MAX && sends[i].least > receive->most && send->begin_ns <= receive->moved->end_ns)
			fits = i;
	}
	if (fits == SIZE_MAX || at == SIZE_MAX || fits <= at)
		return;
	lost = fits - at;
	c->before -= (int64_t)lost;
	for (size_t k = 0; k < count; k++) {
		side_at(&c->sends, k)->used |= k >= at && k < fits;
		sends[k].least = k < fits ? 0 : sends[k].least - lost;
		sends[k].most = k < fits ? 0 : sends[k].most - lost;
		sends[k].end = sends[k].most + side_at(&c->sends, k)->length;
		sends[k].least_behind = k < fits ? 0 : sends[k].least_behind - lost;
	}
}

/* Where calls on both sides came one after the other, each place is certain. */
static void join_serial(struct joins *joins, struct join_channel *c, size_t due)
{
	size_t first = 0, count = side_count(&c->sends);
	uint64_t before = c->before > 0 ? (uint64_t)c->before : 0;

	for (size_t i = c->told; i < due; i++) {
		const struct moved *receive = side_at(&c->receives, i);
		uint64_t from = receive->total - receive->length, to = receive->total;

		if (from < before)
			emit(joins, c, NULL, receive, minimum(before, to) - from, false);
		for (size_t k = first; k < count; k++) {
			const struct moved *send = side_at(&c->sends, k);
			uint64_t at = place(c->before, send->total - send->length), end = at + send->length;

			if (at >= to)
				break;
			if (end <= from) {
				first = k + 1;
				continue;
			}
			if (!send->used && send->begin_ns <= receive->end_ns && size_fits(c, send, receive))
				emit(joins, c, send, receive, bytes_of(c, send, receive, minimum(end, to) - maximum(at, from)), false);
		}
	}
}

/* Where they overlap, by the places that each may have. */
static void join_by_places(struct joins *joins, struct join_channel *c, size_t due, uint64_t until_ns)
{
	uint64_t last_ns = side_at(&c->receives, due - 1)->end_ns;
	size_t first = 0, count = side_count(&c->sends);
	struct join_placed *sends, *receives;

	vec_reserve(&joins->placed, count + side_count(&c->receives));
	sends = joins->placed.items;
	receives = sends + count;
	count = side_place(joins, &c->sends, c->before, until_ns, sends);
	side_place(joins, &c->receives, 0, last_ns, receives);
	for (size_t i = c->told; i < due; i++) {
		struct span receive = { side_at(&c->receives, i), receives[i].least, receives[i].most };

		while (first < count && sends[first].end <= receives[i].least_behind)
			first++;
		if (can_lose(c->kind))
			skip_lost(c, sends, count, &receive, first);
		join_one(joins, c, sends, count, &receive, first);
	}
}

/* Sends that ended before the time and are received whole; `sends`: their places
 * where these are not certain. */
static size_t sends_gone(const struct join_channel *c, const struct join_placed *sends, uint64_t until_ns)
{
	size_t gone = 0, count = side_count(&c->sends);

	for (; gone < count && side_at(&c->sends, gone)->end_ns < until_ns; gone++) {
		const struct moved *send = side_at(&c->sends, gone);
		uint64_t end = sends ? sends[gone].end : place(c->before, send->total);

		if (end > c->receives.dropped)
			break;
	}
	return gone;
}

/* A state record that will tell what was queued, once all calls of its time are known. */
static bool queue_pending(const struct join_channel *c)
{
	/* of datagrams bytes tell no number, unless there are none */
	return c->queue_ns && !c->synced && !(counts(c) && c->queue_bytes);
}

/* It tells unless a call was under way then. */
static void use_queue(struct join_channel *c)
{
	uint64_t at = c->queue_ns;

	if (!queue_pending(c))
		return;
	c->queue_ns = 0;
	if (side_busy(&c->sends, at, at) || side_busy(&c->receives, at, at)) {
		c->synced = c->began_empty;
	} else {
		c->before = (int64_t)c->queue_bytes + (int64_t)side_ended(&c->receives, at) - (int64_t)side_ended(&c->sends, at);
		c->synced = true;
	}
	c->began_empty = false;
}

/* Lets go of the receives that are joined, but for those that a later one overlaps:
 * it may have taken its bytes first. */
static void drop_told(struct join_channel *c, bool crowded)
{
	size_t over = side_over(&c->receives, c->told);

	if (crowded && c->told - over > TOLD_MOST)
		over = c->told;
	side_drop(&c->receives, over);
	c->told -= over;
}

/* Joins the receives that ended before the time; drops what is joined up. `crowded`: too much is held. */
static void settle(struct joins *joins, struct join_channel *c, uint64_t until_ns, bool crowded)
{
	size_t due = c->told, gone = 0;
	bool certain = side_serial(&c->sends) && side_serial(&c->receives) && !can_lose(c->kind);

	while (due < side_count(&c->receives) && side_at(&c->receives, due)->end_ns < until_ns)
		due++;
	if (due == c->told)
		return;
	if (takes_all(c->kind)) {
		for (size_t i = 0; i < due; i++)
			join_takes_all(joins, c, side_at(&c->receives, i));
		while (gone < side_count(&c->sends) && side_at(&c->sends, gone)->used)
			gone++;
	} else if (c->synced) {
		if (certain)
			join_serial(joins, c, due);
		else
			join_by_places(joins, c, due, until_ns);
		c->told = due;
		drop_told(c, crowded);
		side_drop(&c->sends, sends_gone(c, certain ? NULL : joins->placed.items, until_ns));
		return;
	}
	side_drop(&c->receives, due);
	c->told = 0;
	side_drop(&c->sends, gone);
}

/* The queue was found empty between these times: synced from here on. */
static void seen_empty(struct joins *joins, struct join_channel *c, uint64_t begin_ns, uint64_t end_ns)
{
	if (c->synced || queue_pending(c) || side_busy(&c->sends, begin_ns, end_ns) || side_busy(&c->receives, begin_ns, end_ns))
		return;
	settle(joins, c, UINT64_MAX, false);
	restart(c, true);
}

/* TCP tells where the bytes are: when sends and receives are far apart by
 * number but not by count, something was missed. */
static void check_position(struct joins *joins, struct join_channel *c, const struct join_message *m)
{
	const struct side *other = m->receives ? &c->sends : &c->receives, *own = m->receives ? &c->receives : &c->sends;
	const struct moved *last;
	uint32_t apart;
	int64_t before;

	if (!m->position || c->synced || !side_count(other) || side_busy(other, m->begin_ns, m->end_ns) ||
	    side_busy(own, m->begin_ns, m->end_ns))
		return;
	(void)joins;
	last = side_at(other, side_count(other) - 1);
	if (!other->position)
		return;
	/* both sides' next byte, by number: what lies between them is queued */
	if (m->receives) {
		apart = (uint32_t)(other->position + last->bytes) - (uint32_t)m->position;
		before = (int64_t)own->total + (int32_t)apart - (int64_t)other->total;
	} else {
		apart = (uint32_t)m->position - (uint32_t)(other->position + last->bytes);
		before = (int64_t)other->total + (int32_t)apart - (int64_t)own->total;
	}
	c->before = before;
	c->synced = true;
}

/* A socket's number is used again: the ends are others. */
static void check_life(struct joins *joins, struct join_channel *c, const struct join_message *m)
{
	uint64_t *own = m->receives ? &c->receiver : &c->sender;
	bool lives = m->kind == MESSAGE_KIND_unix_stream || m->kind == MESSAGE_KIND_unix_seqpacket;

	if (lives && *own && *own != m->object) {
		use_queue(c);
		settle(joins, c, UINT64_MAX, false);
		restart(c, true);
		c->sender = c->receiver = 0;
	}
	*own = m->object;
}

/* When joins are due: seldom enough that it costs nothing, often enough that
 * little is held. */
static void settle_due(struct joins *joins, struct join_channel *c, uint64_t now_ns)
{
	size_t held = side_count(&c->sends) + side_count(&c->receives);

	if (held >= JOIN_MOST) {
		/* the half of them that is older, whatever is under way */
		const struct side *longer = side_count(&c->sends) > side_count(&c->receives) ? &c->sends : &c->receives;

		use_queue(c);
		settle(joins, c, side_at(longer, side_count(longer) / 2)->end_ns, true);
		if (side_count(&c->sends) >= JOIN_MOST) {
			/* nobody reads, or nothing is known: the oldest are let go */
			side_drop(&c->receives, c->told);
			c->told = 0;
			side_drop(&c->sends, side_count(&c->sends) / 2);
			if (!takes_all(c->kind))
				c->synced = c->synced && side_count(&c->receives) == 0;
		}
		return;
	}
	if (now_ns < c->settle_ns || now_ns < joins->horizon_ns)
		return;
	c->settle_ns = now_ns + joins->horizon_ns;
	use_queue(c);
	settle(joins, c, now_ns - joins->horizon_ns, false);
}

/* Channels that are quiet now still wait for their joins. */
static void look_around(struct joins *joins, uint64_t now_ns)
{
	if (!joins->channels.length)
		return;
	joins->next = (joins->next + 1) % joins->channels.length;
	settle_due(joins, joins->channels.items[joins->next], now_ns);
}

/* Whether a pipe's writes are packets is told by each of them. */
static void check_packets(struct joins *joins, struct join_channel *c, const struct join_message *m)
{
	bool packets = m->kind == MESSAGE_KIND_packet;

	if (m->receives || c->kind != MESSAGE_KIND_pipe || c->packets == packets)
		return;
	if (packets && !c->sends.count && !c->before) {
		/* only readers, whose records came before this one */
		side_recount(&c->receives);
	} else {
		/* bytes and packets are queued behind each other */
		settle(joins, c, UINT64_MAX, false);
		restart(c, false);
	}
	c->packets = packets;
}

static uint64_t length_of(const struct join_channel *c, const struct join_message *m)
{
	if (c->packets && !m->receives)
		return (m->bytes + (uint64_t)PACKET_MOST - 1) / PACKET_MOST;
	return counts(c) ? 1 : m->bytes;
}

void join_message(struct joins *joins, const struct join_message *message)
{
	struct join_channel *c;

	if (!message->channel || !has_sends(message->kind))
		return;
	c = channel_at(joins, message->channel);
	c->kind = message->kind == MESSAGE_KIND_connect ? MESSAGE_KIND_accept :
		  message->kind == MESSAGE_KIND_packet ? MESSAGE_KIND_pipe : message->kind;
	c->used = true;
	if (message->receives) {
		c->reader_object = message->object;
		c->reader_tid = message->tid;
	}
	check_life(joins, c, message);
	check_packets(joins, c, message);
	if (message->empty) {
		seen_empty(joins, c, message->begin_ns, message->end_ns);
	} else {
		check_position(joins, c, message);
		side_add(message->receives ? &c->receives : &c->sends, message, length_of(c, message));
	}
	settle_due(joins, c, message->end_ns);
	if (!(++joins->messages % LOOK_AROUND))
		look_around(joins, message->end_ns);
}

void join_queue(struct joins *joins, const struct join_message *state)
{
	struct join_channel *c = channel_at(joins, state->channel);

	/* When others use the channel first, its number was another's until then. */
	if (!c->used)
		*(state->receives ? &c->receiver : &c->sender) = state->object;
	if (!state->receives || (c->synced && (c->used || !joins->start_known)))
		return;
	c->began_empty = c->began_empty || c->synced;
	c->synced = false;
	c->queue_ns = state->end_ns;
	c->queue_bytes = state->bytes;
}

void join_start(struct joins *joins)
{
	joins->start_known = true;
	for (size_t i = 0; i < joins->channels.length; i++) {
		struct join_channel *c = joins->channels.items[i];

		/* used since the recording began, and not among the queues found */
		if (!c->queue_ns && !c->synced && !side_count(&c->sends) && !side_count(&c->receives))
			c->synced = true;
	}
}

void join_gap(struct joins *joins, uint64_t to_ns)
{
	joins->start_known = false;
	for (size_t i = 0; i < joins->channels.length; i++) {
		settle(joins, joins->channels.items[i], UINT64_MAX, false);
		restart(joins->channels.items[i], false);
	}
	if (to_ns > joins->gap_to_ns)
		joins->gap_to_ns = to_ns;
}

static void tell_unread(struct joins *joins, const struct join_channel *c,
			void (*unread)(void *data, const struct join_message *send), void *data)
{
	size_t count = side_count(&c->sends);

	if (!c->synced || takes_all(c->kind))
		return;
	vec_reserve(&joins->placed, count);
	side_place(joins, &c->sends, c->before, UINT64_MAX, joins->placed.items);
	for (size_t i = 0; i < count; i++) {
		const struct moved *send = side_at(&c->sends, i);

		if (joins->placed.items[i].least >= c->receives.total && !send->used)
			unread(data, &(struct join_message){
				.channel = c->id, .object = send->object, .begin_ns = send->begin_ns, .end_ns = send->end_ns,
				.token = send->token, .bytes = send->bytes, .peer = send->peer, .kind = c->kind });
	}
}

bool join_reader(const struct joins *joins, uint64_t channel, uint64_t *ret_object, uint32_t *ret_tid)
{
	const uint64_t *index = map_find(&joins->channel_of, channel);
	const struct join_channel *c = index ? joins->channels.items[*index] : NULL;

	if (!c || !c->reader_tid)
		return false;
	*ret_object = c->reader_object;
	*ret_tid = c->reader_tid;
	return true;
}

void join_finish(struct joins *joins)
{
	for (size_t i = 0; i < joins->channels.length; i++) {
		use_queue(joins->channels.items[i]);
		settle(joins, joins->channels.items[i], UINT64_MAX, false);
	}
}

void join_unread(struct joins *joins, void (*unread)(void *data, const struct join_message *send), void *data)
{
	for (size_t i = 0; i < joins->channels.length; i++)
		tell_unread(joins, joins->channels.items[i], unread, data);
}
