/* How much of a place's work is a row's, see row_shares.h. */
#include "path/row_shares.h"

#include <math.h>

#define OTHERS_COUNT 3.0     /* so many samples of one's own count as much as those of all of the role */
#define INSIDE_LEAST 8.0     /* samples, from which on they tell how much of what is done with a lock is done in the function */
#define INSIDE_PART 0.25     /* ... that takes it; below that it gives it away to its caller */

/* Who changes a function changes it for all of the program that call it. */
bool row_shares_changes(const struct fold_row *row, struct role_name who)
{
	return row->function ? who.program == row->who.program : role_is_same(who, row->who);
}

/* The function, of those that the fold told apart by samples, in which the sample is; 0 none. */
static uint32_t function_of(const struct row_shares *shares, const struct sample *sample, struct role_name who, uint32_t from)
{
	const struct tables *tables = shares->naming->scene->tables;

	for (uint32_t at = sample->ustack; at && at < tables->frame_count; at = tables->frames[at].parent) {
		uint32_t function = naming_function(shares->naming, at);

		for (size_t i = 0; i < shares->fold->shares.length && function; i++) {
			const struct fold_share *s = &shares->fold->shares.items[i];

			if (s->to == function && s->from == from && s->who.program == who.program && s->who.thread == who.thread)
				return function;
		}
	}
	return 0;
}

/* Of a thread's samples with the place's lock, or outside of locks, those in the function. */
static void add_samples(const struct row_shares *shares, uint32_t number, const struct op_place *place, uint32_t function, struct own_samples *own)
{
	const struct scene *scene = shares->naming->scene;
	const struct scene_thread *thread = &scene->threads[number];
	uint64_t until;

	for (uint32_t i = scene_samples_from(scene, number, shares->script->from_ns); i < thread->samples.count; i++) {
		const struct sample *s = &scene->samples[thread->samples.items[i]];
		const struct hold *hold;

		if (s->time >= shares->script->to_ns)
			break;
		hold = holds_at(shares->holds, number, s->time, &until);
		if (!naming_stack(shares->naming, s->ustack).function || (hold ? hold->lock : 0) != place->lock)
			continue;
		own->all++;
		own->told += function_of(shares, s, place->who, place->function) == function;
		own->on_stack += naming_is_on_stack(shares->naming, s->ustack, function);
	}
}

static struct own_samples own_samples(const struct row_shares *shares, const struct op_place *place, uint32_t function)
{
	struct own_samples own = { 0 };

	add_samples(shares, place->thread, place, function, &own);
	return own;
}

/* The same of all threads of the place's role. */
static struct own_samples role_samples(struct row_shares *shares, const struct op_place *place, uint32_t function)
{
	struct own_samples all = { 0 };

	for (size_t i = 0; i < shares->asked.length; i++)
		if (shares->asked.items[i].lock == place->lock && role_is_same(shares->asked.items[i].who, place->who))
			return shares->asked.items[i].samples;
	for (uint32_t i = 0; i < shares->script->threads.length; i++)
		if (shares->script->threads.items[i].count && role_is_same(shares->script->threads.items[i].who, place->who))
			add_samples(shares, i, place, function, &all);
	vec_push(&shares->asked, ((struct asked_lock){ place->lock, place->who, all }));
	return all;
}

