/* See latency.h. */
#include "infer/latency.h"

#include <stdlib.h>

/* So many cut stacks in a row are passed over between whole ones: the calls go
 * on, only this sight of them is bad. A longer run is taken for what it is. */
#define CUT_RUN 3

/* So many of the frames that may have been called again are taken to have been. */
#define LIKELY 3

struct step {
	uint32_t keep;      /* frames that go on */
	uint32_t sure;      /* of these, frames that are taken to be the same calls */
	uint32_t certain;   /* and those that cannot be others: bounds rest on these alone */
};

static void give(struct latency *latency, const struct latency_rules *rules, uint32_t index, uint64_t last,
		 uint64_t after, uint64_t end, uint8_t flags)
{
	struct latency_frame *f = &latency->frames.items[index];
	/* Calls that go on are taken to last until now: what they were away since then is theirs. */
	bool goes_on = (flags & LATENCY_until_end) && (flags & LATENCY_open_end);
	struct latency_instance i = {
		.node = f->node, .thread = latency->thread,
		.first = f->first, .last = last, .before = f->before, .after = after,
		.begin = f->begin, .end = end,
		.off_ns = (goes_on ? latency->off_ns : latency->off_seen) - f->off_at_first,
		.queued_ns = (goes_on ? latency->queued_ns : latency->queued_seen) - f->queued_at_first,
		.calls = f->calls,
		.doubts = f->doubts > 0 ? (uint32_t)f->doubts : 0,
		.flags = f->flags | flags,
	};

	/* Doubts are noted at the innermost frame that they touch and taken back
	 * at the innermost one that they spare; they sink as frames go. */
	if (index)
		latency->frames.items[index - 1].doubts += f->doubts;
	if (i.doubts)
		i.flags |= LATENCY_merged;
	if (i.before == i.first && i.after == i.last && !(i.flags & (LATENCY_open_begin | LATENCY_open_end)))
		i.flags |= LATENCY_exact;
	rules->hooks.instance(rules->hooks.data, &i);
}

static void stretch(const struct latency *latency, const struct latency_rules *rules, uint64_t from, uint64_t to,
		    uint32_t sure, uint32_t site, bool idle)
{
	const struct contexts *contexts = rules->contexts;
	uint32_t node;

	if (!rules->hooks.stretch || from >= to)
		return;
	node = sure ? latency->frames.items[sure - 1].node :
		      contexts->programs.items[contexts->nodes.items[contexts->sites.items[site].node].program].node;
	rules->hooks.stretch(rules->hooks.data, node, from, to, idle);
}

/* Time off the processor since the last stack, of which no stack tells. */
static uint64_t time_away(const struct latency *latency)
{
	return latency->off_ns + latency->queued_ns - latency->off_seen - latency->queued_seen;
}

/* The frame that went round its loop, of those down to `keep`: the innermost, since inner
 * loops go round most often, unless samples would have found this one. */
static uint32_t loop_level(const struct latency_rules *rules, const struct latency *latency, uint32_t keep, uint32_t same,
			   uint64_t gap)
{
	for (uint32_t level = keep; rules->pace && level > same; level--) {
		uint32_t function = latency->frames.items[level - 1].function;

		if (pace_contradicts(rules->pace, function, gap))
			continue;
		pace_of(rules->pace, function)->charged_ns += gap;
		return level;
	}
	return keep;
}

/* How much of the last stack goes on in the new one. Only the outermost call has no
 * caller that could have made it again. */
