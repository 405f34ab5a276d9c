/* Requests without messages, see requests_lean.h. */
#include "path/requests_lean.h"

#define KIN_LOOKED 16u
#define LOOK_MOST_NS 15000u /* on a processor: to wake up, look and wait again; to ask anew takes longer */

/* A wake-up over a socket, by what it meant to who was woken. */
enum deed_kind { DEED_TOOK = 1, DEED_ASKED, DEED_ANSWERED };

struct ask {
	uint64_t time, number, object;
	uint32_t waker, target;   /* threads */
	uint32_t ustack;          /* of the waker */
};

/* A moment of a client's thread. */
struct moment {
	uint64_t time;
	uint32_t client;
};

struct finding {
	const struct requests_question *q;
	const struct scene *scene;
	struct requests *requests;
	struct map deeds;         /* event -> enum deed_kind */
	struct map first;         /* pair of processes -> the one that sent first */
	struct map listening;     /* processes that listen for connections */
	struct map stacks;        /* event -> stack of who sent */
	struct vec(struct ask) asks;     /* of threads of the server, by client, then time */
	struct vec(struct moment) ends;   /* of the clients' waits for answers, likewise */
};

static bool is_for_network(const struct ends *ends, const struct wait *w)
{
	/* Of a poll the first of its objects tells, of an epoll set what was ever put into it. */
	switch (w->kind) {
	case WAIT_KIND_read: return requests_is_socket(w->object);
	case WAIT_KIND_poll: return requests_is_socket(w->detail);
	case WAIT_KIND_epoll: return ends_set_role(ends, w->object) != END_UNKNOWN;
	default: return false;
	}
}

/* What a call does with what it works on. */
static unsigned call_kind(unsigned call)
{
	static const uint8_t kinds[] = {
#define WAIT(number, kind, object, limit, argument) [number] = WAIT_KIND_##kind,
#include "record/waits.def"
#undef WAIT
	};

	return call < sizeof(kinds) ? kinds[call] : 0;
}

