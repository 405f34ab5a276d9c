/* See check.h. */
#include "graph/check.h"

#include <stdlib.h>
#include <string.h>

#include "graph/store.h"

#define LOOP_TURNS 10                   /* turns in a row that make a poll loop */
#define YIELD_TURNS 50
#define LOOP_LIMIT_NS 500000000ull      /* time limits of a poll loop are shorter */
#define HANDED_MOST 20                  /* hand-overs between probes */

struct checking {
	struct arena *arena;
	const struct graph *graph;
	struct vec(struct graph_flaw) flaws;
	struct map groups;              /* of flaws that are one */
};

/* The flaw of this kind, thread and object; new ones are empty. */
static struct graph_flaw *flaw_at(struct checking *c, enum graph_flaw_kind kind, uint32_t thread, uint64_t object, unsigned wait)
{
	bool new;
	uint64_t *index = map_at(&c->groups, hash_u64(object) ^ hash_u64((uint64_t)thread << 16 | wait << 4 | kind), &new);

	if (new) {
		*index = c->flaws.length;
		vec_push(&c->flaws, ((struct graph_flaw){ .kind = kind, .thread = thread, .object = object, .wait = (uint8_t)wait,
							  .segment = GRAPH_NONE, .syscall = SYSCALL_NONE, .proposal = "" }));
	}
	return &c->flaws.items[*index];
}

static void check_unwoken(struct checking *c, const struct graph_wait *wait, uint64_t *worst)
{
	struct graph_flaw *flaw;
	uint64_t length = wait->in_ns - wait->out_ns;

	if (wait->in_ns == UINT64_MAX || wait->result != RESULT_unknown)
		return;
	flaw = flaw_at(c, FLAW_unwoken, wait->thread, wait->object, wait->kind);
	if (!flaw->count++)
		flaw->first_event = wait->out_event;
	flaw->harm_ns += length;
	flaw->syscall = wait->syscall;
	if (flaw->segment == GRAPH_NONE || length > *worst) {
		flaw->segment = wait->segment;
		*worst = length;
	}
}

/* A run of turns with the same call, each ended by its short time limit. */
struct turns {
	uint64_t from_ns, to_ns, object, event;
	uint32_t count, segment;
	uint16_t syscall;
	uint8_t wait;
};

/* Whoever makes others run, or sends them something, does not only look: a worker that pauses, a clock. */
static bool serves_others(const struct graph *graph, uint32_t thread, uint32_t row)
{
	struct graph_edges walk = graph_edges_from(graph, row_segment(graph, row), EDGES_STRONG);
	uint64_t in = graph->rows[row].in_ns, out = row_out_ns(graph, row);

	for (struct graph_edge edge; graph_edges_next(&walk, &edge); )
		if (edge.to_thread != thread && edge.from_ns >= in && edge.from_ns <= out && edge.kind != MECHANISM_release)
			return true;
	return false;
}

static void end_turns(struct checking *c, uint32_t thread, struct turns *turns)
{
	if (turns->count >= LOOP_TURNS) {
		struct graph_flaw *flaw = flaw_at(c, FLAW_poll_loop, thread, turns->object, turns->wait);

		if (!flaw->count)
			flaw->first_event = turns->event;
		flaw->count += turns->count;
		flaw->harm_ns += turns->to_ns - turns->from_ns;
		flaw->period_ns = flaw->harm_ns / flaw->count;
		flaw->syscall = turns->syscall;
		flaw->last_ns = turns->to_ns;
		if (flaw->segment == GRAPH_NONE)
			flaw->segment = turns->segment;
	}
	turns->count = 0;
}

/* Within one stretch a thread gave up the processor again and again. */
static void check_yields(struct checking *c, uint32_t thread, uint32_t row)
{
	const struct graph *graph = c->graph;
	const struct row *r = &graph->rows[row];
	uint32_t yields = 0;
	struct graph_flaw *flaw;
	uint64_t out;

	for (uint32_t at = r->preemption; at; at = graph->preemptions[at].next)
		yields += graph->preemptions[at].yields;
	if (yields < YIELD_TURNS)
		return;
	out = row_out_ns(graph, row);
	flaw = flaw_at(c, FLAW_poll_loop, thread, 0, WAIT_KIND_yield);
	if (!flaw->count)
		flaw->first_event = r->in_event;
	flaw->count += yields;
	flaw->harm_ns += (out == UINT64_MAX ? trace_summary(graph->trace)->end_ns : out) - r->in_ns;
	flaw->period_ns = flaw->harm_ns / flaw->count;
	flaw->syscall = r->syscall;
	if (flaw->segment == GRAPH_NONE)
		flaw->segment = row;
}

