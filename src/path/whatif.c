/* What would help, see whatif.h. */
#include "path/whatif.h"

#include <math.h>
#include <string.h>

#define ROWS_TRIED 3
#define ROW_LEAST 50u        /* per mille of the path */
#define ALWAYS_OFF 0.05      /* of the run: what an estimate is off at least */
#define ORDER_OFF 0.1        /* ... where another order of threads is all that changes */
#define NEAR 0.1             /* of the run: how far the unchanged replay may be off for its processors to be believed */

struct trying {
	struct naming *naming;
	const struct script *script;
	const struct fold *fold;
	const struct holds *holds;
	double *places, *threads;
	unsigned processors;
	double run_ns;
	double base_ns[2];       /* unchanged replays: processors handed out anew, and as they were */
};

static bool same_role(struct role_name a, struct role_name b)
{
	return a.program == b.program && a.thread == b.thread;
}

/* The function, of those that the fold told apart by samples, in which the sample is; 0 none. */
static uint32_t function_of(const struct trying *t, const struct sample *sample, struct role_name who, uint32_t from)
{
	const struct tables *tables = t->naming->scene->tables;

	for (uint32_t at = sample->ustack; at && at < tables->frame_count; at = tables->frames[at].parent) {
		uint32_t function = naming_function(t->naming, at);

		for (size_t i = 0; i < t->fold->shares.length && function; i++) {
			const struct fold_share *s = &t->fold->shares.items[i];

			if (s->to == function && s->from == from && s->who.program == who.program && s->who.thread == who.thread)
				return function;
		}
	}
	return 0;
}

struct own_samples {
	double all, told, on_stack; /* told: the fold gave them to the function; on_stack: it was running then */
};

/* Of the thread's own samples, outside of locks, those in the function. */
static struct own_samples own_samples(const struct trying *t, const struct op_place *place, uint32_t function)
{
	const struct scene *scene = t->naming->scene;
	const struct scene_thread *thread = &scene->threads[place->thread];
	struct own_samples own = { 0 };
	uint64_t until;

	for (uint32_t i = scene_samples_from(scene, place->thread, t->script->from_ns); i < thread->samples.count; i++) {
		const struct sample *s = &scene->samples[thread->samples.items[i]];

		if (s->time >= t->script->to_ns)
			break;
		if (!naming_stack(t->naming, s->ustack).function || holds_at(t->holds, place->thread, s->time, &until))
			continue;
		own.all++;
		own.told += function_of(t, s, place->who, place->function) == function;
		own.on_stack += naming_is_on_stack(t->naming, s->ustack, function);
	}
	return own;
}

/* How much of a place's work is the row's; `sigmas` more or less where samples tell. One of
 * a role may do what the others do not: its own samples count, the fewer they are the more
 * its role's, too. */
static double share_of(const struct trying *t, const struct op_place *place, const struct fold_row *row, double sigmas)
{
	struct own_samples own;
	double part, of;

	if (!same_role(place->who, row->who))
		return 0;
	/* What is done with a lock is no less when nobody waits for it. */
	if (row->lock && !place->lock && place->runs) {
		own = own_samples(t, place, row->function);
		return own.all ? own.on_stack / own.all : 0;
	}
	if (place->lock != row->lock)
		return 0;
	if (!place->runs)
		return place->function == row->function;
	for (size_t i = 0; i < t->fold->shares.length; i++) {
		const struct fold_share *s = &t->fold->shares.items[i];

		if (s->from != place->function || s->to != row->function || !same_role(s->who, row->who))
			continue;
		own = own_samples(t, place, row->function);
		of = own.all + 1 / (1 + own.all);
		part = (own.told + 1 / (1 + own.all) * s->part / s->of) / of;
		part += sigmas * sqrt(part * (1 - part) / of);
		return part < 0 ? 0 : part > 1 ? 1 : part;
	}
	return place->function == row->function;
}

static void set_row(struct trying *t, const struct fold_row *row, double factor, double sigmas)
{
	for (size_t i = 0; i < t->script->places.length; i++)
		t->places[i] = 1 - share_of(t, &t->script->places.items[i], row, sigmas) * (1 - factor);
}

static uint32_t set_role(struct trying *t, struct role_name who)
{
	uint32_t count = 0;

	for (size_t i = 0; i < t->script->threads.length; i++)
		count += t->script->threads.items[i].count && same_role(t->script->threads.items[i].who, who);
	for (size_t i = 0; i < t->script->threads.length; i++)
		t->threads[i] = same_role(t->script->threads.items[i].who, who) ? (double)count / (count + 1) : 1;
	return count;
}

/* The run's time under the conditions, in both readings; false when a replay does not end. */
static bool try_both(const struct trying *t, struct replay_conditions conditions, double ret_ns[2])
{
	for (int i = 0; i < 2; i++) {
		uint64_t ns;

		conditions.queued_as_it_was = i;
		if (!replay(t->script, &conditions, &ns))
			return false;
		ret_ns[i] = t->run_ns * (double)ns / t->base_ns[i];
	}
	return true;
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
		bool of_run = thread->count && scene_descends_from(t->naming->scene, (uint32_t)i, scene_pid(t->naming->scene, t->script->root));

		for (uint32_t k = 0; k < thread->count && of_run; k++) {
			const struct op *op = &t->script->ops.items[thread->first + k];

			if (op->kind == OP_COMPUTE)
				all += (double)op->value;
			if (op->kind <= OP_DELAY && same_role(thread->who, who) && (double)op->value > longest)
				longest = (double)op->value;
		}
	}
	return all / t->processors > longest ? all / t->processors : longest;
}

