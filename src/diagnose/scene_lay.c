/* Laying the graph out as a scene: each thread's spans and waits from its
 * stretches. Threads do not depend on each other here, so two workers share them.
 * The wake-ups that they made follow from the waits (scene_wakes.c). */
#include "diagnose/scene_build.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/populate.h"
#include "base/search.h"
#include "base/sparse.h"
#include "graph/graph.h"

#define LOST_CONFIDENCE 60     /* of a wake-up around which events were lost */
#define WORKERS 2
#define AHEAD 12               /* waits; memory of their details is asked for so long before */
#define SPANS_A_WAIT 3         /* about: it ran, waited, was runnable */
#define SPARED_LEAST (16u << 10) /* bytes of a thread's spans that may go; fewer stay */
#define SPARED_MOST (1u << 20)  /* of all that may: from then on half of them go */
#define SMALL_SCENE 20000      /* waits; below, a worker costs more than it brings */

struct worker {
	struct layout *layout;
	struct vec(struct span) spans; /* of all its threads, one after the other */
	size_t populated;
	struct vec(uint32_t) path; /* of place_of */
	pthread_t thread;
	bool started;
};

struct layout {
	struct scene *scene;
	struct wait *waits;
	size_t *first_span;        /* by thread: place in its worker's spans */
	uint8_t *worker_of;
	_Atomic uint64_t *places;  /* of stacks, by node; 0 not found yet */
	struct sparse places_memory;
	atomic_uint next;          /* thread to be taken up */
	unsigned steps;            /* that are due, as bits */
	struct worker workers[WORKERS];
};

enum { LAYS_waits = 1, LAYS_spans = 2 };

/* ---- waits ---- */

/* What the stack is, by its frames: one that was taken before its program's tables were read and unwound later has another
 * number than the same stack of later on. Workers may find the same one at once. */
static uint64_t place_of(const struct layout *l, struct worker *worker, uint32_t stack)
{
	const struct tables *tables = l->scene->tables;
	const struct frame *frames = tables->frames;
	uint64_t place = 0;

	vec_clear(&worker->path);
	for (uint32_t node = stack; node && node < tables->frame_count && !place; node = frames[node].parent) {
		place = atomic_load_explicit(&l->places[node], memory_order_relaxed);
		if (!place)
			vec_push(&worker->path, node);
	}
	while (worker->path.length) {
		uint32_t node = worker->path.items[--worker->path.length];

		place = hash_u64(place ^ hash_u64(frames[node].address ^ (uint64_t)frames[node].module << 48)) | 1;
		if (!frames[node].address)
			place = node;
		atomic_store_explicit(&l->places[node], place, memory_order_relaxed);
	}
	return place;
}

/* Places in the program are told apart by the user stack where there is one,
 * else by the call and what it works on. */
static uint32_t site_of(const struct layout *l, struct worker *worker, const struct wait *w)
{
	const struct tables *tables = l->scene->tables;
	bool told = w->ustack < tables->frame_count && tables->frames[w->ustack].depth;
	uint64_t stack = told ? place_of(l, worker, w->ustack) : w->ustack;
	uint64_t site = hash_u64((uint64_t)w->syscall << 40 ^ (uint64_t)w->kind << 32 ^ stack);

	if (w->ustack)
		return (uint32_t)site;
	/* The size of a poll set changes with what a loop listens to. */
	if (w->kind == WAIT_KIND_poll && w->argument > 1)
		return (uint32_t)site;
	return (uint32_t)hash_u64(site ^ w->object ^ (uint64_t)(uint32_t)w->argument << 20);
}

/* Entry of the tables, 0 for sources and tids that the tables do not know. */
static uint32_t real_thread(const struct scene *scene, uint32_t thread)
{
	return thread < scene->thread_count ? thread : 0;
}

static bool is_stop(uint8_t state)
{
	return state == TASK_STATE_stopped || state == TASK_STATE_traced || state == TASK_STATE_frozen;
}

/* A time limit counts as passed when the wait is at least as long; the kernel
 * may be late, but it is never early by more than its clock's step. */
static bool limit_passed(const struct wait *w)
{
	return w->kind == WAIT_KIND_sleep || (w->timeout_ns && w->end_ns - w->start_ns + 1000000 >= w->timeout_ns);
}

