/* Ranking hangs, see hangs_rank.h. */
#include "diagnose/hangs_rank.h"

#include <stdlib.h>

#include "diagnose/judgement.h"
#include "diagnose/loops.h"

static int more_severe(const void *a, const void *b)
{
	const struct hang *x = a, *y = b;
	bool mx = x->meant, my = y->meant;
	double sx = (double)(x->end_ns - x->start_ns) * x->weight, sy = (double)(y->end_ns - y->start_ns) * y->weight;

	if (mx != my)
		return mx ? 1 : -1;
	if (sx != sy)
		return sx > sy ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

size_t hangs_certain(const struct hang *hangs, size_t count)
{
	while (count && hangs[count - 1].meant)
		count--;
	return count;
}

static bool is_awaited(const struct judgement *j, const struct hang *hangs, size_t count, const struct hang *hang)
{
	for (size_t i = 0; i < count; i++)
		if (hangs[i].thread != hang->thread && hangs[i].rule != RULE_stopped && hangs[i].rule != RULE_unread &&
		    hangs[i].weight >= judgement_limit(j, LIMIT_awaiting_weight) && hangs[i].start_ns < hang->end_ns && hang->start_ns < hangs[i].end_ns)
			return true;
	return false;
}

/* Whoever waits for one that is stopped, or leaves its messages unread, is the
 * victim; where nobody waits for a stopped process it is that itself, however
 * long others compute. */
static void weigh_awaited(const struct judgement *j, struct hang *hangs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum limit_id weight = hangs[i].rule == RULE_stopped ? LIMIT_stopped_alone_weight : LIMIT_unread_awaited_weight;

		if (hangs[i].rule != RULE_stopped && hangs[i].rule != RULE_unread)
			continue;
		if (is_awaited(j, hangs, count, &hangs[i]) == (hangs[i].rule == RULE_unread))
			hangs[i].weight = hangs[i].weight * (uint32_t)judgement_limit(j, weight) / rule_infos[hangs[i].rule].weight;
	}
}

/* Of the hangs of one thread that overlap, the most severe stays. */
static size_t drop_overlaps(struct hang *hangs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		bool covered = false;

		for (size_t j = 0; j < kept; j++)
			covered |= hangs[j].thread == hangs[i].thread && hangs[j].start_ns < hangs[i].end_ns &&
				   hangs[i].start_ns < hangs[j].end_ns;
		if (!covered)
			hangs[kept++] = hangs[i];
	}
	return kept;
}

static int earlier(const void *a, const void *b)
{
	const struct hang *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static bool is_turn(const struct hang *h)
{
	return h->rule == RULE_turn || h->rule == RULE_open_turn || h->rule == RULE_silent_turn;
}

static bool is_work(const struct hang *h)
{
	return h->rule == RULE_unread || is_turn(h) || h->rule == RULE_computes;
}

/* Its time limit ran out, and it waited again at the same place at once. */
static bool waits_on(const struct scene *scene, const struct hang *before, const struct hang *after)
{
	const struct episode *first = scene_episode(scene, before->thread, before->end_ns - 1);
	const struct episode *next = scene_episode(scene, after->thread, after->end_ns - 1);

	return rule_holds(scene, RULE_waits_on) && !is_work(before) && !is_work(after) && first && next && first != next &&
	       first->end_ns == before->end_ns && next->end_ns == after->end_ns && scene->waits[first->last].end == WAIT_END_TIMEOUT &&
	       scene->waits[first->last].site == scene->waits[next->last].site;
}

/* The interpreter's lock is looked for in slices, between two of which an interrupt, or the host, may have had the processor. */
static bool same_interpreter(const struct hang *before, const struct hang *after)
{
	return before->rule == RULE_interpreter_kept && after->rule == RULE_interpreter_kept && before->thread == after->thread &&
	       before->awaits == after->awaits;
}

size_t hangs_join(const struct scene *scene, struct hang *hangs, size_t count)
{
	size_t kept = 0;

	if (!count)
		return 0;
	qsort(hangs, count, sizeof(*hangs), more_severe);
	count = drop_overlaps(hangs, count);
	qsort(hangs, count, sizeof(*hangs), earlier);
	for (size_t i = 0; i < count; i++) {
		struct hang *last = kept ? &hangs[kept - 1] : NULL;
		uint64_t shorter = last ? last->end_ns - last->start_ns : 0, length = hangs[i].end_ns - hangs[i].start_ns;

		if (length < shorter)
			shorter = length;
		if (!last || hangs[i].start_ns > last->end_ns + part_of(scene, LIMIT_next_to_nothing, shorter) ||
		    !((is_work(last) && is_work(&hangs[i])) || waits_on(scene, last, &hangs[i]) || same_interpreter(last, &hangs[i]))) {
			hangs[kept++] = hangs[i];
			continue;
		}
		last->end_ns = hangs[i].end_ns;
		last->slices += hangs[i].slices;
		last->least_ns = last->least_ns && hangs[i].least_ns ? last->least_ns : 0;
		if (hangs[i].weight > last->weight) {
			last->weight = hangs[i].weight;
			last->rule = hangs[i].rule;
		}
	}
	return kept;
}

/* It waits for an event loop's turn to end and keeps looking up, or looks up all the time
 * while what it sent is left unread, or tries what a program with windows has no time for. */
static bool only_watches(const struct judgement *j, const struct hang *waits, const struct hang *works)
{
	if (waits->slices < judgement_limit(j, LIMIT_watch_looks))
		return false;
	return is_turn(works) || (waits->rule == RULE_tries_in_vain && works->rule == RULE_computes) ||
	       (works->rule == RULE_unread && (waits->end_ns - waits->start_ns) / waits->slices < judgement_limit(j, LIMIT_watch_ns));
}

/* Who waits for a thread that works is stuck because of it, and the work may be no
 * hang for anybody else: the one that waits comes first. But who only watches is not stuck. */
static void prefer_who_waits(const struct judgement *judgement, struct hang *hangs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct hang *waits = &hangs[i];
		uint64_t length = waits->end_ns - waits->start_ns;

		for (size_t j = 0; waits->awaits && j < count; j++) {
			const struct hang *works = &hangs[j];
			uint64_t from = works->start_ns > waits->start_ns ? works->start_ns : waits->start_ns;
			uint64_t to = works->end_ns < waits->end_ns ? works->end_ns : waits->end_ns;
			double severity = (double)(works->end_ns - works->start_ns) * works->weight;

			if (works->thread != waits->awaits || !(is_work(works) || works->rule == RULE_starved) || to < from ||
			    (to - from) * 100 < length * judgement_limit(judgement, LIMIT_most))
				continue;
			if (only_watches(judgement, waits, works)) {
				if (severity <= (double)length * waits->weight)
					waits->weight = (uint32_t)(severity * 0.99 / (double)length);
				break;
			}
			if (severity >= (double)length * waits->weight)
				waits->weight = (uint32_t)(severity / (double)length) + 1;
		}
	}
}

