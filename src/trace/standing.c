/* See standing.h. Threads have a place by their number; what stands by a key (a lock by
 * its file and owner, a request by its number) is in one map with a bound: beyond it the
 * oldest is forgotten, as a reader of the whole would have forgotten little. */
#include "trace/standing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/roll_call.h"

#define PAGE 64u
#define PAGES (1u << 16)       /* thread numbers up to 4 million, Linux's limit */
#define KEYED_LIMIT 16384u     /* events that stand by a key */
#define RECENT_MESSAGES 4u     /* of a thread: what it last asked and was told */
#define DEEDS 4u               /* of a thread: whom it woke last, before it began to wait, ... */
#define DEEDS_NS 1000000000ull /* ... so long before at most; */
#define DEEDS_WAIT_NS 100000000ull /* it counts for who has waited for so long */

enum status { STATUS_unknown, STATUS_running, STATUS_out };

/* A copy of an event that is seldom. */
struct kept {
	struct event event;
	struct kept *next;         /* of the same life */
};

/* A thread's life as far as later events refer to it: kept while it lives, and while
 * threads live that it created. */
struct life {
	struct life *creator;
	struct kept *events;       /* newest first */
	struct life *previous, *next; /* of all */
	uint32_t users;
};

struct recent {
	struct event events[RECENT_MESSAGES];
	uint64_t data[RECENT_MESSAGES][sizeof(struct event_message) / 8];
	unsigned count;            /* ever */
};

/* Whom it woke, and from which wait. */
struct deed {
	uint64_t wake_ns, wake_number, out_ns, out_number;
	uint32_t target;
	uint16_t wake_cpu, out_cpu;
	struct event_wake wake;
	struct event_switch out;
};

struct deeds {
	struct deed last[DEEDS];
	unsigned count;            /* ever */
};

struct standing_thread {
	uint32_t tid, waker;
	uint8_t status;
	uint8_t in_prio;
	bool woken, early;         /* the wake-up came before the switch */
	uint16_t in_cpu, out_cpu, wake_cpu;
	uint64_t in_ns, in_number, out_ns, out_number, wake_ns, wake_number;
	uint64_t died_ns;          /* of the thread that had the number before */
	struct event_switch out;
	struct event_wake wake;
	struct life *life;
	struct kept *waiting;      /* a state record of the wait that lasts */
	struct recent *recent;
	struct deeds *deeds;
};

/* Events that stand by a key, newest at the end of the list. */
struct keyed {
	struct event event;
	uint64_t key;
	uint32_t previous, next;   /* places, 0 none */
	uint32_t generation;       /* of the snapshot that told it, 0 none */
};

struct standing {
	struct standing_thread **pages;
	uint64_t *named;           /* by thread number, a bit: events named it since it was last forgotten */
	struct life *lives;
	struct map keys;           /* -> place in keyed */
	struct vec(struct keyed) keyed;
	uint32_t oldest, newest, unused;
	uint32_t generation;
	struct roll_call roll_call;
};

static const unsigned page_bytes = PAGE * sizeof(struct standing_thread);

struct standing *standing_new(const struct trace *trace, uint64_t start_ns)
{
	struct standing *s = mem_zalloc(sizeof(*s));

	s->pages = mem_zalloc(PAGES * sizeof(*s->pages));
	s->named = mem_zalloc(PAGES * PAGE / 8);
	map_init(&s->keys);
	roll_call_init(&s->roll_call, trace, start_ns);
	vec_push(&s->keyed, (struct keyed){ 0 });
	return s;
}

/* ---- copies ---- */

static void copy_event(struct event *to, const struct event *e)
{
	unsigned bytes = e->data ? event_infos[e->type].bytes : 0;
	char *room = mem_alloc((size_t)bytes + e->tail_length + 1);

	*to = *e;
	if (bytes)
		memcpy(room, e->data, bytes);
	to->data = room;
	memcpy(room + bytes, e->tail, e->tail_length);
	room[bytes + e->tail_length] = 0;
	to->tail = room + bytes;
}