static enum wait_end end_of(const struct scene *scene, const struct graph_wait *g, const struct wait *w)
{
	/* Whom another processor's interrupt interrupted has nothing to do with it. */
	bool by_thread = real_thread(scene, g->waker) != 0 && g->cause != WAKE_CAUSE_other_cpu;

	if (g->wake_ns == UINT64_MAX && g->waker == GRAPH_NONE)
		return g->in_ns == UINT64_MAX ? WAIT_END_OPEN : WAIT_END_UNKNOWN;
	/* The kernel's housekeeping is no cause, but it did end the wait. What woke it
	 * around lost events is the best guess. */
	if (g->removed && g->result != RESULT_lost)
		return !by_thread && g->cause == WAKE_CAUSE_rcu ? WAIT_END_SOURCE : WAIT_END_UNKNOWN;
	/* Of one that has not come back, or around lost events, only the wake-up tells. */
	if (g->result == RESULT_timeout ||
	    ((g->result == RESULT_lost || g->result == RESULT_open) && g->cause == WAKE_CAUSE_timeout))
		return WAIT_END_TIMEOUT;
	if (by_thread)
		return WAIT_END_THREAD;
	/* Where the kernel did not tell whose timer it was. */
	if ((g->cause == WAKE_CAUSE_unknown || g->cause == WAKE_CAUSE_timer) && limit_passed(w))
		return WAIT_END_TIMEOUT;
	return WAIT_END_SOURCE;
}

static void fill_wait(const struct scene *scene, const struct graph_wait *g, struct wait *w)
{
	uint64_t end = g->wake_ns != UINT64_MAX ? g->wake_ns : g->in_ns != UINT64_MAX ? g->in_ns : scene->end_ns;

	*w = (struct wait){
		.start_ns = g->out_ns, .end_ns = end > g->out_ns ? end : g->out_ns, .begin_event = g->out_event,
		.end_event = g->wake_event, .object = g->object, .timeout_ns = g->timeout_ns, .thread = g->thread,
		.hint = real_thread(scene, g->hint), .syscall = g->syscall, .kind = is_stop(g->state) ? WAIT_KIND_stop : g->kind,
		.hint_kind = g->hint_kind, .state = g->state, .cause = g->cause, .confidence = 100, .idle = g->idle,
	};
	if (g->result == RESULT_lost)
		w->confidence = LOST_CONFIDENCE;
	w->end = (uint8_t)end_of(scene, g, w);
	if (w->end == WAIT_END_TIMEOUT)
		w->cause = WAKE_CAUSE_timeout;
	if (w->end == WAIT_END_THREAD)
		w->waker = real_thread(scene, g->waker);
	else if (w->end == WAIT_END_SOURCE)
		w->waker = real_thread(scene, g->armer);
}

static bool kernel_tells(const struct event_waiting *r)
{
	if (r->state == TASK_STATE_blocked || r->state == TASK_STATE_killable)
		return true;
	switch (r->wait) {
	case WAIT_KIND_other:
	case WAIT_KIND_open:
	case WAIT_KIND_fuse:
	case WAIT_KIND_supervised:
	case WAIT_KIND_fault:
	case WAIT_KIND_ioctl:
	case WAIT_KIND_sync:
	case WAIT_KIND_file_lock:
		return true;
	case WAIT_KIND_read:
	case WAIT_KIND_write:
		return object_kind(r->object) == OBJECT_KIND_file;
	}
	return false;
}

#define SAME_LIMIT_NS 1000000u

/* Since when it waits is told by a clock that stands still while the host has the processor; when its limit ends is not. */
static bool has_same_limit(const struct wait *w, const struct event_waiting *r)
{
	uint64_t a = w->start_ns + w->timeout_ns, b = r->since_ns + r->timeout_ns;

	return w->timeout_ns && r->timeout_ns && w->object == r->object && w->kind == r->wait && (a > b ? a - b : b - a) < SAME_LIMIT_NS;
}

/* The slice of a wait that was found, and reported only when the next, or in the kernel the next ones, had begun; NULL none. */
static struct wait *found_slice(struct wait *first, struct wait *w, const struct event_waiting *r)
{
	if (has_same_limit(w, r))
		return w;
	if (w > first && has_same_limit(w - 1, r))
		return w - 1;
	while (w > first && w->begin_event && waiting_is_stale(r, w->object, w->start_ns) && wait_is_in_kernel(w) && w->kind == r->wait)
		w--;
	return w->begin_event && waiting_is_stale(r, w->object, w->start_ns) ? NULL : w;
}

