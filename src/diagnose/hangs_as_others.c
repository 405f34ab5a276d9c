/* What took as long as others that may be meant to, of the whole trace: the same server, or the same thread. */
#include "diagnose/hangs.h"

#include "diagnose/judgement.h"

/* The other ended by what was to end it, took as long, nearly, and was no hang. */
static bool went_well(const struct judgement *judgement, const struct hang *other, const struct hang *hang)
{
	bool same = false;

	for (unsigned i = 0; i < HANG_SERVED; i++)
		same |= other->served[i] == hang->served[0];
	return same && (other->meant == RULE_for_news || other->meant == RULE_by_its_clock) && !other->unended &&
	       other->end_ns - other->start_ns > (hang->end_ns - hang->start_ns) / 100 * judgement_limit(judgement, LIMIT_a_good_part);
}

/* By what this one may be told as late, though on the way of the other nobody was kept: who waits for a lock, or is stopped, is. */
static bool may_come_again(const struct hang *hang)
{
	return hang->rule == RULE_not_answered || hang->rule == RULE_idle_children || hang->rule == RULE_drops || hang->rule == RULE_late_command;
}

static bool was_by_design(const struct hang *hang)
{
	return may_come_again(hang) && (hang->meant == RULE_for_news || hang->meant == RULE_by_its_clock || hang->meant == RULE_at_rest ||
					hang->meant == RULE_in_drops || hang->meant == RULE_at_its_rate || hang->meant == RULE_sleeps_as_told ||
					hang->meant == RULE_runs_commands);
}

/* It waited so before, or did later, several times, nearly as long, and nearly each may have been meant. */
static bool comes_again(const struct judgement *judgement, const struct hang *hangs, size_t count, const struct hang *hang)
{
	uint64_t least = (hang->end_ns - hang->start_ns) / 100 * judgement_limit(judgement, LIMIT_again_length);
	size_t times = 0, certain = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hang *other = &hangs[i];

		if (other == hang || other->tid != hang->tid || other->pid != hang->pid || other->end_ns - other->start_ns < least || !may_come_again(other))
			continue;
		times += was_by_design(other);
		certain += !other->meant || other->meant == RULE_as_before;
	}
	return times >= judgement_limit(judgement, LIMIT_again_times) && certain * 100 <= times * judgement_limit(judgement, LIMIT_a_good_part);
}

void hangs_as_others(const struct judgement *judgement, struct hang *hangs, size_t count)
{
	/* of a part of the trace it may have been so, and not of the whole */
	for (size_t i = 0; i < count; i++)
		if (hangs[i].meant == RULE_as_before)
			hangs[i].meant = 0;
	for (size_t i = 0; i < count && judgement->unattended && judgement_holds(judgement, RULE_as_before); i++)
		if (!hangs[i].meant && may_come_again(&hangs[i]) && comes_again(judgement, hangs, count, &hangs[i]))
			hangs[i].meant = RULE_as_before;
	for (size_t i = 0; i < count && judgement_holds(judgement, RULE_as_others); i++)
		for (size_t k = 0; k < count && hangs[i].unended && !hangs[i].meant; k++)
			if (went_well(judgement, &hangs[k], &hangs[i]))
				hangs[i].meant = RULE_as_others;
}