static void drop_event(struct event *e)
{
	free((void *)(uintptr_t)e->data);
}

static struct kept *kept_new(const struct event *e)
{
	struct kept *kept = mem_zalloc(sizeof(*kept));

	copy_event(&kept->event, e);
	return kept;
}

static void kept_free(struct kept *kept)
{
	if (!kept)
		return;
	drop_event(&kept->event);
	free(kept);
}

/* ---- threads ---- */

static struct standing_thread *thread_find(const struct standing *s, uint32_t tid)
{
	struct standing_thread *page = tid < PAGE * PAGES ? s->pages[tid / PAGE] : NULL;

	return page ? &page[tid % PAGE] : NULL;
}

/* NULL for numbers that no kernel gives. */
static struct standing_thread *thread_at(struct standing *s, uint32_t tid)
{
	if (!tid || tid >= PAGE * PAGES)
		return NULL;
	if (!s->pages[tid / PAGE])
		s->pages[tid / PAGE] = mem_zalloc(page_bytes);
	s->pages[tid / PAGE][tid % PAGE].tid = tid;
	s->named[tid / 64] |= UINT64_C(1) << tid % 64;
	return &s->pages[tid / PAGE][tid % PAGE];
}

static void life_leave(struct standing *s, struct life *life)
{
	while (life && !--life->users) {
		struct life *creator = life->creator;

		for (struct kept *kept = life->events, *next; kept; kept = next) {
			next = kept->next;
			kept_free(kept);
		}
		if (life->previous)
			life->previous->next = life->next;
		else
			s->lives = life->next;
		if (life->next)
			life->next->previous = life->previous;
		free(life);
		life = creator;
	}
}

static struct life *life_of(struct standing *s, struct standing_thread *t)
{
	if (!t->life) {
		t->life = mem_zalloc(sizeof(*t->life));
		t->life->users = 1;
		t->life->next = s->lives;
		if (s->lives)
			s->lives->previous = t->life;
		s->lives = t->life;
	}
	return t->life;
}

static void thread_forget(struct standing *s, struct standing_thread *t)
{
	life_leave(s, t->life);
	kept_free(t->waiting);
	free(t->recent);
	free(t->deeds);
	*t = (struct standing_thread){ .tid = t->tid, .died_ns = t->died_ns };
	s->named[t->tid / 64] &= ~(UINT64_C(1) << t->tid % 64);
}

/* Of each kind the last one counts. */
static void life_add(struct standing *s, struct standing_thread *t, const struct event *e)
{
	struct life *life = life_of(s, t);
	struct kept *kept = kept_new(e);

	for (struct kept **at = &life->events; *at; at = &(*at)->next)
		if ((*at)->event.type == e->type) {
			struct kept *old = *at;

			*at = old->next;
			kept_free(old);
			break;
		}
	kept->next = life->events;
	life->events = kept;
}

void standing_free(struct standing *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < PAGES; i++) {
		for (unsigned k = 0; s->pages[i] && k < PAGE; k++)
			thread_forget(s, &s->pages[i][k]);
		free(s->pages[i]);
	}
	for (uint32_t at = s->oldest; at; at = s->keyed.items[at].next)
		drop_event(&s->keyed.items[at].event);
	free(s->pages);
	free(s->named);
	map_done(&s->keys);
	roll_call_done(&s->roll_call);
	vec_done(&s->keyed);
	free(s);
}

/* ---- what stands by a key ---- */

static void keyed_remove_at(struct standing *s, uint32_t at)
{
	struct keyed *k = &s->keyed.items[at];

	drop_event(&k->event);
	if (k->previous)
		s->keyed.items[k->previous].next = k->next;
	else
		s->oldest = k->next;
	if (k->next)
		s->keyed.items[k->next].previous = k->previous;
	else
		s->newest = k->previous;
	map_remove(&s->keys, k->key);
	*k = (struct keyed){ .next = s->unused };
	s->unused = at;
}