static uint64_t pair_of(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static void find_listening(struct finding *f)
{
	const struct tables *tables = f->scene->tables;

	for (size_t i = 0; i < tables->descriptor_count; i++)
		if (tables->descriptors[i].at.state == STATE_LISTENING && requests_is_socket(tables->descriptors[i].at.object))
			map_put(&f->listening, tables->descriptors[i].pid, 1);
}

/* It listens for connections, or one of those that made it does. */
static bool listens(const struct finding *f, uint32_t thread)
{
	for (unsigned i = 0; thread && i < KIN_LOOKED; i++) {
		if (map_find(&f->listening, scene_pid(f->scene, thread)))
			return true;
		thread = f->scene->tables->threads[thread].creator;
	}
	return false;
}

/* Of the two processes the one that asks: who listens does not ask one that does not. Where both do, or neither, whoever
 * sent first, 0 not known yet. */
static uint64_t *asker(struct finding *f, uint32_t one, uint32_t other)
{
	bool fresh = false;
	uint64_t *first = map_at(&f->first, pair_of(scene_pid(f->scene, one), scene_pid(f->scene, other)), &fresh);

	if (fresh && listens(f, one) != listens(f, other))
		*first = scene_pid(f->scene, listens(f, one) ? other : one);
	return first;
}

/* Who accepted answers; where nobody is known to have, whoever of the two sent first asks. */
static enum deed_kind asked_or_answered(struct finding *f, const struct event *e, uint32_t waker, uint32_t target)
{
	uint32_t from = scene_pid(f->scene, waker);
	uint64_t *first = asker(f, waker, target);

	if (!*first)
		*first = from;
	/* Of a connection whose listener was not seen both ends count as the client's. */
	if (ends_role(f->q->ends, event_as(e, wake)->object) == END_SERVER)
		*first = scene_pid(f->scene, target);
	return *first == from ? DEED_ASKED : DEED_ANSWERED;
}

/* Who is woken by another one that takes from their socket had sent something, if nobody was seen to send before. */
static void note_sender(struct finding *f, uint32_t taker, uint32_t sender)
{
	uint64_t *first = asker(f, taker, sender);

	if (!*first)
		*first = scene_pid(f->scene, sender);
}

/* A server's thread, asked by one who is not of the server, or who is its child. */
static bool serves(const struct finding *f, uint32_t server, uint32_t client)
{
	return scene_descends_from(f->scene, server, f->q->pid) && !scene_same_process(f->scene, server, client) &&
	       scene_pid(f->scene, client) != f->q->pid && !scene_is_system(f->scene, client) &&
	       (scene_pid(f->scene, server) == f->q->pid || !scene_descends_from(f->scene, client, f->q->pid));
}

static int by_client(const void *a, const void *b)
{
	const struct ask *x = a, *y = b;

	if (x->waker != y->waker)
		return x->waker < y->waker ? -1 : 1;
	return x->time != y->time ? x->time < y->time ? -1 : 1 : x->number < y->number ? -1 : x->number > y->number;
}

/* Taking a message from a socket makes room there, which wakes those, too, who wait for another one. */
static void find_deeds(struct finding *f)
{
	const struct tables *tables = f->scene->tables;
	struct trace_filter filter = { .from_ns = f->q->from_ns, .to_ns = f->q->to_ns };
	struct trace_cursor *cursor;
	const struct event *e;

	trace_filter_add(&filter, EVENT_wake);
	cursor = trace_cursor_new(f->scene->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		const struct event_wake *wake = event_as(e, wake);
		unsigned kind = call_kind(wake->syscall);
		uint32_t waker, target;
		enum deed_kind deed;

		if (kind == WAIT_KIND_read)
			map_put(&f->deeds, e->number, DEED_TOOK);
		if ((kind != WAIT_KIND_write && kind != WAIT_KIND_read && kind != WAIT_KIND_connect) || !requests_is_socket(wake->object))
			continue;
		waker = tables_thread(tables, e->tid, e->time);
		target = tables_thread(tables, wake->target, e->time);
		if (!waker || !target || scene_same_process(f->scene, waker, target))
			continue;
		if (kind == WAIT_KIND_read) {
			note_sender(f, waker, target);
			continue;
		}
		/* Who connects asks, also when it listens itself for others. */
		if (kind == WAIT_KIND_connect) {
			map_put(&f->first, pair_of(scene_pid(f->scene, waker), scene_pid(f->scene, target)), scene_pid(f->scene, waker));
			map_put(&f->deeds, e->number, DEED_ASKED);
			continue;
		}
		deed = asked_or_answered(f, e, waker, target);
		map_put(&f->deeds, e->number, deed);
		map_put(&f->stacks, e->number, wake->ustack);
		if (deed == DEED_ASKED && serves(f, target, waker))
			vec_push(&f->asks, ((struct ask){ e->time, e->number, wake->object, waker, target, wake->ustack }));
	}
	trace_cursor_free(cursor);
	if (f->asks.length)
		qsort(f->asks.items, f->asks.length, sizeof(*f->asks.items), by_client);
}

static uint64_t deed_of(const struct finding *f, uint64_t event)
{
	const uint64_t *deed = map_find(&f->deeds, event);

	return deed ? *deed : 0;
}

/* Where the answer was sent; else where it was waited for. */
static uint32_t answer_stack(const struct finding *f, const struct wait *w)
{
	const uint64_t *stack = map_find(&f->stacks, w->end_event);

	return stack && *stack ? (uint32_t)*stack : w->ustack;
}

/* A client's wait for the server: which of the two asked is known by the wake-up, or by who is asked about, or who connected. */
static bool is_of_client(const struct finding *f, const struct wait *w)
{
	if (w->end != WAIT_END_THREAD || !w->waker || !serves(f, w->waker, w->thread) || deed_of(f, w->end_event) == DEED_ASKED)
		return false;
	return deed_of(f, w->end_event) == DEED_ANSWERED ||
	       (is_for_network(f->q->ends, w) && (w->kind != WAIT_KIND_read || ends_role(f->q->ends, w->object) != END_SERVER));
}

static bool has_asked(const struct finding *f, uint32_t client, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;

	for (uint32_t i = scene_wakes_from(scene, client, from); i < scene_wakes_end(scene, client) && scene->wakes[i].time <= to; i++)
		if (deed_of(f, scene->wakes[i].number) == DEED_ASKED)
			return true;
	return false;
}

static bool has_listened(const struct finding *f, uint32_t server, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;

	for (uint32_t i = scene_waits_from(scene, server, from); i < scene_waits_end(scene, server) && scene->waits[i].start_ns <= to; i++)
		if (scene->waits[i].start_ns >= from && is_for_network(f->q->ends, &scene->waits[i]))
			return true;
	return false;
}

/* True when the thread goes on waiting for the same, after it looked whether it was there: it asked nobody, and was too
 * quick to do more, or the server is still at work. */
static bool only_looks(const struct finding *f, uint32_t wait)
{
	const struct wait *w = &f->scene->waits[wait], *next = w + 1;
	struct state_times times;

	if (wait + 1 >= scene_waits_end(f->scene, w->thread) || next->object != w->object || next->kind != w->kind ||
	    has_asked(f, w->thread, w->end_ns, next->start_ns))
		return false;
	scene_state_times(f->scene, w->thread, w->end_ns, next->start_ns, &times);
	return times.ns[SPAN_RUNNING] <= LOOK_MOST_NS || !has_listened(f, w->waker, w->end_ns, next->start_ns);
}

/* When the answer was there: who was woken as its question was taken, and waited no more, found it as it came to run. */
static uint64_t answered_ns(const struct finding *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	const struct span *span = deed_of(f, w->end_event) == DEED_TOOK ? scene_span(scene, w->thread, w->end_ns) : NULL;

	return span && span->state == SPAN_RUNNABLE ? span_end(span) : w->end_ns;
}

/* By the waits of clients, by client, then time. */
static void find_awaited(struct finding *f)
{
	const struct requests_question *q = f->q;
	const struct scene *scene = f->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *first = NULL; /* of the waits for one answer */
		uint64_t answered = 0;           /* object on which the thread was answered last */

		for (uint32_t k = scene_waits_from(scene, i, q->from_ns); k < scene_waits_end(scene, i) && scene->waits[k].start_ns < q->to_ns; k++) {
			const struct wait *w = &scene->waits[k];
			uint64_t end_ns;

			if (w->end == WAIT_END_OPEN && answered && w->object == answered)
				requests_add_unanswered(f->requests, w->start_ns, w->thread);
			if (w->start_ns < q->from_ns || w->end_ns > q->to_ns || !is_of_client(f, w))
				continue;
			first = first ? first : w;
			if (deed_of(f, w->end_event) == DEED_TOOK && only_looks(f, k))
				continue;
			end_ns = answered_ns(f, w);
			vec_push(&f->requests->list, ((struct request){ .start_ns = first->start_ns, .end_ns = end_ns, .event = first->begin_event,
				.object = w->object, .thread = w->waker,
				.group = requests_group(q, w->object, true, answer_stack(f, w)) }));
			vec_push(&f->ends, ((struct moment){ end_ns, i }));
			answered = w->object;
			first = NULL;
		}
	}
}

