/* Ranking hangs, see hangs_rank.h. */
#include "diagnose/hangs_rank.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/judgement.h"
#include "diagnose/loops.h"

#define LOOKS_UP 20                /* so often meanwhile: it is not stuck, it keeps watch */
#define WATCH_NS 49000000ull       /* more often than that no program looks up for what it needs itself */
#define LEAST_PIECES 3             /* fewer are no loop */
#define LEAST_AWAITING 80          /* also a turn that has not ended */

const char hang_unread[] = "it computes and leaves what it was sent unread";
const char hang_turn[] = "an event loop's turn took too long";
const char hang_computes[] = "it computes and does nothing else";
const char hang_stopped[] = "it was stopped";
const char hang_own[] = "what it started did nothing but wait";
const char hang_pieces[] = "it waited for long, in short pieces";
const char hang_looks[] = "it looks again and again for something that does not come";

static int more_severe(const void *a, const void *b)
{
	const struct hang *x = a, *y = b;
	double sx = (double)(x->end_ns - x->start_ns) * x->weight, sy = (double)(y->end_ns - y->start_ns) * y->weight;

	if (sx != sy)
		return sx > sy ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static bool is_awaited(const struct hang *hangs, size_t count, const struct hang *hang)
{
	for (size_t i = 0; i < count; i++)
		if (hangs[i].thread != hang->thread && hangs[i].reason != hang_stopped && hangs[i].reason != hang_unread &&
		    hangs[i].weight >= LEAST_AWAITING && hangs[i].start_ns < hang->end_ns && hang->start_ns < hangs[i].end_ns)
			return true;
	return false;
}

/* Whoever waits for one that is stopped, or leaves its messages unread, is the
 * victim; where nobody waits for a stopped process it is that itself, however
 * long others compute. */
static void weigh_awaited(struct hang *hangs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool awaited = (hangs[i].reason == hang_stopped || hangs[i].reason == hang_unread) &&
			       is_awaited(hangs, count, &hangs[i]);

		if (hangs[i].reason == hang_stopped && !awaited)
			hangs[i].weight = hangs[i].weight / rule_infos[RULE_stopped].weight * (uint32_t)limit_infos[LIMIT_stopped_alone_weight].value;
		if (hangs[i].reason == hang_unread && awaited)
			hangs[i].weight = hangs[i].weight * 2 / 3;
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

static bool is_work(const struct hang *h)
{
	return h->reason == hang_unread || h->reason == hang_turn || h->reason == hang_computes;
}

size_t hangs_join_work(struct hang *hangs, size_t count)
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
		if (!last || !is_work(last) || !is_work(&hangs[i]) || hangs[i].start_ns > last->end_ns + shorter / 50) {
			hangs[kept++] = hangs[i];
			continue;
		}
		last->end_ns = hangs[i].end_ns;
		if (hangs[i].weight > last->weight) {
			last->weight = hangs[i].weight;
			last->reason = hangs[i].reason;
		}
	}
	return kept;
}

/* It waits for an event loop's turn to end and keeps looking up, or looks up all the time
 * while what it sent is left unread. */
static bool only_watches(const struct hang *waits, const struct hang *works)
{
	if (waits->slices < LOOKS_UP)
		return false;
	return works->reason == hang_turn ||
	       (works->reason == hang_unread && (waits->end_ns - waits->start_ns) / waits->slices < WATCH_NS);
}

/* Who waits for a thread that works is stuck because of it, and the work may be no
 * hang for anybody else: the one that waits comes first. But who only watches is not stuck. */
static void prefer_who_waits(struct hang *hangs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct hang *waits = &hangs[i];
		uint64_t length = waits->end_ns - waits->start_ns;

		for (size_t j = 0; waits->awaits && j < count; j++) {
			const struct hang *works = &hangs[j];
			uint64_t from = works->start_ns > waits->start_ns ? works->start_ns : waits->start_ns;
			uint64_t to = works->end_ns < waits->end_ns ? works->end_ns : waits->end_ns;
			double severity = (double)(works->end_ns - works->start_ns) * works->weight;

			if (works->thread != waits->awaits || !is_work(works) || to < from || (to - from) * 2 < length)
				continue;
			if (only_watches(waits, works)) {
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

		if (scene_pid(scene, hangs[i].thread) != pid && to > from && (to - from) * 2 > parent->end_ns - parent->start_ns &&
		    (scene_descends_from(scene, hangs[i].thread, pid) || scene->tables->threads[hangs[i].thread].parent_pid == pid))
			return true;
	}
	return false;
}

size_t hangs_drop_parents(const struct scene *scene, struct hang *hangs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (hangs[i].reason != hang_own || !has_hanging_child(scene, hangs, count, &hangs[i]))
			hangs[kept++] = hangs[i];
	return kept;
}

const char *hang_reason_known(const char *text)
{
	static const char *const known[] = { hang_unread, hang_turn, hang_computes, hang_stopped, hang_own, hang_pieces, hang_looks };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i], text))
			return known[i];
	return text;
}

const char *hang_reason(struct arena *arena, const char *text)
{
	const char *known = hang_reason_known(text);

	return known == text ? arena_strdup(arena, text) : known;
}

bool hang_is_work(const struct hang *hang)
{
	return is_work(hang);
}

/* Who waits comes before the one it waits for, but not who only watches it. */
void hangs_rank(struct hang *hangs, size_t count)
{
	weigh_awaited(hangs, count);
	prefer_who_waits(hangs, count);
	if (count)
		qsort(hangs, count, sizeof(*hangs), more_severe);
}

void hangs_hand_down(const struct scene *scene, struct hang *hang)
{
	uint64_t middle = hang->start_ns + (hang->end_ns - hang->start_ns) / 2;
	const struct episode *e = scene_episode(scene, hang->thread, middle), *its;
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	if (hang->reason != hang_own || !w || w->end != WAIT_END_THREAD)
		return;
	its = scene_episode(scene, w->waker, middle);
	if (!its || its->slices < LEAST_PIECES || (its->end_ns - its->start_ns) * 4 < (hang->end_ns - hang->start_ns) * 3)
		return;
	hang->thread = w->waker;
	hang->start_ns = its->start_ns;
	hang->end_ns = its->end_ns;
	hang->reason = loop_is(scene, its) ? hang_looks : hang_pieces;
}