/* What a snapshot found while the wait lasted, where its switch did not know; `first`: the thread's first one. */
static void add_found(const struct scene *scene, struct wait *first, struct wait *w, const struct event_waiting *r, uint64_t time)
{
	w = found_slice(first, w, r);
	if (!w)
		return;
	if (!w->ustack)
		w->ustack = r->ustack;
	/* as switches have it: where the call alone does not tell what it waits for */
	w->kind = r->wait == WAIT_KIND_supervised ? WAIT_KIND_supervised : w->kind;
	if (!w->kstack && (!r->ustack || kernel_tells(r)))
		w->kstack = r->kstack;
	if (!w->detail)
		w->detail = r->detail;
	if (!w->argument && w->kind == r->wait && w->syscall == r->syscall)
		w->argument = (int32_t)r->argument;
	if (!w->object)
		w->object = r->object;
	if (!w->timeout_ns)
		w->timeout_ns = r->timeout_ns;
	if (!w->hint && r->hint) {
		w->hint = tables_thread(scene->tables, tables_hint_tid(scene->tables, w->thread, r->hint, r->hint_kind, time), time);
		w->hint_kind = r->hint_kind;
	}
	if (w->kind <= WAIT_KIND_other) {
		w->kind = r->wait;
		w->syscall = r->syscall;
		w->argument = (int32_t)r->argument;
		w->state = r->state;
	}
}

/* Woken before anything was seen of it: it had waited since before the trace. */
static void set_begin(const struct scene *scene, struct wait *w)
{
	uint64_t born = scene->tables->threads[w->thread].start_ns;

	if (w->begin_event == w->end_event && w->end_event)
		w->start_ns = born > scene->reach_ns ? born : scene->reach_ns;
}

static void lay_waits(struct layout *l, struct worker *worker, uint32_t thread)
{
	const struct scene *scene = l->scene;
	const struct scene_gathered *gathered = &scene->gathered[thread];
	struct scene_thread *t = &l->scene->threads[thread];
	struct graph_waits walk = graph_waits_of(scene->graph, thread, 0, UINT64_MAX);
	struct wait *w = l->waits + t->wait, *end = w;
	const struct wait_detail *d;
	size_t found = 0;

	walk.plain = true;
	for (struct graph_wait g; graph_waits_next(&walk, &g); end++) {
		fill_wait(scene, &g, end);
		set_begin(scene, end);
	}
	for (; w < end; w++) {
		if (scene->wait_details && end - w > AHEAD)
			wait_details_prefetch(scene->wait_details, w[AHEAD].begin_event);
		d = scene->wait_details ? wait_details_find(scene->wait_details, w->begin_event) : NULL;
		if (d) {
			w->detail = d->detail;
			w->argument = d->argument;
			w->ustack = d->ustack;
			w->kstack = d->kstack;
		}
		while (found < gathered->found.length && gathered->found.items[found].time < w->start_ns)
			found++;
		for (; found < gathered->found.length && gathered->found.items[found].time <= w->end_ns; found++)
			add_found(scene, l->waits + t->wait, w, &gathered->found.items[found].said, gathered->found.items[found].time);
		w->site = site_of(l, worker, w);
	}
	t->wait_count = (uint32_t)(w - (l->waits + t->wait));
}

/* ---- spans ---- */

struct span_writer {
	struct scene *scene;
	struct worker *worker;
	const struct scene_gathered *gathered;
	size_t first, throttling;
	uint64_t ran_until;        /* what was said of its quota before then is over */
	uint32_t wait;
};

static void put_span(struct span_writer *s, struct span span)
{
	struct span *last = s->worker->spans.length > s->first ? &s->worker->spans.items[s->worker->spans.length - 1] : NULL;

	if (last && last->state == span.state && last->place == span.place && last->throttled == span.throttled)
		return;
	vec_push_populated(&s->worker->spans, &s->worker->populated, span);
}

/* A runnable stretch is divided where its quota was found used up, or came back. */
static void put_runnable(struct span_writer *s, const struct graph_interval *i)
{
	const struct scene_gathered *g = s->gathered;
	bool throttled = false;

	for (; s->throttling < g->throttlings.length && g->throttlings.items[s->throttling].time <= i->start_ns; s->throttling++)
		if (g->throttlings.items[s->throttling].time >= s->ran_until)
			throttled = g->throttlings.items[s->throttling].throttled;
	put_span(s, (struct span){ i->start_ns, i->cpu, SPAN_RUNNABLE, throttled });
	for (; s->throttling < g->throttlings.length && g->throttlings.items[s->throttling].time < i->end_ns; s->throttling++)
		put_span(s, (struct span){ g->throttlings.items[s->throttling].time, i->cpu, SPAN_RUNNABLE,
					   g->throttlings.items[s->throttling].throttled });
}

