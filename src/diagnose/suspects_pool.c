/* Of a server that has not taken what it was asked: which of its threads is at work, and for whom (see suspects.h). A pool all of whose threads
 * are at work for those that asked before takes nothing more until one of them comes back. */
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

bool suspects_has_threads(const struct question *q, uint32_t process)
{
	SCENE_EACH_MATE(q->scene, process, i)
		if (i != process && alive(q, i))
			return true;
	return false;
}

/* The thread's wait for a word, without an owner, where the other one of its process is a loop, and listens to the end; NULL: it is none such. */
static const struct wait *word_behind_loop(const struct question *q, uint32_t thread, uint32_t loop)
{
	const struct wait *w = scene_same_process(q->scene, thread, loop) && rule_holds(q->scene, RULE_pool_waits) ? stands_in(q, thread) : NULL;
	const struct wait *its = w ? stands_in(q, loop) : NULL;

	return its && its->end == WAIT_END_OPEN && wait_is_loop_rest(its) && w->kind == WAIT_KIND_futex && w->object && !w->hint ? w : NULL;
}

/* Another of its process waits for a word at the same place; `same`: for the same word. */
static bool has_fellow(const struct question *q, const struct wait *w, bool same)
{
	SCENE_EACH_MATE(q->scene, w->thread, i) {
		const struct wait *its = i != w->thread && alive(q, i) ? stands_in(q, i) : NULL;

		if (its && its->kind == WAIT_KIND_futex && its->site == w->site && (!same || its->object == w->object))
			return true;
	}
	return false;
}

/* It never waited at another place. */
static bool only_waits_there(const struct scene *scene, const struct wait *w)
{
	for (uint32_t i = scene_waits_from(scene, w->thread, 0); i < scene_waits_end(scene, w->thread); i++)
		if (scene->waits[i].site != w->site)
			return false;
	return true;
}

bool suspects_word_of_loop(const struct question *q, uint32_t thread, uint32_t loop)
{
	const struct wait *w = word_behind_loop(q, thread, loop);

	return w && (loop == q->wait->thread || has_fellow(q, w, true) || only_waits_there(q->scene, w));
}

bool suspects_stands_in_pool(const struct question *q, uint32_t thread)
{
	const struct wait *w = word_behind_loop(q, thread, q->wait->thread);

	return w && has_fellow(q, w, true);
}

bool suspects_asks_us(const struct question *q, uint64_t object)
{
	const struct ends *ends = q->inquiry->ends;
	uint32_t pid = scene_pid(q->scene, q->wait->thread);
	struct row row = ends_role(ends, object) == END_SERVER && rule_holds(q->scene, RULE_asks_itself) ? ends_of_object(ends, object) : (struct row){ 0 };

	for (uint32_t i = row.count; i-- > 0; )
		if (ends_at(ends, row, i)->pid == pid)
			return ends_at(ends, row, i)->at.kind == OBJECT_KIND_tcp && !(ends_at(ends, row, i)->at.access & DESCRIPTOR_SPOKE_LAST);
	return false;
}

/* When the process asked over its end of the connection that the server has; 0 it did not, or has been answered. */
static uint64_t asked_over(const struct question *q, const struct descriptor *served, uint32_t *ret_process)
{
	struct row far = ends_far(q->inquiry->ends, served);

	for (uint32_t i = far.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(q->inquiry->ends, far, i);

		*ret_process = d->pid != served->pid ? tables_process(q->scene->tables, d->pid, q->to - 1) : 0;
		if (*ret_process)
			return d->at.kind == OBJECT_KIND_tcp && d->at.access & DESCRIPTOR_SPOKE_LAST ? d->at.spoke_ns : 0;
	}
	return 0;
}

/* The thread of the process that turned to something as another asked, before that, and still has no answer: of several one that waits for something outside,
 * or the last; 0 none. */