static void keyed_remove(struct standing *s, uint64_t key)
{
	const uint64_t *at = map_find(&s->keys, key);

	if (at)
		keyed_remove_at(s, (uint32_t)*at);
}

static void keyed_put(struct standing *s, uint64_t key, const struct event *e, uint32_t generation)
{
	uint32_t at;

	keyed_remove(s, key);
	if (s->keys.length >= KEYED_LIMIT)
		keyed_remove_at(s, s->oldest);
	at = s->unused;
	if (at) {
		s->unused = s->keyed.items[at].next;
	} else {
		at = (uint32_t)s->keyed.length;
		vec_push(&s->keyed, (struct keyed){ 0 });
	}
	s->keyed.items[at] = (struct keyed){ .key = key, .previous = s->newest, .generation = generation };
	copy_event(&s->keyed.items[at].event, e);
	if (s->newest)
		s->keyed.items[s->newest].next = at;
	else
		s->oldest = at;
	s->newest = at;
	map_put(&s->keys, key, at);
}

/* Kinds of keys. */
enum key_kind {
	KEY_lock = 1, KEY_lock_asked, KEY_lock_held, KEY_fuse, KEY_block, KEY_work, KEY_timer, KEY_uring, KEY_submit, KEY_stop, KEY_freeze,
	KEY_throttle, KEY_cgroup, KEY_kernel_lock, KEY_connection,
};

static uint64_t key_of(enum key_kind kind, uint64_t a, uint64_t b)
{
	return hash_u64(hash_u64(a ^ (uint64_t)kind << 58) ^ b);
}

static void see_file_lock(struct standing *s, const struct event *e)
{
	const struct event_file_lock *l = event_as(e, file_lock);
	uint64_t who = (uint64_t)l->owner << 8 | l->family;
	uint64_t held = key_of(KEY_lock, l->object, who), asked = key_of(KEY_lock_asked, l->object, who);

	if (l->type == LOCK_TYPE_unlock) {
		if (!l->result) {
			keyed_remove(s, held);
			keyed_remove(s, asked);
		}
	} else if (!l->result) {
		keyed_remove(s, asked);
		keyed_put(s, held, e, 0);
	} else {
		keyed_put(s, asked, e, 0);
	}
}

static void see_lock_held(struct standing *s, const struct event *e)
{
	const struct event_lock_held *l = event_as(e, lock_held);

	keyed_put(s, key_of(KEY_lock_held, l->object ^ hash_u64(l->start), (uint64_t)e->tid << 32 ^ l->blocker ^ (uint64_t)l->family << 24),
		  e, s->generation + 1);
}

static uint64_t key_of_fuse(uint64_t unique, uint32_t connection) { return key_of(KEY_fuse, unique, connection); }

static uint64_t thread_last_ns(const struct standing_thread *t)
{
	uint64_t last = t->in_ns > t->out_ns ? t->in_ns : t->out_ns;

	last = t->woken && t->wake_ns > last ? t->wake_ns : last;
	for (const struct kept *kept = t->life ? t->life->events : NULL; kept; kept = kept->next)
		last = kept->event.time > last ? kept->event.time : last;
	return last;
}

static void call_thread(struct standing *s, struct standing_thread *t)
{
	uint64_t last = thread_last_ns(t), end_ns;

	if (last && roll_call_misses(&s->roll_call, t->tid, last, &end_ns)) {
		thread_forget(s, t);
		t->died_ns = end_ns;
	}
}

static void call_roll(struct standing *s)
{
	for (unsigned i = 0; i < PAGES; i++)
		for (unsigned k = 0; s->pages[i] && k < PAGE; k += 64)
			for (uint64_t named = s->named[(i * PAGE + k) / 64]; named; named &= named - 1)
				call_thread(s, &s->pages[i][k + (unsigned)__builtin_ctzll(named)]);
}