static void put_waiting(struct span_writer *s, const struct graph_interval *i, uint32_t end)
{
	const struct wait *waits = s->scene->waits;

	while (s->wait < end && waits[s->wait].end_ns <= i->start_ns)
		s->wait++;
	if (s->wait < end && waits[s->wait].start_ns <= i->start_ns)
		put_span(s, (struct span){ i->start_ns, s->wait % SPAN_PLACES,
			waits[s->wait].kind == WAIT_KIND_stop ? SPAN_STOPPED : SPAN_WAITING, false });
	else
		put_span(s, (struct span){ i->start_ns, i->cpu, SPAN_UNKNOWN, false });
}

/* Where a thread's row of spans begins: a wait that stood at the beginning is told whole. */
static uint64_t first_ns(const struct scene *scene, const struct scene_thread *t)
{
	for (uint32_t i = t->wait; i < t->wait + t->wait_count && scene->waits[i].start_ns < t->since_ns; i++) {
		const struct wait *w = &scene->waits[i];

		if (w->end_ns >= t->since_ns)
			return w->start_ns > scene->reach_ns ? w->start_ns : scene->reach_ns;
	}
	return t->since_ns;
}

static void lay_spans(struct layout *l, struct worker *worker, uint32_t thread)
{
	struct scene *scene = l->scene;
	struct scene_thread *t = &scene->threads[thread];
	struct span_writer s = { .scene = scene, .worker = worker, .gathered = &scene->gathered[thread],
				 .first = worker->spans.length, .wait = t->wait };
	struct graph_timeline timeline = graph_timeline_of(scene->graph, thread, first_ns(scene, t), scene->end_ns);

	timeline.plain = true;
	t->running_ns = 0;
	for (struct graph_interval i; graph_timeline_next(&timeline, &i); ) {
		switch (i.kind) {
		case INTERVAL_running:
			t->running_ns += i.end_ns - i.start_ns;
			s.ran_until = i.end_ns;
			put_span(&s, (struct span){ i.start_ns, i.cpu, SPAN_RUNNING, false });
			break;
		case INTERVAL_runnable:
			put_runnable(&s, &i);
			break;
		case INTERVAL_waiting:
		case INTERVAL_unknown:
			/* What was found waiting later was so all the time, see lay_waits. */
			put_waiting(&s, &i, t->wait + t->wait_count);
			break;
		case INTERVAL_lost:
			put_span(&s, (struct span){ i.start_ns, i.cpu, SPAN_UNKNOWN, false });
			break;
		case INTERVAL_absent:
			put_span(&s, (struct span){ i.start_ns, 0, SPAN_ABSENT, false });
			break;
		}
	}
	t->span_count = (uint32_t)(worker->spans.length - s.first);
	vec_push(&worker->spans, ((struct span){ scene->end_ns, 0, SPAN_ABSENT, false }));
	l->first_span[thread] = s.first;
	l->worker_of[thread] = (uint8_t)(worker - l->workers);
}

static void *lay_threads(void *data)
{
	struct worker *worker = data;
	struct layout *l = worker->layout;

	for (uint32_t thread; (thread = atomic_fetch_add(&l->next, 1)) < l->scene->thread_count; ) {
		if (l->steps & LAYS_waits)
			lay_waits(l, worker, thread);
		if (l->steps & LAYS_spans)
			lay_spans(l, worker, thread);
	}
	return NULL;
}

static void lay_step(struct layout *l, unsigned steps, bool beside)
{
	l->steps = steps;
	atomic_store(&l->next, 0);
	if (beside)
		l->workers[1].started = !pthread_create(&l->workers[1].thread, NULL, lay_threads, &l->workers[1]);
	lay_threads(&l->workers[0]);
	if (l->workers[1].started)
		pthread_join(l->workers[1].thread, NULL);
	l->workers[1].started = false;
}

/* ---- together ---- */

