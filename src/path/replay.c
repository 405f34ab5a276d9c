/* Running a program again, see replay.h.
 *
 * A simulation by events. Processors are handed out in turn, SLICE_NS each where others
 * stand for one; who wakes up takes the place of whoever has had his for GRAIN_NS, as the
 * kernel's scheduler does it, roughly. Real-time threads come first, by their priorities,
 * and make room for their equals after TURN_NS only. Locks go to who asked first, or as they went. */
#include "path/replay.h"

#include <string.h>

#define SLICE_NS 3000000u
#define GRAIN_NS 1000000u
#define TURN_NS 100000000u
#define LONGEST 100u
#define CIRCLE_LOCKS 16u

enum state { STATE_NEW, STATE_READY, STATE_RUNNING, STATE_ASLEEP, STATE_BLOCKED, STATE_OVER };

struct actor_state {
	uint32_t at, end;         /* ops */
	uint32_t next;            /* in a queue, + 1 */
	uint32_t turn;            /* events of earlier turns do not count */
	uint32_t joiner;          /* who waits for its end, + 1 */
	uint32_t wanted;          /* lock that it waits for, + 1 */
	uint64_t left_ns, since_ns;
	uint64_t turn_ns;         /* since when it has the processor */
	uint64_t asleep_ns;       /* since when it sleeps, or slept last */
	uint64_t limit;           /* wake-up that ends its delay, or its next one, + 1 */
	uint64_t seen;            /* wake-up that its loop looked for, and saw, + 1: until it is awaited nothing takes time */
	uint64_t clock_ns;        /* when its next delay ends, 0: as long after its beginning as it did */
	uint8_t state;
	bool passed;              /* its last wait was over before it began */
	int64_t clock_later_ns;   /* by how much its clock is set later than it was */
	int cpu;                  /* that it has, -1 none */
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
	uint32_t owner;           /* who took it last, + 1; 0 nobody has it */
	uint32_t turn;            /* how often it was taken */
};

