/* Messages joined by channel and byte.
 *
 * Records are written when a call ends, so a receive may be on record before the
 * send that filled it: what a receive took without a send at hand is owed, and
 * paid by the next send if that began in time. Streams are joined byte by byte,
 * datagrams one by one; a read of an eventfd takes all writes before it. After a
 * gap a channel is empty for us until it is seen empty or positions tell. */
#include "graph/build.h"

#define MAX_PENDING 65536   /* on one channel; older ones are let go */
#define MAX_SEARCH 64       /* datagrams looked through for one of the right size */

struct pending {
	uint64_t begin_ns, end_ns;
	uint64_t object, position;
	uint64_t left;          /* bytes, or datagrams */
	uint32_t event, row, tid, bytes, peer, next;
};

struct channel {
	uint64_t id, credit;    /* bytes that were queued before the trace */
	uint64_t receiver_object;
	uint32_t first, last;   /* sends nobody has read; 0 none */
	uint32_t owed;          /* a receive without its send; 0 none */
	uint32_t count, epoch;
	uint32_t receiver;      /* tid that read last, 0 none */
	uint8_t kind;
	bool used, unsynced;
};

/* The two directions of one end, for replies. */
struct end_state {
	uint64_t ns;
	uint32_t event, row, tid; /* the unanswered receive; event 0 none */
	bool asks_first;          /* this end sent first: what it sends are requests */
	bool used;
};

struct messages {
	struct map channel_of, end_of;
	struct vec(struct channel) channels;
	struct vec(struct end_state) ends;
	struct vec(struct pending) pending;
	uint32_t free_pending;
};

void messages_init(struct builder *b)
{
	b->messages = mem_zalloc(sizeof(*b->messages));
	vec_push(&b->messages->pending, (struct pending){ 0 });
}

void messages_done(struct builder *b)
{
	struct messages *m = b->messages;

	if (!m)
		return;
	map_done(&m->channel_of);
	map_done(&m->end_of);
	vec_done(&m->channels);
	vec_done(&m->ends);
	vec_done(&m->pending);
	free(m);
}

static uint32_t pending_new(struct messages *m, const struct pending *item)
{
	uint32_t index = m->free_pending;

	if (!index) {
		vec_push(&m->pending, *item);
		return (uint32_t)m->pending.length - 1;
	}
	m->free_pending = m->pending.items[index].next;
	m->pending.items[index] = *item;
	return index;
}

static void pending_free(struct messages *m, uint32_t index)
{
	m->pending.items[index].next = m->free_pending;
	m->free_pending = index;
}

static void drop_first(struct messages *m, struct channel *channel)
{
	uint32_t index = channel->first;

	channel->first = m->pending.items[index].next;
	if (!channel->first)
		channel->last = 0;
	channel->count--;
	pending_free(m, index);
}

static void channel_clear(struct messages *m, struct channel *channel)
{
	while (channel->first)
		drop_first(m, channel);
	if (channel->owed)
		pending_free(m, channel->owed);
	channel->owed = 0;
	channel->credit = 0;
}

static struct channel *channel_at(struct builder *b, uint64_t id)
{
	struct messages *m = b->messages;
	bool new;
	uint64_t *index = map_at(&m->channel_of, id, &new);
	struct channel *channel;

	if (new) {
		*index = m->channels.length;
		vec_push(&m->channels, ((struct channel){ .id = id, .epoch = b->gap_epoch }));
	}
	channel = &m->channels.items[*index];
	if (channel->epoch != b->gap_epoch) {
		channel_clear(m, channel);
		channel->epoch = b->gap_epoch;
		channel->unsynced = channel->used;
	}
	return channel;
}

static struct end_state *end_at(struct messages *m, uint64_t object)
{
	bool new;
	uint64_t *index = map_at(&m->end_of, object, &new);