/* All threads, all file locks, and what file systems in user space owe, are told anew in each snapshot. */
static void see_snapshot(struct standing *s, const struct event *e)
{
	if (roll_call_see(&s->roll_call, e))
		call_roll(s);
	if (!event_as(e, snapshot)->end) {
		s->generation++;
		return;
	}
	for (uint32_t at = s->oldest, next; at; at = next) {
		next = s->keyed.items[at].next;
		if (s->keyed.items[at].generation && s->keyed.items[at].generation <= s->generation)
			keyed_remove_at(s, at);
	}
}

static bool is_stop(uint32_t signal)
{
	return signal >= 19 && signal <= 22; /* SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU */
}

static void see_signal(struct standing *s, const struct event *e)
{
	const struct event_signal *g = event_as(e, signal);

	if (is_stop(g->number))
		keyed_put(s, key_of(KEY_stop, g->target, 0), e, 0);
	else if (g->number == 18 || g->number == 9)
		keyed_remove(s, key_of(KEY_stop, g->target, 0));
}

static void put_or_remove(struct standing *s, uint64_t key, const struct event *e, bool stands)
{
	if (stands)
		keyed_put(s, key, e, 0);
	else
		keyed_remove(s, key);
}

/* ---- messages ---- */

static void see_message(struct standing *s, const struct event *e)
{
	const struct event_message *m = event_as(e, message);
	struct standing_thread *t = thread_at(s, e->tid);
	unsigned at;

	if (m->kind == MESSAGE_KIND_connect || m->kind == MESSAGE_KIND_accept)
		keyed_put(s, key_of(KEY_connection, m->object, m->kind), e, 0);
	if (!t)
		return;
	if (!t->recent)
		t->recent = mem_zalloc(sizeof(*t->recent));
	at = t->recent->count++ % RECENT_MESSAGES;
	t->recent->events[at] = *e;
	memcpy(t->recent->data[at], e->data, sizeof(t->recent->data[at]));
}

/* ---- threads ---- */

/* Those that it created refer to it: whoever gets the events of its life needs the one that ended it. */
static void tell_end(struct standing *s, struct standing_thread *t, const struct event *e)
{
	struct event_switch half = *event_as(e, switch);
	struct event end = *e;

	half.next = 0;
	end.data = &half;
	life_add(s, t, &end);
}

static void see_switch(struct standing *s, const struct event *e)
{
	const struct event_switch *w = event_as(e, switch);
	struct standing_thread *out = thread_at(s, e->tid), *in = thread_at(s, w->next);

	if (out && w->state == TASK_STATE_dead) {
		if (out->life && out->life->users > 1)
			tell_end(s, out, e);
		thread_forget(s, out);
		out->died_ns = e->time;
	} else if (out) {
		/* its way in was lost: the wake-up was of the wait before */
		if (out->status == STATUS_out)
			out->woken = false;
		out->status = STATUS_out;
		out->out_cpu = e->cpu;
		out->out_ns = e->time;
		out->out_number = e->number;
		out->out = *w;
		/* one that was only preempted sleeps not, so nothing wakes it */
		out->woken &= w->state != TASK_STATE_running;
		out->early = out->woken;
		kept_free(out->waiting);
		out->waiting = NULL;
	}
	if (in && in != out) {
		in->status = STATUS_running;
		in->in_cpu = e->cpu;
		in->in_prio = w->next_prio;
		in->in_ns = e->time;
		in->in_number = e->number;
		in->woken = in->early = false;
		kept_free(in->waiting);
		in->waiting = NULL;
	}
}