struct sim {
	const struct script *p;
	const struct replay_conditions *c;
	struct actor_state *threads;
	struct vec(struct happening) heap;
	struct queue ready;
	struct lock_state *locks;
	uint32_t *awaits;         /* by wake-up: who waits, + 1; UINT32_MAX: it has come */
	uint32_t *limited;        /* by wake-up: who waits for it, but no longer than for a time, + 1 */
	uint32_t *meets;          /* by wake-up: who waits for somebody to await it, + 1 */
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

static unsigned prio(const struct sim *s, uint32_t thread)
{
	unsigned prio = s->p->threads.items[thread].prio;

	return prio && prio < SCRIPT_NOT_REAL_TIME ? prio : SCRIPT_NOT_REAL_TIME;
}

/* Behind its equals. */
static void enter_ready(struct sim *s, uint32_t thread)
{
	uint32_t before = 0;

	s->threads[thread].state = STATE_READY;
	if (!s->ready.last || prio(s, s->ready.last - 1) <= prio(s, thread)) {
		enter(s, &s->ready, thread);
		return;
	}
	for (uint32_t at = s->ready.first; at && prio(s, at - 1) <= prio(s, thread); at = s->threads[at - 1].next)
		before = at;
	s->threads[thread].next = before ? s->threads[before - 1].next : s->ready.first;
	if (before)
		s->threads[before - 1].next = thread + 1;
	else
		s->ready.first = thread + 1;
}

/* Goes on with what is left, on the processor that it has, until its turn is over. */
static void run_on(struct sim *s, uint32_t thread)
{
	struct actor_state *t = &s->threads[thread];
	uint64_t ns = t->left_ns;

	if (s->ready.first && prio(s, s->ready.first - 1) <= prio(s, thread)) {
		uint64_t turn = prio(s, thread) < SCRIPT_NOT_REAL_TIME ? TURN_NS : SLICE_NS, had = s->now - t->turn_ns;
		uint64_t left = had < turn ? turn - had : 0;

		ns = ns < left ? ns : left;
	}
	t->state = STATE_RUNNING;
	t->since_ns = s->now;
	t->turn++;
	happen(s, s->now + ns, thread);
}

static void take_time(struct sim *s, uint32_t thread)
{
	struct actor_state *t = &s->threads[thread];
	uint64_t had = s->now - t->since_ns;

	t->left_ns -= had < t->left_ns ? had : t->left_ns;
	t->since_ns = s->now;
}

static void start_running(struct sim *s, uint32_t thread, int cpu)
{
	s->threads[thread].cpu = cpu;
	s->threads[thread].turn_ns = s->now;
	s->cpus[cpu] = thread + 1;
	run_on(s, thread);
}

static bool may_have(const struct sim *s, uint32_t thread, unsigned cpu)
{
	return !s->p->run_processors || !s->p->threads.items[thread].of_run || cpu < s->p->run_processors || cpu >= s->c->processors_before;
}

/* The first of those that are ready that may have the processor; false none. */
static bool leave_for(struct sim *s, unsigned cpu, uint32_t *ret_thread)
{
	uint32_t before = 0;

	for (uint32_t at = s->ready.first; at; before = at, at = s->threads[at - 1].next) {
		if (!may_have(s, at - 1, cpu))
			continue;
		if (before)
			s->threads[before - 1].next = s->threads[at - 1].next;
		else
			s->ready.first = s->threads[at - 1].next;
		if (s->ready.last == at)
			s->ready.last = before;
		*ret_thread = at - 1;
		return true;
	}
	return false;
}

static void hand_out(struct sim *s)
{
	uint32_t thread;

	for (unsigned i = 0; i < s->c->processors && s->ready.first; i++)
		if (!s->cpus[i] && leave_for(s, i, &thread))
			start_running(s, thread, (int)i);
}

static void give_up_processor(struct sim *s, uint32_t thread)
{
	struct actor_state *t = &s->threads[thread];

	if (t->cpu < 0)
		return;
	s->cpus[t->cpu] = 0;
	t->cpu = -1;
}

/* True when the one, which runs, has to make room rather than the other. */
static bool sooner(const struct sim *s, uint32_t one, uint32_t other)
{
	return prio(s, one) != prio(s, other) ? prio(s, one) > prio(s, other) : s->threads[one].turn_ns < s->threads[other].turn_ns;
}

static void want_processor(struct sim *s, uint32_t thread)
{
	uint32_t last = UINT32_MAX;

	if (s->threads[thread].cpu >= 0) {
		run_on(s, thread);
		return;
	}
	for (unsigned i = 0; i < s->c->processors; i++) {
		if (!may_have(s, thread, i))
			continue;
		if (!s->cpus[i]) {
			start_running(s, thread, (int)i);
			return;
		}
		if (last == UINT32_MAX || sooner(s, s->cpus[i] - 1, last))
			last = s->cpus[i] - 1;
	}
	if (last != UINT32_MAX && (prio(s, last) > prio(s, thread) ||
	    (prio(s, last) == prio(s, thread) && prio(s, last) == SCRIPT_NOT_REAL_TIME && s->now - s->threads[last].turn_ns >= GRAIN_NS))) {
		int cpu = s->threads[last].cpu;

		take_time(s, last);
		s->threads[last].turn++;
		give_up_processor(s, last);
		start_running(s, thread, cpu);
		enter_ready(s, last);
		return;
	}
	enter_ready(s, thread);
	/* Who has a processor beside an equal has it for a turn. */
	for (unsigned i = 0; i < s->c->processors; i++)
		if (s->cpus[i] && may_have(s, thread, i) && prio(s, s->cpus[i] - 1) == prio(s, thread) && s->threads[s->cpus[i] - 1].state == STATE_RUNNING) {
			take_time(s, s->cpus[i] - 1);
			run_on(s, s->cpus[i] - 1);
		}
}

/* ---- programs ---- */

static uint64_t scaled(const struct sim *s, uint32_t thread, const struct op *op)
{
	double factor = s->c->factors && op->kind != OP_LATENCY ? s->c->factors[op->place] : 1;

	if (s->c->thread_factors)
		factor *= s->c->thread_factors[thread];
	return (uint64_t)((double)op->value * factor);
}

/* True when the lock's owner waits for the thread, over whatever locks: in truth nobody did,
 * so too little is known of one of the locks. */
static bool is_circle(const struct sim *s, uint32_t thread, uint32_t lock)
{
	for (unsigned i = 0; i < CIRCLE_LOCKS; i++) {
		uint32_t owner = s->locks[lock].owner;

		if (!owner || owner == thread + 1)
			return owner != 0;
		if (s->threads[owner - 1].state != STATE_BLOCKED || !s->threads[owner - 1].wanted)
			return false;
		lock = s->threads[owner - 1].wanted - 1;
	}
	return false;
}

static bool is_free(const struct sim *s, uint32_t lock)
{
	return s->locks[lock].held < (s->c->shared_lock && s->p->locks.items[lock] == s->c->shared_lock ? 2 : 1);
}

static void take_lock(struct sim *s, uint32_t thread, uint32_t lock)
{
	s->locks[lock].held++;
	s->locks[lock].turn++;
	s->locks[lock].owner = thread + 1;
	s->threads[thread].wanted = 0;
}

/* Who stands for the lock and is the next to have it; false when that one comes only later. */
static bool leave_in_turn(struct sim *s, struct lock_state *lock, uint32_t *ret_thread)
{
	uint32_t before = 0;

	for (uint32_t at = lock->queue.first; at; before = at, at = s->threads[at - 1].next) {
		if (s->p->ops.items[s->threads[at - 1].at - 1].place != lock->turn)
			continue;
		if (before)
			s->threads[before - 1].next = s->threads[at - 1].next;
		else
			lock->queue.first = s->threads[at - 1].next;
		if (lock->queue.last == at)
			lock->queue.last = before;
		*ret_thread = at - 1;
		return true;
	}
	return false;
}

static void give_lock(struct sim *s, uint32_t number)
{
	struct lock_state *lock = &s->locks[number];
	uint32_t next;

	lock->held -= lock->held != 0;
	lock->owner = lock->held ? lock->owner : 0;
	if (!s->c->locks_in_turn && lock->queue.first) {
		next = leave(s, &lock->queue);
		take_lock(s, next, number);
		vec_push(&s->woken, next);
	}
	while (s->c->locks_in_turn && is_free(s, number) && leave_in_turn(s, lock, &next)) {
		take_lock(s, next, number);
		vec_push(&s->woken, next);
	}
}

/* Off the processor; true when that is over at once. */
static bool delay(struct sim *s, uint32_t thread, const struct op *op)
{
	struct actor_state *t = &s->threads[thread];
	uint64_t ns = scaled(s, thread, op), clock = t->clock_ns;

	t->clock_ns = 0;
	if (clock && ns == op->value) {
		clock += (uint64_t)t->clock_later_ns;
		ns = clock > s->now ? clock - s->now : 0;
	}
	if (t->limit && s->awaits[t->limit - 1] == UINT32_MAX)
		ns = 0;
	t->passed = !ns;
	if (t->passed)
		return true;
	t->state = STATE_ASLEEP;
	t->asleep_ns = s->now;
	if (t->limit)
		s->limited[t->limit - 1] = thread + 1;
	happen(s, s->now + ns, thread);
	return false;
}

/* Who waits for it, but no longer than for a time, goes on. */
static void end_limited(struct sim *s, uint64_t wake)
{
	uint32_t thread = s->limited[wake] - 1;

	if (!s->limited[wake] || s->threads[thread].limit != wake + 1 || s->threads[thread].state != STATE_ASLEEP)
		return;
	s->threads[thread].turn++;
	vec_push(&s->woken, thread);
}

/* Who sleeps shorter than it did wakes up as others do from such a sleep. */
static uint64_t latency(const struct sim *s, const struct actor_state *t, const struct op *op)
{
	unsigned class = script_latency_class(s->now - t->asleep_ns);
	uint64_t then = s->p->latencies[op->place];

	while (class < op->place && !s->p->latencies[class])
		class++;
	return class < op->place && then > s->p->latencies[class] ? (uint64_t)((double)op->value * (double)s->p->latencies[class] / (double)then)
								   : op->value;
}

/* On a processor, off it, or until it gets one. */
static bool takes_time(const struct op *op)
{
	return op->kind <= OP_LATENCY || op->kind == OP_SLACK;
}

/* Does the op; true when the thread can go on at once. */
static bool step(struct sim *s, uint32_t thread, const struct op *op)
{
	struct actor_state *t = &s->threads[thread];

	if (op->kind != OP_DELAY)
		t->limit = 0;
	if (t->seen && takes_time(op)) {
		t->passed = true;
		return true;
	}
	switch ((enum op_kind)op->kind) {
	case OP_COMPUTE:
	case OP_COST:
		if (op->kind == OP_COST && (t->passed || s->c->free_waits))
			return true;
		t->passed = false;
		t->left_ns = scaled(s, thread, op);
		if (!t->left_ns)
			return true;
		want_processor(s, thread);
		return false;
	case OP_QUEUED:
		if (!s->c->queued_as_it_was || t->passed || (s->c->without_others && op->place == PLACE_OTHERS))
			return true;
		t->state = STATE_ASLEEP;
		happen(s, s->now + scaled(s, thread, op), thread);
		return false;
	case OP_LATENCY:
		if (t->passed || s->c->free_waits)
			return true;
		t->state = STATE_ASLEEP;
		happen(s, s->now + latency(s, t, op), thread);
		return false;
	case OP_SLACK:
		t->passed = !scaled(s, thread, op);
		if (t->passed)
			return true;
		t->state = STATE_ASLEEP;
		happen(s, s->now + op->value, thread);
		return false;
	case OP_CLOCK:
		t->clock_ns = op->value;
		return true;
	case OP_SET_CLOCK:
		t->clock_later_ns = (int64_t)s->now - (int64_t)op->value;
		return true;
	case OP_DELAY:
		return delay(s, thread, op);
	case OP_LIMIT:
		t->limit = op->value + 1;
		return true;
	case OP_LOOK:
		t->seen = s->awaits[op->value] == UINT32_MAX ? op->value + 1 : 0;
		return true;
	case OP_LATE:
		if (t->passed)
			return true;
		t->state = STATE_ASLEEP;
		t->asleep_ns = s->now;
		happen(s, s->now + op->value, thread);
		return false;
	case OP_AWAIT:
		t->seen = 0;
		t->passed = s->awaits[op->value] == UINT32_MAX;
		if (t->passed)
			return true;
		s->awaits[op->value] = thread + 1;
		t->state = STATE_BLOCKED;
		t->asleep_ns = s->now;
		if (s->meets[op->value])
			vec_push(&s->woken, s->meets[op->value] - 1);
		s->meets[op->value] = 0;
		return false;
	case OP_ASKED:
		if (!s->c->asked_first)
			return true;
		/* fall through */
	case OP_MEET:
		t->passed = s->awaits[op->value] != 0;
		if (t->passed)
			return true;
		s->meets[op->value] = thread + 1;
		t->state = STATE_BLOCKED;
		t->asleep_ns = s->now;
		return false;
	case OP_WAKE:
		if (s->awaits[op->value] && s->awaits[op->value] != UINT32_MAX)
			vec_push(&s->woken, s->awaits[op->value] - 1);
		s->awaits[op->value] = UINT32_MAX;
		end_limited(s, op->value);
		return true;
	case OP_LOCK:
		t->passed = is_free(s, (uint32_t)op->value);
		if (s->c->locks_in_turn)
			t->passed &= s->locks[op->value].turn == op->place;
		else
			t->passed |= is_circle(s, thread, (uint32_t)op->value);
		if (t->passed) {
			take_lock(s, thread, (uint32_t)op->value);
			return true;
		}
		enter(s, &s->locks[op->value].queue, thread);
		t->wanted = (uint32_t)op->value + 1;
		t->state = STATE_BLOCKED;
		t->asleep_ns = s->now;
		return false;
	case OP_UNLOCK:
		give_lock(s, (uint32_t)op->value);
		return true;
	case OP_BEGIN:
		if (s->threads[op->value].state == STATE_NEW)
			vec_push(&s->woken, (uint32_t)op->value);
		return true;
	case OP_JOIN:
		t->passed = s->threads[op->value].state == STATE_OVER || !s->p->threads.items[op->value].count ||
			    s->threads[op->value].joiner;
		if (t->passed)
			return true;
		s->threads[op->value].joiner = thread + 1;
		t->state = STATE_BLOCKED;
		t->asleep_ns = s->now;
		return false;
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
		if (t->state == STATE_READY && t->at == t->end && !t->left_ns) {
			t->state = STATE_OVER;
			if (t->joiner)
				vec_push(&s->woken, t->joiner - 1);
		}
		if (t->state != STATE_RUNNING) {
			give_up_processor(s, next);
			hand_out(s);
		}
	}
}

static bool run(struct sim *s, uint64_t *ret_ns)
{
	const struct script *p = s->p;
	uint64_t limit = p->from_ns + (p->to_ns - p->from_ns) * LONGEST;

	for (uint32_t i = 0; i < p->threads.length; i++) {
		s->threads[i].cpu = -1;
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
		if (t->state == STATE_RUNNING)
			take_time(s, h.thread);
		if (t->state == STATE_RUNNING && t->left_ns) {
			give_up_processor(s, h.thread);
			enter_ready(s, h.thread);
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
	s.limited = mem_zalloc(arena_array_bytes(sizeof(*s.limited), script->wakes + 1));
	s.meets = mem_zalloc(arena_array_bytes(sizeof(*s.meets), script->wakes + 1));
	s.cpus = mem_zalloc(arena_array_bytes(sizeof(*s.cpus), conditions->processors));
	ends = run(&s, ret_ns);
	free(s.threads);
	free(s.locks);
	free(s.awaits);
	free(s.limited);
	free(s.meets);
	free(s.cpus);
	vec_done(&s.heap);
	vec_done(&s.woken);
	return ends;
}