/* Each thread's place in the column of waits, and what else threads are laid out with. */
static uint64_t begin_layout(struct layout *l, struct scene *scene)
{
	uint64_t total = 1;        /* entry 0 stands for none */

	*l = (struct layout){ .scene = scene };
	arena_done(&scene->laid);
	arena_init(&scene->laid);
	for (unsigned i = 0; i < SCENE_LAID; i++) {
		free(scene->laid_columns[i]);
		scene->laid_columns[i] = NULL;
	}
	scene->episodes = NULL;
	for (uint32_t i = 0; i < scene->thread_count; i++) {
		struct graph_thread about;

		graph_thread(scene->graph, i, &about);
		scene->threads[i].wait = (uint32_t)total;
		total += about.stretches;
	}
	scene->wait_count = (uint32_t)total;
	l->waits = scene->waits = scene->laid_columns[LAID_waits] = mem_alloc(arena_array_bytes(sizeof(*l->waits), total));
	l->waits[0] = (struct wait){ 0 };
	l->first_span = mem_zalloc(arena_array_bytes(sizeof(*l->first_span), scene->thread_count));
	l->worker_of = mem_zalloc(scene->thread_count + 1);
	sparse_reach(&l->places_memory, ((size_t)scene->tables->frame_count + 1) * sizeof(*l->places));
	l->places = l->places_memory.memory;
	for (unsigned i = 0; i < WORKERS; i++)
		l->workers[i].layout = l;
	return total;
}

/* They are in the waits now; only corrections lay these out again. */
static void forget_details(struct scene *scene)
{
	wait_details_free(scene->wait_details);
	scene->wait_details = NULL;
}

static void end_layout(struct layout *l)
{
	free(l->first_span);
	free(l->worker_of);
	sparse_done(&l->places_memory);
	for (unsigned i = 0; i < WORKERS; i++)
		vec_done(&l->workers[i].path);
}

/* What a scene that is laid out thread by thread goes by. */
struct scene_lazy {
	struct layout layout;
	uint32_t *woken;           /* graph_waits_by_waker, NULL before the first question */
	uint32_t *first_woken;
	uint32_t *fuse, *next_fuse; /* by thread the first of its requests to file systems in user space + 1; by request the next; NULL: none */
	size_t episodes_populated;
	bool joining;              /* a thread's waits: of the others no more than theirs is needed */
	void (*laid)(void *data, struct scene *scene, uint32_t thread);
	void *laid_data;
	struct vec(uint32_t) spared; /* threads whose spans have memory of their own, and may go, the oldest first */
	size_t spared_bytes;
	bool spares;
};

/* The waits at once, spans when they are asked for: a few threads have most, and are looked at one after the other. */
static void lay_sparingly(struct layout *l, bool beside)
{
	struct scene *scene = l->scene;
	struct scene_lazy *lazy = scene->lazy = mem_zalloc(sizeof(*lazy));

	lay_step(l, LAYS_waits, beside);
	sparse_done(&l->places_memory);
	forget_details(scene);
	lazy->layout = *l;
	lazy->spares = true;
	for (unsigned i = 0; i < WORKERS; i++)
		lazy->layout.workers[i].layout = &lazy->layout;
	scene->pending = memset(mem_alloc((size_t)scene->thread_count + 1), PENDING_spared, (size_t)scene->thread_count + 1);
}

static void lay_at_once(struct layout *l, uint64_t total, bool for_good)
{
	struct scene *scene = l->scene;

	/* To grow means to copy; room that is not needed is never touched. */
	for (unsigned i = 0; i < WORKERS && total > SMALL_SCENE; i++)
		vec_reserve(&l->workers[i].spans, total * SPANS_A_WAIT);
	_Static_assert(WORKERS == LAID_waits, "a column of spans of each");
	lay_step(l, LAYS_waits | LAYS_spans, total > SMALL_SCENE);
	if (for_good)
		forget_details(scene);
	for (uint32_t i = 0; i < scene->thread_count; i++)
		scene->threads[i].spans = l->workers[l->worker_of[i]].spans.items + l->first_span[i];
	for (unsigned i = 0; i < WORKERS; i++)
		scene->laid_columns[i] = l->workers[i].spans.items;
	end_layout(l);
}

void scene_lay(struct scene *scene, bool for_good)
{
	struct layout l;
	uint64_t total = begin_layout(&l, scene);

	mem_populate(l.waits, total * sizeof(*l.waits));
	if (for_good && mem_is_scarce())
		lay_sparingly(&l, total > SMALL_SCENE);
	else
		lay_at_once(&l, total, for_good);
	scene_lay_wakes(scene);
	for (uint32_t i = 0; i < scene->fuse_count; i++)
		scene_lay_fuse_wait(scene, &scene->fuse[i]);
}

