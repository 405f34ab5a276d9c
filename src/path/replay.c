/* Running a program again, see replay.h.
 *
 * A simulation by events. Processors are handed out in turn, SLICE_NS each where others
 * stand for one; who wakes up takes the place of whoever has had his for GRAIN_NS, as the
 * kernel's scheduler does it, roughly. Locks go to who asked first. */
#include "path/replay.h"

#include <string.h>

#define SLICE_NS 3000000u
#define GRAIN_NS 1000000u
#define LONGEST 100u

enum state { STATE_NEW, STATE_READY, STATE_RUNNING, STATE_ASLEEP, STATE_BLOCKED, STATE_OVER };

struct actor_state {
	uint32_t at, end;         /* ops */
	uint32_t next;            /* in a queue, + 1 */
	uint32_t turn;            /* events of earlier turns do not count */
	uint64_t left_ns, since_ns;
	uint8_t state;
	int cpu;
};

struct happening {
	uint64_t time;
	uint32_t thread, turn;
};

struct queue {
	uint32_t first, last;     /* threads + 1 */
};

struct lock_state {
	struct queue queue;
	uint32_t held;
};

struct sim {
	const struct script *p;
	const struct replay_conditions *c;
	struct actor_state *threads;
	struct vec(struct happening) heap;
	struct queue ready;
	struct lock_state *locks;
	uint32_t *awaits;         /* by wake-up: who waits, + 1; UINT32_MAX: it has come */
	uint32_t *cpus;           /* thread + 1, 0 free */
	struct vec(uint32_t) woken; /* to be gone on with */
	uint64_t now;
};

/* ---- heap of happenings ---- */

static bool is_before(const struct happening *a, const struct happening *b)
{
	return a->time != b->time ? a->time < b->time : a->thread < b->thread;
}