/* The wait that the wake-up ended, as an index; 0 none. */
static uint32_t ended_by(const struct scene *scene, const struct ask *ask)
{
	/* A wake-up may come before the wait that it ends is seen to begin. */
	for (uint32_t k = scene_waits_from(scene, ask->target, ask->time), first = scene->threads[ask->target].wait,
		      i = k < scene_waits_end(scene, ask->target) ? k + 1 : k; i-- > first && i + 2 > k; )
		if (scene->waits[i].end_event == ask->number)
			return i;
	return 0;
}

/* The thread's next wait at the same place; NULL none. */
static const struct wait *turn_end(const struct scene *scene, uint32_t wait)
{
	const struct wait *w = &scene->waits[wait];

	for (uint32_t k = wait + 1; k < scene_waits_end(scene, w->thread); k++)
		if (scene->waits[k].site == w->site)
			return &scene->waits[k];
	return NULL;
}

/* By the wake-ups of clients that did not wait for what they asked before they asked again. */
static void find_not_awaited(struct finding *f)
{
	const struct requests_question *q = f->q;
	size_t end = 0;

	for (size_t i = 0; i < f->asks.length; i++) {
		const struct ask *ask = &f->asks.items[i], *next = ask + 1;
		uint64_t until = i + 1 < f->asks.length && next->waker == ask->waker ? next->time : UINT64_MAX;
		uint32_t wait = ended_by(f->scene, ask);
		const struct wait *again;

		while (end < f->ends.length && (f->ends.items[end].client < ask->waker ||
						(f->ends.items[end].client == ask->waker && f->ends.items[end].time <= ask->time)))
			end++;
		if (!wait || (end < f->ends.length && f->ends.items[end].client == ask->waker && f->ends.items[end].time <= until))
			continue;
		again = turn_end(f->scene, wait);
		if (!again || again->start_ns > q->to_ns)
			continue;
		vec_push(&f->requests->list, ((struct request){ .start_ns = ask->time, .end_ns = again->start_ns, .event = ask->number,
			.object = ask->object, .thread = ask->target,
			.group = requests_group(q, ask->object, true, again->ustack) }));
	}
}