/* ---- thread by thread ---- */

void scene_lay_lazily(struct scene *scene)
{
	struct scene_lazy *lazy = scene->lazy = mem_zalloc(sizeof(*lazy));
	uint64_t total = begin_layout(&lazy->layout, scene);

	scene->pending = mem_alloc((size_t)scene->thread_count + 1);
	if (scene->fuse_count) {
		lazy->fuse = mem_zalloc(arena_array_bytes(sizeof(*lazy->fuse), scene->thread_count));
		lazy->next_fuse = mem_alloc(arena_array_bytes(sizeof(*lazy->next_fuse), scene->fuse_count));
	}
	for (uint32_t i = scene->fuse_count; i-- > 0; ) {
		lazy->next_fuse[i] = lazy->fuse[scene->fuse[i].thread];
		lazy->fuse[scene->fuse[i].thread] = i + 1;
	}
	memset(scene->pending, PENDING_waits | PENDING_spans | PENDING_episodes | PENDING_wakes, (size_t)scene->thread_count + 1);
	scene->episodes = scene->laid_columns[LAID_episodes] = mem_alloc(arena_array_bytes(sizeof(*scene->episodes), total));
	scene->wakes = scene->laid_columns[LAID_wakes] = mem_alloc(arena_array_bytes(sizeof(*scene->wakes), total));
}

static void forget_spans(struct scene_lazy *lazy, uint32_t thread)
{
	struct scene_thread *t = &lazy->layout.scene->threads[thread];

	free((void *)(uintptr_t)t->spans);
	t->spans = NULL;
	lazy->spared_bytes -= (t->span_count + 1) * sizeof(*t->spans);
	lazy->layout.scene->pending[thread] |= PENDING_spared;
}

void scene_lazy_free(struct scene_lazy *lazy)
{
	if (!lazy)
		return;
	end_layout(&lazy->layout);
	for (size_t i = 0; i < lazy->spared.length; i++)
		forget_spans(lazy, lazy->spared.items[i]);
	vec_done(&lazy->spared);
	vec_done(&lazy->layout.workers[0].spans);
	free(lazy->woken);
	free(lazy->first_woken);
	free(lazy->fuse);
	free(lazy->next_fuse);
	free(lazy);
}

void scene_on_laid(struct scene *scene, void (*laid)(void *data, struct scene *scene, uint32_t thread), void *data)
{
	scene->lazy->laid = laid;
	scene->lazy->laid_data = data;
}

#define POPULATED_LEAST 256u   /* waits, whose pages are made at once */

void scene_lay_waits_of(const struct scene *scene, uint32_t thread)
{
	struct scene_lazy *lazy = scene->lazy;
	struct scene *own = lazy->layout.scene;
	uint32_t first = own->threads[thread].wait, end = thread + 1 < own->thread_count ? own->threads[thread + 1].wait : own->wait_count;

	if (end - first >= POPULATED_LEAST)
		mem_populate(&own->waits[first], (end - first) * sizeof(*own->waits));
	lay_waits(&lazy->layout, &lazy->layout.workers[0], thread);
	for (uint32_t i = lazy->fuse ? lazy->fuse[thread] : 0; i; i = lazy->next_fuse[i - 1])
		scene_lay_fuse_wait(own, &own->fuse[i - 1]);
	own->pending[thread] &= (uint8_t)~PENDING_waits;
	if (lazy->laid)
		lazy->laid(lazy->laid_data, own, thread);
}

static void lay_spans_of(struct scene_lazy *lazy, uint32_t thread)
{
	struct layout *l = &lazy->layout;
	struct scene_thread *t = &l->scene->threads[thread];
	struct worker *worker = &l->workers[0];
	size_t bytes;
	bool spared;

	lay_spans(l, worker, thread);
	bytes = arena_array_bytes(sizeof(*t->spans), worker->spans.length);
	spared = lazy->spares && bytes >= SPARED_LEAST;
	t->spans = spared ? mem_realloc(worker->spans.items, bytes) : arena_memdup(&l->scene->laid, worker->spans.items, bytes);
	if (spared) {
		vec_push(&lazy->spared, thread);
		lazy->spared_bytes += bytes;
		*worker = (struct worker){ .layout = l, .path = worker->path };
	}
	vec_clear(&worker->spans);
	l->scene->pending[thread] &= (uint8_t)~(PENDING_spans | PENDING_spared);
}