static void check_thread(struct checking *c, uint32_t thread)
{
	const struct graph *graph = c->graph;
	struct turns turns = { 0 };
	uint64_t worst = 0;
	uint32_t others = 0;
	size_t first = c->flaws.length;

	for (uint32_t place = 0; place < graph->threads.items[thread].rows; place++) {
		uint32_t row = row_at_place(graph, thread, place);
		const struct row *r = &graph->rows[row];
		struct graph_wait wait;
		bool waits = r->flags & ROW_WAIT, turn;

		if (waits && (r->flags & ROW_GAP || row_result(r) == RESULT_unknown)) {
			if (graph_wait(graph, row, &wait))
				check_unwoken(c, &wait, &worst);
		}
		check_yields(c, thread, row);
		if (!waits)
			continue; /* preempted: the loop goes on */
		turn = row_result(r) == RESULT_timeout &&
		       (r->wait == WAIT_KIND_sleep || (r->timeout && short_time_ns(r->timeout) <= LOOP_LIMIT_NS));
		others += !turn && row_result(r) != RESULT_open && place;
		if (turns.count && turn && serves_others(graph, thread, row))
			turn = false;
		if (turns.count && (!turn || r->wait != turns.wait || r->syscall != turns.syscall || r->object != turns.object))
			end_turns(c, thread, &turns);
		if (!turn)
			continue;
		if (!turns.count)
			turns = (struct turns){ .from_ns = r->in_ns, .object = r->object, .event = r->out_event, .segment = row,
						.syscall = r->syscall, .wait = r->wait };
		turns.count++;
		turns.to_ns = row_out_ns(graph, row);
	}
	end_turns(c, thread, &turns);
	/* there before the trace, and nothing came of it */
	for (size_t i = first; i < c->flaws.length && !others && thread < graph->tables->thread_count; i++)
		if (!graph->tables->threads[thread].start_ns && c->flaws.items[i].kind == FLAW_poll_loop &&
		    c->flaws.items[i].wait != WAIT_KIND_yield)
			c->flaws.items[i].always = true;
}

/* ---- over-connections ---- */

#define TALK_PEERS 32 /* applications that are told apart */

/* Whom a segment receives from, or sends to. */
struct side_talk {
	uint32_t peers;
	uint32_t threads[TALK_PEERS], pids[TALK_PEERS];
	uint64_t events[TALK_PEERS];
};

struct talk {
	uint32_t segment;
	struct side_talk received, sent;
};

struct talks {
	struct map of_segment;
	struct vec(struct talk) list;
};

/* Who is there already, or comes by the same event, which no boundary can part. */
static bool is_known(const struct side_talk *side, uint32_t pid, uint64_t event)
{
	for (uint32_t i = 0; i < side->peers; i++)
		if (side->pids[i] == pid || side->events[i] == event)
			return true;
	return side->peers == TALK_PEERS;
}

static void note_talk(const struct graph *graph, struct talks *talks, uint32_t row, uint32_t other_row, uint64_t event, bool receives)
{
	struct graph_thread own, other;
	struct side_talk *side;
	uint64_t *index;
	bool new;

	graph_thread(graph, row_thread(graph, row), &own);
	graph_thread(graph, row_thread(graph, other_row), &other);
	if (!other.pid || !own.pid || own.pid == other.pid)
		return;
	index = map_at(&talks->of_segment, row_segment(graph, row), &new);
	if (new) {
		*index = talks->list.length;
		vec_push(&talks->list, ((struct talk){ .segment = row_segment(graph, row) }));
	}
	side = receives ? &talks->list.items[*index].received : &talks->list.items[*index].sent;
	if (is_known(side, other.pid, event))
		return;
	side->threads[side->peers] = other.thread;
	side->pids[side->peers] = other.pid;
	side->events[side->peers++] = event;
}

/* Receives that the peers' rule does not part, for their senders are not told, are
 * parted each; sends by whom they go to. */
static const char *over_proposal(struct arena *arena, const struct graph *graph, const struct graph_flaw *flaw)
{
	const char *text = "";
	struct graph_thread t;
	struct buf name;

	graph_thread(graph, flaw->thread, &t);
	if (strchr(t.name, '"') || strchr(t.name, '\\'))
		return "";
	buf_init(&name);
	buf_escaped(&name, t.name, strlen(t.name), NULL);
	if (flaw->receives)
		text = arena_printf(arena, "boundary split-%u before message where thread.comm == \"%s\" and flags has receive;", t.tid,
				    buf_str(&name));
	if (flaw->sends)
		text = arena_printf(arena, "%s%speers split-%u-sends both where thread.comm == \"%s\";", text, flaw->receives ? " " : "",
				    t.tid, buf_str(&name));
	buf_done(&name);
	return text;
}

/* Kernel threads at rest, interrupts and the recorder itself are no suspects. */
static bool is_checked(const struct graph *graph, uint32_t thread)
{
	const struct stored_thread *stored = &graph->threads.items[thread];

	if (stored->kind != GRAPH_THREAD && stored->kind != GRAPH_UNKNOWN)
		return false;
	return !store_is_recorder(graph, thread) &&
	       (thread >= graph->tables->thread_count || !(graph->tables->threads[thread].flags & TASK_FLAGS_kernel_thread));
}

/* A relay receives from one and sends to another: that is no flaw. To receive
 * from two, or to send to two, in one piece of work is. */
