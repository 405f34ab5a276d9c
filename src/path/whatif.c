/* What would help, see whatif.h. */
#include "path/whatif.h"

#include <math.h>
#include <string.h>

#include "path/row_shares.h"

#define ROWS_TRIED 3
#define ROW_LEAST 50u        /* per mille of the path */
#define POLL_LEAST 10u       /* per mille of the path */
#define ALWAYS_OFF 0.05      /* of the run: what an estimate is off at least */
#define ORDER_OFF 0.1        /* ... where another order of threads is all that changes */
#define SHARED_OFF 0.25      /* of what changes: who has a lock that several have at once comes in another order then */
#define LOCKS_TRIED 8u
#define LOOPS_LOOKED 200u
#define THREADS_LOOKED 64u
#define SHARED_PART 4u       /* of the time in which somebody has a lock: from then on several at once count */
#define POOL_LIVES 4u        /* this part of the run its threads live at least */
#define POOL_BUSY 9u         /* tenths of the time in which they work */
#define NEAR 0.1             /* of the run: how far the unchanged replay may be off for its processors to be believed */
#define SAME 0.01            /* ... and how far it may be off for a condition to have been met all the time */
#define FAR 0.2              /* ... and from where on it leaves too much unexplained to tell what a change does */

struct trying {
	struct naming *naming;
	const struct script *script;
	const struct fold *fold;
	const struct holds *holds;
	double *places, *threads, *shares;
	struct row_shares of_rows;
	unsigned processors;
	double run_ns;
	/* Unchanged replays: locks go to who asks first; where threads then wait for each other for ever, as what one does
	 * with a lock depends on whose turn it is, locks go from hand to hand as they did. */
	struct unchanged {
		bool ends;
		double base_ns[2];   /* processors handed out anew, and as they were */
		double alone_ns;     /* the second without programs that are not of the run; 0 not known */
		bool asked_first;    /* it takes as long when answers come behind questions: then they do */
	} orders[2], *u;
};

static void set_row(struct trying *t, const struct fold_row *row, double factor, double sigmas)
{
	row_shares_forget(&t->of_rows);
	for (size_t i = 0; i < t->script->places.length; i++)
		t->places[i] = 1 - row_share(&t->of_rows, &t->script->places.items[i], row, sigmas) * (1 - factor);
}

/* Who finds locks free does not spin for them, and wakes nobody: what that took on processors goes, too. */
static void set_free_locks(struct trying *t)
{
	for (size_t i = 0; i < t->script->places.length; i++)
		if (t->script->places.items[i].thread)
			t->places[i] *= 1 - row_share_locking(&t->of_rows, t->script->places.items[i].who);
}

static bool is_on_path(const struct trying *t, const struct op_place *place)
{
	for (size_t i = 0; i < t->fold->rows.length; i++) {
		const struct fold_row *row = &t->fold->rows.items[i];

		if (row->lock == place->lock && row->stood == place->function && role_is_same(row->who, place->who))
			return row->ns * 1000 >= t->fold->total_ns * POLL_LEAST;
	}
	return false;
}

/* Somebody else waits in the row's function at that moment. */
static bool is_in_row(const struct trying *t, const struct fold_row *row, uint32_t other_than, uint64_t time_ns)
{
	const struct scene *scene = t->naming->scene;
	unsigned looked = 0;

	for (uint32_t i = 1; i < t->script->threads.length && looked < THREADS_LOOKED; i++) {
		const struct span *span;

		if (i == other_than || !t->script->threads.items[i].count || !row_shares_changes(row, t->script->threads.items[i].who))
			continue;
		looked++;
		span = scene_span(scene, i, time_ns);
		if (span && span->state == SPAN_WAITING && span_wait(span) &&
		    naming_stack(t->naming, scene->waits[span_wait(span)].ustack).function == row->stood)
			return true;
	}
	return false;
}

/* Whether loops that sleep again and again at the place look for the end of the row's work: who does that does not go on in the
 * middle of it. */
static bool looks_for(const struct trying *t, const struct op_place *place, const struct fold_row *row)
{
	const struct scene *scene = t->naming->scene;
	unsigned loops = 0, in_row = 0;

	for (uint32_t i = 1; i < t->script->threads.length && loops < LOOPS_LOOKED; i++) {
		const struct scene_thread *thread = &scene->threads[i];

		for (uint32_t k = 0; k < thread->episode_count && role_is_same(t->script->threads.items[i].who, place->who) && loops < LOOPS_LOOKED; k++) {
			const struct episode *e = &scene->episodes[thread->episode + k];

			if (e->slices < 2 || scene->waits[e->last].kind != WAIT_KIND_sleep || e->end_ns <= t->script->from_ns ||
			    e->end_ns >= t->script->to_ns)
				continue;
			loops++;
			in_row += is_in_row(t, row, i, e->end_ns);
		}
	}
	return in_row * 2 <= loops;
}