void scene_spare(const struct scene *scene)
{
	struct scene_lazy *lazy = scene->lazy;
	size_t gone = 0;

	for (size_t most = SPARED_MOST; lazy && lazy->spared_bytes > most; most = SPARED_MOST / 2)
		forget_spans(lazy, lazy->spared.items[gone++]);
	if (gone)
		memmove(lazy->spared.items, lazy->spared.items + gone, (lazy->spared.length -= gone) * sizeof(*lazy->spared.items));
}

void scene_lay_thread(const struct scene *scene, uint32_t thread)
{
	struct scene_lazy *lazy = scene->lazy;
	struct scene *own = lazy->layout.scene;

	scene_need_waits(own, thread);
	if (own->pending[thread] & (PENDING_spans | PENDING_spared))
		lay_spans_of(lazy, thread);
	if (lazy->joining || !(own->pending[thread] & PENDING_episodes))
		return;
	lazy->joining = true;
	scene_join_waits_of(own, thread, own->wait_count, &lazy->episodes_populated);
	lazy->joining = false;
	own->pending[thread] &= (uint8_t)~PENDING_episodes;
}

static int by_time(const void *a, const void *b)
{
	const struct wake *x = a, *y = b;

	return scene_wake_is_later(x, y) ? 1 : scene_wake_is_later(y, x) ? -1 : 0;
}

void scene_lay_wakes_of(const struct scene *scene, uint32_t thread)
{
	struct scene_lazy *lazy = scene->lazy;
	struct scene *own = lazy->layout.scene;
	struct scene_thread *t = &own->threads[thread];

	if (!lazy->woken)
		lazy->woken = graph_waits_by_waker(own->graph, &lazy->first_woken);
	own->pending[thread] &= (uint8_t)~PENDING_wakes;
	t->wake = own->wake_count;
	for (uint32_t i = lazy->first_woken[thread]; i < lazy->first_woken[thread + 1]; i++) {
		struct graph_wait g;
		struct wait w;

		if (!graph_wait_plain(own->graph, lazy->woken[i], &g) || g.thread >= own->thread_count)
			continue;
		fill_wait(own, &g, &w);
		if (scene_is_wake(&w))
			own->wakes[own->wake_count++] = (struct wake){ w.end_ns, w.end_event, thread, g.thread };
	}
	t->wake_count = own->wake_count - t->wake;
	if (t->wake_count)
		qsort(own->wakes + t->wake, t->wake_count, sizeof(*own->wakes), by_time);
}

bool scene_wait_at(const struct scene *scene, uint32_t thread, uint64_t time_ns, struct wait *ret_wait)
{
	/* what it waits for is told by the requests, not by the switches */
	if (scene->lazy && scene->lazy->fuse && scene->lazy->fuse[thread])
		scene_need_waits(scene, thread);
	if (scene->pending && scene->pending[thread] & PENDING_waits) {
		struct graph_waits walk = graph_waits_of(scene->graph, thread, time_ns, UINT64_MAX);
		struct graph_wait g;

		walk.plain = true;
		if (!graph_waits_next(&walk, &g))
			return false;
		fill_wait(scene, &g, ret_wait);
		set_begin(scene, ret_wait);
	} else {
		uint32_t low = scene->threads[thread].wait, high = low + scene->threads[thread].wait_count;

		/* its spans are not needed for that */
		SEARCH(low, high, middle, scene->waits[middle].start_ns < time_ns);
		if (low == scene->threads[thread].wait)
			return false;
		*ret_wait = scene->waits[low - 1];
	}
	return ret_wait->start_ns < time_ns && ret_wait->end_ns > time_ns;
}

bool scene_may_wait_for(const struct scene *scene, uint32_t thread, uint64_t kinds)
{
	const struct scene_gathered *gathered = &scene->gathered[thread];

	if (!scene->pending || !(scene->pending[thread] & PENDING_waits) || graph_waits_for(scene->graph, thread, kinds) ||
	    kinds >> WAIT_KIND_fuse & 1)
		return true;
	for (size_t i = 0; i < gathered->found.length; i++)
		if (kinds >> (gathered->found.items[i].said.wait & 63) & 1)
			return true;
	return false;
}