	if (new) {
		*index = m->ends.length;
		vec_push(&m->ends, (struct end_state){ 0 });
	}
	return &m->ends.items[*index];
}

static bool is_datagram(unsigned kind)
{
	return kind == MESSAGE_KIND_unix_dgram || kind == MESSAGE_KIND_unix_seqpacket || kind == MESSAGE_KIND_udp ||
	       kind == MESSAGE_KIND_netlink || kind == MESSAGE_KIND_accept || kind == MESSAGE_KIND_connect ||
	       kind == MESSAGE_KIND_fuse;
}

/* Kinds whose receives are told by an edge rule, if at all. */
static bool is_joined(unsigned kind)
{
	return kind != MESSAGE_KIND_signalfd && kind != MESSAGE_KIND_timerfd && kind != MESSAGE_KIND_inotify;
}

static bool can_reply(unsigned kind)
{
	return kind == MESSAGE_KIND_unix_stream || kind == MESSAGE_KIND_unix_dgram || kind == MESSAGE_KIND_unix_seqpacket ||
	       kind == MESSAGE_KIND_tcp || kind == MESSAGE_KIND_udp || kind == MESSAGE_KIND_fuse;
}

static uint64_t units_of(const struct event_message *m)
{
	if (m->kind == MESSAGE_KIND_accept || m->kind == MESSAGE_KIND_connect)
		return 1;
	return is_datagram(m->kind) ? (m->bytes || !m->result ? 1 : 0) : m->bytes;
}

static void note_unread(struct builder *b, const struct channel *channel, const struct pending *send, uint64_t read_ns,
			uint32_t read_event, uint32_t receiver)
{
	const struct slot *from = slot_find(b, send->tid), *to = receiver ? slot_find(b, receiver) : NULL;

	if (channel->kind == MESSAGE_KIND_eventfd || !from || read_ns < send->end_ns ||
	    (read_ns == UINT64_MAX ? b->now_ns : read_ns) - send->end_ns < GRAPH_UNREAD_NS)
		return;
	vec_push(&b->graph->unread, ((struct graph_unread){
		.channel = channel->id, .object = send->object, .receiver_object = channel->receiver_object,
		.send_event = send->event, .send_ns = send->end_ns, .read_event = read_event, .read_ns = read_ns,
		.sender = row_thread(b->graph, send->row), .receiver = to ? to->thread : GRAPH_NONE,
		.receiver_pid = send->peer, .bytes = send->bytes, .kind = channel->kind }));
}

static void join(struct builder *b, struct channel *channel, const struct pending *send, const struct pending *receive)
{
	const struct slot *from = slot_find(b, send->tid), *to = slot_find(b, receive->tid);
	uint64_t sent = send->end_ns < receive->end_ns ? send->end_ns : receive->end_ns;

	edge_add(b, &(struct stored_edge){
		.from_ns = sent, .to_ns = receive->end_ns, .from_row = send->row, .to_row = receive->row,
		.from_event = send->event, .to_event = receive->event, .rule = BUILTIN_message, .kind = MECHANISM_message,
		.confidence = mechanism_infos[MECHANISM_message].confidence },
		 from ? from : &b->nobody, to ? to : &b->nobody);
	note_unread(b, channel, send, receive->end_ns, receive->event, receive->tid);
}