/* Loops that sleep and look again, and for which the run waits, sleep less often as what they look for comes sooner. Returns
 * whether there are any. */
static bool set_polls(struct trying *t, const struct fold_row *row, double factor)
{
	bool any = false;

	for (size_t i = 0; i < t->script->places.length; i++)
		if (t->script->places.items[i].polls && t->places[i] == 1 && is_on_path(t, &t->script->places.items[i]) &&
		    looks_for(t, &t->script->places.items[i], row)) {
			t->places[i] *= factor;
			any = true;
		}
	return any;
}

static uint32_t set_role(struct trying *t, struct role_name who)
{
	uint32_t count = 0;

	for (size_t i = 0; i < t->script->threads.length; i++)
		count += t->script->threads.items[i].count && role_is_same(t->script->threads.items[i].who, who);
	for (size_t i = 0; i < t->script->threads.length; i++)
		t->threads[i] = role_is_same(t->script->threads.items[i].who, who) ? (double)count / (count + 1) : 1;
	return count;
}

/* All work in the function that takes a lock, of who takes it, as it is changed: if all of it is done with the lock, the
 * run takes as long at least, though hardly anybody had to wait for the lock until then. */
static double work_with_lock(struct trying *t, const struct fold_row *lock)
{
	double sum = 0;

	row_shares_forget(&t->of_rows);
	for (size_t i = 0; i < t->script->threads.length; i++) {
		const struct op_thread *thread = &t->script->threads.items[i];

		for (uint32_t k = 0; k < thread->count && role_is_same(thread->who, lock->who); k++) {
			const struct op *op = &t->script->ops.items[thread->first + k];
			const struct op_place *place = &t->script->places.items[op->place];

			if (op->kind != OP_COMPUTE && op->kind != OP_DELAY)
				continue;
			if (t->shares[op->place] < 0)
				t->shares[op->place] = place->lock == lock->lock ? 1 : place->thread ? row_share_outside(&t->of_rows, place, lock, 0) : 0;
			sum += (double)op->value * t->places[op->place] * t->shares[op->place];
		}
	}
	return sum;
}

/* The longest of those. */
static double locks_least(struct trying *t, uint32_t other_than)
{
	struct vec(struct fold_row) locks = { 0 };
	double most = 0;

	for (size_t i = 0; i < t->holds->list.length && locks.length < LOCKS_TRIED; i++) {
		const struct hold *h = &t->holds->list.items[i];
		struct role_name who = t->script->threads.items[h->thread].who;
		bool known = h->shared || !h->function || h->lock == other_than;

		for (size_t k = 0; k < locks.length && !known; k++)
			known = locks.items[k].lock == h->lock && locks.items[k].function == h->function && role_is_same(locks.items[k].who, who);
		if (!known)
			vec_push(&locks, ((struct fold_row){ .lock = h->lock, .function = h->function, .who = who }));
	}
	for (size_t i = 0; i < locks.length; i++) {
		double work;

		for (size_t k = 0; k < t->script->places.length; k++)
			t->shares[k] = -1;
		work = work_with_lock(t, &locks.items[i]);
		most = work > most ? work : most;
	}
	vec_done(&locks);
	row_shares_forget(&t->of_rows);
	return most;
}

/* The run's time under the conditions, in both readings; false when a replay does not end. */
static bool try_both(const struct trying *t, struct replay_conditions conditions, double ret_ns[2])
{
	conditions.locks_in_turn = t->u == &t->orders[1];
	conditions.asked_first ^= t->u->asked_first;
	for (int i = 0; i < 2; i++) {
		uint64_t ns;

		conditions.queued_as_it_was = i;
		if (!replay(t->script, &conditions, &ns))
			return false;
		ret_ns[i] = t->run_ns * (double)ns / t->u->base_ns[i];
	}
	return true;
}

/* The run's time in the proportion that is seen where no other programs take processors: the machine may have been busy
 * for once. False when that replay does not end. */
static bool try_alone(const struct trying *t, struct replay_conditions conditions, double *ret_ns)
{
	uint64_t ns;

	conditions.locks_in_turn = t->u == &t->orders[1];
	conditions.asked_first = t->u->asked_first;
	conditions.queued_as_it_was = conditions.without_others = true;
	if (!t->u->alone_ns || !replay(t->script, &conditions, &ns))
		return false;
	*ret_ns = t->run_ns * (double)ns / t->u->alone_ns;
	return true;
}