static void note_deed(struct standing *s, const struct event *e, const struct standing_thread *target)
{
	struct standing_thread *waker = thread_at(s, e->tid);

	if (!waker)
		return;
	if (!waker->deeds)
		waker->deeds = mem_zalloc(sizeof(*waker->deeds));
	waker->deeds->last[waker->deeds->count++ % DEEDS] = (struct deed){
		.wake_ns = e->time, .wake_number = e->number, .out_ns = target->out_ns, .out_number = target->out_number,
		.target = target->tid, .wake_cpu = e->cpu, .out_cpu = target->out_cpu, .wake = *event_as(e, wake), .out = target->out };
}

static void see_wake(struct standing *s, const struct event *e)
{
	const struct event_wake *w = event_as(e, wake);
	struct standing_thread *t = thread_at(s, w->target);

	if (!t || (t->status == STATUS_out && ((t->woken && !t->early) || t->out.state == TASK_STATE_running)))
		return;
	/* a thread that has ended, or is known by its first wake-up already */
	if (t->status == STATUS_unknown && (t->woken || (t->died_ns && !t->life)))
		return;
	if (w->context == CONTEXT_thread && t->status == STATUS_out && e->tid != w->target)
		note_deed(s, e, t);
	t->woken = true;
	t->early = false;
	t->waker = e->tid;
	t->wake_cpu = e->cpu;
	t->wake_ns = e->time;
	t->wake_number = e->number;
	t->wake = *w;
}

static void see_waiting(struct standing *s, const struct event *e)
{
	const struct event_waiting *w = event_as(e, waiting);
	struct standing_thread *t = thread_at(s, e->tid);

	if (!t || t->status == STATUS_running || !w->wait || w->state == TASK_STATE_running || w->state == TASK_STATE_dead)
		return;
	if (t->status == STATUS_unknown && !t->life && t->died_ns)
		return; /* read before it ended, written behind that */
	kept_free(t->waiting);
	t->waiting = kept_new(e);
}

static void see_fork(struct standing *s, const struct event *e)
{
	struct standing_thread *creator = thread_at(s, e->tid), *child = thread_at(s, event_as(e, fork)->child);

	if (!child)
		return;
	thread_forget(s, child);
	life_add(s, child, e);
	if (creator && creator != child) {
		child->life->creator = life_of(s, creator);
		child->life->creator->users++;
	}
}

static void see_life(struct standing *s, const struct event *e)
{
	uint32_t tid = e->tid;
	struct standing_thread *t;

	if (e->type == EVENT_rename && event_as(e, rename)->target)
		tid = event_as(e, rename)->target;
	t = thread_at(s, tid);
	if (!t)
		return;
	/* read before it ended, written behind that */
	if (e->type == EVENT_task && !t->life && t->died_ns &&
	    (event_as(e, task)->flags & TASK_FLAGS_gone || (event_as(e, task)->start_ns && event_as(e, task)->start_ns <= t->died_ns)))
		return;
	if (e->type == EVENT_exec && event_as(e, exec)->old_tid && event_as(e, exec)->old_tid != tid) {
		struct standing_thread *old = thread_find(s, event_as(e, exec)->old_tid);

		if (old && old->tid) {
			thread_forget(s, old);
			old->died_ns = e->time;
		}
	}
	life_add(s, t, e);
}