static void flaw_over(struct checking *c, const struct talk *talk)
{
	const struct side_talk *side = talk->received.peers >= talk->sent.peers ? &talk->received : &talk->sent;
	bool receives = talk->received.peers > 1, sends = talk->sent.peers > 1;
	struct graph_segment s;
	struct graph_flaw *flaw;
	uint64_t end_ns;

	if ((!receives && !sends) || !graph_segment(c->graph, talk->segment, &s) || !is_checked(c->graph, s.thread))
		return;
	flaw = flaw_at(c, FLAW_over, s.thread, 0, 0);
	if (!flaw->count++)
		flaw->first_event = side->events[0];
	end_ns = s.end_ns == UINT64_MAX ? trace_summary(c->graph->trace)->end_ns : s.end_ns;
	flaw->harm_ns += (end_ns > s.start_ns ? end_ns - s.start_ns : 0) * (side->peers - 1);
	flaw->receives |= receives;
	flaw->sends |= sends;
	if (flaw->peer_count >= side->peers)
		return;
	flaw->peer_count = side->peers;
	flaw->segment = talk->segment;
	memcpy(flaw->peers, side->threads, sizeof(flaw->peers));
	memcpy(flaw->peer_events, side->events, sizeof(flaw->peer_events));
}

static void check_over(struct checking *c)
{
	const struct graph *graph = c->graph;
	struct talks talks = { 0 };

	for (size_t i = 0; i < graph->edges.length; i++) {
		const struct packed_edge *edge = &graph->edges.items[i];

		/* cut ones have another number; of several possible senders most did not send */
		if (edge->kind != MECHANISM_message || edge->confidence < mechanism_infos[MECHANISM_message].confidence)
			continue;
		note_talk(graph, &talks, edge->to_row, edge->from_row, edge->to_event, true);
		note_talk(graph, &talks, edge->from_row, edge->to_row, edge->from_event, false);
	}
	for (size_t i = 0; i < talks.list.length; i++)
		flaw_over(c, &talks.list.items[i]);
	for (size_t i = 0; i < c->flaws.length; i++) {
		struct graph_flaw *flaw = &c->flaws.items[i];

		if (flaw->kind == FLAW_over)
			flaw->proposal = over_proposal(c->arena, graph, flaw);
	}
	map_done(&talks.of_segment);
	vec_done(&talks.list);
}

/* The flag that the loop's segment read most, where reads of flags are recorded. */
static uint64_t likely_flag(const struct graph *graph, const struct graph_flaw *flaw)
{
	const struct trace_summary *summary = trace_summary(graph->trace);
	struct trace_filter types = { 0 };
	struct map counts = { 0 };
	uint64_t best = 0, most = 0, last_ns = flaw->last_ns ? flaw->last_ns : summary->end_ns;
	struct graph_events walk;
	const struct event *e;

	if (!summary->counts[EVENT_flag_read])
		return 0;
	trace_filter_add(&types, EVENT_flag_read);
	walk = graph_events_of(graph, flaw->thread, graph->rows[flaw->segment].in_ns, last_ns, &types);
	while ((e = graph_events_next(&walk))) {
		uint64_t *count = map_at(&counts, event_as(e, flag_read)->address, NULL);

		if (++*count > most) {
			most = *count;
			best = event_as(e, flag_read)->address;
		}
	}
	graph_events_done(&walk);
	map_done(&counts);
	return best;
}

static int compare_flaws(const void *a, const void *b)
{
	const struct graph_flaw *x = a, *y = b;

	if (x->always != y->always)
		return x->always ? 1 : -1;
	if (x->harm_ns != y->harm_ns)
		return x->harm_ns > y->harm_ns ? -1 : 1;
	return x->first_event < y->first_event ? -1 : x->first_event > y->first_event;
}

struct graph_flaw *graph_check(struct arena *arena, const struct graph *graph, size_t limit, size_t *ret_count)
{
	struct checking c = { .arena = arena, .graph = graph };
	struct graph_flaw handed[HANDED_MOST], *result;
	size_t handed_over;

	for (uint32_t thread = 0; thread < graph->threads.length; thread++)
		if (is_checked(graph, thread))
			check_thread(&c, thread);
	check_over(&c);
	handed_over = graph_check_probes(arena, graph, handed, HANDED_MOST);
	for (size_t i = 0; i < handed_over; i++)
		vec_push(&c.flaws, handed[i]);
	if (c.flaws.length)
		qsort(c.flaws.items, c.flaws.length, sizeof(*c.flaws.items), compare_flaws);
	*ret_count = c.flaws.length < limit ? c.flaws.length : limit;
	result = arena_array(arena, struct graph_flaw, *ret_count + 1);
	if (*ret_count)
		memcpy(result, c.flaws.items, *ret_count * sizeof(*result));
	for (size_t i = 0; i < *ret_count; i++)
		if (result[i].kind == FLAW_poll_loop)
			result[i].flag = likely_flag(graph, &result[i]);
	vec_done(&c.flaws);
	map_done(&c.groups);
	return result;
}