static uint32_t find_at_work(const struct question *q, uint32_t process, uint64_t asked_ns)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, process));
	/* when something was said over a connection is known to some tens of milliseconds */
	uint64_t before = limit_of(q->scene, LIMIT_asked_before_ns), latest = 0;
	bool sure = false, known;
	uint32_t found = 0;

	for (uint32_t i = row.count; i-- > 0 && ends_is_newest(ends, row, i); ) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = 0, thread;
		uint64_t then = ends_role(ends, d->at.object) == END_SERVER ? asked_over(q, d, &other) : 0;
		struct request_asked asked = { .thread = other, .since_ns = then > before ? then - before : 0, .from_ns = q->from, .to_ns = q->to };

		if (!then || then >= asked_ns)
			continue;
		thread = serving_thread(q->scene, ends, process, &asked);
		known = thread && serving_is_known(q->scene, ends, thread, &asked);
		if (!thread || is_waiting(q, thread) || (sure && !known) || (sure == known && then <= latest))
			continue;
		found = thread;
		sure = known;
		latest = then;
	}
	return found;
}

uint32_t suspects_at_work_before(const struct question *q, uint32_t process, uint64_t asked_ns)
{
	struct at_work *last = &q->inquiry->at_work;

	if (last->wait != q->wait || last->waiting_count != q->waiting_count || last->process != process || last->asked_ns != asked_ns ||
	    last->to_ns != q->to)
		*last = (struct at_work){ .wait = q->wait, .waiting_count = q->waiting_count, .process = process, .asked_ns = asked_ns, .to_ns = q->to,
					  .found = find_at_work(q, process, asked_ns) };
	return last->found;
}

/* It waits for a word, without an owner, at a place where another of its process does. */
static bool stands_with_fellow(const struct question *q, uint32_t thread)
{
	const struct wait *w = stands_in(q, thread);

	return w && w->kind == WAIT_KIND_futex && !wait_has_owner(w) && has_fellow(q, w, false);
}

/* Of those that have the other end, who only may be at work for it as it waits inside its process, or rests. */
static void drop_unlikely(struct question *q, uint32_t process)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->suspects->length; i++) {
		const struct suspect *s = &q->suspects->items[i];

		if (s->hop_count != 1 || s->hops[0].link != LINK_PEER || s->confidence > limit(q, LIMIT_peer_guess) ||
		    !scene_same_process(q->scene, suspects_thread(s), process))
			q->suspects->items[kept++] = *s;
	}
	q->suspects->length = kept;
}

static uint64_t asked_at(const struct question *q, const struct descriptor *d)
{
	return d->at.access & DESCRIPTOR_SPOKE_LAST && d->at.spoke_ns ? d->at.spoke_ns : q->wait->start_ns;
}

unsigned suspects_takes_it(struct question *q, const struct descriptor *d, uint32_t process, struct hop *hops, uint8_t *confidence)
{
	const struct ends *ends = q->inquiry->ends;
	struct request_asked asked = { .thread = tables_process(q->scene->tables, d->pid, q->from), .since_ns = asked_at(q, d),
				       .from_ns = q->from, .to_ns = q->to };
	struct row far = ends_far(ends, d);
	uint32_t thread, before;

	hops[0] = (struct hop){ .from_ns = q->from, .thread = process, .link = LINK_PEER, .confidence = *confidence };
	if (!rule_holds(q->scene, RULE_pool_at_work) || !suspects_has_threads(q, process))
		return 1;
	thread = asked.thread ? serving_holder(q->scene, ends, far, &asked) : 0;
	if (thread && serving_is_known(q->scene, ends, thread, &asked)) {
		hops[0].thread = thread;
		hops[0].confidence = *confidence = limit(q, LIMIT_peer_at_work);
		return 1;
	}
	*confidence = (uint8_t)rule_infos[RULE_pool_at_work].weight;
	hops[0].confidence = *confidence;
	hops[0].final = true;
	drop_unlikely(q, process);
	before = suspects_at_work_before(q, process, asked_at(q, d));
	if (!before || before == process)
		return 1;
	hops[0].final = false;
	/* of a pool whose threads stand at one place, each waits for what none of them can do */
	hops[1] = (struct hop){ .from_ns = q->from, .thread = before, .link = LINK_AT_WORK, .confidence = *confidence,
				.final = stands_with_fellow(q, before) };
	return 2;
}
