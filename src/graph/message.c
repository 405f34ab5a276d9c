/* Messages in the graph: joined by channel and byte (join.h), answers on the same
 * end, splits of segments at new peers, and what lay unread. */
#include <string.h>

#include "graph/build.h"
#include "graph/join_worker.h"

#define LARGE_TRACE 20000       /* events; below, a thread costs more than it brings */
#define AMBIGUOUS_CONFIDENCE 60 /* one of several sends that may have filled the receive */

/* The two directions of one end, for replies. */
struct end_state {
	uint64_t ns;
	uint32_t event, row, tid; /* the unanswered receive; event 0 none */
	bool asks_first;          /* this end sent first: what it sends are requests */
	bool used;
};

struct recent_end {
	uint64_t object;
	size_t index;
};

/* A message that lay unread, its threads not yet named. */
struct late {
	struct graph_unread unread;
	uint32_t send_row, read_row;
	uint32_t reader_tid;
};

/* Two threads write here, for each message. Were their fields on one cache line, either
 * would wait for the other's each time; processors fetch lines in pairs. */
#define APART 128

struct messages {
	struct joins joins;
	/* what the joiner found, written by its thread */
	struct builder *b;
	struct edge_list edges;
	struct vec(struct late) late;
	uint64_t kept, cut;         /* edges */
	bool cuts;                  /* rules cut edges: the joiner has no thread of its own */
	char apart[APART];
	/* the builder's thread */
	struct join_worker *worker; /* NULL before the first message */
	struct map end_of;
	struct vec(struct end_state) ends;
	struct recent_end recent[256]; /* by hash: most messages are of few ends */
	bool started;           /* the joiner knows what was queued at the start */
	bool snapshot;          /* a snapshot has begun, and will tell */
};

/* A message's row and event in one, for the joiner. */
static uint64_t token_of(uint32_t row, uint32_t event)
{
	return (uint64_t)row << 32 | event;
}

static void note_unread(struct messages *m, const struct join_message *send, uint64_t read_ns, uint32_t read_event, uint32_t read_row)
{
	struct late late = { .send_row = (uint32_t)(send->token >> 32), .read_row = read_row };

	if (send->kind == MESSAGE_KIND_eventfd || send->kind == MESSAGE_KIND_tty || (uint32_t)send->token == 0 ||
	    read_ns < send->end_ns || read_ns - send->end_ns < GRAPH_UNREAD_NS)
		return;
	late.unread = (struct graph_unread){
		.channel = send->channel, .object = send->object, .send_event = (uint32_t)send->token, .send_ns = send->end_ns,
		.read_event = read_event, .read_ns = read_ns, .receiver = GRAPH_NONE, .receiver_pid = send->peer,
		.bytes = send->bytes, .kind = send->kind };
	join_reader(&m->joins, send->channel, &late.unread.receiver_object, &late.reader_tid);
	vec_push(&m->late, late);
}

/* Runs on the joiner's thread: of the builder it looks at nothing that changes;
 * only when rules cut edges, which ask about threads, there is no such thread. */
static void on_join(struct joins *joins, const struct join_edge *edge)
{
	struct messages *m = (struct messages *)joins;
	const unsigned confidence = edge->ambiguous ? AMBIGUOUS_CONFIDENCE : mechanism_infos[MECHANISM_message].confidence;
	const uint32_t from_row = (uint32_t)(edge->send >> 32), to_row = (uint32_t)(edge->receive >> 32);
	uint32_t removed = 0;

	if (edge->send == JOIN_BEFORE)
		return;
	if (m->cuts)
		removed = edge_cut(m->b, &(struct stored_edge){ .from_row = from_row, .to_row = to_row, .kind = MECHANISM_message,
								.confidence = (uint8_t)confidence }, NULL, NULL);
	m->cut += removed != 0;
	m->kept += !removed;
	edge_list_add(&m->edges, &(struct packed_edge){
		/* The bytes were there by the end of both calls. */
		.to_ns = edge->received_ns, .from_row = from_row, .to_row = to_row, .from_event = (uint32_t)edge->send,
		.to_event = (uint32_t)edge->receive,
		.age = edge->sent_ns < edge->received_ns ? short_time_code(edge->received_ns - edge->sent_ns) : 0,
		.rule = removed ? (uint16_t)removed : BUILTIN_message, .kind = MECHANISM_message | (removed ? EDGE_REMOVED : 0),
		.confidence = (uint8_t)confidence });
	if (!edge->ambiguous && edge->received_ns > edge->sent_ns && edge->received_ns - edge->sent_ns >= GRAPH_UNREAD_NS)
		note_unread(m, &(struct join_message){ .channel = edge->channel, .object = edge->sent_object, .end_ns = edge->sent_ns,
						       .token = edge->send, .bytes = edge->sent_bytes, .peer = edge->peer,
						       .kind = edge->kind },
			    edge->received_ns, (uint32_t)edge->receive, to_row);
}