/* True for threads that work on and on, and rarely wait for others: what they do can be shared by more. */
static bool works_on(const struct trying *t, const struct fold_row *row)
{
	uint64_t waits = 0;

	for (size_t i = 0; i < t->script->threads.length; i++) {
		const struct op_thread *thread = &t->script->threads.items[i];

		for (uint32_t k = 0; k < thread->count && same_role(thread->who, row->who); k++)
			waits += t->script->ops.items[thread->first + k].kind == OP_AWAIT || t->script->ops.items[thread->first + k].kind == OP_LOCK;
	}
	return waits * 2 < row->count;
}

/* Several have it at once: who waits for it waits for them all, in an order that replay does not know. */
static bool is_shared(const struct trying *t, uint32_t lock)
{
	for (size_t i = 0; lock && i < t->holds->list.length; i++)
		if (t->holds->list.items[i].lock == lock && t->holds->list.items[i].shared)
			return true;
	return false;
}

static void try_change(struct trying *t, struct change c, struct changes *changes)
{
	const struct fold_row *row = &t->fold->rows.items[c.row];
	struct replay_conditions conditions = { .factors = t->places, .processors = t->processors };
	double off = fabs(t->base_ns[0] / t->run_ns - 1), ns[2], least = 0, factor = c.kind == CHANGE_HALF ? 0.5 : 0;
	/* Who has less to do stands less for a processor; where more threads can run at once that must be found out, as far
	 * as the unchanged replay comes near: else others, of whom too little is told, took the processors. */
	int reading = c.kind == CHANGE_PROCESSOR || off < NEAR ? 0 : 1;

	set_row(t, row, c.kind == CHANGE_HALF || c.kind == CHANGE_NOTHING ? factor : 1, 0);
	switch (c.kind) {
	case CHANGE_HALF:
	case CHANGE_NOTHING:
		break;
	case CHANGE_TWO_HOLDERS:
		conditions.shared_lock = row->lock;
		break;
	case CHANGE_ONE_MORE:
		c.threads = set_role(t, row->who);
		conditions.thread_factors = t->threads;
		least = shared_least(t, row->who);
		break;
	case CHANGE_PROCESSOR:
		conditions.processors++;
		break;
	}
	c.told = !is_shared(t, row->lock) && try_both(t, conditions, ns);
	if (c.told) {
		for (int i = 0; i < 2; i++)
			ns[i] = ns[i] < least ? least : ns[i];
		c.ns = c.low_ns = c.high_ns = (uint64_t)ns[reading];
		widen(&c, ns[0]);
		widen(&c, ns[1]);
		if (c.kind == CHANGE_ONE_MORE)
			widen(&c, t->run_ns);
		if (row->by_samples && (c.kind == CHANGE_HALF || c.kind == CHANGE_NOTHING))
			for (int sigmas = -2; sigmas <= 2; sigmas += 4) {
				set_row(t, row, factor, sigmas);
				if (try_both(t, conditions, ns))
					widen(&c, ns[reading]);
			}
		factor = c.kind == CHANGE_HALF || c.kind == CHANGE_NOTHING ? ALWAYS_OFF : ORDER_OFF;
		widen(&c, (double)c.low_ns - factor * t->run_ns);
		widen(&c, (double)c.high_ns + factor * t->run_ns);
	}
	vec_push(changes, c);
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
		else if (!same_role(row->who, root) && works_on(t, row))
			try_change(t, (struct change){ .kind = CHANGE_ONE_MORE, .row = i }, changes);
	}
	if (t->fold->rows.length)
		try_change(t, (struct change){ .kind = CHANGE_PROCESSOR }, changes);
}

/* The script, and how long it takes unchanged; false when threads then wait for each other for ever. */
static bool make_unchanged(struct trying *t, const struct script_question *question, struct script *ret_script)
{
	script_make(t->naming, t->holds, question, ret_script);
	for (int i = 0; i < 2; i++) {
		struct replay_conditions same = { .processors = t->processors, .queued_as_it_was = i };
		uint64_t ns = 0;

		if (!replay(ret_script, &same, &ns) || !ns) {
			script_done(ret_script);
			return false;
		}
		t->base_ns[i] = (double)ns;
	}
	return true;
}

void whatif_find(struct naming *naming, const struct fold *fold, const struct script_question *question, unsigned processors,
		 struct changes *changes)
{
	const struct span *last = scene_span(naming->scene, question->root, question->to_ns - 1);
	struct script script;
	struct holds holds;
	struct trying t = { .naming = naming, .fold = fold, .holds = &holds, .script = &script, .processors = processors ? processors : 1,
			    .run_ns = (double)(question->to_ns - question->from_ns) };

	/* Of a run that still waits as the window ends nobody knows when it would have gone on. */
	if (last && last->state == SPAN_WAITING)
		return;
	holds_find(naming, &holds);
	if (make_unchanged(&t, question, &script)) {
		t.places = mem_zalloc(arena_array_bytes(sizeof(*t.places), script.places.length + 1));
		t.threads = mem_zalloc(arena_array_bytes(sizeof(*t.threads), script.threads.length));
		try_all(&t, changes);
		free(t.places);
		free(t.threads);
		script_done(&script);
	}
	holds_done(&holds);
}