/* TCP numbers its bytes modulo 2^32. */
static int32_t position_difference(uint64_t a, uint64_t b)
{
	return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* A datagram that was lost on the way leaves others behind it: find the size. */
static void skip_to_size(struct messages *m, struct channel *channel, uint32_t bytes)
{
	uint32_t at = channel->first, skip = 0;

	while (at && skip < MAX_SEARCH && m->pending.items[at].bytes != bytes) {
		at = m->pending.items[at].next;
		skip++;
	}
	if (at && skip < MAX_SEARCH)
		while (skip--)
			drop_first(m, channel);
}

static void take(struct builder *b, struct channel *channel, struct pending *receive)
{
	struct messages *m = b->messages;

	if (channel->credit) {
		uint64_t old = channel->credit < receive->left ? channel->credit : receive->left;

		channel->credit -= old;
		receive->left -= old;
	}
	if (receive->position)
		while (channel->first && m->pending.items[channel->first].position &&
		       position_difference(m->pending.items[channel->first].position + m->pending.items[channel->first].bytes,
					   receive->position) <= 0)
			drop_first(m, channel);
	if (channel->kind == MESSAGE_KIND_udp && channel->first)
		skip_to_size(m, channel, receive->bytes);
	while (channel->first && (receive->left || channel->kind == MESSAGE_KIND_eventfd)) {
		struct pending *send = &m->pending.items[channel->first];
		uint64_t n = send->left < receive->left ? send->left : receive->left;

		if (receive->position && send->position &&
		    position_difference(send->position, receive->position + receive->bytes) >= 0)
			return; /* bytes of sends that are not on record */
		join(b, channel, send, receive);
		send->left -= n;
		receive->left -= n;
		if (!send->left || channel->kind == MESSAGE_KIND_eventfd)
			drop_first(m, channel);
	}
}

static void split_at_peer(struct builder *b, const struct event *e, const struct event_message *m, struct slot *slot,
			  const struct channel *channel, bool receives)
{
	uint64_t peer = m->peer;
	struct slot_more *more;
	const struct boundary *boundary = NULL;
	struct rule_scene scene = { .data = m, .thread = &slot->facts, .tail = "", .cpu = e->cpu };

	/* The last rule that holds decides, so that a pack can overrule the default. */
	for (size_t i = b->program.peers.length; i-- && !boundary; )
		if (condition_holds(&b->program.peers.items[i].rule->where, &scene))
			boundary = &b->program.peers.items[i];
	if (!boundary || boundary->rule->peers == PEERS_none || (boundary->rule->peers == PEERS_receive && !receives))
		return;
	if (receives && channel && channel->first) {
		const struct slot *sender = slot_find(b, b->messages->pending.items[channel->first].tid);

		if (sender && sender->facts.pid)
			peer = sender->facts.pid;
	}
	if (!peer)
		return;
	more = slot_more(b, slot);
	for (uint32_t i = 0; i < more->peer_count; i++)
		if (more->peers[i] == peer)
			return;
	if (more->peer_count)
		slot_split(b, slot, true, boundary->row_rule, row_kind(slot_row(b, slot)));
	if (more->peer_count < SLOT_PEERS)
		more->peers[more->peer_count++] = peer;
}

static void note_reply(struct builder *b, const struct event *e, const struct event_message *m, struct slot *slot, bool receives)
{
	struct end_state *end = end_at(b->messages, m->object);

	if (!end->used)
		end->asks_first = !receives;
	end->used = true;
	if (receives) {
		*end = (struct end_state){ .ns = e->time, .event = b->event, .row = slot->row, .tid = e->tid,
					   .asks_first = end->asks_first, .used = true };
		return;
	}
	if (!end->event || end->asks_first)
		return;
	if (end->ns <= e->time) {
		const struct slot *from = slot_find(b, end->tid);

		edge_add(b, &(struct stored_edge){
			.from_ns = end->ns, .to_ns = e->time, .from_row = end->row, .to_row = slot->row,
			.from_event = end->event, .to_event = b->event, .rule = BUILTIN_reply, .kind = MECHANISM_reply,
			.confidence = mechanism_infos[MECHANISM_reply].confidence },
			 from ? from : &b->nobody, slot);
	}
	end->event = 0;
}

static void receive_event(struct builder *b, const struct event *e, const struct event_message *m, struct channel *channel,
			  struct pending *item)
{
	struct messages *messages = b->messages;

	if (m->flags & MESSAGE_FLAGS_would_block || ((int32_t)m->result < 0 && !item->left)) {
		/* Nothing there: what we think is still queued has gone another way. */
		if (m->flags & MESSAGE_FLAGS_would_block) {
			while (channel->first && messages->pending.items[channel->first].end_ns < item->begin_ns)
				drop_first(messages, channel);
			channel->credit = 0;
			channel->unsynced = false;
		}
		return;
	}
	channel->receiver = e->tid;
	channel->receiver_object = m->object;
	if (channel->owed) {
		pending_free(messages, channel->owed);
		channel->owed = 0;
	}
	if (channel->unsynced && !m->position)
		return;
	take(b, channel, item);
	if (item->left && channel->kind != MESSAGE_KIND_eventfd)
		channel->owed = pending_new(messages, item);
}

static void send_event(struct builder *b, struct channel *channel, struct pending *item)
{
	struct messages *messages = b->messages;
	uint32_t index;

	if (channel->owed) {
		struct pending receive = messages->pending.items[channel->owed];

		if (item->begin_ns < receive.end_ns) {
			uint64_t n = item->left < receive.left ? item->left : receive.left;

			join(b, channel, item, &receive);
			item->left -= n;
			receive.left -= n;
			messages->pending.items[channel->owed].left = receive.left;
		} else {
			receive.left = 0;
		}
		if (!receive.left) {
			pending_free(messages, channel->owed);
			channel->owed = 0;
		}
		if (!item->left)
			return;
	}
	index = pending_new(messages, item);
	if (channel->last)
		messages->pending.items[channel->last].next = index;
	else
		channel->first = index;
	channel->last = index;
	if (++channel->count > MAX_PENDING)
		drop_first(messages, channel);
}

void message_event(struct builder *b, const struct event *e, struct slot *slot)
{
	const struct event_message *m = event_as(e, message);
	bool receives = m->flags & MESSAGE_FLAGS_receive, moves;
	uint64_t duration = m->duration_ns < e->time ? m->duration_ns : e->time;
	struct pending item = { .begin_ns = e->time - duration, .end_ns = e->time, .object = m->object, .position = m->position,
				.left = units_of(m), .event = b->event, .tid = e->tid, .bytes = m->bytes, .peer = m->peer };
	struct channel *channel = NULL;

	wait_told_result(b, slot, (int32_t)m->result, item.begin_ns, m->number);
	moves = item.left && (int32_t)m->result >= 0 && !(m->flags & MESSAGE_FLAGS_peek);
	if (m->channel && is_joined(m->kind)) {
		channel = channel_at(b, m->channel);
		channel->kind = m->kind;
		channel->used = true;
	}
	if (moves && slot->row != GRAPH_NONE)
		split_at_peer(b, e, m, slot, channel, receives);
	item.row = slot->row;
	if (slot->row == GRAPH_NONE || (m->flags & MESSAGE_FLAGS_peek))
		return;
	if (channel && receives)
		receive_event(b, e, m, channel, &item);
	else if (channel && moves)
		send_event(b, channel, &item);
	if (moves && m->object && can_reply(m->kind))
		note_reply(b, e, m, slot, receives);
}

void message_descriptor(struct builder *b, const struct event *e)
{
	const struct event_descriptor *d = event_as(e, descriptor);
	struct channel *channel;

	if (!d->channel_in || !d->queued)
		return;
	channel = channel_at(b, d->channel_in);
	if (!channel->used && !channel->first)
		channel->credit = d->queued;
}

void messages_finish(struct builder *b)
{
	struct messages *m = b->messages;

	for (size_t i = 0; i < m->channels.length; i++) {
		const struct channel *channel = &m->channels.items[i];

		if (channel->epoch != b->gap_epoch || channel->unsynced)
			continue;
		for (uint32_t at = channel->first; at; at = m->pending.items[at].next)
			note_unread(b, channel, &m->pending.items[at], UINT64_MAX, 0, channel->receiver);
	}
}
