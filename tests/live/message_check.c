/* Compares what the trace says of messages with what message_truth knows:
 * message_check TRACE TRUTH. Unambiguous joins must be right and ambiguous sets
 * must contain the truth; prints the bytes of each sort, by kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/join.h"
#include "trace/trace.h"

struct call {
	uint32_t event;          /* its number; 0 none */
	uint8_t kind;
};

struct true_send {
	int tid, fd;
	uint32_t n, bytes;
};

struct found_edge {
	uint64_t send, receive;
	uint32_t bytes;
	bool ambiguous;
};

struct check {
	struct joins joins;
	struct map calls;        /* key of a call: its event's number */
	struct map counts;       /* tid, fd, direction: calls so far */
	struct map asleep;       /* tid: left the processor for an interruptible sleep */
	struct map woken;        /* tid: when it last came back from one */
	struct vec(struct found_edge) edges;
	struct map kinds;        /* event number: kind */
	struct map bytes;        /* event number: bytes */
};

static uint64_t key_of(int tid, int fd, bool receives, uint32_t n)
{
	return (uint64_t)(uint32_t)tid << 40 | (uint64_t)(uint32_t)fd << 28 | (uint64_t)receives << 27 | n;
}

static void take(struct joins *joins, const struct join_edge *edge)
{
	struct check *check = (struct check *)joins;

	vec_push(&check->edges, ((struct found_edge){ edge->send, edge->receive, edge->bytes, edge->ambiguous }));
}

static void on_message(struct check *check, const struct event *e)
{
	const struct event_message *m = event_as(e, message);
	bool receives = m->flags & MESSAGE_FLAGS_receive;
	uint64_t *woken = map_find(&check->woken, e->tid);
	struct join_message message = {
		.channel = m->channel, .object = m->object, .end_ns = e->time, .begin_ns = e->time - m->duration_ns,
		.token = e->number, .position = m->position, .bytes = m->bytes, .kind = m->kind, .receives = receives,
		.empty = receives && !m->bytes,
	};

	if (m->flags & MESSAGE_FLAGS_peek || (!receives && !m->bytes))
		return;
	/* a receive copies after its last sleep */
	if (receives && woken && *woken > message.begin_ns && *woken <= e->time)
		message.begin_ns = *woken;
	if (m->bytes) {
		uint64_t *n = map_at(&check->counts, key_of((int)e->tid, (int)m->argument, receives, 0), NULL);

		map_put(&check->calls, key_of((int)e->tid, (int)m->argument, receives, (uint32_t)*n), e->number);
		map_put(&check->kinds, e->number, m->kind);
		map_put(&check->bytes, e->number, m->bytes);
		++*n;
	}
	join_message(&check->joins, &message);
}

/* A preemption tells nothing: it may come behind the copy. */
static void on_switch(struct check *check, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);

	if (s->state == TASK_STATE_sleeping)
		map_put(&check->asleep, e->tid, 1);
	else
		map_remove(&check->asleep, e->tid);
	if (map_find(&check->asleep, s->next)) {
		map_remove(&check->asleep, s->next);
		map_put(&check->woken, s->next, e->time);
	}
}

static void on_descriptor(struct check *check, const struct event *e)
{
	const struct event_descriptor *d = event_as(e, descriptor);

	if (d->channel_in)
		join_queue(&check->joins, &(struct join_message){ .channel = d->channel_in, .object = d->object, .end_ns = e->time,
								  .bytes = d->queued, .receives = true });
	if (d->channel_out)
		join_queue(&check->joins, &(struct join_message){ .channel = d->channel_out, .object = d->object, .end_ns = e->time });
}