static void happen(struct sim *s, uint64_t time, uint32_t thread)
{
	struct happening h = { time, thread, s->threads[thread].turn };
	size_t at = s->heap.length;

	vec_push(&s->heap, h);
	while (at && is_before(&h, &s->heap.items[(at - 1) / 2])) {
		s->heap.items[at] = s->heap.items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	s->heap.items[at] = h;
}

static struct happening take_next(struct sim *s)
{
	struct happening first = s->heap.items[0], last = s->heap.items[--s->heap.length];
	size_t at = 0, child;

	while ((child = at * 2 + 1) < s->heap.length) {
		if (child + 1 < s->heap.length && is_before(&s->heap.items[child + 1], &s->heap.items[child]))
			child++;
		if (!is_before(&s->heap.items[child], &last))
			break;
		s->heap.items[at] = s->heap.items[child];
		at = child;
	}
	if (s->heap.length)
		s->heap.items[at] = last;
	return first;
}

static void enter(struct sim *s, struct queue *queue, uint32_t thread)
{
	s->threads[thread].next = 0;
	if (queue->last)
		s->threads[queue->last - 1].next = thread + 1;
	else
		queue->first = thread + 1;
	queue->last = thread + 1;
}

static uint32_t leave(struct sim *s, struct queue *queue)
{
	uint32_t thread = queue->first - 1;

	queue->first = s->threads[thread].next;
	if (!queue->first)
		queue->last = 0;
	return thread;
}

/* ---- processors ---- */

static void stop_running(struct sim *s, uint32_t thread)
{
	struct actor_state *t = &s->threads[thread];
	uint64_t had = s->now - t->since_ns;

	t->left_ns -= had < t->left_ns ? had : t->left_ns;
	s->cpus[t->cpu] = 0;
	t->turn++;
}

static void start_running(struct sim *s, uint32_t thread, int cpu)
{
	struct actor_state *t = &s->threads[thread];
	uint64_t ns = t->left_ns;

	if (s->ready.first && ns > SLICE_NS)
		ns = SLICE_NS;
	t->state = STATE_RUNNING;
	t->cpu = cpu;
	t->since_ns = s->now;
	s->cpus[cpu] = thread + 1;
	happen(s, s->now + ns, thread);
}

static void hand_out(struct sim *s)
{
	for (unsigned i = 0; i < s->c->processors && s->ready.first; i++)
		if (!s->cpus[i])
			start_running(s, leave(s, &s->ready), (int)i);
}

static void want_processor(struct sim *s, uint32_t thread)
{
	uint32_t longest = 0;

	s->threads[thread].state = STATE_READY;
	for (unsigned i = 0; i < s->c->processors; i++) {
		if (!s->cpus[i]) {
			start_running(s, thread, (int)i);
			return;
		}
		if (!longest || s->threads[s->cpus[i] - 1].since_ns < s->threads[longest - 1].since_ns)
			longest = s->cpus[i];
	}
	if (s->now - s->threads[longest - 1].since_ns >= GRAIN_NS) {
		int cpu = s->threads[longest - 1].cpu;

		stop_running(s, longest - 1);
		s->threads[longest - 1].state = STATE_READY;
		start_running(s, thread, cpu);
		enter(s, &s->ready, longest - 1);
		return;
	}
	enter(s, &s->ready, thread);
	/* Whoever has a processor has it for a slice from now on. */
	for (unsigned i = 0; i < s->c->processors; i++) {
		struct actor_state *t = &s->threads[s->cpus[i] - 1];

		if (t->left_ns > SLICE_NS && t->since_ns + SLICE_NS > s->now) {
			t->turn++;
			happen(s, t->since_ns + SLICE_NS, s->cpus[i] - 1);
		}
	}
}

/* ---- programs ---- */

static uint64_t scaled(const struct sim *s, uint32_t thread, const struct op *op)
{
	double factor = s->c->factors ? s->c->factors[op->place] : 1;

	if (s->c->thread_factors)
		factor *= s->c->thread_factors[thread];
	return (uint64_t)((double)op->value * factor);
}

/* Does the op; true when the thread can go on at once. */
static bool step(struct sim *s, uint32_t thread, const struct op *op)
{
	struct actor_state *t = &s->threads[thread];

	switch ((enum op_kind)op->kind) {
	case OP_COMPUTE:
		t->left_ns = scaled(s, thread, op);
		if (!t->left_ns)
			return true;
		want_processor(s, thread);
		return false;
	case OP_QUEUED:
		if (!s->c->queued_as_it_was)
			return true;
		t->state = STATE_ASLEEP;
		happen(s, s->now + scaled(s, thread, op), thread);
		return false;
	case OP_DELAY:
		t->state = STATE_ASLEEP;
		happen(s, s->now + scaled(s, thread, op), thread);
		return false;
	case OP_AWAIT:
		if (s->awaits[op->value] == UINT32_MAX)
			return true;
		s->awaits[op->value] = thread + 1;
		t->state = STATE_BLOCKED;
		return false;
	case OP_WAKE:
		if (s->awaits[op->value] && s->awaits[op->value] != UINT32_MAX)
			vec_push(&s->woken, s->awaits[op->value] - 1);
		s->awaits[op->value] = UINT32_MAX;
		return true;
	case OP_LOCK:
		if (s->locks[op->value].held < (s->c->shared_lock && s->p->locks.items[op->value] == s->c->shared_lock ? 2 : 1)) {
			s->locks[op->value].held++;
			return true;
		}
		enter(s, &s->locks[op->value].queue, thread);
		t->state = STATE_BLOCKED;
		return false;
	case OP_UNLOCK:
		if (s->locks[op->value].queue.first)
			vec_push(&s->woken, leave(s, &s->locks[op->value].queue));
		else if (s->locks[op->value].held)
			s->locks[op->value].held--;
		return true;
	case OP_BEGIN:
		if (s->threads[op->value].state == STATE_NEW)
			vec_push(&s->woken, (uint32_t)op->value);
		return true;
	}
	return true;
}

static void go_on(struct sim *s, uint32_t thread)
{
	vec_push(&s->woken, thread);
	while (s->woken.length) {
		uint32_t next = s->woken.items[--s->woken.length];
		struct actor_state *t = &s->threads[next];

		t->state = STATE_READY;
		while (t->at < t->end)
			if (!step(s, next, &s->p->ops.items[t->at++]))
				break;
			else
				t = &s->threads[next];
		if (t->state == STATE_READY && t->at == t->end && !t->left_ns)
			t->state = STATE_OVER;
	}
}

static bool run(struct sim *s, uint64_t *ret_ns)
{
	const struct script *p = s->p;
	uint64_t limit = p->from_ns + (p->to_ns - p->from_ns) * LONGEST;

	for (uint32_t i = 0; i < p->threads.length; i++) {
		s->threads[i].at = p->threads.items[i].first;
		s->threads[i].end = p->threads.items[i].first + p->threads.items[i].count;
		if (p->threads.items[i].start_ns != UINT64_MAX && p->threads.items[i].count) {
			s->threads[i].state = STATE_ASLEEP;
			happen(s, p->threads.items[i].start_ns, i);
		}
	}
	while (s->heap.length && s->threads[p->root].state != STATE_OVER) {
		struct happening h = take_next(s);
		struct actor_state *t = &s->threads[h.thread];

		if (h.turn != t->turn)
			continue;
		if (h.time > limit)
			return false;
		s->now = h.time;
		if (t->state == STATE_RUNNING) {
			stop_running(s, h.thread);
			if (t->left_ns) {
				t->state = STATE_READY;
				enter(s, &s->ready, h.thread);
			} else {
				hand_out(s);
				go_on(s, h.thread);
			}
			hand_out(s);
		} else {
			go_on(s, h.thread);
		}
	}
	*ret_ns = s->now - p->from_ns;
	return s->threads[p->root].state == STATE_OVER;
}

bool replay(const struct script *script, const struct replay_conditions *conditions, uint64_t *ret_ns)
{
	struct sim s = { .p = script, .c = conditions };
	bool ends;

	s.threads = mem_zalloc(arena_array_bytes(sizeof(*s.threads), script->threads.length));
	s.locks = mem_zalloc(arena_array_bytes(sizeof(*s.locks), script->locks.length + 1));
	s.awaits = mem_zalloc(arena_array_bytes(sizeof(*s.awaits), script->wakes + 1));
	s.cpus = mem_zalloc(arena_array_bytes(sizeof(*s.cpus), conditions->processors));
	ends = run(&s, ret_ns);
	free(s.threads);
	free(s.locks);
	free(s.awaits);
	free(s.cpus);
	vec_done(&s.heap);
	vec_done(&s.woken);
	return ends;
}