void standing_see(struct standing *s, const struct event *e)
{
	if (!e->data || e->type >= EVENT_MAX)
		return;
	switch (e->type) {
	case EVENT_switch: see_switch(s, e); break;
	case EVENT_wake: see_wake(s, e); break;
	case EVENT_message: see_message(s, e); break;
	case EVENT_waiting: see_waiting(s, e); break;
	case EVENT_fork: see_fork(s, e); break;
	case EVENT_task:
		roll_call_see(&s->roll_call, e);
		see_life(s, e);
		break;
	case EVENT_exec: case EVENT_rename: case EVENT_exit: see_life(s, e); break;
	case EVENT_file_lock: see_file_lock(s, e); break;
	case EVENT_lock_held: see_lock_held(s, e); break;
	case EVENT_snapshot: see_snapshot(s, e); break;
	case EVENT_signal: see_signal(s, e); break;
	case EVENT_lock_wait: keyed_put(s, key_of(KEY_kernel_lock, e->tid, 0), e, 0); break;
	case EVENT_lock_got: keyed_remove(s, key_of(KEY_kernel_lock, e->tid, 0)); break;
	case EVENT_fuse_send: keyed_put(s, key_of_fuse(event_as(e, fuse_send)->unique, event_as(e, fuse_send)->connection), e, 0); break;
	case EVENT_fuse_end: keyed_remove(s, key_of_fuse(event_as(e, fuse_end)->unique, event_as(e, fuse_end)->connection)); break;
	case EVENT_fuse_asked:
		keyed_put(s, key_of_fuse(event_as(e, fuse_asked)->unique, event_as(e, fuse_asked)->connection), e, s->generation + 1);
		break;
	case EVENT_block_issue: keyed_put(s, key_of(KEY_block, event_as(e, block_issue)->request, 0), e, 0); break;
	case EVENT_block_complete: keyed_remove(s, key_of(KEY_block, event_as(e, block_complete)->request, 0)); break;
	case EVENT_work_queue: keyed_put(s, key_of(KEY_work, event_as(e, work_queue)->work, 0), e, 0); break;
	case EVENT_work_start:
		keyed_remove(s, key_of(KEY_work, event_as(e, work_start)->work, 0));
		keyed_remove(s, key_of(KEY_timer, event_as(e, work_start)->work, 0));
		break;
	case EVENT_timer_arm: keyed_put(s, key_of(KEY_timer, event_as(e, timer_arm)->timer, 0), e, 0); break;
	case EVENT_timer_fire: keyed_remove(s, key_of(KEY_timer, event_as(e, timer_fire)->timer, 0)); break;
	case EVENT_timer_cancel: keyed_remove(s, key_of(KEY_timer, event_as(e, timer_cancel)->timer, 0)); break;
	case EVENT_uring_submit: keyed_put(s, key_of(KEY_uring, event_as(e, uring_submit)->request, 0), e, 0); break;
	case EVENT_uring_complete: keyed_remove(s, key_of(KEY_uring, event_as(e, uring_complete)->request, 0)); break;
	case EVENT_submit: keyed_put(s, key_of(KEY_submit, event_as(e, submit)->item, 0), e, 0); break;
	case EVENT_callout_begin: keyed_remove(s, key_of(KEY_submit, event_as(e, callout_begin)->item, 0)); break;
	case EVENT_freeze: put_or_remove(s, key_of(KEY_freeze, event_as(e, freeze)->cgroup, 0), e, event_as(e, freeze)->frozen != 0); break;
	case EVENT_throttle: put_or_remove(s, key_of(KEY_throttle, event_as(e, throttle)->target, 0), e, event_as(e, throttle)->throttled != 0); break;
	case EVENT_cgroup: keyed_put(s, key_of(KEY_cgroup, event_as(e, cgroup)->cgroup, 0), e, 0); break;
	default: /* the rest stands for itself */ break;
	}
}

/* ---- what stands now ---- */

struct taking {
	struct arena *arena;
	struct vec(struct event) events;
};

static void take(struct taking *t, const struct event *e)
{
	struct event copy = *e;
	char *tail = arena_alloc(t->arena, (size_t)e->tail_length + 1, 1);

	copy.data = e->data ? arena_memdup(t->arena, e->data, event_infos[e->type].bytes) : NULL;
	memcpy(tail, e->tail, e->tail_length);
	copy.tail = tail;
	vec_push(&t->events, copy);
}