/* A timer that fires each period paces the thread, and mostly did so before the thread came to wait for it: those times are
 * not in the trace, and which of them it would wait for if it came sooner is not known. */
static bool is_paced(const struct trying *t, uint32_t thread)
{
	const struct scene *scene = t->naming->scene;
	uint64_t last = 0, period = UINT64_MAX, seen = 0;

	for (uint32_t i = scene_waits_from(scene, thread, t->script->from_ns); i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (object_kind(w->object) != OBJECT_KIND_timerfd || w->end == WAIT_END_OPEN)
			continue;
		if (seen++ && w->end_ns - last < period)
			period = w->end_ns - last;
		last = w->end_ns;
	}
	return seen == 1 || (seen > 1 && seen * period < (t->script->to_ns - t->script->from_ns) / 2);
}

static bool is_role_paced(const struct trying *t, struct role_name who)
{
	for (uint32_t i = 1; i < t->script->threads.length; i++)
		if (t->script->threads.items[i].count && role_is_same(t->script->threads.items[i].who, who) && is_paced(t, i))
			return true;
	return false;
}

static void widen(struct change *c, double ns)
{
	uint64_t whole = ns < 0 ? 0 : (uint64_t)ns;

	if (whole < c->low_ns)
		c->low_ns = whole;
	if (whole > c->high_ns)
		c->high_ns = whole;
}

/* What a run takes at least, however many share the role's work: all its work on all
 * processors; the role's longest piece, which cannot be shared. */
static double shared_least(const struct trying *t, struct role_name who)
{
	double all = 0, longest = 0;

	for (size_t i = 0; i < t->script->threads.length; i++) {
		const struct op_thread *thread = &t->script->threads.items[i];
		bool of_run = thread->count && thread->of_run;

		for (uint32_t k = 0; k < thread->count && of_run; k++) {
			const struct op *op = &t->script->ops.items[thread->first + k];

			if (op->kind == OP_COMPUTE)
				all += (double)op->value;
			if (op->kind <= OP_DELAY && role_is_same(thread->who, who) && (double)op->value > longest)
				longest = (double)op->value;
		}
	}
	return all / t->processors > longest ? all / t->processors : longest;
}

/* True for threads that work on and on, and rarely wait for others, or hardly ever long: what they do can be shared by more.
 * Who is made for one piece of work, and another one for the next, is no pool. */
static bool works_on(const struct trying *t, const struct fold_row *row)
{
	uint64_t waits = 0;

	for (size_t i = 0; i < t->fold->pools.length; i++) {
		const struct fold_pool *pool = &t->fold->pools.items[i];

		if (!role_is_same(pool->who, row->who))
			continue;
		if (pool->lived_ns * POOL_LIVES < (uint64_t)t->run_ns * pool->threads)
			return false;
		if (pool->worked_ns >= pool->lived_ns / 10 * POOL_BUSY)
			return true;
	}
	for (size_t i = 0; i < t->script->threads.length; i++) {
		const struct op_thread *thread = &t->script->threads.items[i];

		for (uint32_t k = 0; k < thread->count && role_is_same(thread->who, row->who); k++)
			waits += t->script->ops.items[thread->first + k].kind == OP_AWAIT || t->script->ops.items[thread->first + k].kind == OP_LOCK;
	}
	return waits * 2 < row->count;
}

/* Several have it at once, and not only now and then: who waits for it waits for them all, in an order that replay does
 * not know; that takes as long as what is done meanwhile. */
static bool is_shared(const struct trying *t, uint32_t lock)
{
	uint64_t shared = 0, all = 0;

	for (size_t i = 0; lock && i < t->holds->list.length; i++) {
		const struct hold *h = &t->holds->list.items[i];

		all += h->lock == lock ? h->end_ns - h->start_ns : 0;
		shared += h->lock == lock && h->shared ? h->end_ns - h->start_ns : 0;
	}
	return shared > all / SHARED_PART;
}

/* The run's time in both readings, with locks in the first of the two orders in which all come to their end. */
static bool try_orders(struct trying *t, struct replay_conditions conditions, double ret_ns[2])
{
	for (int i = 0; i < 2; i++) {
		t->u = &t->orders[i];
		if (t->u->ends && try_both(t, conditions, ret_ns))
			return true;
	}
	return false;
}

struct try {
	struct change change;
	const struct fold_row *row;
	struct replay_conditions conditions;
	double factor;            /* of the row's work */
	double least;             /* the run takes, whatever replay says */
	int reading;              /* the one that is told */
};