static struct step compare(const struct latency *latency, const struct latency_rules *rules, uint32_t site,
			   uint32_t same, uint64_t gap)
{
	const struct site *sites = rules->contexts->sites.items;
	const struct site *a = &sites[latency->site], *b = &sites[site];
	const struct site *a_above = NULL, *b_above = NULL;
	bool round;
	struct step step = { 0 };

	while (a->depth > b->depth)
		a_above = a, a = &sites[a->parent];
	while (b->depth > a->depth)
		b_above = b, b = &sites[b->parent];
	while (a != b && a->depth) {
		a_above = a, a = &sites[a->parent];
		b_above = b, b = &sites[b->parent];
	}
	if (a != b)
		return step;
	step.keep = a->depth;
	if (rules->by_function) {
		while (a_above && b_above && a_above->node == b_above->node) {
			/* Once more from above: functions may agree where addresses do not. */
			const struct site *x = &sites[latency->site], *y = &sites[site];

			step.keep++;
			while (x->depth > step.keep + 1)
				x = &sites[x->parent];
			while (y->depth > step.keep + 1)
				y = &sites[y->parent];
			a_above = x->depth == step.keep + 1 ? x : NULL;
			b_above = y->depth == step.keep + 1 ? y : NULL;
		}
		step.sure = step.keep;
		return step;
	}
	if (a_above && b_above && a_above->node == b_above->node) {
		step.keep++;
		/* Further on in the same function; or before, then it or a caller came round. */
		step.sure = step.keep <= same || b_above->address >= a_above->address ? step.keep : 1;
		return step;
	}
	/* A place is passed again when a system call made there has ended, or when
	 * the call made there has given way to another. */
	round = step.keep > same && ((latency->left_call && latency->site == (uint32_t)(a - sites)) ||
				     (a_above && b_above));
	if (!round && !a_above && !b_above && step.keep > same) {
		/* The same place twice: perhaps it never left it, perhaps it came back. */
		step.sure = 1;
		return step;
	}
	if (!round) {
		step.sure = step.keep;
		return step;
	}
	/* Who makes a system call seldom repeats it by itself: it is a wrapper, and
	 * its caller has called it again. */
	if (latency->left_call && latency->site == (uint32_t)(a - sites) && step.keep > 1)
		step.keep--;
	step.keep = loop_level(rules, latency, step.keep, same, gap);
	if (step.keep < same)
		step.keep = same;
	step.sure = same > 1 ? same : 1;
	return step;
}

/* How deep the calls cannot be others than the last stack's: what goes on may have
 * returned from what it called and called the same again, however unlikely. */
static uint32_t certain_depth(const struct step *step, uint32_t same)
{
	uint32_t least = same > 1 ? same : 1;

	return step->sure < least ? step->sure : least;
}

/* The time between two stacks, cut into shares. */
struct shares {
	uint64_t from, gap;
	double weight;       /* of all shares */
	double passed;       /* of those that lie behind */
};

static uint64_t shares_next(struct shares *shares, double weight)
{
	shares->passed += weight;
	return shares->from + (uint64_t)((double)shares->gap * (shares->weight > 0 ? shares->passed / shares->weight : 0));
}

static void open_frames(struct latency *latency, const struct latency_rules *rules, uint64_t time, uint32_t site,
			uint32_t keep, const double *weights, struct shares *shares, uint32_t exact,
			uint8_t flags)
{
	const struct site *sites = rules->contexts->sites.items;
	uint32_t depth = sites[site].depth, at = site;
	bool first = !latency->site && (!latency->start || latency->started_before);
	uint64_t before = latency->site ? latency->last : latency->start ? latency->start : time;

	vec_reserve(&latency->frames, depth);
	latency->frames.length = depth;
	for (; sites[at].depth > keep; at = sites[at].parent) {
		struct latency_frame f = {
			.node = sites[at].node, .function = sites[at].function, .first = time, .before = before,
			.off_at_first = latency->off_ns, .queued_at_first = latency->queued_ns,
			.calls = 1,
			.flags = first || (flags & LATENCY_open_end) ? LATENCY_open_begin : 0,
		};

		if (sites[at].depth > exact) {
			f.before = time;
			f.flags = 0;
		}
		latency->frames.items[sites[at].depth - 1] = f;
	}
	for (uint32_t level = keep + 1; level <= depth; level++) {
		struct latency_frame *f = &latency->frames.items[level - 1];

		f->begin = level > exact ? time : shares_next(shares, level > keep + 1 ? weights[level - keep - 2] : 0);
	}
}