static void on_unread(void *data, const struct join_message *send)
{
	struct messages *m = data;

	if (m->b->now_ns > send->end_ns && m->b->now_ns - send->end_ns >= GRAPH_UNREAD_NS)
		note_unread(m, send, UINT64_MAX, 0, GRAPH_NONE);
}

void messages_init(struct builder *b)
{
	b->messages = mem_zalloc(sizeof(*b->messages));
	b->messages->b = b;
	joins_init(&b->messages->joins, 0, on_join);
	store_expect(b->graph->trace, &b->messages->edges.region, trace_summary(b->graph->trace)->counts[EVENT_message],
		     sizeof(struct packed_edge));
	b->messages->edges.items = b->messages->edges.region.data;
}

void messages_done(struct builder *b)
{
	struct messages *m = b->messages;

	if (!m)
		return;
	join_worker_finish(m->worker);
	joins_done(&m->joins);
	edge_list_done(&m->edges);
	vec_done(&m->late);
	map_done(&m->end_of);
	vec_done(&m->ends);
	free(m);
}

static bool can_reply(unsigned kind)
{
	return kind == MESSAGE_KIND_unix_stream || kind == MESSAGE_KIND_unix_dgram || kind == MESSAGE_KIND_unix_seqpacket ||
	       kind == MESSAGE_KIND_tcp || kind == MESSAGE_KIND_udp || kind == MESSAGE_KIND_fuse;
}

/* Who is at the other end: the process, or the connection where that is not known,
 * as of TCP; 0 where many may be at one end. */
static uint64_t peer_of(const struct event_message *m)
{
	if (m->peer)
		return m->peer;
	return m->kind == MESSAGE_KIND_tcp || m->kind == MESSAGE_KIND_unix_stream || m->kind == MESSAGE_KIND_unix_seqpacket ||
	       m->kind == MESSAGE_KIND_accept || m->kind == MESSAGE_KIND_connect ? m->object : 0;
}

/* What is sent goes to one place even where several may read there. */
static uint64_t receiver_of(const struct event_message *m)
{
	return m->peer ? m->peer : m->channel ? m->channel : m->object;
}

/* A send is recorded at its end, behind the wake-up that it made: what is split before
 * the one is split before the other. */
static void take_wake_along(struct builder *b, struct slot *slot, uint32_t old, uint64_t begin_ns)
{
	struct slot_more *more = slot->more;
	struct row *before = &b->graph->rows[old], *row = slot_row(b, slot), *woken;
	struct slot *target;

	if (old == slot->row || more->woke_row == GRAPH_NONE || more->woke_event <= before->in_event || more->woke_ns < begin_ns ||
	    begin_ns < before->in_ns || before->preemption)
		return;
	row_set_out(b->graph, old, begin_ns);
	before->out_event = more->woke_event - 1;
	row->in_ns = begin_ns;
	row->in_event = more->woke_event;
	woken = &b->graph->rows[more->woke_row];
	if (woken->wake_event == more->woke_event)
		woken->wake_row = slot->row;
	target = slot_find(b, more->woke_tid);
	if (target && target->wake.event == more->woke_event)
		target->wake.row = slot->row;
}

static void split_at_peer(struct builder *b, const struct event *e, const struct event_message *m, struct slot *slot, bool receives)
{
	const struct boundary *boundary = NULL;
	struct rule_scene scene = { .data = m, .thread = &slot->facts, .tail = "", .cpu = e->cpu };
	bool to;
	uint64_t peer, *known;

	/* The last rule that holds decides, so that a pack can overrule the default. */
	for (size_t i = b->program.peers.length; i-- && !boundary; )
		if (condition_holds(&b->program.peers.items[i].rule->where, &scene))
			boundary = &b->program.peers.items[i];
	if (!boundary || boundary->rule->peers == PEERS_none || (boundary->rule->peers == PEERS_receive && !receives))
		return;
	to = boundary->rule->peers == PEERS_both && !receives;
	peer = to ? receiver_of(m) : peer_of(m);
	if (!peer)
		return;
	known = to ? &slot_more(b, slot)->sent_to : &slot_more(b, slot)->peer;
	if (*known == peer)
		return;
	if (*known) {
		uint32_t old = slot->row;

		slot_split(b, slot, true, boundary->row_rule, row_kind(slot_row(b, slot)));
		if (!receives)
			take_wake_along(b, slot, old, e->time - (m->duration_ns < e->time ? m->duration_ns : e->time));
	}
	*known = peer;
}

static void start_joiner(struct messages *m)
{
	const struct trace_summary *summary = trace_summary(m->b->graph->trace);

	m->cuts = m->b->program.cuts.length > 0;
	m->worker = join_worker_new(&m->joins, summary->events >= LARGE_TRACE && !m->cuts);
}

static void put(struct messages *m, enum join_order_kind kind, const struct join_message *message)
{
	if (!m->worker)
		start_joiner(m);
	join_worker_put(m->worker, kind, message);
}