static double more_or_less(double part, double of, double sigmas)
{
	part += sigmas * sqrt(part * (1 - part) / (of > 1 ? of : 1));
	return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* What is done with a lock is no less when nobody waits for it, or another lock is held, too:
 * how much of a place's work that is, samples tell. */
double row_share_outside(struct row_shares *shares, const struct op_place *place, const struct fold_row *row, double sigmas)
{
	struct own_samples own = own_samples(shares, place, row->function), role = role_samples(shares, place, row->function);

	/* In the function that it was started with a thread is all the time. */
	if (!role.all || row->function == place->who.thread)
		return 0;
	return more_or_less((own.on_stack + OTHERS_COUNT * role.on_stack / role.all) / (own.all + OTHERS_COUNT), own.all + OTHERS_COUNT, sigmas);
}

/* Who gives a lock back while others wait may take it again before they come: it did something else meanwhile, as far as
 * samples are not in the function that takes the lock; unless that returns with it. */
static double share_inside(struct row_shares *shares, const struct op_place *place, const struct fold_row *row, double sigmas)
{
	struct own_samples own = own_samples(shares, place, row->function), role = role_samples(shares, place, row->function);

	if (role.all < INSIDE_LEAST || role.on_stack < role.all * INSIDE_PART)
		return 1;
	return more_or_less((own.on_stack + OTHERS_COUNT * role.on_stack / role.all) / (own.all + OTHERS_COUNT), own.all + OTHERS_COUNT, sigmas);
}

/* With the row's lock it waits at the same place for other things, at times: then it does so when nobody stands for the lock,
 * too, or another one that it has meanwhile is wanted. */
static bool waits_with(const struct row_shares *shares, const struct fold_row *row, const struct op_place *place)
{
	for (size_t i = 0; place->ustack && i < shares->script->places.length; i++) {
		const struct op_place *p = &shares->script->places.items[i];

		if (p->lock == row->lock && p->ustack == place->ustack && p->function == row->stood && role_is_same(p->who, place->who))
			return true;
	}
	return false;
}

/* How much of a place's work is the row's; `sigmas` more or less where samples tell. One of
 * a role may do what the others do not: its own samples count, the fewer they are the more
 * its role's, too. */
double row_share(struct row_shares *shares, const struct op_place *place, const struct fold_row *row, double sigmas)
{
	struct own_samples own;
	bool divided = false;
	double of;

	if (!row_shares_changes(row, place->who))
		return 0;
	if (row->lock && place->lock != row->lock && place->thread)
		return row_share_outside(shares, place, row, sigmas);
	/* Who changes a function changes it for those, too, who have a lock meanwhile. */
	if (place->lock && !row->lock && row->function)
		return place->thread ? row_share_outside(shares, place, row, sigmas) : place->function == row->stood;
	if (place->lock != row->lock)
		return row->lock && waits_with(shares, row, place);
	if (row->lock && place->thread && place->function == row->stood)
		return share_inside(shares, place, row, sigmas);
	/* In no function that is known: between two waits elsewhere, say. */
	if (row->lock && place->thread && place->function == place->who.thread)
		return row_share_outside(shares, place, row, sigmas);
	if (!place->runs)
		return place->function == row->stood;
	for (size_t i = 0; i < shares->fold->shares.length; i++) {
		const struct fold_share *s = &shares->fold->shares.items[i];

		if (s->from != place->function || !role_is_same(s->who, place->who))
			continue;
		divided = true;
		if (s->to != row->function)
			continue;
		own = own_samples(shares, place, row->function);
		of = own.all + 1 / (1 + own.all);
		return more_or_less((own.told + 1 / (1 + own.all) * s->part / s->of) / of, of, sigmas);
	}
	/* Samples may have told all of it elsewhere: who comes back to a function was not in it all the time. */
	return !divided && place->function == row->stood;
}

static bool is_of_locks(struct naming *naming, uint32_t stack)
{
	return naming_stack(naming, stack).class == WAIT_CLASS_lock;
}

static double find_locking(struct row_shares *shares, struct role_name who)
{
	const struct scene *scene = shares->naming->scene;
	double all = 0, locking = 0;

	for (uint32_t i = 0; i < shares->script->threads.length; i++) {
		const struct scene_thread *thread = &scene->threads[i];

		if (!shares->script->threads.items[i].count || !role_is_same(shares->script->threads.items[i].who, who))
			continue;
		for (uint32_t k = scene_samples_from(scene, i, shares->script->from_ns); k < thread->samples.count; k++) {
			const struct sample *s = &scene->samples[thread->samples.items[k]];

			if (s->time >= shares->script->to_ns)
				break;
			all++;
			locking += is_of_locks(shares->naming, s->ustack);
		}
	}
	return all ? locking / all : 0;
}

double row_share_locking(struct row_shares *shares, struct role_name who)
{
	struct locking_role role = { .who = who };

	for (size_t i = 0; i < shares->locking.length; i++)
		if (role_is_same(shares->locking.items[i].who, who))
			return shares->locking.items[i].share;
	role.share = find_locking(shares, who);
	vec_push(&shares->locking, role);
	return role.share;
}

void row_shares_forget(struct row_shares *shares)
{
	vec_clear(&shares->asked);
}

void row_shares_done(struct row_shares *shares)
{
	vec_done(&shares->asked);
	vec_done(&shares->locking);
}