static void find_turns(struct finding *f)
{
	const struct requests_question *q = f->q;
	const struct scene *scene = f->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *asked = NULL;

		if (!scene_descends_from(scene, i, q->pid))
			continue;
		for (uint32_t k = scene_waits_from(scene, i, q->from_ns); k < scene_waits_end(scene, i) && scene->waits[k].start_ns < q->to_ns; k++) {
			const struct wait *w = &scene->waits[k];

			if (asked && w->site == asked->site) {
				vec_push(&f->requests->list, ((struct request){ .start_ns = asked->end_ns, .end_ns = w->start_ns,
					.event = asked->end_event, .object = asked->object, .thread = i,
					.group = requests_group(q, asked->object, false, w->ustack) }));
				asked = NULL;
			}
			if (!asked && w->end == WAIT_END_SOURCE && is_for_network(q->ends, w) && w->end_ns < q->to_ns)
				asked = w;
		}
		if (asked)
			requests_add_unanswered(f->requests, asked->end_ns, i);
	}
}

/* What was asked before there was the thread that answers it stood in a queue that nobody had: its request begins with the thread. */
static void begin_with_threads(struct finding *f)
{
	for (size_t i = 0; i < f->requests->list.length; i++) {
		struct request *r = &f->requests->list.items[i];
		uint64_t born = f->scene->tables->threads[r->thread].start_ns;

		r->start_ns = r->start_ns < born && born < r->end_ns ? born : r->start_ns;
	}
}

void requests_find_lean(const struct requests_question *question, struct requests *requests)
{
	struct finding f = { .q = question, .scene = question->naming->scene, .requests = requests };

	requests->by = FOUND_CLIENTS;
	map_init(&f.deeds);
	map_init(&f.first);
	map_init(&f.listening);
	find_listening(&f);
	map_init(&f.stacks);
	find_deeds(&f);
	find_awaited(&f);
	find_not_awaited(&f);
	if (!requests->list.length) {
		requests->by = FOUND_TURNS;
		find_turns(&f);
	}
	begin_with_threads(&f);
	map_done(&f.deeds);
	map_done(&f.first);
	map_done(&f.listening);
	map_done(&f.stacks);
	vec_done(&f.asks);
	vec_done(&f.ends);
}