static struct end_state *end_at(struct messages *m, uint64_t object)
{
	struct recent_end *recent = &m->recent[hash_u64(object) % (sizeof(m->recent) / sizeof(m->recent[0]))];
	bool new;
	uint64_t *index;

	if (recent->object == object)
		return &m->ends.items[recent->index];
	index = map_at(&m->end_of, object, &new);
	if (new) {
		*index = m->ends.length;
		vec_push(&m->ends, (struct end_state){ 0 });
	}
	*recent = (struct recent_end){ object, *index };
	return &m->ends.items[*index];
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

void message_event(struct builder *b, const struct event *e, struct slot *slot)
{
	const struct event_message *m = event_as(e, message);
	struct messages *messages = b->messages;
	bool receives = m->flags & MESSAGE_FLAGS_receive, moves;
	uint64_t begin = e->time - (m->duration_ns < e->time ? m->duration_ns : e->time);

	wait_told_result(b, slot, (int32_t)m->result, begin, m->number);
	if (slot->row == GRAPH_NONE || m->flags & MESSAGE_FLAGS_peek)
		return;
	moves = (int32_t)m->result >= 0 && !(m->flags & MESSAGE_FLAGS_would_block) &&
		(m->bytes || m->kind == MESSAGE_KIND_accept || m->kind == MESSAGE_KIND_connect);
	if (!messages->started && !messages->snapshot) {
		/* Nothing tells what was queued: nothing was. */
		put(messages, ORDER_start, &(struct join_message){ 0 });
		messages->started = true;
	}
	if (moves)
		split_at_peer(b, e, m, slot, receives);
	if (m->channel && (moves || (receives && m->flags & (MESSAGE_FLAGS_would_block | MESSAGE_FLAGS_end_of_file)))) {
		put(messages, ORDER_message, &(struct join_message){
			.channel = m->channel, .object = m->object,
			/* Who slept until now moved nothing before. */
			.begin_ns = receives && slot->woken_ns > begin ? slot->woken_ns : begin, .end_ns = e->time,
			.token = token_of(slot->row, b->event), .position = m->position, .bytes = m->bytes, .peer = m->peer,
			.tid = e->tid, .kind = m->kind, .receives = receives, .empty = receives && !moves });
	}
	if (moves && m->object && can_reply(m->kind))
		note_reply(b, e, m, slot, receives);
}

void message_state(struct builder *b, const struct event *e)
{
	struct messages *m = b->messages;

	if (e->type == EVENT_descriptor) {
		const struct event_descriptor *d = event_as(e, descriptor);
		uint64_t read_ns = d->read_ns ? e->time - (uint32_t)((uint32_t)e->time - d->read_ns) : e->time;

		if (d->channel_in && (d->queued || m->snapshot))
			put(m, ORDER_queue, &(struct join_message){ .channel = d->channel_in, .object = d->object, .end_ns = read_ns,
								    .bytes = d->queued, .receives = true });
		if (d->channel_out && m->snapshot)
			put(m, ORDER_queue, &(struct join_message){ .channel = d->channel_out, .object = d->object, .end_ns = e->time });
	} else if (e->type == EVENT_snapshot && !m->started) {
		m->snapshot = true;
		if (event_as(e, snapshot)->end) {
			put(m, ORDER_start, &(struct join_message){ 0 });
			m->started = true;
		}
	}
}

void messages_gap(struct builder *b, uint64_t to_ns)
{
	put(b->messages, ORDER_gap, &(struct join_message){ .end_ns = to_ns });
}

static void name_late(struct messages *m)
{
	struct builder *b = m->b;

	for (size_t i = 0; i < m->late.length; i++) {
		struct late *late = &m->late.items[i];
		const struct slot *reader = late->reader_tid ? slot_find(b, late->reader_tid) : NULL;

		late->unread.sender = row_thread(b->graph, late->send_row);
		if (late->read_row != GRAPH_NONE)
			late->unread.receiver = row_thread(b->graph, late->read_row);
		else if (reader)
			late->unread.receiver = reader->thread;
		vec_push(&b->graph->unread, late->unread);
	}
}

/* The joiner's edges first, in their place: they are the most. */
static void add_edges(struct messages *m)
{
	struct graph *graph = m->b->graph;
	struct edge_list own = graph->edges;

	graph->edges = m->edges;
	m->edges = (struct edge_list){ 0 };
	for (size_t i = 0; i < own.length; i++)
		edge_list_add(&graph->edges, &own.items[i]);
	edge_list_done(&own);
	graph->stats.edges[MECHANISM_message] += m->kept;
	graph->stats.removed_by_rule += m->cut;
	graph->rules.items[BUILTIN_message].uses += m->kept + m->cut;
}

void messages_finish(struct builder *b)
{
	struct messages *m = b->messages;

	if (m->worker)
		join_worker_finish(m->worker);
	m->worker = NULL;
	join_unread(&m->joins, on_unread, m);
	name_late(m);
	add_edges(m);
}