static void widen_to(struct try *a, double ns)
{
	widen(&a->change, ns < a->least ? a->least : ns);
}

static bool changes_work(const struct try *a)
{
	return a->change.kind == CHANGE_HALF || a->change.kind == CHANGE_NOTHING;
}

/* In the told reading, where the replay ends. */
static bool try_reading(const struct trying *t, const struct try *a, double *ret_ns)
{
	double ns[2];

	if (!try_both(t, a->conditions, ns))
		return false;
	*ret_ns = ns[a->reading];
	return true;
}

/* Who sleeps and looks again sleeps less often as what he looks for comes sooner, but at other times: how often nobody knows. */
static void try_polls(struct trying *t, struct try *a)
{
	double ns;

	if (!set_polls(t, a->row, a->factor) || !try_reading(t, a, &ns))
		return;
	widen(&a->change, ns);
	a->change.ns = (uint64_t)ns;
	set_row(t, a->row, a->factor, 0);
	if (set_polls(t, a->row, 0) && try_reading(t, a, &ns))
		widen(&a->change, ns);
}

/* The row's work as much more or less as samples leave open. */
static void try_samples(struct trying *t, const struct try *a, struct change *c)
{
	double ns;

	for (int sigmas = -2; sigmas <= 2; sigmas += 4) {
		set_row(t, a->row, a->factor, sigmas);
		if (try_reading(t, a, &ns))
			widen(c, ns);
	}
	set_row(t, a->row, a->factor, 0);
}

/* What other readings of the trace give than the one that is told. */
static void find_bounds(struct trying *t, struct try *a, const double ns[2])
{
	struct change *c = &a->change;
	double other, held, off;

	for (int i = 0; i < 2; i++) {
		double replayed = ns[i] * t->u->base_ns[i] / t->run_ns;

		widen(c, ns[i]);
		/* What the unchanged replay leaves unexplained may go, too, or stay as it is. */
		if (i == a->reading)
			widen_to(a, replayed);
		widen_to(a, replayed + t->run_ns - t->u->base_ns[i]);
	}
	if (try_alone(t, a->conditions, &other))
		widen_to(a, other);
	a->conditions.free_waits = true;
	set_free_locks(t);
	if (try_reading(t, a, &other))
		widen_to(a, other);
	a->conditions.free_waits = false;
	set_row(t, a->row, a->factor, 0);
	a->conditions.asked_first = true; /* where it was not, and the other way round */
	if (try_reading(t, a, &other))
		widen_to(a, other);
	a->conditions.asked_first = false;
	if (c->kind == CHANGE_ONE_MORE || is_role_paced(t, a->row->who))
		widen(c, t->run_ns);
	held = locks_least(t, c->kind == CHANGE_TWO_HOLDERS ? a->row->lock : 0);
	if (held < t->run_ns && held > (double)c->high_ns)
		widen(c, held);
	if ((a->row->by_samples || a->row->lock) && changes_work(a))
		try_samples(t, a, c);
	if (changes_work(a))
		try_polls(t, a);
	if (is_shared(t, a->row->lock)) {
		widen(c, (double)c->ns - (t->run_ns - (double)c->ns) * SHARED_OFF);
		widen(c, (double)c->ns + (t->run_ns - (double)c->ns) * SHARED_OFF);
	}
	off = (changes_work(a) ? ALWAYS_OFF : ORDER_OFF) * t->run_ns;
	widen(c, (double)c->low_ns - off);
	widen(c, (double)c->high_ns + off);
}

static void try_change(struct trying *t, struct change change, struct changes *changes)
{
	struct try a = { .change = change, .row = &t->fold->rows.items[change.row],
			 .conditions = { .factors = t->places, .processors = t->processors, .processors_before = t->processors },
			 .factor = change.kind == CHANGE_HALF ? 0.5 : change.kind == CHANGE_NOTHING ? 0 : 1 };
	double ns[2];

	set_row(t, a.row, a.factor, 0);
	switch (change.kind) {
	case CHANGE_HALF:
	case CHANGE_NOTHING:
		break;
	case CHANGE_TWO_HOLDERS:
		a.conditions.shared_lock = a.row->lock;
		break;
	case CHANGE_ONE_MORE:
		a.change.threads = set_role(t, a.row->who);
		a.conditions.thread_factors = t->threads;
		a.least = shared_least(t, a.row->who);
		break;
	case CHANGE_PROCESSOR:
		a.conditions.processors++;
		break;
	}
	a.change.told = !(change.kind == CHANGE_TWO_HOLDERS && is_shared(t, a.row->lock)) && try_orders(t, a.conditions, ns);
	if (a.change.told) {
		/* Who has less to do stands less for a processor; where more threads can run at once that must be found out, as
		 * far as the unchanged replay comes near: else others, of whom too little is told, took the processors. */
		a.reading = change.kind == CHANGE_PROCESSOR || fabs(t->u->base_ns[0] / t->run_ns - 1) < NEAR ? 0 : 1;
		for (int i = 0; i < 2; i++)
			ns[i] = ns[i] < a.least ? a.least : ns[i];
		a.change.ns = a.change.low_ns = a.change.high_ns = (uint64_t)ns[a.reading];
		find_bounds(t, &a, ns);
	}
	vec_push(changes, a.change);
}