static void close_frames(struct latency *latency, const struct latency_rules *rules, uint64_t time, uint32_t keep,
			 const double *weights, struct shares *shares, uint8_t flags)
{
	uint32_t closed = latency->frames.length - keep;

	for (uint32_t i = 0; i < closed; i++) {
		uint64_t end = shares_next(shares, weights[i]);

		give(latency, rules, latency->frames.length - 1 - i, latency->last, time,
		     flags & LATENCY_until_end && flags & LATENCY_open_end ? time : end, flags);
	}
	latency->frames.length = keep;
}

/* What ends, what goes on and what begins has its share of the time since the last
 * stack: the frames that end, innermost first, the one that goes on, the frames that
 * begin, outermost first. */
static void turn_over(struct latency *latency, const struct latency_rules *rules, uint64_t time, uint32_t site,
		      uint32_t keep, uint32_t exact, uint8_t flags)
{
	const struct site *sites = rules->contexts->sites.items;
	uint32_t depth = site ? sites[site].depth : 0, closed = latency->frames.length - keep, at = site;
	uint32_t opened = site ? depth - keep : 0;
	struct shares shares = { .from = latency->site ? latency->last : latency->start ? latency->start : time };
	uint64_t away = time_away(latency);
	double small[64], *weights = small;
	bool wrapper = latency->left_call, above_is_call = false;

	if (closed + opened + 1 > sizeof(small) / sizeof(small[0]))
		weights = mem_alloc((closed + opened + 1) * sizeof(*weights));
	for (uint32_t i = 0; i < closed; i++, wrapper = false)
		weights[i] = pace_cross(rules->pace, latency->frames.items[latency->frames.length - 1 - i].function,
					wrapper);
	weights[closed] = 0;
	for (uint32_t i = opened; i; i--, at = sites[at].parent) {
		weights[closed + i] = sites[at].depth > exact ? 0 :
			pace_cross(rules->pace, sites[at].function, above_is_call);
		above_is_call = sites[at].system_call;
	}
	for (uint32_t i = 0; i <= closed + opened; i++)
		shares.weight += weights[i];
	if (keep)
		weights[closed] = pace_keep(rules->pace, latency->frames.items[keep - 1].function,
					    wrapper && !closed, shares.weight);
	shares.weight += weights[closed];
	/* Where it was taken off the processor in between is not known: time off is
	 * left to the call that goes on. */
	shares.gap = time > shares.from ? time - shares.from : 0;
	if (away > shares.gap)
		away = shares.gap;
	shares.gap -= away;
	close_frames(latency, rules, time, keep, weights, &shares, flags);
	shares.passed += weights[closed];
	shares.from += away;
	if (opened)
		open_frames(latency, rules, time, site, keep, weights + closed + 1, &shares, exact, flags);
	if (weights != small)
		free(weights);
}

static void note_sample(const struct latency *latency, const struct latency_rules *rules, uint64_t period_ns)
{
	rules->pace->period_ns = period_ns;
	for (size_t i = 0; i < latency->frames.length; i++) {
		uint32_t function = latency->frames.items[i].function;

		/* Recursion counts once, as a rule: by its neighbour. */
		if (!i || function != latency->frames.items[i - 1].function)
			pace_of(rules->pace, function)->below++;
	}
	pace_of(rules->pace, latency->frames.items[latency->frames.length - 1].function)->found++;
}

