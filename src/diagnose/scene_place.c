/* Where two sleeps of one loop stand, though their stacks are not the same: an interpreter that has come to know a call makes
 * it by a shorter way, with fewer frames of its own between the function that calls and what is called. */
#include "diagnose/judgement.h"
#include "diagnose/scene_build.h"

static const struct frame *frame_at(const struct tables *tables, uint32_t node)
{
	return node && node < tables->frame_count ? &tables->frames[node] : NULL;
}

/* The one stack is the other but for frames in the middle. */
static bool is_shortened(const struct tables *tables, uint32_t longer, uint32_t shorter)
{
	const struct frame *a = frame_at(tables, longer), *b = frame_at(tables, shorter);

	if (!a || !b || a->depth <= b->depth || a->module != b->module || a->address != b->address)
		return false;
	while (longer != shorter && a && b && a->module == b->module && a->address == b->address) {
		longer = a->parent;
		shorter = b->parent;
		a = frame_at(tables, longer);
		b = frame_at(tables, shorter);
	}
	while (a && b && a->depth > b->depth) {
		longer = a->parent;
		a = frame_at(tables, longer);
	}
	return shorter && longer == shorter;
}

bool scene_sleeps_on(const struct scene *scene, const struct wait *before, const struct wait *after)
{
	uint64_t a = before->timeout_ns, b = after->timeout_ns, slack = part_of(scene, LIMIT_next_to_nothing, a);
	const struct tables *tables = scene->tables;

	return rule_holds(scene, RULE_shortened_way) && before->kind == WAIT_KIND_sleep && after->kind == before->kind &&
	       after->syscall == before->syscall && a && b && a <= b + slack && b <= a + slack &&
	       (is_shortened(tables, before->ustack, after->ustack) || is_shortened(tables, after->ustack, before->ustack));
}