/* What it set off before it began to wait: the waits that it ended, and how. */
static void take_deeds(struct taking *t, const struct standing *s, const struct standing_thread *th, uint64_t now_ns)
{
	if (!th->deeds || th->status != STATUS_out || th->out.state == TASK_STATE_running || th->out_ns + DEEDS_WAIT_NS > now_ns)
		return;
	for (unsigned i = 0; i < DEEDS && i < th->deeds->count; i++) {
		const struct deed *d = &th->deeds->last[i];
		const struct standing_thread *target = thread_find(s, d->target);
		struct event_switch out = d->out;

		if (d->wake_ns + DEEDS_NS < th->out_ns || d->wake_ns > th->out_ns || !target || !target->life ||
		    target->died_ns > d->wake_ns || (target->status == STATUS_out && target->out_number == d->out_number))
			continue;
		out.next = 0;
		take(t, &(struct event){ .time = d->out_ns, .number = d->out_number, .tid = d->target, .cpu = d->out_cpu,
					 .type = EVENT_switch, .data = &out, .tail = "" });
		take(t, &(struct event){ .time = d->wake_ns, .number = d->wake_number, .tid = th->tid, .cpu = d->wake_cpu,
					 .type = EVENT_wake, .data = &d->wake, .tail = "" });
	}
}

static void take_thread(struct taking *t, const struct standing *s, const struct standing_thread *th, uint64_t now_ns)
{
	struct event_switch in = { .next = th->tid, .next_prio = th->in_prio, .state = TASK_STATE_running, .syscall = (u16)SYSCALL_NONE };
	struct event_switch out = th->out;
	bool shows_in = th->in_number && (th->status == STATUS_running || (th->woken && th->early));

	out.next = 0;
	if (shows_in)
		take(t, &(struct event){ .time = th->in_ns, .number = th->in_number, .cpu = th->in_cpu, .type = EVENT_switch, .data = &in, .tail = "" });
	if (th->woken)
		take(t, &(struct event){ .time = th->wake_ns, .number = th->wake_number, .tid = th->waker, .cpu = th->wake_cpu,
					 .type = EVENT_wake, .data = &th->wake, .tail = "" });
	if (th->status == STATUS_out)
		take(t, &(struct event){ .time = th->out_ns, .number = th->out_number, .tid = th->tid, .cpu = th->out_cpu,
					 .type = EVENT_switch, .data = &out, .tail = "" });
	take_deeds(t, s, th, now_ns);
	if (th->waiting)
		take(t, &th->waiting->event);
	for (unsigned i = 0; th->recent && i < RECENT_MESSAGES && i < th->recent->count; i++) {
		struct event e = th->recent->events[i];

		e.data = th->recent->data[i];
		e.tail = "";
		e.tail_length = 0;
		take(t, &e);
	}
}

/* Of so many from that number on as have a bit in one word. */
static void take_threads(struct taking *t, const struct standing *s, uint32_t tid, uint64_t now_ns)
{
	for (uint64_t named = s->named[tid / 64]; named; named &= named - 1)
		take_thread(t, s, thread_find(s, tid + (uint32_t)__builtin_ctzll(named)), now_ns);
}

void standing_take(struct arena *arena, const struct standing *s, uint64_t now_ns, struct standing_events *ret_events)
{
	struct taking t = { .arena = arena };
	size_t kept;

	for (unsigned i = 0; i < PAGES; i++)
		for (unsigned k = 0; s->pages[i] && k < PAGE / 64; k++)
			take_threads(&t, s, i * PAGE + k * 64, now_ns);
	for (const struct life *life = s->lives; life; life = life->next)
		for (const struct kept *event = life->events; event; event = event->next)
			take(&t, &event->event);
	for (uint32_t at = s->oldest; at; at = s->keyed.items[at].next)
		take(&t, &s->keyed.items[at].event);
	kept = standing_sort(t.events.items, t.events.length);
	ret_events->events = arena_memdup(arena, t.events.items, kept * sizeof(*t.events.items));
	ret_events->count = (uint32_t)kept;
	vec_done(&t.events);
}