static bool has_hanging_child(const struct scene *scene, const struct hang *hangs, size_t count, const struct hang *parent)
{
	uint32_t pid = scene_pid(scene, parent->thread);

	for (size_t i = 0; i < count; i++) {
		uint64_t from = hangs[i].start_ns > parent->start_ns ? hangs[i].start_ns : parent->start_ns;
		uint64_t to = hangs[i].end_ns < parent->end_ns ? hangs[i].end_ns : parent->end_ns;

		if (scene_pid(scene, hangs[i].thread) != pid && !hangs[i].least_ns && to > from &&
		    most_of(scene, to - from, parent->end_ns - parent->start_ns) &&
		    (scene_descends_from(scene, hangs[i].thread, pid) || scene->tables->threads[hangs[i].thread].parent_pid == pid))
			return true;
	}
	return false;
}

size_t hangs_drop_parents(const struct scene *scene, struct hang *hangs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (hangs[i].rule != RULE_idle_children || !has_hanging_child(scene, hangs, count, &hangs[i]))
			hangs[kept++] = hangs[i];
	return kept;
}

const char *hang_reason(const struct hang *hang)
{
	return rule_infos[hang->rule].says;
}

bool hang_has_pieces(const struct hang *hang)
{
	return is_work(hang) || hang->rule == RULE_starved || hang->rule == RULE_spins;
}

/* Who waits comes before the one it waits for, but not who only watches it. */
void hangs_rank(const struct judgement *judgement, struct hang *hangs, size_t count)
{
	weigh_awaited(judgement, hangs, count);
	if (judgement_holds(judgement, RULE_waits_before_works))
		prefer_who_waits(judgement, hangs, count);
	if (count)
		qsort(hangs, count, sizeof(*hangs), more_severe);
}

void hangs_name(const struct scene *scene, struct hang *hang)
{
	uint64_t middle = hang->start_ns + (hang->end_ns - hang->start_ns) / 2;

	hang->tid = scene_tid(scene, hang->thread);
	hang->pid = scene_pid(scene, hang->thread);
	hang->comm = tables_comm(scene->tables, hang->thread, middle);
	hang->program = tables_program(scene->tables, hang->thread, middle);
}

void hangs_hand_down(const struct scene *scene, struct hang *hang)
{
	uint64_t middle = hang->start_ns + (hang->end_ns - hang->start_ns) / 2;
	const struct episode *e = scene_episode(scene, hang->thread, middle), *its;
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	if (hang->rule != RULE_idle_children || !w || w->end != WAIT_END_THREAD)
		return;
	its = scene_episode(scene, w->waker, middle);
	if (!its || its->slices < limit_of(scene, LIMIT_loop_looks) ||
	    its->end_ns - its->start_ns < part_of(scene, LIMIT_outer_overlap, hang->end_ns - hang->start_ns))
		return;
	/* Whose own limits run out one after the other waits for nobody. */
	if (!loop_is(scene, its) && scene->waits[its->last].end == WAIT_END_TIMEOUT)
		return;
	hang->thread = w->waker;
	hang->start_ns = its->start_ns;
	hang->end_ns = its->end_ns;
	hang->rule = loop_is(scene, its) ? RULE_looks_in_vain : RULE_drops;
}
