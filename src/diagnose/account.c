/* Adding up a walk's pieces, see account.h. */
#include "diagnose/account.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "diagnose/judgement.h"

static int bigger(const void *a, const void *b)
{
	const struct account *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

void account_threads(const struct scene *scene, const struct pieces *pieces, struct accounts *accounts)
{
	struct map index;

	map_init(&index);
	accounts->length = 0;
	for (size_t i = 0; i < pieces->length; i++) {
		const struct piece *p = &pieces->items[i];
		uint64_t ns = p->end_ns - p->start_ns;
		bool fresh;
		uint64_t *at = map_at(&index, p->thread, &fresh);
		struct account *a;

		if (fresh) {
			*at = accounts->length;
			vec_push(accounts, ((struct account){ .thread = p->thread, .first_ns = p->start_ns,
							      .biggest = (uint32_t)i }));
		}
		a = &accounts->items[*at];
		a->ns += ns;
		a->state_ns[p->state] += ns;
		a->last_ns = p->end_ns;
		if (ns > pieces->items[a->biggest].end_ns - pieces->items[a->biggest].start_ns)
			a->biggest = (uint32_t)i;
		if (p->charge == CHARGE_SOURCE)
			a->source_ns += ns;
		if (p->charge == CHARGE_MISSING)
			a->missing_ns += ns;
		if (p->charge == CHARGE_CIRCLE)
			a->circle_ns += ns;
	}
	for (size_t i = 0; i < accounts->length; i++) {
		struct account *a = &accounts->items[i];

		for (uint8_t state = 0; state <= SPAN_ABSENT; state++)
			if (a->state_ns[state] > a->state_ns[a->state])
				a->state = state;
		a->charge = most_of(scene, a->circle_ns, a->ns) ? CHARGE_CIRCLE : most_of(scene, a->source_ns, a->ns) ? CHARGE_SOURCE
			    : most_of(scene, a->missing_ns, a->ns) ? CHARGE_MISSING : CHARGE_THREAD;
	}
	if (accounts->length)
		qsort(accounts->items, accounts->length, sizeof(*accounts->items), bigger);
	map_done(&index);
}

uint64_t account_process_ns(const struct scene *scene, const struct accounts *accounts, uint32_t pid, bool with_children)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < accounts->length; i++) {
		const struct thread *t = &scene->tables->threads[accounts->items[i].thread];

		if (t->pid == pid || (with_children && t->parent_pid == pid && t->start_ns))
			ns += accounts->items[i].ns;
	}
	return ns;
}

/* What the parent's children that are one program had, of which it started this one. */
static uint64_t program_ns(const struct scene *scene, const struct accounts *accounts, const struct account *child, uint32_t parent)
{
	const char *comm = tables_comm(scene->tables, child->thread, child->last_ns);
	uint64_t ns = 0;

	for (size_t i = 0; i < accounts->length; i++) {
		const struct account *a = &accounts->items[i];

		if (scene->tables->threads[a->thread].parent_pid == parent && scene_pid(scene, a->thread) != parent &&
		    !strcmp(tables_comm(scene->tables, a->thread, a->last_ns), comm))
			ns += a->ns;
	}
	return ns;
}

/* A parent that left the work to its children: the child that had most of it says
 * more, where the parent itself had less than that one; or than it and others of its kind, one after the other. */
static const struct account *account_child(const struct scene *scene, const struct accounts *accounts,
					   const struct account *parent, uint64_t window_ns)
{
	uint32_t pid = scene_pid(scene, parent->thread);
	uint64_t own_ns = account_process_ns(scene, accounts, pid, false);

	for (size_t i = 0; i < accounts->length; i++) {
		const struct account *a = &accounts->items[i];

		if (a->ns < part_of(scene, LIMIT_child_time, window_ns))
			break;
		if (scene->tables->threads[a->thread].parent_pid == pid && scene_pid(scene, a->thread) != pid &&
		    program_ns(scene, accounts, a, pid) >= own_ns)
			return a;
	}
	return parent;
}

const struct account *account_culprit(const struct scene *scene, const struct accounts *accounts, uint64_t window_ns)
{
	const struct account *best = NULL;
	uint64_t best_ns = 0, much = part_of(scene, LIMIT_much_time, window_ns);

	if (!accounts->length)
		return NULL;
	if (accounts->items[0].ns >= much || !rule_holds(scene, RULE_most_time))
		return &accounts->items[0];
	for (int with_children = 0; with_children < 2 && !best; with_children++) {
		for (size_t i = 0; i < accounts->length && i < 64; i++) {
			const struct account *a = &accounts->items[i];
			uint64_t ns = account_process_ns(scene, accounts, scene_pid(scene, a->thread), with_children != 0);

			if (ns > best_ns && ns >= much) {
				best = a;
				best_ns = ns;
			}
		}
	}
	return best ? account_child(scene, accounts, best, window_ns) : &accounts->items[0];
}

bool piece_explained(const struct scene *scene, const struct piece *piece, uint32_t victim)
{
	const struct wait *w = &scene->waits[piece->wait];

	if (piece->state == SPAN_UNKNOWN)
		return false;
	switch ((enum piece_charge)piece->charge) {
	case CHARGE_THREAD:
	case CHARGE_CIRCLE:
		return true;
	case CHARGE_SOURCE:
		return w->cause != WAKE_CAUSE_unknown;
	case CHARGE_MISSING:
		/* The end of the chain: what it waits on is known, and a sleep needs nobody. */
		if (w->end == WAIT_END_UNKNOWN && !wait_slept_out(w))
			return false;
		return w->kind == WAIT_KIND_sleep || (piece->thread != victim && w->kind > WAIT_KIND_other);
	}
	return false;
}