static void try_all(struct trying *t, struct changes *changes)
{
	const struct role_name root = t->script->threads.items[t->script->root].who;

	for (uint32_t i = 0; i < t->fold->rows.length && i < ROWS_TRIED; i++) {
		const struct fold_row *row = &t->fold->rows.items[i];

		if (row->ns * 1000 < t->fold->total_ns * ROW_LEAST)
			break;
		try_change(t, (struct change){ .kind = CHANGE_HALF, .row = i }, changes);
		try_change(t, (struct change){ .kind = CHANGE_NOTHING, .row = i }, changes);
		if (row->lock)
			try_change(t, (struct change){ .kind = CHANGE_TWO_HOLDERS, .row = i }, changes);
		else if (!role_is_same(row->who, root) && works_on(t, row))
			try_change(t, (struct change){ .kind = CHANGE_ONE_MORE, .row = i }, changes);
	}
	if (t->fold->rows.length)
		try_change(t, (struct change){ .kind = CHANGE_PROCESSOR }, changes);
}

/* How long it takes unchanged. */
static void try_unchanged(const struct trying *t, bool in_turn, struct unchanged *u)
{
	struct replay_conditions conditions = { .processors = t->processors, .processors_before = t->processors, .locks_in_turn = in_turn };
	uint64_t ns = 0;

	u->ends = true;
	for (int i = 0; i < 2 && u->ends; i++) {
		conditions.queued_as_it_was = i;
		u->ends = replay(t->script, &conditions, &ns) && ns;
		u->base_ns[i] = (double)ns;
	}
	conditions.asked_first = true;
	u->asked_first = u->ends && replay(t->script, &conditions, &ns) && fabs((double)ns / u->base_ns[1] - 1) < SAME;
	conditions.asked_first = u->asked_first;
	conditions.without_others = true;
	if (u->ends && replay(t->script, &conditions, &ns))
		u->alone_ns = (double)ns;
}

/* Locks that are spun for, say, leave more unexplained than what a change would do. */
static bool comes_near(const struct trying *t)
{
	const struct unchanged *u = t->orders[0].ends ? &t->orders[0] : &t->orders[1];

	return u->ends && (fabs(u->base_ns[0] / t->run_ns - 1) < FAR || fabs(u->base_ns[1] / t->run_ns - 1) < FAR);
}

void whatif_find(struct naming *naming, const struct fold *fold, const struct script_question *question, unsigned processors,
		 struct changes *changes)
{
	const struct span *last = scene_span(naming->scene, question->root, question->to_ns - 1);
	struct script script;
	struct holds holds;
	struct trying t = { .naming = naming, .fold = fold, .holds = &holds, .script = &script,
			    .of_rows = { .naming = naming, .script = &script, .fold = fold, .holds = &holds }, .processors = processors ? processors : 1,
			    .run_ns = (double)(question->to_ns - question->from_ns) };

	/* Of a run that still waits as the window ends nobody knows when it would have gone on. */
	if (last && last->state == SPAN_WAITING)
		return;
	holds_find(naming, &holds);
	script_make(naming, &holds, question, &script);
	for (int i = 0; i < 2; i++)
		try_unchanged(&t, i, &t.orders[i]);
	if (comes_near(&t)) {
		t.places = mem_zalloc(arena_array_bytes(sizeof(*t.places), script.places.length + 1));
		t.shares = mem_zalloc(arena_array_bytes(sizeof(*t.shares), script.places.length + 1));
		t.threads = mem_zalloc(arena_array_bytes(sizeof(*t.threads), script.threads.length));
		try_all(&t, changes);
		free(t.places);
		free(t.threads);
		free(t.shares);
		row_shares_done(&t.of_rows);
	}
	script_done(&script);
	holds_done(&holds);
}
