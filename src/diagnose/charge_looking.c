/* Who looks again and again, as its calls tell, and is asked about at this moment: not what each of its short waits was for counts, which ended well, but
 * what it looks for, and who is to bring that. The window is that one's then, as in a loop of sleeps alone. */
#include <stdlib.h>

#include "diagnose/investigation.h"
#include "diagnose/judgement.h"
#include "diagnose/looked_at.h"
#include "diagnose/loops.h"
#include "diagnose/suspects.h"

/* What a walk found hangs below the step of the one that it began with, as of the victim. */
static void adopt(struct investigation *v, const struct walk_steps *steps, struct pieces *pieces, const struct walk_step *to_partner)
{
	v->steps.length = 1;
	vec_push(&v->steps, *to_partner);
	for (size_t i = 1; i < steps->length; i++) {
		struct walk_step below = steps->items[i];

		below.parent++;
		below.confidence = below.confidence < to_partner->confidence ? below.confidence : to_partner->confidence;
		vec_push(&v->steps, below);
	}
	v->pieces.length = 0;
	for (size_t i = 0; i < pieces->length; i++) {
		struct piece piece = pieces->items[i];

		piece.step++;
		vec_push(&v->pieces, piece);
	}
}

/* Nobody is known: it is none of its own doing that it waits still. */
static void charge_nobody(struct investigation *v)
{
	for (size_t i = 0; i < v->pieces.length; i++)
		if (v->pieces.items[i].thread == v->request->thread && v->pieces.items[i].state == SPAN_WAITING)
			v->pieces.items[i].charge = CHARGE_MISSING;
}

/* It sleeps, or comes back by its own clock, and who has what it waits for is not known; `looks`: as it stands it is known to look for something. */
static bool may_look(const struct scene *scene, const struct diagnose_request *r)
{
	const struct episode *e = scene_episode(scene, r->thread, r->to_ns - 1);

	if (!e || wait_has_owner(scene_slice_with_owner(scene, e, r->to_ns)))
		return false;
	return r->looks || scene->waits[e->last].kind == WAIT_KIND_sleep || loop_is(scene, e);
}

bool investigation_looks(const struct investigation *v)
{
	const struct diagnose_request *r = v->request;
	struct looked_at looked;

	return r->now && rule_holds(v->scene, RULE_asks_again) && looked_at_known(v->scene) && may_look(v->scene, r) &&
	       looked_at_may(v->scene, r->thread, r->from_ns, r->to_ns) &&
	       looked_at_find(v->scene, r->thread, r->from_ns, r->to_ns, &looked) && !looked.several;
}

/* How sure the way is to whom the wait leads in which it stands as the window ends; 0: to nobody else. */
static uint8_t way_sure(const struct investigation *v)
{
	const struct episode *e = scene_episode(v->scene, v->request->thread, v->request->to_ns - 1);
	uint32_t at = v->culprit && v->culprit->thread != v->request->thread ? investigation_culprit_step(v) : 0;
	uint8_t sure = at ? v->steps.items[at].confidence : 0;

	while (at && v->steps.items[at].parent)
		at = v->steps.items[at].parent;
	return at && e && v->steps.items[at].episode && &v->scene->episodes[v->steps.items[at].episode - 1] == e ? sure : 0;
}

bool investigation_charge_looking(struct investigation *v)
{
	uint64_t from = v->request->from_ns, to = v->request->to_ns;
	struct walk_steps steps = { 0 };
	struct pieces pieces = { 0 };
	struct walk walk;
	struct hop hop;
	bool found;

	if (v->culprit && v->culprit->thread != v->request->thread && v->d->verdict == VERDICT_YIELD)
		return false; /* the loop's own suspects are known */
	found = suspects_by_looks(&v->inquiry, v->request->thread, from, to, &hop);
	if (way_sure(v) > (found ? hop.confidence : 0))
		return false;
	v->d->verdict = VERDICT_YIELD;
	v->d->looks = true;
	if (!found) {
		charge_nobody(v);
		investigation_add_up(v);
		return false;
	}
	walk = investigation_walk_of(v);
	walk.pieces = &pieces;
	walk.steps = &steps;
	walk.stack[0] = v->request->thread;
	walk.above = 1;
	v->circle_count = 0;
	v->circle_ns = 0;
	walk_window(&walk, hop.thread, from, to);
	adopt(v, &steps, &pieces, &(struct walk_step){ .thread = hop.thread, .link = hop.link, .own = hop.confidence, .confidence = hop.confidence,
						       .evidence = hop.evidence, .from_ns = from });
	vec_done(&pieces);
	vec_done(&steps);
	investigation_add_up(v);
	return true;
}