static int read_trace(struct check *check, const char *path)
{
	struct err err = { 0 };
	struct trace *trace;
	struct trace_cursor *cursor;
	const struct trace_summary *summary;
	bool known = false;

	if (trace_open(path, &trace, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	summary = trace_summary(trace);
	printf("events %llu, lost %llu\n", (unsigned long long)summary->events, (unsigned long long)summary->lost);
	cursor = trace_cursor_new(trace, NULL);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		switch (e->type) {
		case EVENT_switch:
			on_switch(check, e);
			break;
		case EVENT_descriptor:
			on_descriptor(check, e);
			break;
		case EVENT_snapshot:
			if (event_as(e, snapshot)->end && !known) {
				known = true;
				join_start(&check->joins);
			}
			break;
		case EVENT_message:
			on_message(check, e);
			break;
		}
	}
	join_finish(&check->joins);
	trace_cursor_free(cursor);
	trace_close(trace);
	return 0;
}

static int by_receive(const void *a, const void *b)
{
	const struct found_edge *x = a, *y = b;

	return (x->receive > y->receive) - (x->receive < y->receive);
}

enum verdict { RIGHT, AMBIGUOUS, WRONG, MISSING, NOT_RECORDED, VERDICTS };

static enum verdict judge(const struct check *check, uint64_t send, uint64_t receive, uint32_t bytes)
{
	struct found_edge want = { .receive = receive };
	const struct found_edge *at = check->edges.length ? bsearch(&want, check->edges.items, check->edges.length,
								    sizeof(want), by_receive) : NULL;
	const struct found_edge *end = check->edges.items + check->edges.length;
	bool certain_other = false;

	if (!at)
		return MISSING;
	while (at > check->edges.items && at[-1].receive == receive)
		at--;
	for (; at < end && at->receive == receive; at++) {
		if (at->send == send)
			return at->ambiguous ? AMBIGUOUS : at->bytes == bytes ? RIGHT : WRONG;
		certain_other |= !at->ambiguous;
	}
	return certain_other ? WRONG : MISSING;
}

int main(int count, char **words)
{
	static const char *const names[] = { "right", "in an ambiguous set", "wrong", "not joined", "not recorded" };
	uint64_t sums[256][VERDICTS] = { { 0 } }, all[VERDICTS] = { 0 };
	struct vec(struct true_send) sends = { 0 };
	struct check check = { 0 };
	char line[128];
	FILE *truth;

	if (count != 3)
		return 2;
	joins_init(&check.joins, 0, take);
	truth = fopen(words[2], "r");
	if (!truth || read_trace(&check, words[1]))
		return 2;
	qsort(check.edges.items, check.edges.length, sizeof(check.edges.items[0]), by_receive);
	while (fgets(line, sizeof(line), truth)) {
		struct true_send s;
		unsigned id;

		if (sscanf(line, "S %u %d %d %u %u", &id, &s.tid, &s.fd, &s.n, &s.bytes) != 5)
			continue;
		while (sends.length <= id)
			vec_push(&sends, ((struct true_send){ 0 }));
		sends.items[id] = s;
	}
	rewind(truth);
	while (fgets(line, sizeof(line), truth)) {
		unsigned id, bytes, n, kind = 0;
		int tid, fd;
		uint64_t *send, *receive;
		enum verdict verdict = NOT_RECORDED;

		if (sscanf(line, "R %u %u %d %d %u", &id, &bytes, &tid, &fd, &n) != 5 || id >= sends.length)
			continue;
		send = map_find(&check.calls, key_of(sends.items[id].tid, sends.items[id].fd, false, sends.items[id].n));
		receive = map_find(&check.calls, key_of(tid, fd, true, n));
		if (send && receive) {
			verdict = judge(&check, *send, *receive, bytes);
			kind = (unsigned)*map_find(&check.kinds, *receive);
		}
		if (verdict == WRONG || verdict == MISSING)
			fprintf(stderr, "%s: send %u (event %llu), %u bytes into event %llu\n", names[verdict], id,
				(unsigned long long)*send, bytes, (unsigned long long)*receive);
		sums[kind & 255][verdict] += bytes;
		all[verdict] += bytes;
	}
	for (unsigned kind = 0; kind < 256; kind++) {
		const char *name = kind_value_name(FIELD_MESSAGE_KIND, kind);
		uint64_t sum = 0;

		for (int v = 0; v < VERDICTS; v++)
			sum += sums[kind][v];
		if (!sum)
			continue;
		printf("%-14s", name ? name : "?");
		for (int v = 0; v < VERDICTS; v++)
			printf("  %s %llu", names[v], (unsigned long long)sums[kind][v]);
		printf("\n");
	}
	fclose(truth);
	joins_done(&check.joins);
	return all[RIGHT] && !all[WRONG] && !all[MISSING] && !all[NOT_RECORDED] ? 0 : 1;
}