void latency_see(struct latency *latency, const struct latency_rules *rules, uint64_t time, uint32_t site,
		 uint32_t same, uint32_t exact, uint64_t sampled_ns)
{
	const struct site *s = &rules->contexts->sites.items[site];
	struct step step = { 0 };
	bool veiled;

	if (!site)
		return;
	if (s->cut && latency->site && !rules->contexts->sites.items[latency->site].cut && latency->cut_run < CUT_RUN) {
		latency->cut_run++;
		latency->broken++;
		return;
	}
	latency->cut_run = 0;
	/* From whole stacks to cut ones and back nothing is seen to begin or end. */
	veiled = latency->site && s->cut != rules->contexts->sites.items[latency->site].cut;
	if (latency->site) {
		uint64_t span = time - latency->last, away = time_away(latency);

		step = compare(latency, rules, site, same, span > away ? span - away : 0);
		step.certain = rules->by_function ? step.sure : certain_depth(&step, same);
		stretch(latency, rules, latency->last, time, step.certain, site, latency->site == site && same >= s->depth);
	} else if (latency->start) {
		stretch(latency, rules, latency->start, time, 0, site, false);
	}
	if (latency->frames.length > step.keep || s->depth > step.keep)
		turn_over(latency, rules, time, site, step.keep, exact, veiled ? LATENCY_open_end : 0);
	if (sampled_ns && rules->hooks.sample)
		rules->hooks.sample(rules->hooks.data, s->node);
	if (sampled_ns && rules->pace)
		note_sample(latency, rules, sampled_ns);
	if (step.keep > step.sure) {
		latency->frames.items[step.keep - 1].doubts++;
		if (step.sure)
			latency->frames.items[step.sure - 1].doubts--;
		/* The innermost of them are the likeliest to have been called again. */
		for (uint32_t level = step.keep; level > step.sure && level + LIKELY > step.keep; level--)
			latency->frames.items[level - 1].calls++;
	}
	if (!latency->since)
		latency->since = latency->start && latency->start < time ? latency->start : time;
	latency->site = site;
	latency->last = time;
	latency->left_call = false;
	latency->off_seen = latency->off_ns;
	latency->queued_seen = latency->queued_ns;
}

void latency_return(struct latency *latency, const struct latency_rules *rules, uint64_t time, uint32_t depth)
{
	const struct site *sites = rules->contexts->sites.items;
	if (!latency->site || latency->frames.length <= depth)
		return;
	stretch(latency, rules, latency->last, time, depth + 1, latency->site, false);
	if (latency->frames.length > depth + 1)
		turn_over(latency, rules, time, 0, depth + 1, UINT32_MAX, 0);
	latency->last = time;
	latency->off_seen = latency->off_ns;
	latency->queued_seen = latency->queued_ns;
	give(latency, rules, depth, time, time, time, 0);
	latency->frames.length = depth;
	while (sites[latency->site].depth > depth)
		latency->site = sites[latency->site].parent;
	latency->left_call = true;
}

void latency_close(struct latency *latency, const struct latency_rules *rules, uint64_t time, bool ended)
{
	if (latency->site) {
		/* The end of a thread ends its calls, but how far they had come by then
		 * is known as little as elsewhere. */
		stretch(latency, rules, latency->last, time, 0, latency->site, false);
		turn_over(latency, rules, time, 0, 0, UINT32_MAX,
			  ended ? LATENCY_until_end : LATENCY_until_end | LATENCY_open_end);
		latency->site = 0;
		if (rules->hooks.life && time > latency->since)
			rules->hooks.life(rules->hooks.data, latency->thread, time - latency->since, time);
	}
	latency->since = 0;
	latency->frames.length = 0;
	latency->left_call = false;
	latency->start = 0;
	latency->started_before = false;
}

void latency_cut(struct latency *latency, uint64_t time)
{
	for (size_t i = 0; i < latency->frames.length; i++) {
		struct latency_frame *f = &latency->frames.items[i];

		f->first = f->before = f->begin = time;
		f->off_at_first = latency->off_ns;
		f->queued_at_first = latency->queued_ns;
		f->flags |= LATENCY_open_begin;
		f->calls = 1;
		f->doubts = 0;
	}
	if (latency->last < time)
		latency->last = time;
	if (latency->since)
		latency->since = time;
	if (!latency->site) {
		latency->start = time;
		latency->started_before = true;
	}
	latency->off_seen = latency->off_ns;
	latency->queued_seen = latency->queued_ns;
}

void latency_done(struct latency *latency)
{
	vec_done(&latency->frames);
}
